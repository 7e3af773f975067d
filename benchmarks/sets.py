"""Whether sets of labels and the control of errors keep what they promise, by whole models.

    python benchmarks/sets.py                        20 seeds of each kind of generated data
    python benchmarks/sets.py --predictions FILE     the outer folds of a run, in place of these
    python benchmarks/sets.py --drift                cascades and queries that drift away
    python benchmarks/sets.py --drift --data FOLDER  the same of pfam30_11k.fasta.gz in it
    python benchmarks/sets.py --clusters --seeds 100        records that come in groups

Each run of a kind draws training records and as many new objects (600 at least), fits a
model, and measures on the new objects: the share of sets that hold the true label, of all records
and of each class, the mean size of a set, and the share of wrong predictions among those that are
accepted, all new objects of a run being one input. FILE is ``evaluation/predictions.tsv.gz`` of a
data set, each of whose folds is a run. Printed are means over runs, behind ± their standard errors;
of classes, those that most and least often are in their sets, over all runs together.

With ``--drift`` new records of the same kind are asked, and training records evolved to an identity
as by ``search.py``. For each are printed the share that is right, that is accepted, that is wrong
among these, and of sets that hold the label; and that is beyond what promises were measured on. In
a second row of each are those of them that are not beyond. Of pfam30 (30 families) 1,000 records
are learned and 1,000 are new, drawn at random; or, in a second table, whole groups of single
linkage at 50 % identity are.

With ``--clusters`` points come in groups of 1 to 20 that are nearly alike, as near-duplicates are,
and folds keep groups whole; new ones are of new groups. Printed are the share of sets that hold the
label, what is accepted, how much of it is wrong, and in how many runs that is more than the 5 % of
``reject_error``, which may be in 10 %.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import whole
from kinds import LETTERS, Labelled, close
from kreinflow.answering.label_sets import CONFIDENCES, accepted, outcomes
from kreinflow.base.numerics import FloatArray
from kreinflow.estimators import KreinClassifier
from kreinflow.evaluation.accepted import ERRORS, coverage, errors
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS
from kreinflow.sequences.identity import identity_clusters
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.simulation import lg_model, simulate_families
from search import IDENTITIES, moved
from unknown import of_files

NEW, SHARES = 600, (*ERRORS, 0.5)
Drawn = tuple[NDArray[Any], NDArray[Any]]
Drift = tuple[Callable[..., Labelled], int, int]
IKFD = {"scatter": "pooled", "bias": "least_squares", "ridge": "inner"}


def families(rng: np.random.Generator, n: int) -> Drawn:
    """Return sequences of six simulated families."""
    made = simulate_families(6, n, int(rng.integers(1 << 31)))
    sequences = np.array([one.residues.decode() for one in made], dtype=object)
    return sequences, np.array([one.label for one in made])


def noise(rng: np.random.Generator, n: int) -> Drawn:
    """Return points of three classes that are all alike."""
    return gaussian(0.0, 3)(rng, n)


def gaussian(distance: float, classes: int) -> Callable[[np.random.Generator, int], Drawn]:
    """Return what draws points of classes that overlap, in as many dimensions."""

    def draw(rng: np.random.Generator, n: int) -> Drawn:
        y = np.arange(n) % classes
        X = rng.normal(size=(n, classes))
        X[np.arange(n), y] += distance / np.sqrt(2)
        return X, np.array([f"class{code:02d}" for code in y])

    return draw


def peptides(rng: np.random.Generator, n: int) -> Drawn:
    """Return short peptides of two classes, whose residues are somewhat unlike in frequency."""
    common, unlike = lg_model()[1], np.random.default_rng(0).normal(size=20)
    of_class = [common * np.exp(sign * 0.25 * unlike) for sign in (1, -1)]
    y, letters = np.arange(n) % 2, np.array(list(LETTERS))
    drawn = [rng.choice(letters, rng.integers(10, 31), p=of_class[c] / sum(of_class[c])) for c in y]
    return np.array(["".join(own) for own in drawn], dtype=object), np.array(["a", "b"])[y]


VECTORS = {"kernel": "gaussian", "kernel_params": {"width": 3.0}, "selector": "uniform"}
SEQUENCES = {"kernel": "alignment", "learner": "ny_ikfd", "learner_params": IKFD}
NOISE: dict[str, dict[str, Any]] = {
    "sf_lsm": {"ridge": "inner"},
    "ny_ikfd": IKFD,
    "ny_pcvm": {},
    "nearest_landmark": {},
}
"""Learners that are tried on labels that say nothing, and few of them."""
KINDS: dict[str, tuple[Any, int, dict[str, Any]]] = {
    "3 classes of points": (gaussian(4.5, 3), 1500, {**VECTORS, "n_landmarks": 60}),
    "10 classes of points": (gaussian(4.5, 10), 2000, {**VECTORS, "n_landmarks": 200}),
    "10 classes that overlap": (gaussian(2.0, 10), 2000, {**VECTORS, "n_landmarks": 60}),
    "6 families, enclosing balls": (
        families,
        900,
        {**SEQUENCES, "selector": "meb", "selector_params": {"epsilon": 0.01}},
    ),
    "6 families, 100 landmarks": (families, 900, {**SEQUENCES, "n_landmarks": 100}),
    "6 families, a cascade": (
        families,
        600,
        {**SEQUENCES, "selector": "uniform", "n_landmarks": 40, "cascade": {}},
    ),
    "2 classes of peptides, a lift": (
        peptides,
        360,
        {
            **{**SEQUENCES, "learner": "sf_lsm", "learner_params": {"ridge": "inner"}},
            **{"selector": "uniform", "n_landmarks": 30, "views": {"words": [1, 2]}},
        },
    ),
    **{
        f"noise, {learner}": (
            noise,
            180,
            {**VECTORS, "n_landmarks": 40, "learner": learner, "learner_params": given},
        )
        for learner, given in NOISE.items()
    },
}
"""What draws, how many training records, and the parameters of the classifier."""
KINDS["6 families, 100 landmarks"][2]["selector"] = "uniform"


def run_of(kind: str, seed: int) -> pd.DataFrame:
    """Return the predictions table of new objects by one model; its fold is the seed."""
    draw, n, parameters = KINDS[kind]
    rng = np.random.default_rng(seed)
    every = n + max(n, NEW)
    X, y = draw(rng, every)
    order = rng.permutation(every)
    known, new = order[:n], order[n:]
    model = KreinClassifier(random_state=seed, **parameters).fit(X[known], y[known])
    answers = model.answer(X[new])
    p: FloatArray = answers.probabilities
    truth = np.searchsorted(model.classes_, y[new])
    calibration = model.landmark_classifier_.calibration
    assert calibration is not None
    values = (kind, 0, seed, new, y[new], model.classes_[p.argmax(axis=1)])
    table = pd.DataFrame(dict(zip(PREDICTION_COLUMNS, values, strict=True)))
    return pd.concat([table, outcomes(calibration, p, truth, answers.closeness)], axis=1)


def subfamilies(count: int, classes: int, length: int, random: np.random.Generator) -> Labelled:
    """Return the close subfamilies of ``kinds.py``, whatever is asked for."""
    return close(random)


def of_pfam30(folder: Path) -> Callable[..., Labelled]:
    """Return what draws records of the file in a folder."""
    every = of_files(folder / "pfam30_11k.fasta.gz", folder / "pfam30_11k.tsv", "label")

    def draw(count: int, classes: int, length: int, random: np.random.Generator) -> Labelled:
        return [every[place] for place in random.permutation(len(every))[:count].tolist()]

    return draw


DRIFTS: dict[str, Drift] = {
    "12 families": (whole.families, 600, 12),
    "8 superfamilies": (whole.remote, 800, 8),
    "20 superfamilies": (whole.remote, 900, 20),
    "24 subfamilies": (subfamilies, 240, 24),
}
"""What draws, how many training records, and classes."""
IN_GROUPS = ", new groups"
"""Of a kind: no group of relatives is both among the training records and the new ones."""
DRIFTING = ("right", "accepted", "wrong", "held_90", "held_95", "beyond")


class Grouped(KreinClassifier):
    """A classifier that keeps the groups of :attr:`groups` whole, as folds of a run do."""

    groups: NDArray[np.int64]

    def _choose(self, *given: Any) -> Any:
        run, landmarks, again = super()._choose(*given)
        partition = Partition(self.groups, run.partition.folds)
        return replace(run, partition=partition), landmarks, again


def drifted(kind: str, drift: Drift, seed: int, queries: int = 300) -> pd.DataFrame:
    """Return what a cascade says of new records and of drifting ones, a row each."""
    draw, n, classes = drift
    random = np.random.default_rng([seed, *kind.encode()])
    every = draw(2 * n, classes, 150, random)
    groups = np.arange(len(every))
    if kind.endswith(IN_GROUPS):
        groups = identity_clusters([letters.encode() for letters, _ in every], 0.5)
    codes = np.unique(groups, return_inverse=True)[1]
    rank = np.argsort(random.permutation(codes.max() + 1))[codes]
    order = np.argsort(rank, kind="stable")
    first_n = rank <= rank[order[n - 1]]
    known, new = ([every[i] for i in order if first_n[i] == side] for side in (True, False))
    X, y = zip(*known, strict=True)
    learner = {"learner": "sf_lsm", "learner_params": {"ridge": "inner"}}
    first = {"selector": "uniform", "n_landmarks": min(2 * classes, 48)}
    cascade = {"cascade": {"alignments": 60}}
    model = Grouped("alignment", **learner, **first, **cascade, random_state=seed)
    model.groups = rank[order[first_n[order]]]
    model.fit(X, y)
    asked = [("same kind", *record) for record in new]
    for identity in IDENTITIES:
        for place in random.integers(len(known), size=queries).tolist():
            letters, label = known[place]
            asked.append((f"{identity} %", moved(letters, identity / 100, random), label))
    kinds, letters, labels = zip(*asked, strict=True)
    answers, truth = model.answer(letters), np.searchsorted(model.classes_, labels)
    calibration = model.landmark_classifier_.calibration
    assert calibration is not None
    table = outcomes(calibration, answers.probabilities, truth, answers.closeness)
    right, kept = answers.probabilities.argmax(axis=1) == truth, ~answers.rejected
    told = {"kind": kinds, "seed": seed, "right": right, "accepted": kept}
    wrong = np.where(kept, ~right, np.nan)
    return pd.concat([pd.DataFrame({**told, "wrong": wrong}), table], axis=1)


def clustered(seed: int, groups: int, distance: float) -> dict[str, float]:
    """Return what a model of groups says of new ones."""
    rng = np.random.default_rng(seed)
    centres, y = gaussian(distance, 3)(rng, groups + NEW)
    sizes = np.minimum(rng.geometric(0.2, groups), 20)
    of = np.repeat(np.arange(groups), sizes)
    X = centres[of] + 0.05 * rng.normal(size=(len(of), 3))
    learner = {"n_landmarks": 40, "learner": "ny_ikfd", "learner_params": IKFD}
    model = Grouped(**VECTORS, **learner, random_state=seed)
    model.groups = of
    model.fit(X, y[of])
    answers, truth = model.answer(centres[groups:]), np.searchsorted(model.classes_, y[groups:])
    calibration, p = model.landmark_classifier_.calibration, answers.probabilities
    assert calibration is not None
    told = outcomes(calibration, p, truth).astype(float)
    wrong, kept = p.argmax(axis=1) != truth, ~answers.rejected
    of_kept = wrong[kept].mean() if kept.any() else 0.0
    of_errors = accepted(told["error_p"].to_numpy(), 0.1)
    return {
        "right": 1 - wrong.mean(),
        **{name: told[name].mean() for name in ("held_90", "held_95")},
        "accepted": kept.mean(),
        "wrong": of_kept,
        "more than 5 %": float(of_kept > 0.05),
        "--errors 0.1": wrong[of_errors].mean() if of_errors.any() else 0.0,
    }


def print_clusters(seeds: int) -> None:
    """Print the means over seeds, for many and few groups."""
    for groups, distance in ((300, 4.5), (300, 3.0), (100, 4.5)):
        said = pd.DataFrame([clustered(seed, groups, distance) for seed in range(seeds)])
        print(f"\n{groups} groups, {seeds} seeds\n\n| {' | '.join(said)} |")
        print(f"|{'---|' * said.shape[1]}\n| {' | '.join(mean(said[name]) for name in said)} |")
        sys.stdout.flush()


def print_drift(kind: str, drift: Drift, seeds: int) -> None:
    """Print the shares of each kind of query, of all and of those that are not beyond."""
    said = pd.concat([drifted(kind, drift, seed) for seed in range(seeds)])
    print(f"\n{kind}, {seeds} seeds\n\n| queries | {' | '.join(DRIFTING)} |")
    print(f"|{'---|' * (len(DRIFTING) + 1)}")
    for name, own in said.groupby("kind", sort=False):
        for which, some in ((name, own), ("not beyond", own[own["beyond"] == 0])):
            means = some.groupby("seed")[[*DRIFTING]].mean().astype(float)
            if len(means) < 2:
                continue
            print(f"| {which} | {' | '.join(mean(means[column]) for column in DRIFTING)} |")
    sys.stdout.flush()


def mean(values: "pd.Series[float]") -> str:
    """Return a mean over runs in percent, and its standard error."""
    return f"{100 * values.mean():.2f} ± {100 * values.sem():.2f}"


def print_tables(predictions: pd.DataFrame) -> None:
    """Print the sets and the accepted predictions of each recipe, or kind of data."""
    runs = list(predictions.groupby(["repeat", "fold"]))
    covered = pd.concat([coverage(run) for _, run in runs])
    covered = covered[covered["class"] == ""]
    classes = coverage(predictions).query("`class` != ''")
    kept = pd.concat([errors(run, SHARES) for _, run in runs])
    right = (predictions["true"] == predictions["predicted"]).groupby(predictions["recipe"]).mean()
    for recipe in dict.fromkeys(predictions["recipe"]):
        print(f"\n{recipe}: {len(runs)} runs, accuracy {100 * right[recipe]:.1f} %\n")
        print("| confidence | held, % | classes, % | labels |\n|---|---|---|---|")
        for level in CONFIDENCES:
            own, each = (
                t[(t.recipe == recipe) & (t.confidence == level)] for t in (covered, classes)
            )
            span = f"{100 * each['coverage'].min():.1f} to {100 * each['coverage'].max():.1f}"
            size = f"{own['size'].mean():.3f}"
            print(f"| {level:g} | {mean(own['coverage'])} | {span} | {size} |")
        print("\n| errors | wrong among the accepted, % | accepted, % |\n|---|---|---|")
        for asked in SHARES:
            own = kept[(kept.recipe == recipe) & (kept.errors == asked)]
            print(f"| {asked:g} | {mean(own['wrong_mean'])} | {mean(own['accepted_mean'])} |")
        sys.stdout.flush()


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--drift", action="store_true")
    parser.add_argument("--data", type=Path, help="folder of pfam30_11k.fasta.gz and .tsv")
    parser.add_argument("--clusters", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of landmarks that are too few for some classes
    if given.predictions is not None:
        print_tables(pd.read_csv(given.predictions, sep="\t", dtype={"id": str}))
        return
    drifts = DRIFTS
    if given.data is not None:
        drifts = dict.fromkeys(("pfam30", f"pfam30{IN_GROUPS}"), (of_pfam30(given.data), 1000, 30))
    for kind, drift in drifts.items() if given.drift else ():
        print_drift(kind, drift, given.seeds)
    if given.clusters:
        print_clusters(given.seeds)
    for kind in () if given.drift or given.clusters else given.kinds:
        print_tables(pd.concat([run_of(kind, seed) for seed in range(given.seeds)]))


if __name__ == "__main__":
    main()
