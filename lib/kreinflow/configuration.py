"""The configuration: read, checked against the schema, defaults filled in, references resolved."""

import copy
import difflib
import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jsonschema import ValidationError

from kreinflow import automatic
from kreinflow.errors import InputError
from kreinflow.kernels.generators import GENERATORS
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.learners.registry import LEARNERS
from kreinflow.plan import UNLABELLED
from kreinflow.sequences.sources.registry import SOURCES, make_source
from kreinflow.settings import Configured, strict_validator

_REGISTRIES: Mapping[str, Mapping[str, type[Configured]]] = {
    "source": SOURCES,
    "learner": LEARNERS,
    "selector": SELECTORS,
    "kernel": KERNELS,
    "generator": GENERATORS,
}
"""What the schema leaves open, to be filled in."""

_FOLDERS = (Path(__file__).parent / "schemas", Path(__file__).parents[2] / "schemas")


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration, the settings of all registered methods in it."""
    for folder in _FOLDERS:
        path = folder / "config.schema.json"
        if path.is_file():
            content: dict[str, Any] = json.loads(path.read_text())
            for key, known in _REGISTRIES.items():
                content["$defs"][key] = _variants(known)
            return content
    raise FileNotFoundError("config.schema.json: not installed with kreinflow")


def _variants(known: Mapping[str, type[Configured]]) -> dict[str, Any]:
    """Return the schema of an object whose other keys depend on the value of one.

    Keys without a default are required.

    Parameters
    ----------
    known : mapping
        A registry: classes by their names.
    """
    key = next(iter(known.values())).named_by
    branches = []
    for name, variant in known.items():
        properties = variant.settings_schema
        required = [other for other, part in properties.items() if "default" not in part]
        chosen = {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: {"const": name}, **copy.deepcopy(dict(properties))},
            "required": [key, *required],
        }
        branches.append(
            {"if": {"required": [key], "properties": {key: {"const": name}}}, "then": chosen}
        )
    return {
        "type": "object",
        "required": [key],
        "properties": {key: {"enum": list(known)}},
        "allOf": branches,
    }


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML says that keys are unique; PyYAML keeps the last one without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if isinstance(key, int | float | None):
                key = json.dumps(key)  # as text in the end: 3 and "3" are one key
            if isinstance(key, Hashable) and key in seen:
                raise yaml.YAMLError(f"key {key!r} stands twice (line {line})")
            if isinstance(key, Hashable) and not isinstance(key, str):
                raise yaml.YAMLError(f"key {key} is no text (line {line})")
            if isinstance(key, str):
                seen.add(key)
        return super().construct_mapping(node, deep)


_TOO_DEEP = "a part holds itself, or is nested too deeply. Start from the config.yaml of kreinflow."


def load_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration and return it checked and complete.

    Raises
    ------
    InputError
        As :func:`read_configuration` and :func:`complete_configuration`.
    """
    return complete_configuration(read_configuration(path), str(path))


def read_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration as it was written.

    Raises
    ------
    InputError
        If the file cannot be read, is not YAML, has a key twice, or holds no keys.
    """
    try:
        content = yaml.load(Path(path).read_bytes(), Loader=_UniqueKeyLoader)  # a SafeLoader
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, ValueError) as error:  # of dates and numbers that are none
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InputError(f"{path}: {_TOO_DEEP}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no keys; start from the config.yaml of kreinflow.")
    return content


def complete_method(
    known: Mapping[str, type[Configured]], content: Mapping[str, Any], what: str, name: str
) -> dict[str, Any]:
    """Check the settings of one learner, selector or kernel, and return them with all defaults.

    Parameters
    ----------
    known : mapping
        The registry: classes by their names.
    content : mapping
        As in the config: the name of the method, and its settings.
    what, name : str
        What they are, and whose, for messages.

    Raises
    ------
    InputError
        As :func:`complete_configuration`.

    Examples
    --------
    >>> complete_method(LEARNERS, {"method": "ikqd"}, "learner", "mine")
    {'method': 'ikqd', 'ridge': 'inner'}
    >>> complete_method(LEARNERS, {"method": "ikqd", "rigde": 0.1}, "learner", "mine")
    Traceback (most recent call last):
    kreinflow.errors.InputError: mine: learner: unknown key 'rigde'; did you mean 'ridge'?
    """
    part = {"properties": {what: _variants(known)}}
    whole = _complete({what: dict(content)}, part, name)
    completed: dict[str, Any] = whole[what]
    return completed


def _complete(content: Mapping[str, Any], part: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Check an object against its schema and return a copy with the defaults filled in."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(content, default=_plain))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {_TOO_DEEP}") from error
    _refuse_non_finite(copied, name, ())
    errors = sorted(_flat(_Validator(part).iter_errors(copied)), key=_order)
    if errors:
        raise InputError(f"{name}: {_explain(errors[0])}")
    _fill(copied, part)
    return copied


def _plain(value: object) -> object:
    """Return what JSON can hold in place of a value that it cannot, such as numpy's integers."""
    return value.item() if isinstance(value, np.generic) else str(value)


def complete_configuration(content: Mapping[str, Any], name: str = "config") -> dict[str, Any]:
    """Check a configuration and return a copy with all defaults filled in.

    Parameters
    ----------
    content : mapping
        The configuration as it was written.
    name : str
        What to call it in messages.

    Raises
    ------
    InputError
        At the first thing wrong: an unknown key (with the nearest right one), a value outside
        its range, a name that refers to nothing.
    """
    config = _complete(_with_nucleotide_scores(content), schema(), name)
    _refuse_wildcards(config, name, ())
    _choose_threshold(config, content, name)
    _complete_comparison(config, content, name)
    _check_references(config, name)
    return config


def _choose_threshold(config: dict[str, Any], given: Mapping[str, Any], name: str) -> None:
    """Let a coverage replace the default error, in place."""
    if config["reject_coverage"] is not None:
        if given.get("reject_error") is not None:
            raise InputError(
                f"{name}: top level: reject_error and reject_coverage are two ways to choose one "
                "threshold. Leave out the one or the other."
            )
        config["reject_error"] = None
    elif config["reject_error"] is None:
        raise InputError(f"{name}: reject_error: give a number, or reject_coverage instead.")


_NUCLEOTIDE_SCORES = {"matrix": "nuc44", "gap_open": 16, "gap_extend": 4}
"""What nucleotides have in place of the defaults of proteins: matches 5, mismatches -4, gaps as
FASTA counts them for these, 12 + 4n. A gap_extend that is not given is at most gap_open."""


def _with_nucleotide_scores(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config whose data sets of nucleotides have scores; nothing is checked yet."""
    datasets = content.get("datasets")
    if not isinstance(datasets, Mapping):
        return dict(content)
    changed = dict(datasets)
    for key, dataset in datasets.items():
        source = dataset.get("source") if isinstance(dataset, Mapping) else None
        if isinstance(source, Mapping) and source.get("molecule") == "nucleotide":
            scoring = dataset.get("scoring", {})
            if isinstance(scoring, Mapping):
                scoring = {**_NUCLEOTIDE_SCORES, **scoring}
                given = scoring["gap_open"]
                if isinstance(given, int) and "gap_extend" not in dataset.get("scoring", {}):
                    scoring["gap_extend"] = min(given, scoring["gap_extend"])
                changed[key] = {**dataset, "scoring": scoring}
    return {**content, "datasets": changed}


_COMPARISON = ("selectors", "learners", "recipes")


def _complete_comparison(config: dict[str, Any], content: Mapping[str, Any], name: str) -> None:
    """Put selectors, learners and recipes into a config that leaves them to ``auto``, in place.

    The number of inner folds is then that of ``auto`` too, unless it was given.

    A config that was completed before, such as the one that the report prints, has them already.
    """
    given = [key for key in _COMPARISON if config.get(key, "auto") != "auto"]
    if given and "auto" not in config and config.get("recipes") != "auto":
        missing = [key for key in _COMPARISON if key not in given]
        if missing:
            raise InputError(
                f"{name}: top level: the key {missing[0]!r} is missing. Give {_and(_COMPARISON)}, "
                "or none of them to have the recipe chosen automatically."
            )
        return
    _fill(config.setdefault("auto", {}), schema()["properties"]["auto"])
    kinds = {key: _kind(dataset) for key, dataset in config["datasets"].items()}
    made = automatic.comparison(kinds.values(), config["auto"]["alignments"])
    _fill(made, {"properties": {key: schema()["properties"][key] for key in _COMPARISON}})
    if any(config[key] != made[key] for key in given):
        raise InputError(
            f"{name}: {_and(given)} cannot be given beside auto, which brings its own. Leave "
            "out the one or the other."
        )
    config |= made
    if "inner_folds" not in content:
        config["inner_folds"] = automatic.INNER_FOLDS
    for key, kind in kinds.items():
        dataset = config["datasets"][key]
        dataset["recipes"] = dataset["recipes"] or automatic.names(kind)


def _kind(dataset: Mapping[str, Any]) -> automatic.Kind:
    if not make_source(dataset["source"]).aligned:
        return automatic.GIVEN
    local = dataset["scoring"]["mode"] == "local"
    return automatic.SEQUENCES if local else automatic.GLOBAL


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _refuse_non_finite(value: Any, name: str, place: tuple[str, ...]) -> None:
    # YAML has .nan and .inf; no setting does, and a range lets NaN through.
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{name}: {'.'.join(place)}: {value} is not a finite number.")
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            _refuse_non_finite(part, name, (*place, str(key)))


_PATHS = {"results", "data", "matrix", "table", "lines", "input"}
"""Keys that name files, beside those of the sources."""


def _refuse_wildcards(value: Any, name: str, place: tuple[str, ...]) -> None:
    """Refuse paths that Snakemake would read as patterns, or that a log cannot show."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            _refuse_wildcards(part, name, (*place, str(key)))
    elif isinstance(value, str) and re.search(r"[{}\0-\x1f]", value) and _names_file(place):
        raise InputError(
            f"{name}: {'.'.join(place)}: {value!r} has a brace or a control character, which "
            "Snakemake does not take for part of a path. Rename it."
        )


def _names_file(place: tuple[str, ...]) -> bool:
    keys = _PATHS | {source.path_key for source in SOURCES.values()}
    return not keys.isdisjoint(place[-2:])


_Validator = strict_validator()


def _flat(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        if error.context:
            yield from _flat(error.context)
        else:
            yield error


def _order(error: ValidationError) -> tuple[int, str]:
    # A mistyped key often also leaves a required one missing: name the typo first.
    return (0 if error.validator == "additionalProperties" else 1, error.json_path)


def _place(error: ValidationError) -> str:
    return ".".join(str(part) for part in error.absolute_path) or "top level"


def _explain(error: ValidationError) -> str:
    place = _place(error)
    rule: Any = error.validator_value
    instance: Any = error.instance
    part: Any = error.schema
    if error.validator == "additionalProperties":
        known = list(part["properties"])
        unknown = sorted(key for key in instance if key not in known)[0]
        return f"{place}: unknown key {unknown!r}{nearest(unknown, known)}"
    if error.validator == "enum":
        choices = [str(choice) for choice in rule]
        found = str(instance)
        return f"{place}: {found!r} is none of {', '.join(choices)}{_meant(found, choices) or '.'}"
    if error.validator == "required":
        missing = [key for key in rule if key not in instance]
        meant = difflib.get_close_matches(missing[0], list(instance), n=1)
        hint = f" Is {meant[0]!r} meant to be it?" if meant else ""
        return f"{place}: the key {missing[0]!r} is missing.{hint}"
    about = part.get("description", "")
    return f"{place}: {_why(error)}{f' ({about})' if about else ''}.{_hint(error)}"


_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a set of keys",
    "null": "null",
}


def _why(error: ValidationError) -> str:
    """Return what is wrong with a value, in words."""
    rule: Any = error.validator_value
    part: Any = error.schema
    found = repr(error.instance)
    if error.validator in ("type", "pattern"):
        types = [part["type"]] if isinstance(part["type"], str) else part["type"]
        word = part.get("pattern", "").strip("^$")  # of ^inner$
        if types == ["string"] and error.validator == "pattern":
            return (
                f"{found} is no name: use letters, digits and . _ + -, a letter or digit first, "
                "at most 100 in all"
            )
        allowed = _TYPES | ({"string": word} if word else {})
        *others, last = [allowed[name] for name in types]
        return f"{found} is not {', '.join(others)}{' or ' if others else ''}{last}"
    bounds = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    if error.validator in bounds:
        return f"{found} is not {bounds[error.validator]} {rule:g}"
    if error.validator in ("minItems", "minLength", "minProperties"):
        return f"{found} is empty"
    return error.message


def _hint(error: ValidationError) -> str:
    """Return what to say to a number that YAML takes for text, as 1e-9."""
    if error.validator not in ("type", "pattern") or not isinstance(error.instance, str):
        return ""
    if re.fullmatch(r"[-+]?[0-9]+[eE][-+]?[0-9]+", error.instance) is None:
        return ""
    mantissa, exponent = error.instance.lower().split("e")
    signed = exponent if exponent[0] in "+-" else f"+{exponent}"
    return f" To YAML this is text; the number is {mantissa}.0e{signed}."


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a question that names the known word nearest to a mistyped one.

    Examples
    --------
    >>> nearest("reciepes", ["recipes", "seed"])
    "; did you mean 'recipes'?"
    >>> nearest("ikfd", ["ikqd", "ny_ikfd"])
    "; did you mean 'ny_ikfd'?"
    >>> nearest("colour", ["seed", "recipes"])
    '; known are recipes, seed.'
    """
    known = list(known)
    return _meant(word, known) or f"; known are {', '.join(sorted(known))}."


def _meant(word: str, known: Iterable[str]) -> str:
    lower = {k.lower(): k for k in known}
    close = [k for k in lower if len(word) > 2 and k.endswith(word.lower())]
    close += difflib.get_close_matches(word.lower(), list(lower), n=1, cutoff=0.6)
    return f"; did you mean {lower[close[0]]!r}?" if close else ""


def _fill(value: Any, part: Mapping[str, Any]) -> None:
    """Fill the defaults of a validated value in place."""
    if "$ref" in part:
        target: Any = schema()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        _fill(value, target)
    if isinstance(value, list) and isinstance(part.get("items"), dict):
        for item in value:
            _fill(item, part["items"])
    if not isinstance(value, dict):
        return
    for branch in part.get("allOf", ()):
        if _Validator(branch["if"]).is_valid(value):
            _fill(value, branch["then"])
    for key, inner in part.get("properties", {}).items():
        if key not in value and "default" in inner:
            value[key] = json.loads(json.dumps(inner["default"]))
        if key in value:
            _fill(value[key], inner)
    if isinstance(part.get("additionalProperties"), dict):
        for key in value:
            if key not in part.get("properties", {}):
                _fill(value[key], part["additionalProperties"])


def correction_fault(learner: str, correction: str) -> str | None:
    """Return why a learner, by its method, cannot use a correction; None if it can."""
    if not LEARNERS[learner].needs_positive or correction not in ("none", "landmark_basis"):
        return None
    return (
        f"{learner} cannot learn from negative eigenvalues, which correction {correction!r} keeps. "
        "Use flip, clip, square or shift."
    )


def _check_references(config: dict[str, Any], name: str) -> None:
    def refuse(place: str, why: str) -> InputError:
        return InputError(f"{name}: {place}: {why}")

    evalue = config["transforms"]["evalue"]
    if (evalue["lambda"] is None) != (evalue["K"] is None):
        raise refuse("transforms.evalue", "give both lambda and K, or neither.")
    recipes: dict[str, Any] = {}
    for recipe in config["recipes"]:
        place = f"recipes, {recipe['name']!r}"
        if recipe["name"] in recipes:
            raise refuse(place, "the name stands twice; names must differ.")
        recipes[recipe["name"]] = recipe
        if isinstance(recipe["rank"], float) and recipe["rank"] > 1:
            raise refuse(
                place,
                f"rank {recipe['rank']} is neither a whole number nor a share up to 1.0.",
            )
        for kind in ("selector", "learner"):
            if recipe[kind] not in config[f"{kind}s"]:
                raise refuse(
                    place,
                    f"{kind} {recipe[kind]!r} is not defined"
                    f"{nearest(recipe[kind], config[f'{kind}s'])}",
                )
        fault = correction_fault(
            config["learners"][recipe["learner"]]["method"], recipe["correction"]
        )
        if fault:
            raise refuse(place, fault)
    for key, selector in config["selectors"].items():
        budget = selector.get("budget")
        if isinstance(budget, str) and (
            budget not in config["selectors"]
            or isinstance(config["selectors"][budget].get("budget"), str)
        ):
            others = [
                k for k, s in config["selectors"].items() if not isinstance(s.get("budget"), str)
            ]
            raise refuse(
                f"selectors.{key}.budget",
                f"{budget!r} is no selector with a number of its own{nearest(budget, others)}",
            )
    for key, dataset in config["datasets"].items():
        place = f"datasets.{key}"
        asked = [("recipes", recipe) for recipe in dataset["recipes"] or []]
        asked += [("final", dataset["final"])] if dataset["final"] else []
        for part, recipe_name in asked:
            if recipe_name not in recipes:
                raise refuse(
                    f"{place}.{part}",
                    f"recipe {recipe_name!r} is not defined{nearest(recipe_name, recipes)}",
                )
        dataset["recipes"] = dataset["recipes"] or list(recipes)
        if dataset["final"] is not None and dataset["final"] not in dataset["recipes"]:
            raise refuse(f"{place}.final", "the recipe is not among the data set's recipes.")
        _check_dataset(dataset, [recipes[r] for r in dataset["recipes"]], config, place, refuse)
    for key, request in config["classify"].items():
        if request["dataset"] not in config["datasets"]:
            raise refuse(
                f"classify.{key}",
                f"data set {request['dataset']!r} is not defined"
                f"{nearest(request['dataset'], config['datasets'])}",
            )
        source = config["datasets"][request["dataset"]]["source"]
        if request["strand"] == "both" and source.get("molecule") != "nucleotide":
            raise refuse(
                f"classify.{key}.strand",
                f"the objects of {request['dataset']!r} are no nucleotides, so they have no other "
                "strand. Leave it out.",
            )
        if key == UNLABELLED and source.get("unmatched") == "classify":
            raise refuse(
                f"classify.{key}",
                "is the name of the data set's own sequences without label (unmatched: classify). "
                "Choose another name.",
            )


def _check_dataset(
    dataset: dict[str, Any], recipes: list[Any], config: dict[str, Any], place: str, refuse: Any
) -> None:
    source, folds = make_source(dataset["source"]), dataset["folds"]
    for key, why in source.faults():
        raise refuse(f"{place}.source.{key}", why)
    if folds["method"] == "table" and not folds["table"]:
        raise refuse(f"{place}.folds", "method table needs the path of a table.")
    if folds["column"] is not None and folds["method"] != "grouped":
        raise refuse(f"{place}.folds.column", "only the method grouped takes a column.")
    transforms = _transforms_used(recipes, config["selectors"])
    if not source.aligned:
        for owner, transform in transforms.items():
            if transform != "raw":
                raise refuse(
                    f"{place}.recipes",
                    f"{owner} has 'transform: {transform}', but only alignment scores are "
                    f"transformed. For {source.noun} give recipes and their selectors "
                    "'transform: raw'.",
                )
        if folds["method"] == "grouped" and folds["column"] is None:
            raise refuse(
                f"{place}.folds",
                f"{source.noun}: no sequences to group by identity. Use method stratified or "
                "table, or a column of the labels' table.",
            )
        return
    matrix = dataset["scoring"]["matrix"]
    if dataset["source"].get("molecule") == "nucleotide" and re.fullmatch(
        r"(?i)(blosum|pam)\d+", matrix
    ):
        raise refuse(
            f"{place}.scoring.matrix",
            f"{matrix} compares amino acids, the molecule is nucleotide. "
            "Use nuc44 or dnafull, or leave it out.",
        )
    if dataset["scoring"]["gap_open"] < dataset["scoring"]["gap_extend"]:
        raise refuse(f"{place}.scoring", "gap_open must be at least gap_extend.")
    if config["alignment"]["backend"] == "pyopal" and dataset["scoring"]["mode"] != "local":
        raise refuse(
            f"{place}.scoring.mode",
            f"the alignment backend pyopal cannot make {dataset['scoring']['mode']} alignments. "
            "Use alignment.backend parasail, or mode local.",
        )
    for owner, transform in transforms.items():
        mode = dataset["scoring"]["mode"]
        if mode != "local" and transform not in ("raw", "normalised"):
            raise refuse(
                f"{place}.scoring",
                f"{mode} alignments can score below 0, which the transform {transform} of {owner} "
                "cannot take. Use raw or normalised there, or mode local.",
            )


def _transforms_used(recipes: list[Any], selectors: Mapping[str, Any]) -> dict[str, str]:
    """Return the transform of each recipe and of each selector they need, by a name to show."""
    found = {f"recipe {recipe['name']!r}": str(recipe["transform"]) for recipe in recipes}
    used = [recipe["selector"] for recipe in recipes]
    used += [b for name in used if isinstance(b := selectors[name].get("budget"), str)]
    found |= {
        f"selector {name!r}": selectors[name]["transform"]
        for name in used
        if "transform" in selectors[name]
    }
    return found
