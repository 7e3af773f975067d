"""The ways in which lists of pairs can be aligned on this processor."""

import contextlib

import pytest

from kreinflow.alignment import backends, batches, pair_lists, vector_code

_FEATURES = {(64, "permute"): "avx512vbmi", (64, "shuffle"): "avx512bw", (32, "shuffle"): "avx2"}
KINDS = [kind for kind, name in _FEATURES.items() if vector_code.features_here().get(name)]


@contextlib.contextmanager
def lists_in(kind):
    """Align all lists in vectors of so many bytes with such a lookup, as far as they can be."""
    lanes, lookup = kind
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_code, "lanes_here", lambda: lanes)
        patch.setattr(pair_lists, "lookup_here", lambda lanes: lookup)
        patch.setattr(pair_lists, "COLUMN_STEPS", 1e9)
        patch.setattr(backends, "_FEWEST_STEPS", 0)
        patch.setattr(backends, "_DENSE", 2)
        patch.setattr(batches, "LEAST_STEPS", 20_000)  # so that there are several pieces
        yield
