"""Made-up sequences with all their scores, and what is learned from them in a fold.

What the other benchmarks share: each kind of ``kinds.py`` is made once, from a fixed seed, and all
its sequences are aligned with each other, so that any landmarks cost nothing.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kinds import KINDS, Labelled
from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.levels import Levels
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.base.numerics import limited
from kreinflow.compare.homology import homology_folds
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting.factors import make_factors
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.run import Run
from kreinflow.fitting.training import Trained, Training
from kreinflow.krein.landmark_kernel import Landmarks
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.learners.registry import factored
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import MatrixScores, Scores, evidence_of, transforms_of

WORDS = {"protein": [1, 2, 3], "nucleotide": [1, 2, 3, 4]}
"""Lengths of words."""
K = 3
HOMOLOGY = ("remote", "duplicates")
"""Kinds that are also tried with folds between which no sequences are alike."""
TEXTS = ("recipe", "cascade", "inner_sizes", "inner_right", "inner_known")
"""Figures that are no numbers, and may look like some."""


@dataclass(frozen=True, eq=False)
class Aligned(Sequences):
    """Sequences with all their scores."""

    scores: NDArray[np.floating]


def sequences_of(kind: str, seed: int = 1) -> tuple[Dataset, ScoringScheme]:
    """Return the distinct sequences of a kind with all their scores, and how they are aligned."""
    pairs = KINDS[kind](np.random.default_rng([seed, *kind.encode()]))
    return aligned(pairs, molecule_of(kind))


def molecule_of(kind: str) -> str:
    """Return what a kind is made of."""
    return "nucleotide" if kind == "ribosomal" else "protein"


def aligned(pairs: Labelled, molecule: str) -> tuple[Dataset, ScoringScheme]:
    """Return the distinct sequences of pairs with all their scores, and how they are aligned."""
    dataset, scheme = distinct(pairs), scheme_of(molecule)
    n = len(dataset.ids)
    i, j = np.triu_indices(n)
    packed = pack(dataset.sequences, scheme, 2)
    scores = align_pairs(packed, i.astype(np.int32), j.astype(np.int32))
    matrix = np.zeros((n, n))
    matrix[i, j] = matrix[j, i] = scores
    return replace(dataset, payload=Aligned(dataset.sequences, matrix)), scheme


def scheme_of(molecule: str) -> ScoringScheme:
    """Return how sequences are aligned by default."""
    scoring = configuration(molecule)["datasets"]["it"]["scoring"]
    return ScoringScheme(
        load_substitution_matrix(scoring["matrix"], Path()),
        scoring["gap_open"],
        scoring["gap_extend"],
        scoring["mode"],
    )


def distinct(pairs: Labelled) -> Dataset:
    """Return the distinct sequences of pairs."""
    labels_of = dict(sorted(pairs))
    sequences = tuple(residues.encode() for residues in labels_of)
    classes = tuple(sorted(set(labels_of.values())))
    codes = {label: code for code, label in enumerate(classes)}
    return Dataset(
        ids=tuple(f"s{number}" for number in range(len(sequences))),
        labels=np.array([codes[label] for label in labels_of.values()]),
        classes=classes,
        rows=np.arange(len(sequences)),
        digests=tuple(hashlib.sha256(s).hexdigest()[:32] for s in sequences),
        payload=Sequences(sequences),
    )


def configuration(molecule: str, recipes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the config of data of their own, and of recipes, if they are not those of `auto`."""
    source = {
        "type": "fasta",
        "fasta": "x.fasta",
        "molecule": molecule,
        "labels": {"from_file_names": True},
    }
    return complete_configuration({"datasets": {"it": {"source": source}}, **(recipes or {})})


def folds_of(dataset: Dataset, homology: bool) -> Partition:
    """Return random folds, or those between which no sequences are alike."""
    if homology:
        return partition_of(homology_folds(dataset, K, 1, seed=1), dataset)
    settings = {"method": "stratified", "k": K, "repeats": 1}
    return partition_of(assign_folds(settings, dataset, 1, Path()), dataset)


Figures = Callable[["Fold"], list[dict[str, Any]]]


def figures_of_kinds(
    kinds: Sequence[str],
    folder: Path,
    config_of: Callable[[str], Mapping[str, Any]],
    figures_of: Figures,
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the name and the figures of each kind, from a file of the folder if there is one.

    Parameters
    ----------
    kinds : sequence of str
    folder : Path
    config_of : callable
        Returns the config of a molecule.
    figures_of : callable
        Returns the rows of a fold.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        for homology in (False, True) if kind in HOMOLOGY else (False,):
            name = f"{kind}, homology-aware" if homology else kind
            path = folder / f"{name.replace(', ', '.')}.tsv"
            if not path.exists():
                dataset, scheme = sequences_of(kind)
                partition = folds_of(dataset, homology)
                config = config_of(molecule_of(kind))
                folds = [Fold(dataset, partition, f, scheme, config) for f in partition.names]
                with limited(1, 4096):
                    rows = [row for fold in folds for row in figures_of(fold)]
                made = pd.DataFrame(rows).assign(n=len(dataset.ids), classes=len(dataset.classes))
                made.to_csv(path, sep="\t", index=False)
            yield name, read_figures(path)


def read_figures(path: Path) -> pd.DataFrame:
    """Read the figures of a kind."""
    found = pd.read_csv(path, sep="\t", dtype=dict.fromkeys(TEXTS, str))
    texts = [name for name in TEXTS if name in found]
    found[texts] = found[texts].fillna("")
    return found


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold of aligned sequences, with what a config says of landmarks and learners."""

    dataset: Dataset
    partition: Partition
    name: str
    scheme: ScoringScheme
    config: Mapping[str, Any]

    @cached_property
    def scores(self) -> MatrixScores:
        """All of them."""
        return MatrixScores(self.dataset.payload_as(Aligned).scores)

    @cached_property
    def transforms(self) -> dict[str, ScoreTransform]:
        """Those that selectors and recipes name."""
        named = [*self.config["selectors"].values(), *self.config["recipes"]]
        names = sorted({own["transform"] for own in named if "transform" in own})
        return transforms_of(names, self.config["transforms"], self.scheme)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the landmarks that each selector chooses."""
        stage = LandmarkStage(
            self.dataset,
            self.scores,
            self.transforms,
            self.config["seed"],
            self.partition.training(self.name),
            self.name,
            training_parts(self.partition),
        )
        found: dict[str, pd.DataFrame] = {}
        for name, settings in self.config["selectors"].items():
            matched = found.get(str(settings.get("budget")))  # another's number
            found[name] = stage.select(
                make_selector(settings), None if matched is None else len(matched)
            )
        return found

    def run(self, table: pd.DataFrame, scores: Scores | None = None) -> Run:
        """Return the run of some landmarks, by all scores or others."""
        scores = self.scores if scores is None else scores
        rows = table["row"].to_numpy(np.int64)
        columns = scores.rectangle(np.arange(len(self.dataset.digests)), rows)
        return Run(self.dataset, self.partition, columns, rows, scores.self_scores())

    def training(self, run: Run, landmarks: Landmarks) -> Training:
        """Return what recipes of the same landmarks have in common."""
        config, seed, part = self.config, self.config["seed"], run.training_part(self.name)
        reject = RejectRule(config["reject_error"])
        return training(
            landmarks,
            part,
            Settings(self.name, seed, config["inner_folds"], reject),
            LiftSource.of(run, self.scheme),
            cache=self.asked(),
            evidence=evidence_of(config["transforms"], self.scheme),
            levels=Levels.of_settings(part.classes, config["datasets"]["it"]["levels"]),
        )

    def asked(self) -> ScoreCache:
        """Return what a cascade asks, of which nothing is known so far."""
        scores = self.dataset.payload_as(Aligned).scores
        return ScoreCache(lambda rows, others: scores[rows[:, None], others], len(scores), True)

    def trained(
        self, training: Training, recipes: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Mapping[str, Any], Trained]]:
        """Yield recipes of the same landmarks and what their training gave."""
        learners = self.config["learners"]
        entries = make_factors(
            training.landmarks, training.part, self.transforms, factored(recipes, learners)
        )
        yield from training.train_recipes(recipes, learners, self.transforms, entries)


def learned(fold: Fold) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the inner figures and the predictions of each recipe of a config.

    The figure ``alignments`` is the mean for a tested record.
    """
    for name, table in fold.tables().items():
        own = [recipe for recipe in fold.config["recipes"] if recipe["selector"] == name]
        run = fold.run(table)
        landmarks = run.landmarks(table)
        training = fold.training(run, landmarks)
        for recipe, trained in fold.trained(training, own):
            name, classifier = recipe["name"], trained.classifier
            cache, alignments = None, trained.figures["alignments_per_query"]
            if classifier.cascade is not None:
                cache = fold.asked()
                climbed = FoldRecords(run, landmarks, fold.name, classifier, cache).curve()
                alignments = climbed.at(classifier.cascade.threshold)[1].mean()
            predictions = FoldRecords(run, landmarks, fold.name, classifier, cache).predictions(
                name
            )
            yield {"recipe": name, **trained.figures, "alignments": alignments}, predictions
