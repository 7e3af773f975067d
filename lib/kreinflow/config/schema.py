"""The schema of the configuration: what it checks, its defaults, and words for what is wrong."""

import copy
import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from jsonschema import ValidationError

from kreinflow.base.errors import InputError
from kreinflow.base.settings import Configured, strict_validator
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from kreinflow.kernels.generators import GENERATORS
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.learners.registry import LEARNERS
from kreinflow.sequences.sources.registry import SOURCES

_REGISTRIES: Mapping[str, Mapping[str, type[Configured]]] = {
    "source": SOURCES,
    "learner": LEARNERS,
    "selector": SELECTORS,
    "kernel": KERNELS,
    "generator": GENERATORS,
}
"""What the schema leaves open, to be filled in."""


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration, the settings of all registered methods in it."""
    path = WORKFLOW_FOLDER / "schemas" / "config.schema.json"
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for key, known in _REGISTRIES.items():
        content["$defs"][key] = _variants(known)
    return content


def _variants(known: Mapping[str, type[Configured]]) -> dict[str, Any]:
    """Return the schema of an object whose other keys depend on the value of one.

    Keys without a default are required. ``known`` is a registry: classes by their names.
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


TOO_DEEP = "a part holds itself, or is nested too deeply. Correct it."


def complete_method(
    known: Mapping[str, type[Configured]], content: Mapping[str, Any], what: str, name: str
) -> dict[str, Any]:
    """Check the settings of one learner, selector or kernel, and return them with all defaults.

    ``known`` is their registry; ``what`` and ``name`` say in messages what they are, and whose.

    Examples
    --------
    >>> complete_method(LEARNERS, {"method": "ikqd"}, "learner", "mine")
    {'method': 'ikqd', 'ridge': 'inner'}
    >>> complete_method(LEARNERS, {"method": "ikqd", "rigde": 0.1}, "learner", "mine")
    Traceback (most recent call last):
    kreinflow.base.errors.InputError: mine: learner: unknown key 'rigde'; did you mean 'ridge'?
    """
    whole = complete({what: dict(content)}, {"properties": {what: _variants(known)}}, name)
    completed: dict[str, Any] = whole[what]
    return completed


def complete(content: Mapping[str, Any], part: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Check an object against its schema and return a copy with the defaults filled in."""
    try:
        copied: dict[str, Any] = json.loads(json.dumps(content, default=_plain))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: {TOO_DEEP}") from error
    except TypeError as error:  # such as a date
        raise InputError(f"{name}: {error}.") from error
    errors = sorted(_flat(_Validator(part).iter_errors(copied)), key=_order)
    if errors:
        raise InputError(f"{name}: {_explain(errors[0])}")
    fill_defaults(copied, part)
    return copied


def _plain(value: object) -> object:
    """Return what JSON can hold in place of a value that it cannot, such as numpy's integers."""
    return value.item() if isinstance(value, np.generic) else str(value)


_Validator = strict_validator()


def _flat(errors: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for error in errors:
        yield from _flat(error.context) if error.context else [error]


def _order(error: ValidationError) -> tuple[int, str]:
    # A mistyped key often also leaves a required one missing: name the typo first.
    return (0 if error.validator == "additionalProperties" else 1, error.json_path)


def _explain(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "top level"
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
    return f"{place}: {_why(error)}{f' ({about})' if about else ''}.{_hint(instance)}"


_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "a set of keys",
    "null": "null",
}
_BOUNDS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}


def _why(error: ValidationError) -> str:
    rule: Any = error.validator_value
    part: Any = error.schema
    found = repr(error.instance)
    if error.validator in _BOUNDS:
        return f"{found} is not {_BOUNDS[error.validator]} {rule:g}"
    if error.validator in ("minItems", "minLength", "minProperties"):
        return f"{found} is empty"
    if error.validator not in ("type", "pattern"):
        return error.message
    types = [part["type"]] if isinstance(part["type"], str) else part["type"]
    if types == ["string"] and error.validator == "pattern":
        return (
            f"{found} is no name: use letters, digits and . _ + -, a letter or digit first, "
            "at most 100 in all"
        )
    word = part.get("pattern", "").strip("^$")  # of ^inner$
    *others, last = [word if word and name == "string" else _TYPES[name] for name in types]
    return f"{found} is not {', '.join(others)}{' or ' if others else ''}{last}"


def _hint(found: object) -> str:
    """Return what to say of a number that YAML takes for text, as 1e-9."""
    number = re.fullmatch(r"([-+]?[0-9]+)[eE]([-+]?)([0-9]+)", str(found))
    if number is None or not isinstance(found, str):
        return ""
    mantissa, sign, exponent = number.groups()
    return f" To YAML this is text; the number is {mantissa}.0e{sign or '+'}{exponent}."


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


def fill_defaults(value: Any, part: Mapping[str, Any]) -> None:
    """Fill the defaults of a validated value in place."""
    if "$ref" in part:
        target: Any = schema()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        fill_defaults(value, target)
    if isinstance(value, list) and isinstance(part.get("items"), dict):
        for item in value:
            fill_defaults(item, part["items"])
    if not isinstance(value, dict):
        return
    for branch in part.get("allOf", ()):
        if _Validator(branch["if"]).is_valid(value):
            fill_defaults(value, branch["then"])
    for key, inner in part.get("properties", {}).items():
        if key not in value and "default" in inner:
            value[key] = json.loads(json.dumps(inner["default"]))
        if key in value:
            fill_defaults(value[key], inner)
    if isinstance(part.get("additionalProperties"), dict):
        for key in value:
            if key not in part.get("properties", {}):
                fill_defaults(value[key], part["additionalProperties"])
