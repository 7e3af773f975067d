"""Classes held out as unknown: objects of none of a model's classes."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.files import first_few


def is_unknown(dataset: Dataset, unknown: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the records whose class is held out.

    Raises
    ------
    InputError
        If the data have no such class, or fewer than two others, or if records may have several
        labels.
    """
    if dataset.memberships is not None:
        raise InputError("unknown: records with several labels cannot be held out by class.")
    missing = [name for name in unknown if name not in dataset.classes]
    if missing:
        raise InputError(
            f"unknown: the data have no class {missing[0]!r}; after min_class_size they have "
            f"{first_few(list(dataset.classes), 20)}."
        )
    if len(dataset.classes) - len(unknown) < 2:
        raise InputError(
            f"unknown: of {len(dataset.classes)} classes {len(unknown)} are held out. "
            "At least two have to be left to learn."
        )
    held = np.array([name in unknown for name in dataset.classes], dtype=bool)
    mask: NDArray[np.bool_] = held[dataset.labels]
    return mask


def without_unknown(dataset: Dataset, unknown: Sequence[str]) -> Dataset:
    """Return the data set as if the classes held out were not in the input.

    Rows are numbered anew, so that nothing that is made from it depends on the others. Its
    ``statistics`` are of what is left and have the key ``unknown`` (class to records) besides; its
    ``dropped`` has the ids that were held out too.
    """
    if not unknown:
        return dataset
    held = is_unknown(dataset, unknown)
    kept = np.flatnonzero(~held)
    rows, numbers = np.unique(dataset.rows[kept], return_inverse=True)
    classes = tuple(name for name in dataset.classes if name not in unknown)
    codes = np.array([name not in unknown for name in dataset.classes]).cumsum() - 1
    payload = dataset.payload.take(rows)
    sizes = dataset.statistics["class_sizes"]
    return replace(
        dataset,
        ids=tuple(dataset.ids[record] for record in kept.tolist()),
        labels=codes[dataset.labels[kept]],
        classes=classes,
        rows=numbers.astype(np.int64),
        digests=tuple(dataset.digests[row] for row in rows.tolist()),
        payload=payload,
        statistics=dataset.statistics
        | {
            "records_kept": len(kept),
            "distinct": len(rows),
            "class_sizes": {name: sizes[name] for name in classes},
            "lengths": payload.length_quantiles(),
            "unknown": {name: sizes[name] for name in unknown},
        },
        dropped=(*dataset.dropped, *(dataset.ids[i] for i in np.flatnonzero(held).tolist())),
        organisms={
            name: tuple(values[record] for record in kept.tolist())
            for name, values in dataset.organisms.items()
        },
        vectors=None if dataset.vectors is None else dataset.vectors[rows],
    )
