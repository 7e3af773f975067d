"""The configuration: read, checked against the schema, defaults filled in, references resolved."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kreinflow.base.errors import InputError
from kreinflow.config import auto as automatic
from kreinflow.config.cross_references import check_references
from kreinflow.config.paths import check_paths
from kreinflow.config.schema import TOO_DEEP, complete, fill_defaults, schema
from kreinflow.sequences.sources.registry import make_source


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML says that keys are unique; PyYAML keeps the last one without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            key, line = str(key_node.value), key_node.start_mark.line + 1
            if key in seen:
                raise yaml.YAMLError(f"key {key!r} stands twice (line {line})")
            seen.add(key)
        return super().construct_mapping(node, deep)


def load_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration and return it checked and complete, or raise an InputError."""
    return complete_configuration(read_configuration(path), str(path))


def read_configuration(path: str | Path) -> dict[str, Any]:
    """Read a YAML configuration as it was written.

    An InputError says that the file cannot be read, is not YAML, has a key twice or holds no keys.
    """
    try:
        with Path(path).open("rb") as file:
            content = yaml.load(file, Loader=_UniqueKeyLoader)  # a SafeLoader, which reads in parts
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (yaml.YAMLError, ValueError) as error:  # of dates and numbers that are none
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise InputError(f"{path}: {TOO_DEEP}") from error
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds no keys; start from the config.yaml of kreinflow.")
    return content


def complete_configuration(content: Mapping[str, Any], name: str = "config") -> dict[str, Any]:
    """Check a configuration and return a copy with all defaults filled in.

    An InputError, which calls it ``name``, tells the first thing wrong: an unknown key (with the
    nearest right one), a value outside its range, a name that refers to nothing.
    """
    config = complete(content, schema(), name)
    check_paths(config, name)
    for dataset, given in zip(
        config["datasets"].values(), content["datasets"].values(), strict=True
    ):
        if dataset["source"].get("molecule") == "nucleotide":
            dataset["scoring"] |= _NUCLEOTIDE_SCORES | given.get("scoring", {})
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
FASTA counts them for these, 12 + 4n."""

_COMPARISON = ("selectors", "learners", "recipes")


def _complete_comparison(config: dict[str, Any], content: Mapping[str, Any], name: str) -> None:
    """Put selectors, learners and recipes into a config that leaves them to ``auto``, in place.

    The number of inner folds and what is preferred are then those of ``auto`` too, unless they
    were given. A config that was completed before, as the report prints it, has them already.
    """
    given = [key for key in _COMPARISON if config.get(key, "auto") != "auto"]
    if given and "auto" not in config and config.get("recipes") != "auto":
        if missing := [key for key in _COMPARISON if key not in given]:
            raise InputError(
                f"{name}: top level: the key {missing[0]!r} is missing. Give selectors, learners "
                "and recipes, or none of them to have the recipe chosen automatically."
            )
        return
    properties = schema()["properties"]
    fill_defaults(config.setdefault("auto", {}), properties["auto"])
    kinds = {key: _kind(dataset) for key, dataset in config["datasets"].items()}
    made = automatic.comparison(kinds.values(), config["auto"]["alignments"])
    fill_defaults(made, {"properties": {key: properties[key] for key in _COMPARISON}})
    if any(config[key] != made[key] for key in given):
        raise InputError(
            f"{name}: {' and '.join(given)} cannot be given beside auto, which brings its own. "
            "Leave out the one or the other."
        )
    config |= made
    for key, value in (("inner_folds", automatic.INNER_FOLDS), ("prefer", automatic.PREFER)):
        if key not in content:
            config[key] = value
    for key, kind in kinds.items():
        dataset = config["datasets"][key]
        dataset["recipes"] = dataset["recipes"] or automatic.names(kind)


def _kind(dataset: Mapping[str, Any]) -> automatic.Kind:
    source = make_source(dataset["source"])
    if not source.aligned:
        kind = automatic.ASYMMETRIC if source.kind == "asymmetric" else automatic.GIVEN
    elif dataset["scoring"]["mode"] != "local":
        kind = automatic.GLOBAL
    else:
        nucleotide = dataset["source"].get("molecule") == "nucleotide"
        kind = automatic.NUCLEOTIDES if nucleotide else automatic.SEQUENCES
    if source.asked is not None:
        kind = kind._replace(prefix=f"own-{kind.prefix}", lines=automatic.OF_OWN)
    if source.several:
        lines = kind.lines if source.asked else automatic.OF_SEVERAL_LABELS
        kind = kind._replace(prefix=f"{kind.prefix}several-", lines=lines)
    if dataset.get("vectors"):
        kind = kind._replace(prefix=f"{kind.prefix}vectors-", vectors=True)
    return kind
