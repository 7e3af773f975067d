"""Data sets that tests load, and how they compare them."""

import numpy as np

from kreinflow.sequences.payload import Compared, Matrix
from kreinflow.sequences.sources.registry import make_source

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"


def load(settings, folder, unknown=(), seed=1):
    """What a source loads, whose cheap check has nothing to say."""
    source = make_source(settings, folder)
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
