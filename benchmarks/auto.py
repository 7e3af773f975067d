"""What `auto` gives on made-up data of many kinds, beside what people run today.

    python benchmarks/auto.py                      all kinds: some minutes on a quiet machine
    python benchmarks/auto.py --kinds close remote some of them
    python benchmarks/auto.py --config config.yaml the selectors, learners and recipes of a config

The kinds are those of ``kinds.py``. Each is made once, from a fixed seed, and all its sequences
are aligned with each other; all methods then learn from the training parts of the same three
folds and predict the rest. ``auto`` is what the workflow runs for a config that names data alone:
its selectors, recipes, race and inner folds, and in each fold the recipe that these prefer, by
``prefer: cheap``, by ``prefer: accuracy``, and by accuracy among the recipes that need at most a
tenth of the exhaustive alignments. Beside each stands the mean number of alignments a query, and
its share of the exhaustive ones in %.

The exhaustive best is the best on the test folds of five recipes that have all training records as
landmarks: SF-LSM on log scores, square roots and normalised scores, linear SVC on log scores, and
SF-LSM on a Gaussian of log scores times a Gaussian of words. The last column is the recipe of
``auto`` that was best on the test folds. Nobody can know these two before.

Figures of each fold go to ``FOLDER/KIND.tsv``; kinds that are there are not run again. The table
of all is printed: mean and standard deviation (n - 1) of the accuracy over folds, and the mean of
the macro F1, in %.
"""

import argparse
import hashlib
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from kinds import KINDS, Labelled
from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.competitors.best_hit import Blast
from kreinflow.competitors.homology import homology_folds
from kreinflow.competitors.kmers import KmerSvm
from kreinflow.competitors.run import quality, run_competitor
from kreinflow.configuration import complete_configuration
from kreinflow.krein.landmark_kernel import Landmarks
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.learners.registry import factored
from kreinflow.models.choice import choose_recipe
from kreinflow.models.factors import embedding_of, make_factors
from kreinflow.models.inner_folds import InnerFits, inner_partition
from kreinflow.models.race import race_table
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.models.run import Run, predict_fold
from kreinflow.models.training import Trained, Training
from kreinflow.numerics import limited
from kreinflow.scores import MatrixScores, Scores, transforms_of
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import Partition, partition_of
from kreinflow.sequences.payload import Sequences

OTHERS = {"blast": "BLAST", "nearest": "SW nearest", "kmer_svm": "k-mer SVM"}
HEADINGS = (
    *("kind", "N", "classes", "auto, cheap", "alignments", "auto, accuracy", "alignments"),
    *("auto, a tenth", "alignments", "exhaustive best", *OTHERS.values(), "best recipe"),
)
SHARE = 0.1
"""Of the exhaustive alignments, for the choice that has few."""
BEHIND = 0.005
"""Accuracy that it may lose."""
WORDS = {"protein": [1, 2, 3], "nucleotide": [1, 2, 3, 4]}
"""Lengths of words."""
K = 3
HOMOLOGY = ("remote", "duplicates")
"""Kinds that are also tried with folds between which no sequences are alike."""


@dataclass(frozen=True, eq=False)
class Aligned(Sequences):
    """Sequences with all their scores."""

    scores: NDArray[np.floating]


def sequences_of(kind: str) -> tuple[Dataset, ScoringScheme]:
    """Return the distinct sequences of a kind with all their scores, and how they are aligned."""
    pairs = KINDS[kind](np.random.default_rng([1, *kind.encode()]))
    return aligned(pairs, molecule_of(kind))


def molecule_of(kind: str) -> str:
    """Return what a kind is made of."""
    return "nucleotide" if kind == "ribosomal" else "protein"


def aligned(pairs: Labelled, molecule: str) -> tuple[Dataset, ScoringScheme]:
    """Return the distinct sequences of pairs with all their scores, and how they are aligned."""
    labels_of = dict(sorted(pairs))
    sequences = tuple(residues.encode() for residues in labels_of)
    classes = tuple(sorted(set(labels_of.values())))
    scoring = configuration(molecule)["datasets"]["it"]["scoring"]
    scheme = ScoringScheme(
        load_substitution_matrix(scoring["matrix"], Path()),
        scoring["gap_open"],
        scoring["gap_extend"],
        scoring["mode"],
    )
    n = len(sequences)
    i, j = np.triu_indices(n)
    scores = align_pairs(pack(sequences), i.astype(np.int32), j.astype(np.int32), scheme, 2)
    matrix = np.zeros((n, n))
    matrix[i, j] = matrix[j, i] = scores
    codes = {label: code for code, label in enumerate(classes)}
    dataset = Dataset(
        ids=tuple(f"s{number}" for number in range(n)),
        labels=np.array([codes[label] for label in labels_of.values()]),
        classes=classes,
        rows=np.arange(n),
        digests=tuple(hashlib.sha256(s).hexdigest()[:32] for s in sequences),
        payload=Aligned(sequences, matrix),
    )
    return dataset, scheme


def configuration(molecule: str, recipes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the config of data of their own, and of recipes, if they are not those of `auto`."""
    source = {
        "type": "fasta",
        "fasta": "x.fasta",
        "molecule": molecule,
        "labels": {"from_file_names": True},
    }
    return complete_configuration({"datasets": {"it": {"source": source}}, **(recipes or {})})


def recipes_of(path: Path | None) -> dict[str, Any]:
    """Return what a config says of landmarks, learners and inner folds, if there is one."""
    content = yaml.safe_load(path.read_bytes()) if path else {}
    wanted = "inner_folds", "transforms", "selectors", "learners", "recipes"
    return {key: content[key] for key in wanted if key in content}


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
            yield name, pd.read_csv(path, sep="\t", dtype={"inner_right": str})


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
        return Training(
            landmarks,
            part,
            InnerFits(inner_partition(part, config["inner_folds"], seed, self.name)),
            RejectRule(config["reject_error"]),
            seed,
            partial(run.lifting, part, self.scheme.matrix.alphabet, seed),
        )

    def trained(
        self, training: Training, recipes: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Mapping[str, Any], Trained]]:
        """Yield recipes of the same landmarks and what their training gave."""
        learners = self.config["learners"]
        entries = make_factors(
            training.landmarks, training.part, self.transforms, factored(recipes, learners)
        )
        yield from training.train_recipes(
            recipes, learners, self.transforms, partial(embedding_of, entries)
        )


def learned(fold: Fold) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the inner figures and the predictions of each recipe of a config."""
    for name, table in fold.tables().items():
        own = [recipe for recipe in fold.config["recipes"] if recipe["selector"] == name]
        run = fold.run(table)
        landmarks = run.landmarks(table)
        for recipe, trained in fold.trained(fold.training(run, landmarks), own):
            predictions = predict_fold(
                run, landmarks, fold.name, recipe["name"], trained.classifier
            )
            yield {"recipe": recipe["name"], **trained.figures}, predictions


def exhaustive(config: Mapping[str, Any], molecule: str) -> dict[str, Any]:
    """Return the config of recipes that have all training records as landmarks."""
    linear: dict[str, Any] = {"selector": "all", "learner": "sf-lsm"}
    lift = {"views": {"words": WORDS[molecule]}, "lift": {"kernel": "gaussian"}}
    own = {
        "inner_folds": config["inner_folds"],
        "selectors": {"all": {"method": "all"}},
        "learners": {
            "sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
            "svc": {"method": "linear_svc"},
        },
        "recipes": [
            *(
                {**linear, "name": f"all-{name}-sf-lsm", "transform": name}
                for name in ("log", "sqrt", "normalised")
            ),
            {**linear, "name": "all-log-svc", "transform": "log", "learner": "svc"},
            {**linear, "name": "all-log-lifted", "transform": "log", **lift},
        ],
    }
    return configuration(molecule, own)


def figures_of_fold(fold: Fold) -> list[dict[str, Any]]:
    """Return accuracy and macro F1 of each recipe, beside what its training said, and of others."""
    dataset, partition, scheme = fold.dataset, fold.partition, fold.scheme
    molecule = "nucleotide" if scheme.matrix.name == "nuc44" else "protein"
    rows = []
    for kind, config in (
        ("recipe", fold.config),
        ("exhaustive", exhaustive(fold.config, molecule)),
    ):
        order = [recipe["name"] for recipe in config["recipes"]]
        results = {
            trained["recipe"]: trained
            | quality(predictions["true"].tolist(), predictions["predicted"].tolist())
            for trained, predictions in learned(replace(fold, config=config))
        }
        rows += [{"method": name, "kind": kind, **results[name]} for name in order]
    parts = partition.testing(fold.name), partition.training(fold.name)
    tested, training = map(np.flatnonzero, parts)
    scores = dataset.payload_as(Aligned).scores
    nearest = training[scores[np.ix_(tested, training)].argmax(axis=1)]
    named = np.array(dataset.classes)[dataset.labels]
    found = quality(named[tested].tolist(), named[nearest].tolist())
    rows.append({"method": "nearest", "kind": "other", **found})
    for competitor in (Blast, KmerSvm):
        with tempfile.TemporaryDirectory() as folder:
            row, _ = run_competitor(
                competitor(scheme, molecule), dataset, partition, fold.name, Path(folder), 1
            )
        found = {key: row[key] for key in ("method", "accuracy", "macro_f1")}
        rows.append({"kind": "other", **found})
    return [{"fold": fold.name, **row} for row in rows]


def chosen(figures: pd.DataFrame, prefer: str) -> pd.DataFrame:
    """Return the rows of the recipes that the inner folds prefer, one for each fold.

    As in the workflow, the first fold has all recipes, the others those that its race leaves.
    """
    rows: list[pd.DataFrame] = []
    names = figures["recipe"].drop_duplicates().tolist()
    for _, own in figures.groupby("fold", sort=True):
        found = [{str(key): value for key, value in row.items()} for row in own.to_dict("records")]
        name = choose_recipe(found, names, prefer=prefer)
        if not rows:
            race = race_table(found, names, prefer)
            names = race.loc[race["goes_on"] == "yes", "recipe"].tolist()
        rows.append(own[own["recipe"] == name])
    return pd.concat(rows)


def shown(rows: pd.DataFrame) -> str:
    """Return mean and deviation of the accuracy, and the mean macro F1, in %."""
    accuracy, f1 = 100 * rows["accuracy"], 100 * rows["macro_f1"]
    return f"{accuracy.mean():.1f} ± {accuracy.std():.1f} / {f1.mean():.1f}"


def best(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the method with the highest mean accuracy."""
    return rows[rows["method"] == rows.groupby("method", sort=False)["accuracy"].mean().idxmax()]


def cells_of(figures: pd.DataFrame) -> tuple[list[str], bool | None]:
    """Return the cells of a kind, and whether a tenth of the alignments is enough.

    None, if no recipe makes do with a tenth in all folds.
    """
    recipes, everything, others = (
        figures[figures["kind"] == kind] for kind in ("recipe", "exhaustive", "other")
    )
    most = everything.groupby("fold")["alignments_per_query"].max()
    full, name = best(everything), str(best(everything)["method"].iloc[0])
    # Both have the alignment of a query with itself beside those with landmarks.
    all_of_fold = everything.groupby("fold")["landmarks"].max()
    few = recipes["landmarks"] <= SHARE * recipes["fold"].map(all_of_fold)
    always = few.groupby(recipes["method"]).transform("all")
    cells = [str(figures["n"].iloc[0]), str(figures["classes"].iloc[0])]
    enough = None
    for rows, prefer in (
        (recipes, "cheap"),
        (recipes, "accuracy"),
        (recipes[always], "accuracy"),
    ):
        if rows.empty:
            cells += ["-", "-"]
            continue
        own = chosen(rows, prefer)
        needed, share = own["alignments_per_query"].mean(), 100 / most.mean()
        cells += [shown(own), f"{needed:.0f} ({needed * share:.0f} %)"]
        enough = own["accuracy"].mean() >= full["accuracy"].mean() - BEHIND
    cells.append(f"{shown(full)} ({name}, {most.mean():.0f})")
    cells += [shown(others[others["method"] == method]) for method in OTHERS]
    ahead = best(recipes)
    cells.append(f"{shown(ahead)} ({ahead['method'].iloc[0]})")
    return cells, None if not always.any() else enough


def main() -> None:
    """Run what is asked for, and print the table of all that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--folder", type=Path, default=Path("auto-benchmark"))
    parser.add_argument("--config", type=Path, help="recipes in place of those of `auto`")
    asked = parser.parse_args()
    own = recipes_of(asked.config)
    warnings.simplefilter("ignore")  # of landmarks that are too few: what `few` is there to show
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}", flush=True)
    verdicts = {}
    results = figures_of_kinds(
        asked.kinds, asked.folder, lambda molecule: configuration(molecule, own), figures_of_fold
    )
    for name, found in results:
        cells, verdicts[name] = cells_of(found)
        print(f"| {' | '.join([name, *cells])} |", flush=True)
    close = [name for name, enough in verdicts.items() if enough]
    print(
        f"\nWith at most {SHARE:.0%} of the exhaustive alignments within {100 * BEHIND:.1f} points "
        f"of the exhaustive best: {len(close)} of {len(verdicts)} kinds: {', '.join(close)}."
    )


if __name__ == "__main__":
    main()
