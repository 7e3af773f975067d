"""Data that are drawn: generated vectors and simulated families."""

import numpy as np
import pytest

from data_sets import content, load
from kreinflow.base.errors import InputError
from kreinflow.kernels.generators import generate

GENERATED = {
    "type": "generated",
    "generator": {"name": "bananas", "objects": 50, "overlap": 0.1},
    "kernel": {"name": "elm", "deviation": 1e10},
}
SIMULATED = {"type": "simulated", "families": 3, "sequences": 30}


def test_generated(tmp_path):
    dataset = load(GENERATED, tmp_path)
    data = generate(GENERATED["generator"], 1)
    np.testing.assert_array_equal(content(dataset.payload), data.vectors)
    assert tuple(dataset.row_labels) == data.labels
    assert dataset.ids == tuple(str(i) for i in range(1, 51))
    assert dataset.statistics["files"] == {}
    kernel = {"name": "pseudo_euclidean", "positive": 3}
    with pytest.raises(InputError, match="generator bananas, row 1: has 2 coordinates, fewer"):
        load(GENERATED | {"kernel": kernel}, tmp_path)


def test_simulated_and_another_seed_gives_other_data(tmp_path):
    data = load(SIMULATED, tmp_path)
    assert data.statistics["records_read"] == 30
    assert data.classes == ("family01", "family02", "family03")
    for settings in (GENERATED, SIMULATED):
        one, other = (load(settings, tmp_path, seed=seed) for seed in (1, 2))
        assert one.digests != other.digests
