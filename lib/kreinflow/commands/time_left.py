"""When a run may end: by the estimates of its jobs, and by the pace so far."""

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kreinflow.config.plan import DatasetPlan
from kreinflow.config.run_costs import RunCosts
from kreinflow.files.json_files import read_json
from kreinflow.sequences.partition import fold_name

_STAGES = {
    "read_": "read",
    "assign_folds": "read",
    "align_class_scores": "align",
    "align_columns": "align",
    "select_landmarks": "choose",
    "train_models": "train",
}
"""Of the rules whose jobs take long, by the beginnings of their names; others stand behind."""

_INSTANT = ("download", "list_candidates", "gather_columns", "race", "all")
"""Rules whose seconds are counted with those of another one, not known, or none to speak of."""

_UNESTIMATED = ("run_competitor", "run_experiment")
"""Rules of other targets: with them there is no time left to tell."""

_BEHIND = 5
"""Rules behind the training that each run has; others are for what a config asks beside."""

_TRUST = 0.25
"""Of the run by its estimate, the share after which the pace counts as much as the estimate."""


def costs_of_results(folder: Path, config: Mapping[str, Any]) -> list[RunCosts]:
    """Return what the data sets of a run cost, once its first jobs have read them.

    Parameters
    ----------
    folder : Path
        The results.
    config : mapping
        Complete.

    Returns
    -------
    list
        Empty if a data set is not read yet, or its folds are not made.
    """
    costs = []
    for name in config["datasets"]:
        summary, folds = folder / name / "dataset" / "summary.json", folder / name / "folds.tsv"
        if not (summary.exists() and folds.exists()):
            return []
        with folds.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            tested = Counter((int(row["repeat"]), int(row["fold"])) for row in rows)
        repeats = Counter[int]()
        for (repeat, _), count in tested.items():
            repeats[repeat] += count
        shares = {
            fold_name(repeat, fold): count / repeats[repeat]
            for (repeat, fold), count in sorted(tested.items())
            if fold >= 0
        }
        plan = DatasetPlan(config, name)
        costs.append(RunCosts(plan, read_json(summary)["statistics"], shares))
    return costs


class TimeLeft:
    """Seconds that the jobs of a run take, of those that are left and of those that are done.

    Parameters
    ----------
    costs : list of RunCosts
    cores : int
    jobs : mapping of str to int
        All jobs of the run, by rule.
    """

    def __init__(self, costs: list[RunCosts], cores: int, jobs: Mapping[str, int]) -> None:
        stages: dict[str, list[float]] = {}
        for own in costs:
            for stage, seconds in own.stages().items():
                stages.setdefault(stage, []).extend(seconds)
        self._means = {stage: sum(own) / len(own) for stage, own in stages.items() if own}
        self._sum_behind = sum(stages.get("behind", ()))
        self._largest = {stage: max(own) for stage, own in stages.items() if own}
        self._cores = cores
        self._behind = max(_BEHIND * len(costs), _of_stages(jobs)["behind"])
        self._all = self._seconds(jobs) if not any(map(jobs.get, _UNESTIMATED)) else 0.0

    def _seconds(self, jobs: Mapping[str, int]) -> float:
        """Return the seconds of some jobs: those of a stage side by side, stages not."""
        seconds = 0.0
        for stage, count in _of_stages(jobs).items():
            mean = self._means.get(stage, 0.0)
            if stage == "read":  # one after the other, as those behind
                seconds += mean * count / 2
            elif stage == "behind":
                seconds += self._sum_behind * count / self._behind
            else:
                seconds += max(mean * count / self._cores, self._largest.get(stage, 0.0))
        return seconds

    def after(self, passed: float, left: Mapping[str, int]) -> float | None:
        """Return the seconds that are left.

        Parameters
        ----------
        passed : float
            Seconds of the run so far.
        left : mapping of str to int
            Jobs that are not done, by rule.

        Returns
        -------
        float or None
            None if there is no estimate.
        """
        if not self._all:
            return None
        rest, trust = self._seconds(left), _TRUST * self._all
        return rest * (passed + trust) / (self._all - rest + trust)


def _of_stages(jobs: Mapping[str, int]) -> Counter[str]:
    """Return the numbers of jobs by their stage."""
    counts = Counter[str]()
    for rule, count in jobs.items():
        if rule not in _INSTANT:
            known = (stage for begin, stage in _STAGES.items() if rule.startswith(begin))
            counts[next(known, "behind")] += count
    return counts
