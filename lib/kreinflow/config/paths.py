"""Names and paths of a configuration: refused where something would take them otherwise."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.files.text_files import check_file, check_results, has_control, plain_files
from kreinflow.sequences.folds import check_groups
from kreinflow.sequences.matrix_files import TABLE_ENDINGS, check_numbers_file
from kreinflow.sequences.sources.registry import SOURCES, make_source

TAKEN = (
    *("compare.html", "config.yaml", "logs", "report.html", "report.txt"),
    *("kreinflow_mqc.json", "ro-crate-metadata.json", "times", "workflow.smk"),
)
"""What stands in the folder of results beside those of the data sets."""


def check_paths(config: Mapping[str, Any], name: str) -> None:
    """Refuse by an InputError paths and names that would become other files than they say."""
    for place, path in _paths(config, ()):
        if fault := _fault(path):
            raise InputError(f"{name}: {place}: {path!r} {fault}")
    taken = set(TAKEN)
    for dataset in config["datasets"]:
        if dataset.casefold() in taken:
            raise InputError(
                f"{name}: datasets: {dataset!r} is the name of something else in the results, at "
                "least on disks that ignore case. Choose another name."
            )
        taken.add(dataset.casefold())


def check_files(config: Mapping[str, Any], data: Path) -> None:
    """Check cheaply what a complete configuration names, before any job: files, folds, tables."""
    check_results(Path(config["results"]))
    for name, dataset in config["datasets"].items():
        check_results(Path(config["results"], name))
        make_source(dataset["source"], data).check()
        check_groups(dataset["folds"], dataset["source"], data)
        if dataset["vectors"] is not None:
            check_numbers_file(data / dataset["vectors"], TABLE_ENDINGS)
    for settings in config["selectors"].values():
        if "table" in settings:
            check_file(data / settings["table"])
    for request in config["classify"].values():
        for path in plain_files(data / request["input"]):
            check_file(path)
        if request["vectors"] is not None:
            check_numbers_file(data / request["vectors"], TABLE_ENDINGS)


_KEYS = {"results", "data", "matrix", "table", "lines", "input"}
"""Keys that name files, beside those of the sources."""


def _paths(value: Any, place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _paths(part, (*place, str(key)))
    elif isinstance(value, str):
        keys = _KEYS | {source.path_key for source in SOURCES.values()}
        if not keys.isdisjoint(place[-2:]):  # the last may be a number in a list
            yield ".".join(place), value


_TAKEN_OTHERWISE = {
    r"[{}]|<[^<>/]*>": "Snakemake takes for something else. Rename it",
    r"^\s|\s(?=/*$)": "is lost at the begin or end of a name. Rename it",
    r"^~|(?:^|/)\$[A-Za-z_]\w*": "only a shell replaces by a folder. Write the folder out",
    r"^[A-Za-z][A-Za-z0-9+.-]*://": "begins an address. Download it, and give the file",
}


def _fault(path: str) -> str | None:
    if has_control(path):
        return "has a control character, or one that is not shown. Rename it."
    for pattern, why in _TAKEN_OTHERWISE.items():
        if found := re.search(pattern, path):
            return f"has {found[0].lstrip('/')!r} in it, which {why}."
    return None
