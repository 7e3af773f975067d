"""All checks of a data set before its first alignment."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.alignment.scoring import ScoringScheme, sums_over_letters
from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.base.errors import InputError
from kreinflow.landmarks.budgets import landmarks_wanted, paid_landmarks, pairs_with
from kreinflow.landmarks.stage import given_landmarks, training_parts
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import ALL, Partition


def check_dataset(
    dataset: Dataset,
    partition: Partition,
    selectors: Mapping[str, Mapping[str, Any]],
    scheme: ScoringScheme | None,
    transforms: Mapping[str, ScoreTransform],
    data: Path,
    whole: Dataset | None = None,
) -> None:
    """Do all checks that need the records and folds of a data set.

    ``whole`` has the unknown records too, if any are held out.
    """
    settings = {name: selectors[name] for name in sorted(selectors)}
    check_budgets(dataset, partition, settings)
    check_given(dataset, partition, settings, data)
    check_self_scores(dataset if whole is None else whole, scheme, transforms)


def check_budgets(
    dataset: Dataset, partition: Partition, selectors: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse a number of landmarks that the smallest training part lacks, or none pay for."""
    # Homology-aware folds may test nothing at all: the final model is left.
    trained = [partition.training(name) for name in [*partition.names, ALL]]
    rows = (np.unique(dataset.rows[part]) for part in trained)
    fewest = min(len(dataset.that_may_be_landmarks(own)) for own in rows)
    if fewest < 2:
        raise InputError("a training part has no two ids with all scores. Use fewer folds.")
    classes, objects, parts = len(dataset.classes), len(dataset.digests), training_parts(partition)
    for name, selector in selectors.items():
        budget = selector.get("budget")
        asked = budget.get("alignments") if isinstance(budget, Mapping) else None
        if asked is not None and (paid := paid_landmarks(asked, objects, parts)) < classes:
            least = pairs_with(min(classes * parts, objects), objects)
            raise InputError(
                f"selectors.{name}.budget.alignments: {asked:,} pay for {paid} landmarks "
                f"in each of {parts} training parts of {objects:,} distinct sequences, fewer "
                f"than the {classes} classes. Give at least {least:,}, or use fewer folds; "
                "where the recipes are automatic, raise auto.alignments by the same factor."
            )
        wanted = landmarks_wanted(budget, fewest, classes=classes, objects=objects, parts=parts)
        if wanted is not None and wanted > fewest:
            raise InputError(
                f"selectors.{name}.budget: {wanted} landmarks are more than the {fewest} distinct "
                f"sequences of the smallest training part. Give at most {fewest}."
            )


def check_given(
    dataset: Dataset,
    partition: Partition,
    selectors: Mapping[str, Mapping[str, Any]],
    data: Path,
) -> None:
    """Refuse a table of landmarks with unknown ids, or of which a fold trains on less than two."""
    for name, selector in selectors.items():
        given = given_landmarks(dataset, selector, data)
        if given is None:
            continue
        for fold in partition.names:
            left = np.isin(given, dataset.rows[partition.training(fold)]).sum()
            if left < 2:
                raise InputError(
                    f"selectors.{name}.table: fold {fold} trains on {left} of the {len(given)} "
                    "landmarks. Name more of them: at least 2 have to be left in each fold."
                )


def check_self_scores(
    dataset: Dataset, scheme: ScoringScheme | None, transforms: Mapping[str, ScoreTransform]
) -> None:
    """Refuse by its id a sequence that cannot score above 0 with itself, such as one of X alone.

    Nothing is aligned: no self-score exceeds the sum of what its letters gain with themselves.
    """
    if scheme is None:
        return
    gain = scheme.matrix.by_character(np.maximum(np.diagonal(scheme.matrix.scores), 0))
    bounds = sums_over_letters(dataset.sequences, gain).astype(np.float64)
    for name, transform in transforms.items():
        for row in transform.unusable(bounds, dataset.lengths).tolist():
            raise InputError(
                f"{dataset.first_id(row)}: its {dataset.lengths[row]} residues score "
                f"{bounds[row]:.0f} with themselves at best, too little for the transform {name} "
                "to divide by. Remove the record, or use the transform raw."
            )
