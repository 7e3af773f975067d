"""The configuration: read, checked against the schema, defaults filled in, references resolved."""

import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kreinflow.base.errors import InputError
from kreinflow.config import auto as automatic
from kreinflow.config.cross_references import check_references
from kreinflow.config.paths import check_paths
from kreinflow.config.schema import TOO_DEEP, complete, fill_defaults, schema
from kreinflow.sequences.sources.registry import make_source

_LARGEST_FILE = 1 << 22  # bytes
_MOST_PARTS = 100_000  # keys and values


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


def load_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration and return it checked and complete, or raise an InputError."""
    return complete_configuration(read_configuration(path), str(path))


def read_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration as it was written.

    Raises
    ------
    InputError
        If the file cannot be read, is larger than 4 MB, is not YAML, has a key twice, has more
        than 100,000 keys and values (each alias counted as what it stands for), or holds no keys.
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST_FILE + 1)
        if len(text) > _LARGEST_FILE:
            raise InputError(
                f"{path}: has more than {_LARGEST_FILE:,} bytes, which no configuration has. "
                "Give the right file."
            )
        content = yaml.load(text, Loader=_UniqueKeyLoader)  # a SafeLoader
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, ValueError) as error:  # of dates and numbers that are none
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InputError(f"{path}: {TOO_DEEP}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no keys; start from the config.yaml of kreinflow.")
    if _is_endless(content):
        raise InputError(
            f"{path}: a part holds itself, or it has more than {_MOST_PARTS:,} keys and values, "
            "each alias counted as what it stands for. Write less, or use fewer aliases."
        )
    return content


def _is_endless(content: dict[str, Any]) -> bool:
    left: list[Any] = [content]
    parts = 0
    while left and parts <= _MOST_PARTS:
        part = left.pop()
        parts += 1 + (len(part) // 64 if isinstance(part, str) else 0)  # a long text, many times
        if isinstance(part, dict | list):
            left += [*part, *part.values()] if isinstance(part, dict) else part
    return parts > _MOST_PARTS


def complete_configuration(content: Mapping[str, Any], name: str = "config") -> dict[str, Any]:
    """Check a configuration and return a copy with all defaults filled in.

    Messages call it ``name``.

    Raises
    ------
    InputError
        At the first thing wrong: an unknown key (with the nearest right one), a value outside
        its range, a name that refers to nothing.
    """
    config = complete(_with_nucleotide_scores(content), schema(), name)
    check_paths(config, name)
    _choose_threshold(config, content, name)
    _complete_comparison(config, content, name)
    check_references(config, name)
    return config


def _choose_threshold(config: dict[str, Any], given: Mapping[str, Any], name: str) -> None:
    """Let a coverage replace the default error and its confidence, in place."""
    for key in ("reject_error", "reject_confidence"):
        if config["reject_coverage"] is not None:
            if given.get(key) is not None:
                raise InputError(
                    f"{name}: top level: {key} and reject_coverage are two ways to choose one "
                    "threshold. Leave out the one or the other."
                )
            config[key] = None
        elif config[key] is None:
            raise InputError(f"{name}: {key}: give a number, or reject_coverage instead.")


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

    The number of inner folds and what is preferred are then those of ``auto`` too, unless they
    were given.

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
    fill_defaults(config.setdefault("auto", {}), schema()["properties"]["auto"])
    datasets = config["datasets"]
    kinds = {key: _with_more(_kind(dataset), dataset) for key, dataset in datasets.items()}
    made = automatic.comparison(kinds.values(), config["auto"]["alignments"])
    fill_defaults(made, {"properties": {key: schema()["properties"][key] for key in _COMPARISON}})
    if any(config[key] != made[key] for key in given):
        raise InputError(
            f"{name}: {_and(given)} cannot be given beside auto, which brings its own. Leave "
            "out the one or the other."
        )
    config |= made
    if "inner_folds" not in content:
        config["inner_folds"] = automatic.INNER_FOLDS
    if "prefer" not in content:
        config["prefer"] = automatic.PREFER
    for key, kind in kinds.items():
        dataset = config["datasets"][key]
        dataset["recipes"] = dataset["recipes"] or automatic.names(kind)


def _kind(dataset: Mapping[str, Any]) -> automatic.Kind:
    source = make_source(dataset["source"])
    if not source.aligned:
        return automatic.ASYMMETRIC if source.kind == "asymmetric" else automatic.GIVEN
    if dataset["scoring"]["mode"] != "local":
        return automatic.GLOBAL
    nucleotide = dataset["source"].get("molecule") == "nucleotide"
    return automatic.NUCLEOTIDES if nucleotide else automatic.SEQUENCES


def _with_more(kind: automatic.Kind, dataset: Mapping[str, Any]) -> automatic.Kind:
    if make_source(dataset["source"]).several:
        lines = automatic.OF_SEVERAL_LABELS
        kind = kind._replace(prefix=f"{kind.prefix}several-", lines=lines)
    if dataset.get("vectors"):
        kind = kind._replace(prefix=f"{kind.prefix}vectors-", vectors=True)
    return kind


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
