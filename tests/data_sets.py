"""Data sets that tests load or make in memory, and how they compare them."""

import numpy as np

from kreinflow.kernels.registry import make_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Compared, Matrix
from kreinflow.sequences.sources.registry import make_source

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"


def load(settings, folder, unknown=(), seed=1, separator=None):
    """What a source loads, whose cheap check has nothing to say."""
    source = make_source(settings, folder, separator)
    source.check()
    return source.load(LETTERS if source.aligned else None, seed, unknown)


def content(payload):
    """What the distinct rows hold."""
    if isinstance(payload, Compared):
        return payload.objects
    return payload.values if isinstance(payload, Matrix) else payload.residues


def assert_same_rows(one, other):
    """Classes, and the distinct rows with what they hold; ids may differ."""
    assert (one.kind, one.classes, one.digests) == (other.kind, other.classes, other.digests)
    assert one.payload.kernel_settings == other.payload.kernel_settings
    assert one.row_labels == other.row_labels
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(content(one.payload), content(other.payload))


def dropped(dataset):
    """How many records were dropped, by reason."""
    return {reason: what["count"] for reason, what in dataset.statistics["dropped"].items()}


def dataset_of(codes, payload):
    n = len(codes)
    return Dataset(
        ids=tuple(f"o{i}" for i in range(n)),
        labels=codes,
        classes=("x", "y"),
        rows=np.arange(n),
        digests=tuple(f"{i:032x}" for i in range(n)),
        payload=payload,
    )


def six_objects():
    """A data set of a small matrix, four objects of one class and two of the other."""
    K = np.arange(36.0).reshape(6, 6)
    return dataset_of(np.array([0, 0, 0, 0, 1, 1]), Matrix(K + K.T, kind="similarity"))


def compared(objects, kernel):
    return dataset_of(np.arange(len(objects)) % 2, Compared(objects, make_kernel(kernel)))
