"""The experiments and figures of the papers, from the files of ``data/``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from kreinflow.sequences.sources.registry import make_source

DATA = Path(__file__).parent / "data"

_CORRECTIONS = {"clip": "clip", "flip": "flip", "mds": "landmark_mds"}
"""By how the names of recipes end."""


@dataclass(frozen=True)
class Experiment:
    """One data set and the recipes that are measured on it.

    The head of ``data/experiments.yaml`` says what its fields are. What has ``hours`` is not part
    of the target until its file has been asked for; ``why`` says of recipes that fall short of a
    paper why we think so.
    """

    name: str
    config: Mapping[str, Any] = field(repr=False)
    about: str
    wants: str = ""
    one_against_rest: bool = False
    centring: Literal["landmarks", "training", "factor"] = "landmarks"
    unit_columns: bool = False
    signature: Sequence[int] = ()
    setting: str = ""
    hours: float = 0
    memory_mb: int = 0
    why: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> dict[str, Any]:
        """What decides the figures: arguments of :func:`~papers.run.run_experiment`."""
        names = ("config", "one_against_rest", "centring", "unit_columns")
        return {name: getattr(self, name) for name in names}

    @property
    def recipes(self) -> list[str]:
        """The names of the recipes."""
        return [recipe["name"] for recipe in self.config["recipes"]]

    @property
    def files(self) -> list[str]:
        """The files that the data are read from, as they stand in the config."""
        source = make_source(self.config["datasets"][self.name]["source"])
        return list(map(str, source.files()))

    def can_run(self, folder: Path) -> bool:
        """Return whether all its files are in a data folder."""
        return all((folder / name).is_file() for name in self.files)

    def present(self, folder: Path) -> list[str]:
        """Return the paths of its files in a data folder; empty if one of them is not there."""
        return [str(folder / name) for name in self.files] if self.can_run(folder) else []


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, with a caption of ours or the reason why there is none."""

    source: str
    number: str
    caption: str = ""
    reason: str = ""
    experiment: str = ""
    """Whose files it shows too; without them their part of the figure is left out."""

    def present(self, folder: Path) -> list[str]:
        """Return the paths of these files in a data folder; empty if one of them is not there."""
        return load_experiments()[self.experiment].present(folder) if self.experiment else []


def _read(name: str) -> Any:
    return yaml.load((DATA / name).read_bytes(), Loader=yaml.CSafeLoader)


@cache
def load_experiments() -> Mapping[str, Experiment]:
    """Return all experiments by name, in the order of the file."""
    content = _read("experiments.yaml")
    return {
        name: _experiment(name, entry, content) for name, entry in content["experiments"].items()
    }


def in_target(data: Path, results: Path) -> list[str]:
    """Return the experiments to run: what takes hours only once its file has been asked for."""
    return [
        name
        for name, experiment in load_experiments().items()
        if experiment.can_run(data)
        and (not experiment.hours or (results / f"{name}.tsv").is_file())
    ]


def _experiment(name: str, entry: Mapping[str, Any], content: Mapping[str, Any]) -> Experiment:
    about = dict(content["data"][entry.get("data", name)])
    dataset = {"source": about.pop("source"), "folds": entry["folds"]}
    recipes = [_recipe(recipe, content["recipes"].get(recipe, {})) for recipe in entry["recipes"]]
    selectors = {}
    for recipe in recipes:
        settings = _selector(recipe["selector"], content["selectors"])
        selectors[recipe["selector"]] = settings
        if isinstance(budget := settings.get("budget"), str):  # as many as another one takes
            selectors[budget] = content["selectors"][budget]
    config = {
        "datasets": {name: dataset},
        "selectors": selectors,
        "learners": {r["learner"]: content["learners"][r["learner"]] for r in recipes},
        "recipes": recipes,
    }
    return Experiment(name, config, **about, **entry.get("cost", {}), why=entry.get("why", {}))


def _recipe(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recipe by its name, LEARNER-SELECTOR-CORRECTION, but for settings of its own."""
    learner, *selector = name.split("-")
    correction = "none"
    if selector and selector[-1] in _CORRECTIONS:
        correction = _CORRECTIONS[selector.pop()]
    own = {"name": name, "transform": "raw", "rank": 1.0, "correction": correction}
    return {**own, "learner": learner, "selector": "-".join(selector), **settings}


def _selector(name: str, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a selector by its name, which may end in a budget."""
    method, _, budget = name.rpartition("-")
    if name in known:
        return dict(known[name])
    return {**known[method], "budget": int(budget) if budget.isdigit() else budget}


_CONTENT = _read("figures.yaml")
FIGURES: Mapping[str, PaperFigure] = {n: PaperFigure(**f) for n, f in _CONTENT["drawn"].items()}
"""By the name of the file, ``figures/NAME.png``; in the order of the page."""

LEFT_OUT: Sequence[PaperFigure] = [PaperFigure(**f) for f in _CONTENT["left_out"]]
"""Figures that are not drawn."""
