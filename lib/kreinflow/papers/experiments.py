"""The experiments of the papers: what is run, on which data, and which files it wants.

Light to import: the workflow asks while it is parsed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from kreinflow.sequences.sources.registry import make_source

FILE = Path(__file__).parent / "data" / "experiments.yaml"
"""Where they are written down."""

_DEFAULTS = {"transform": "raw", "rank": 1.0, "correction": "none"}
"""Of a recipe of the file; all eigenvalues of the landmark matrix are kept, as the papers do."""


@dataclass(frozen=True)
class Experiment:
    """One data set and the recipes that meet on it.

    Parameters
    ----------
    name : str
        Its name, and that of the data set in its config.
    about : str
        What the data are.
    wants : str
        Where their files can be had; empty if they are generated.
    one_against_rest : bool
        Whether the first class is told from all others, instead of all from each other.
    centring : {"landmarks", "training", "factor"}
        How dissimilarities become similarities, see
        :func:`~kreinflow.evaluation.cross_validation.cross_validate`.
    signature : tuple of int, optional
        Positive, negative and zero eigenvalues, where a paper gives them.
    setting : str
        What sets the data apart where a published figure stands beside several experiments.
    hours, memory_mb : float and int
        An estimate of what takes many hours, on one core; 0 for the others. What has an estimate
        is not part of the target until its file has been asked for.
    config : mapping
        The config of these recipes on these data, without what has a default.
    why : mapping of str to str
        For recipes that fall short of a paper: why we think so.
    unit_columns : bool
        Whether the kernel is made asymmetric, as in schleif2015epcvm: see
        :func:`~kreinflow.papers.run.with_unit_columns`.
    """

    name: str
    about: str
    wants: str
    one_against_rest: bool
    centring: Literal["landmarks", "training", "factor"]
    signature: tuple[int, ...]
    setting: str
    hours: float
    memory_mb: int
    config: Mapping[str, Any] = field(repr=False)
    why: Mapping[str, str]
    unit_columns: bool

    @property
    def recipes(self) -> list[str]:
        """The names of the recipes."""
        return [recipe["name"] for recipe in self.config["recipes"]]

    @property
    def files(self) -> list[str]:
        """The files that the data are read from, as they stand in the config."""
        source = make_source(self.config["datasets"][self.name]["source"])
        return list(map(str, source.files()))

    def present(self, folder: Path) -> list[str]:
        """Return the paths of its files in a data folder; empty if one of them is not there."""
        paths = [folder / name for name in self.files]
        return [str(path) for path in paths] if self.can_run(folder) else []

    def can_run(self, folder: Path) -> bool:
        """Return whether all its files are in a data folder."""
        return all((folder / name).is_file() for name in self.files)


@cache
def load_experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name, in the order of the file."""
    content = yaml.load(FILE.read_bytes(), Loader=yaml.CSafeLoader)
    return {
        name: _experiment(name, entry, content) for name, entry in content["experiments"].items()
    }


def _experiment(name: str, entry: Mapping[str, Any], content: Mapping[str, Any]) -> Experiment:
    data = content["data"][entry.get("data", name)]
    recipes = [{"name": r, **_DEFAULTS, **content["recipes"][r]} for r in entry["recipes"]]
    selectors = {}
    for recipe in recipes:
        settings = content["selectors"][recipe["selector"]]
        selectors[recipe["selector"]] = settings
        if isinstance(budget := settings.get("budget"), str):  # as many as another one takes
            selectors[budget] = content["selectors"][budget]
    return Experiment(
        name=name,
        about=data["about"],
        wants=data.get("wants", ""),
        one_against_rest=data.get("one_against_rest", False),
        centring=data.get("centring", "landmarks"),
        signature=tuple(data.get("signature", ())),
        setting=data.get("setting", ""),
        hours=entry.get("cost", {}).get("hours", 0),
        memory_mb=entry.get("cost", {}).get("memory_mb", 0),
        config={
            "datasets": {name: {"source": data["source"], "folds": entry["folds"]}},
            "selectors": selectors,
            "learners": {r["learner"]: content["learners"][r["learner"]] for r in recipes},
            "recipes": recipes,
        },
        why=entry.get("why", {}),
        unit_columns=data.get("unit_columns", False),
    )
