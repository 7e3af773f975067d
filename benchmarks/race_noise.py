"""What the race of `auto` does to the figure of the inner choice, on labels that say nothing.

    python benchmarks/race_noise.py --seeds 400

The race looks at the training part of the first fold, which holds records that other folds test.
Each run draws points of one cloud and two classes at random, 120 in three folds. The recipes of
`auto` without a lift are fitted in all folds. The accuracy of the inner choice in the folds behind
the first should be 50 %: it is told with all recipes in the choice, with those that go on after the
race, and their difference, each with its standard error over the runs.
"""

import argparse
import hashlib
import warnings
from typing import Any

import numpy as np

from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.base.numerics import limited
from kreinflow.config.configuration import complete_configuration
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.recipe_choice import PREFERENCES, choose_recipe
from kreinflow.fitting.recipe_race import race_table
from kreinflow.fitting.run import Run, predict_fold
from kreinflow.fitting.training import Training
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import MatrixScores, transforms_of

N, FOLDS, FEATURES, LENGTH = 120, 3, 5, 60
CONFIG = complete_configuration({"datasets": {"it": {"source": {"type": "simulated"}}}})
RECIPES = [recipe for recipe in CONFIG["recipes"] if not recipe["lift"]]
ORDER = [recipe["name"] for recipe in RECIPES]
PARTITION = Partition(groups=np.arange(N), folds=np.arange(N)[None, :] % FOLDS)
TRANSFORMS = transforms_of(
    sorted({recipe["transform"] for recipe in RECIPES}),
    {**CONFIG["transforms"], "evalue": {"lambda": 0.267, "K": 0.041}},
    None,
)


def noise(seed: int) -> tuple[Dataset, MatrixScores]:
    """Return scores of one cloud, and classes at random."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((N, FEATURES))
    scores = np.round(400 * np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 10))
    names = [f"s{i}" for i in range(N)]
    dataset = Dataset(
        ids=tuple(names),
        labels=random.permutation(np.arange(N) % 2),
        classes=("a", "b"),
        rows=np.arange(N),
        digests=tuple(hashlib.sha256(name.encode()).hexdigest()[:32] for name in names),
        payload=Sequences((b"M" * LENGTH,) * N),
    )
    return dataset, MatrixScores(scores)


def fitted(
    dataset: Dataset, scores: MatrixScores, fold: str
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Return the inner figures of all recipes in a fold, and their accuracies on what it tests."""
    seed, parts, training = CONFIG["seed"], training_parts(PARTITION), PARTITION.training(fold)
    stage = LandmarkStage(dataset, scores, TRANSFORMS, seed, training, fold, parts)
    figures, accuracies = [], {}
    for name, settings in CONFIG["selectors"].items():
        table = stage.select(make_selector(settings))
        rows = table["row"].to_numpy(np.int64)
        columns = scores.rectangle(np.arange(N), rows)
        run = Run(dataset, PARTITION, columns, rows, scores.self_scores())
        landmarks, part = run.landmarks(table), run.training_part(fold)
        fits = InnerFits(inner_partition(part, CONFIG["inner_folds"], seed, fold))
        own = [recipe for recipe in RECIPES if recipe["selector"] == name]
        trainer = Training(landmarks, part, fits, RejectRule(0.05), seed)
        for recipe, trained in trainer.train_recipes(
            own, CONFIG["learners"], TRANSFORMS, lambda _: None
        ):
            found = predict_fold(run, landmarks, fold, recipe["name"], trained.classifier)
            accuracies[recipe["name"]] = float((found["true"] == found["predicted"]).mean())
            figures.append({"recipe": recipe["name"], **trained.figures})
    return figures, accuracies


def chosen(seed: int) -> list[float]:
    """Return, for each preference, the accuracy without and with a race behind the first fold."""
    dataset, scores = noise(seed)
    first, *others = (fitted(dataset, scores, fold) for fold in PARTITION.names)
    found = []
    for prefer in PREFERENCES:
        race = race_table(first[0], ORDER, prefer)
        for order in (ORDER, race.loc[race["goes_on"] == "yes", "recipe"].tolist()):
            accuracy = [
                accuracies[choose_recipe(figures, order, prefer=prefer)]
                for figures, accuracies in others
            ]
            found.append(float(np.mean(accuracy)))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=400)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")  # of noise that cannot be learned from
    with limited(1, 2048):
        found = 100 * np.array([chosen(seed) for seed in range(seeds)])
    print("| prefer | all recipes, % | after the race, % | difference |\n|---|---|---|---|")
    for number, prefer in enumerate(PREFERENCES):
        before, after = found[:, 2 * number], found[:, 2 * number + 1]
        cells = [
            f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(seeds):.2f}"
            for values in (before, after, after - before)
        ]
        print(f"| {prefer} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
