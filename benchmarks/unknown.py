"""How many sequences of unknown families are rejected, and how many without any relative.

    python benchmarks/unknown.py                              needs no data
    python benchmarks/unknown.py pfam30 --data FOLDER         with those of examples/pfam30.yaml
    python benchmarks/unknown.py given --fasta F --labels T   with data of your own

In each draw some families are left out of everything. The rest is cut into folds; a model that is
trained on all but one, with ``unknown: {false_alarms: ...}``, says of the records of that fold and
of all that were left out why it rejects them. Printed are means over draws, in percent:

* of the known, how many have a p-value of at most the share of false alarms (``p``), how many are
  strange (rejected as unknown or without a relative), have no relative, and are unsure;
* of the unknown, how many have such a p-value, have a p-value that as many of the known have as
  there may be false alarms (``at``), are strange, and are rejected for any reason;
* the share that the model said it would find.

With ``--nulls`` the models are trained without the option, and say of sequences that have no
relative how many they accept. The share of known records without a relative is beside it.
"""

import argparse
import gzip
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from Bio import SeqIO

from aligned_folds import Fold, configuration, distinct, scheme_of
from kinds import KINDS, Labelled
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import PackedSequences, pack, self_scores
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.base.numerics import FloatArray, IntArray, limited
from kreinflow.evaluation.unknown import known_confidences, rejection_curve
from kreinflow.fitting.fit_unknown import NoRelativeFit
from kreinflow.fitting.predictions import FoldRecords, UnknownRecords
from kreinflow.fitting.run import Run, objects_of, pair_scores
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.scores import Scores
from kreinflow.sequences.simulation import simulate_families

DATA = Path(__file__).resolve().parents[1] / "examples" / "pfam_kin"
LETTERS = list("ACDEFGHIKLMNPQRSTVWY")
PFAM30 = ["PF00009", "PF00048", "PF00084", "PF01355", "PF07679", "PF14604"]
SHARE = 0.27
"""Of the families are left out, where no others are named."""
NULLS = 300
"""Sequences of each kind that has no relative."""


@dataclass(frozen=True, eq=False)
class Asked(Scores):
    """Scores that are aligned when they are asked for."""

    sequences: PackedSequences
    dtype = np.dtype(np.int32)

    def into(self, out: Any, rows: IntArray, columns: IntArray) -> None:
        """Write the scores of rows x columns into ``out``."""
        for start in range(0, len(rows), 512):
            part = slice(start, start + 512)
            out[part] = backend_named("auto")(self.sequences, rows[part], columns)

    def self_scores(self) -> FloatArray:
        """Return the score of each with itself."""
        numbers = np.arange(len(self.sequences.lengths))
        return self_scores(self.sequences, numbers).astype(np.float64)


class Drawn(Fold):
    """A fold whose sequences are aligned when it is asked for."""

    @cached_property
    def scores(self) -> Scores:  # type: ignore[override]
        """Of all of them."""
        return Asked(pack(self.dataset.sequences, self.scheme))

    def asked(self) -> ScoreCache:
        """Return what a cascade asks, of which nothing is known so far."""
        return pair_scores(self.dataset.sequences, self.scheme, "auto", 1)


def of_files(fasta: Path, table: Path, label: str) -> Labelled:
    """Return the records of a FASTA and a table with the columns id and ``label``."""
    labels = pd.read_csv(table, sep="\t", dtype=str).set_index("id")[label]
    opened = gzip.open if fasta.suffix == ".gz" else open
    with opened(fasta, "rt") as file:
        return [(str(r.seq), labels[r.id]) for r in SeqIO.parse(file, "fasta")]


def simulated() -> Labelled:
    """Return the simulated families of the page on unknown classes."""
    return [(s.residues.decode(), s.label) for s in simulate_families(6, 150, 3)]


def left_out(pairs: Labelled, seed: int, known: Sequence[str] | None) -> list[str]:
    """Return the families that a draw leaves out."""
    labels = sorted({label for _, label in pairs})
    if known is not None:
        return list(known)
    draw = np.random.default_rng([seed, 7])
    return sorted(draw.choice(labels, max(2, round(SHARE * len(labels))), replace=False))


def configured(recipe: str, landmarks: int) -> dict[str, Any]:
    """Return the config of a recipe."""
    lift = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian", "inducing": 2000}}
    if recipe == "cascade":
        lift |= {"cascade": {"alignments": landmarks + 20}}
    sf_lsm = {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}
    learners = {
        "linear": {
            "method": "ny_ikfd",
            "scatter": "pooled",
            "bias": "least_squares",
            "ridge": "inner",
        },
        "lifted": sf_lsm,
        "cascade": sf_lsm,
    }
    return configuration(
        "protein",
        {
            "inner_folds": 5,
            "selectors": {"some": {"method": "uniform", "budget": landmarks}},
            "learners": {recipe: learners[recipe]},
            "recipes": [
                {
                    **{"name": recipe, "transform": "log", "selector": "some", "learner": recipe},
                    **(lift if recipe != "linear" else {}),
                }
            ],
        },
    )


@dataclass(frozen=True, eq=False)
class Model:
    """What a fold learned."""

    fold: Fold
    run: Run
    table: pd.DataFrame
    asked: Any
    classifier: LandmarkClassifier

    def of_known(self) -> pd.DataFrame:
        """Return what it says of the records that the fold tests."""
        landmarks, name = self.run.landmarks(self.table), self.fold.name
        return FoldRecords(self.run, landmarks, name, self.classifier, self.asked).predictions("it")

    def of_others(self, others: Dataset) -> pd.DataFrame:
        """Return what it says of sequences that are not of the data set."""
        scheme, n = self.fold.scheme, len(others.ids)
        rows = self.table["row"].to_numpy(np.int64)
        sequences = [*others.sequences, *self.run.dataset.sequences]
        scores = Asked(pack(sequences, scheme))
        order = np.argsort(rows)
        records = pd.DataFrame(
            {
                "id": others.ids,
                "label": [others.classes[code] for code in others.labels],
                "row": np.arange(n),
                "length": [len(sequence) for sequence in others.sequences],
                "self_score": self_scores(scores.sequences, np.arange(n)),
            }
        )
        held = UnknownRecords(
            records,
            scores.rectangle(np.arange(n), n + rows[order]),
            rows[order],
            objects_of(others),
            pair_scores(sequences, scheme, "auto", 1),
        )
        return held.predict(rows, self.fold.name, "it", self.classifier)


def learned(fold: Fold, false_alarms: float | None) -> Model:
    """Return the model of a fold."""
    ((_, table),) = fold.tables().items()
    run = fold.run(table)
    landmarks, part, seed = run.landmarks(table), run.training_part(fold.name), fold.config["seed"]
    strangers = run.strangers(part, fold.scheme, seed)
    asked = run.pair_scores(fold.scheme, "auto", 1, strangers)
    training = replace(
        fold.training(run, landmarks),
        cache=asked,
        false_alarms=false_alarms,
        strangers=strangers if false_alarms else None,
    )
    ((_, trained),) = fold.trained(training, fold.config["recipes"])
    classifier = trained.classifier
    if not false_alarms:
        assert training.evidence is not None
        rule = NoRelativeFit(landmarks, part, run.objects, training.evidence, strangers, asked)
        classifier = rule.fit(classifier)
    return Model(fold, run, table, asked, classifier)


def share(mask: "pd.Series[bool]") -> float:
    """Return a share in percent."""
    return 100 * float(mask.mean())


def found(model: Model, unknown: Dataset, false_alarms: float) -> dict[str, Any]:
    """Return the figures of a fold."""
    ours, theirs = model.of_known(), model.of_others(unknown)
    told = model.classifier.about["unknown"]
    strange = ["unknown", "no relative"]
    curve = rejection_curve(known_confidences(ours), theirs)
    at = float(np.interp(false_alarms, curve["known_rejected"], curve["unknown_rejected"]))
    return {
        "known": len(ours),
        "right": share(ours["true"] == ours["predicted"]),
        "known p": share(ours["unknown_p"] <= false_alarms),
        "known strange": share(ours["reason"].isin(strange)),
        "known no relative": share(ours["reason"] == "no relative"),
        "known unsure": share(ours["reason"] == "unsure"),
        "unknown": len(theirs),
        "unknown p": share(theirs["unknown_p"] <= false_alarms),
        "unknown at": 100 * at,
        "unknown strange": share(theirs["reason"].isin(strange)),
        "unknown rejected": share(theirs["reason"] != ""),
        "would be found": 100 * told["would_be_found"],
        "calibrating": told["calibrating"],
        "rule off": told["no_relative"]["off"],
    }


def without_relative(known: Dataset, others: Labelled, seed: int) -> Iterator[tuple[str, Labelled]]:
    """Yield sequences that have no relative, by their kind."""
    draw = np.random.default_rng([seed, 11])
    residues = [s.decode() for s in known.sequences]
    own = [residues[i] for i in draw.permutation(len(residues))[:NULLS]]
    yield "shuffled", [("".join(draw.permutation(list(s))), "") for s in own]
    yield "reversed", [(s[::-1], "") for s in own]
    lengths = np.exp(draw.uniform(np.log(30), np.log(1000), NULLS)).astype(int)
    yield "uniform", [("".join(draw.choice(LETTERS, length)), "") for length in lengths]
    letters = list("".join(own))
    yield "composition", [("".join(draw.choice(letters, length)), "") for length in lengths]
    if others:
        chosen = draw.permutation(len(others))[:NULLS]
        yield "another kind", [(others[i][0], "") for i in chosen]


def accepted(model: Model, others: Labelled, seed: int) -> dict[str, Any]:
    """Return how many sequences without a relative are accepted, by their kind."""
    told = model.classifier.about["unknown"]["no_relative"]
    figures: dict[str, Any] = {}
    for name, pairs in without_relative(model.run.dataset, others, seed):
        said = model.of_others(distinct(pairs))
        figures[name] = share(said["reason"] == "")
    ours = model.of_known()
    return figures | {
        "known no relative": share(ours["reason"] == "no relative"),
        "known unsure": share(ours["reason"] == "unsure"),
        "told shuffled": 100 * told["shuffled_accepted"],
        "told known": 100 * told["known_rejected"],
        "off": told["off"],
    }


@dataclass(frozen=True)
class Data:
    """What is tried, and how."""

    pairs: Callable[[], Labelled]
    unknown: Sequence[str] | None = None
    draws: int = 2
    k: int = 5
    tested: int = 1
    landmarks: int = 60
    false_alarms: float = 0.01


def sets_of(given: argparse.Namespace) -> dict[str, Data]:
    """Return all that may be tried, by name."""

    def kind(name: str) -> Callable[[], Labelled]:
        return lambda: KINDS[name](np.random.default_rng(7))

    kin = DATA / "pfam_kin.fasta.gz", DATA / "pfam_kin.tsv", "family"
    known: dict[str, Data] = {
        "pfam_kin": Data(lambda: of_files(*kin), draws=6, tested=5, landmarks=30),
        "simulated": Data(
            simulated, ["family02", "family05"], 20, 3, 3, landmarks=30, false_alarms=0.05
        ),
    }
    if given.data is not None:
        files = given.data / "pfam30_11k.fasta.gz", given.data / "pfam30_11k.tsv", "label"
        known["pfam30"] = Data(lambda: of_files(*files), PFAM30, 1, 2, 2)
    if given.fasta is not None:
        own = given.fasta, given.labels, "label"
        known["given"] = Data(lambda: of_files(*own))
    proteins = (name for name in KINDS if name != "ribosomal")
    return known | {name: Data(kind(name), landmarks=30) for name in proteins}


def rows_of(data: Data, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the figures of each draw."""
    pairs = data.pairs()
    for seed in range(given.draws or data.draws):
        unknown = [] if given.nulls else left_out(pairs, seed, data.unknown)
        known = distinct([pair for pair in pairs if pair[1] not in unknown])
        settings = {"method": "stratified", "k": data.k, "repeats": 1}
        partition = partition_of(assign_folds(settings, known, seed, Path()), known)
        config = configured(given.recipe, data.landmarks) | {"seed": seed}
        for name in [n for n in partition.names if n != "all"][: given.folds or data.tested]:
            start = time.perf_counter()
            fold = Drawn(known, partition, name, scheme_of("protein"), config)
            if given.nulls:
                # Real families may be related to those of the demonstration, made-up ones are not.
                kin = DATA / "pfam_kin.fasta.gz", DATA / "pfam_kin.tsv", "family"
                real = given.name in ("pfam_kin", "pfam30", "given")
                others = simulated() if real else of_files(*kin)
                figures = accepted(learned(fold, None), others, seed)
            else:
                strangers = distinct([pair for pair in pairs if pair[1] in unknown])
                model = learned(fold, data.false_alarms)
                figures = found(model, strangers, data.false_alarms)
            took = time.perf_counter() - start
            yield {"draw": seed, "fold": name, **figures, "seconds": took}


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["pfam_kin", "simulated"])
    parser.add_argument("--nulls", action="store_true", help="without the option; no relatives")
    parser.add_argument("--data", type=Path, help="folder of pfam30_11k.fasta.gz and .tsv")
    parser.add_argument("--fasta", type=Path, help="of the set called given")
    parser.add_argument("--labels", type=Path, help="its table, with columns id and label")
    parser.add_argument("--recipe", choices=["lifted", "linear", "cascade"], default="lifted")
    parser.add_argument("--draws", type=int, help="of families; each set has its own number")
    parser.add_argument("--folds", type=int, help="that are tested in each draw")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of landmarks that are too few for some classes
    sets = sets_of(given)
    for name in given.names:
        given.name, rows = name, []
        with limited(1, 4096):
            for row in rows_of(sets[name], given):
                rows.append(row)
                print(
                    name,
                    {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()},
                    flush=True,
                )
        table = pd.DataFrame(rows)
        by_draw = table.drop(columns="fold").groupby("draw").mean()
        print(by_draw.round(2).to_string())
        print(pd.DataFrame({name: by_draw.mean()}).T.round(2).to_string(), flush=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
