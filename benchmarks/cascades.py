"""What a cascade gives in a fold, beside one stage with as many landmarks: a part of auto.py.

First stages have log scores, words and a Gaussian lift over both; their landmarks are 5 or 10 % of
the training records, at least one of each class. A cascade above them is fitted for a stated mean
number of alignments, or for a stated loss. :data:`STATED` has them; a first stage that leaves no
room is not tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from aligned_folds import WORDS, Fold, configuration
from inducing import Placed
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.compare.competitor import quality
from kreinflow.fitting.cascade_choice import THRESHOLDS, CascadeCurve
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.fitting.recipe_choice import choose_recipe
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import Trained
from kreinflow.krein.landmark_kernel import Landmarks, landmark_kernel

FIRST = (0.05, 0.1)
"""Shares of the training records that are landmarks of a first stage."""
STATED: Mapping[str, float] = {"a tenth": 0.1, "a quarter": 0.25}
"""Of the exhaustive alignments."""
LOSS = 0.001
"""Stated in their place; the curves are of these cascades."""
SHARES = (0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0)
"""Of the exhaustive alignments, where curves are read."""
BEHIND = 0.003
"""Accuracy that a cascade may lose against the exhaustive best."""
HEADINGS = (
    *("kind", "exhaustive best", "cascade, a tenth", "alignments", "one stage"),
    *("cascade, a quarter", "alignments", "one stage", f"cascade, loss {LOSS:g}", "alignments"),
    *("to train: exhaustive", "a tenth", "a quarter", f"loss {LOSS:g}"),
)

Rows = Iterator[dict[str, Any]]


def lifted(molecule: str, budgets: Mapping[str, Any], inner: int = 5) -> dict[str, Any]:
    """Return the config of one recipe for each set of landmarks, by its name."""
    way = {"method": "kmeans++", "transform": "log", "candidates": 30}
    recipe = {
        "transform": "log",
        "learner": "sf-lsm",
        "views": {"words": WORDS[molecule]},
        "lift": {"kernel": "gaussian"},
    }
    own = {
        "inner_folds": inner,
        "selectors": {name: {**way, "budget": budget} for name, budget in budgets.items()},
        "learners": {"sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}},
        "recipes": [{**recipe, "name": name, "selector": name} for name in budgets],
    }
    return configuration(molecule, own)


def fitted(
    fold: Fold, recipe: Mapping[str, Any], table: pd.DataFrame, wanted: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Trained, CascadeCurve]]:
    """Yield a recipe with each of the cascades that are wanted.

    Beside it stands what all their levels say of the records that the fold tests.
    """
    run = fold.run(table)
    landmarks = run.landmarks(table)
    training = fold.training(run, landmarks)
    kernel = landmark_kernel(landmarks, training.part, fold.transforms[recipe["transform"]])
    lifting = training.liftings(recipe)
    known = lifting.tried(kernel, landmarks, training.fits.inner)  # once for all
    liftings = Placed.of(lifting, lifting.inducing, known).always
    for cascade in wanted:
        # Each asks anew, so that each says what it costs alone.
        own = replace(training, cache=fold.asked(), liftings=liftings)
        ((_, trained),) = fold.trained(own, [{**recipe, "cascade": cascade}])
        yield (
            trained,
            FoldRecords(run, landmarks, fold.name, trained.classifier, fold.asked()).curve(),
        )


def truth_of(fold: Fold) -> IntArray:
    """Return the classes of the records that a fold tests."""
    return fold.dataset.labels[fold.partition.testing(fold.name)]


def within(climbed: CascadeCurve, most: float) -> float | None:
    """Return the highest threshold that keeps to a mean number of alignments, if any does."""
    kept = [t for t in THRESHOLDS if climbed.at(t)[1].mean() <= most]
    return max(kept, default=None)


def measured(fold: Fold, probabilities: FloatArray) -> dict[str, float]:
    """Return accuracy and macro F1."""
    truth = truth_of(fold)
    names = np.array(fold.dataset.classes)
    found = quality(names[truth].tolist(), names[probabilities.argmax(axis=1)].tolist())
    return {key: float(found[key]) for key in ("accuracy", "macro_f1")}


def figures_of_cascades(fold: Fold, molecule: str) -> Rows:
    """Yield the figures of one stage with growing numbers of landmarks, of cascades, of curves."""
    n = int(fold.partition.training(fold.name).sum())
    budgets = {f"{share:.3g}": {"share": share} for share in SHARES[:-1]}
    of_stages = replace(fold, config=lifted(molecule, budgets, fold.config["inner_folds"]))
    recipes = {recipe["name"]: recipe for recipe in of_stages.config["recipes"]}
    tables = of_stages.tables()
    stages: dict[int, dict[str, Any]] = {}  # small shares have one landmark of each class
    for name, table in tables.items():
        if len(table) not in stages:
            stages[len(table)] = one_stage(of_stages, recipes[name], table)
        yield {"kind": "stage", "method": name, **stages[len(table)]}
    tried: list[int] = []
    for share in FIRST:
        name = f"{share:.3g}"
        table = tables[name]
        if len(table) in tried:
            continue
        tried.append(len(table))
        stated = {what: part * n for what, part in STATED.items() if len(table) + 2 < part * n}
        wanted = [{"alignments": number} for number in stated.values()]
        found = fitted(of_stages, recipes[name], table, [*wanted, {"loss": LOSS}])
        for what, (trained, climbed) in zip([*stated, "loss"], found, strict=True):
            probabilities, alignments = climbed.at(climbed.cascade.threshold)
            yield {
                "kind": what,
                "method": name,
                "recipe": name,
                **trained.figures,
                **measured(fold, probabilities),
                "alignments": alignments.mean(),
                "to_train": trained.figures["cascade_pairs"] + trained.figures["landmarks"] * n,
            }
        yield from curve(fold, climbed, name, n)


def one_stage(fold: Fold, recipe: Mapping[str, Any], table: pd.DataFrame) -> dict[str, Any]:
    """Return the figures of a recipe without a cascade."""
    run = fold.run(table)
    landmarks: Landmarks = run.landmarks(table)
    ((_, trained),) = fold.trained(fold.training(run, landmarks), [recipe])
    return {**trained.figures, **tested(fold, run, landmarks, trained)}


def tested(fold: Fold, run: Run, landmarks: Landmarks, trained: Trained) -> dict[str, float]:
    """Return accuracy, macro F1 and alignments of a model without a cascade."""
    table = FoldRecords(run, landmarks, fold.name, trained.classifier).predictions("it")
    found = quality(table["true"].tolist(), table["predicted"].tolist())
    alignments = float(trained.figures["alignments_per_query"])
    return {key: found[key] for key in ("accuracy", "macro_f1")} | {"alignments": alignments}


def curve(fold: Fold, climbed: CascadeCurve, name: str, n: int) -> Rows:
    """Yield what a cascade gives within growing shares of the exhaustive alignments."""
    for share in SHARES:
        threshold = within(climbed, share * n)
        if threshold is not None:
            probabilities, alignments = climbed.at(threshold)
            found = measured(fold, probabilities)
            place = {"kind": "curve", "method": name, "share": share}
            yield {**place, **found, "alignments": alignments.mean()}


def chosen(figures: pd.DataFrame) -> pd.DataFrame | None:
    """Return the rows of the first stages that the inner folds prefer; None if a fold has none."""
    if figures.empty:
        return None
    rows = []
    for _, own in figures.groupby("fold", sort=True):
        found = [{str(key): value for key, value in row.items()} for row in own.to_dict("records")]
        rows.append(own[own["recipe"] == choose_recipe(found, own["recipe"].tolist())])
    return pd.concat(rows)


def percent(rows: pd.DataFrame) -> str:
    """Return the mean accuracy in %."""
    return "-" if rows.empty else f"{100 * rows['accuracy'].mean():.1f}"


def print_cascades(kinds: Mapping[str, pd.DataFrame], best: Mapping[str, pd.DataFrame]) -> None:
    """Print what cascades give and cost in each kind, then the curves, then the verdict.

    Parameters
    ----------
    kinds : mapping
        The figures of each.
    best : mapping
        Those of the exhaustive best recipe of each.
    """
    print(f"\n| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
    near: dict[str, list[str]] = {what: [] for what in STATED}
    for name, figures in kinds.items():
        n = figures.loc[figures["kind"] == "exhaustive"].groupby("fold")["landmarks"].max().mean()
        full = best[name]["accuracy"].mean()
        cells, training = [f"{100 * full:.1f}"], [f"{n * (n - 1) / 2:,.0f}"]
        for what in (*STATED, "loss"):
            own = chosen(figures[figures["kind"] == what])
            if own is None or own["fold"].nunique() < best[name]["fold"].nunique():
                cells += ["-", "-"]
                training.append("-")
            else:
                alignments = own["alignments"].mean()
                cells += [percent(own), f"{alignments:.0f} ({100 * alignments / n:.0f} %)"]
                training.append(f"{own['to_train'].mean():,.0f}")
                if what in STATED and own["accuracy"].mean() >= full - BEHIND - 1e-9:
                    near[what].append(name)
            if what in STATED:
                stages = figures[figures["kind"] == "stage"]
                cells.append(percent(stages[stages["method"].astype(float) == STATED[what]]))
        print(f"| {' | '.join([name, *cells, *training])} |")
    headings = ["kind", "landmarks", *(f"{100 * share:.3g} %" for share in SHARES)]
    print(f"\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}")
    for name, figures in kinds.items():
        for line in curve_lines(figures, best[name]):
            print(f"| {' | '.join([name, *line])} |")
    for what, names in near.items():
        print(
            f"\nA cascade within {what} of the exhaustive alignments is within {100 * BEHIND:.1f} "
            f"points of the exhaustive best on {len(names)} of {len(kinds)} kinds: "
            f"{', '.join(names)}."
        )


def curve_lines(figures: pd.DataFrame, best: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the accuracy at each share: of cascades, then of one stage with as many landmarks."""
    curves = figures[figures["kind"] == "curve"]
    for method, own in curves.groupby("method", sort=False):
        found = [own[own["share"] == share] for share in SHARES]
        whole = best["fold"].nunique()
        yield [
            f"{100 * float(str(method)):.3g} %, cascade",
            *(percent(rows) if len(rows) == whole else "-" for rows in found),
        ]
    stages = figures[figures["kind"] == "stage"]
    of_share = stages["method"].astype(float)
    everything = figures[figures["method"] == "all-log-lifted"]
    yield [
        "one stage",
        *(percent(stages[of_share == share]) for share in SHARES[:-1]),
        percent(everything),
    ]
