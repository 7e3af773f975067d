"""Data sets of two classes that tests make in memory."""

import numpy as np

from kreinflow.kernels.registry import make_kernel
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Compared, Matrix


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
    made = make_kernel(kernel)
    return dataset_of(np.arange(len(objects)) % 2, Compared(objects, made, kind=made.kind))
