"""What benchmarks/promises.py makes of answers: losses, shares and the calibration error."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def promises():
    spec = importlib.util.spec_from_file_location("promises", BENCHMARKS / "promises.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:  # it imports its neighbours
        patch.syspath_prepend(str(BENCHMARKS))
        before = set(sys.modules)
        spec.loader.exec_module(module)
        yield module
        neighbours = {"aligned_folds", "cascades", "inducing", "kinds"}
        for name in (neighbours & set(sys.modules)) - before:
            del sys.modules[name]


def test_the_calibration_error_is_the_distance_in_each_bin(promises):
    top = np.array([0.55, 0.57, 0.95, 1.0])
    right = np.array([1, 0, 1, 1])
    # Two in [.5, .6) of mean .56, half of them right; two above .9 of mean .975, all right.
    assert promises.calibration_error(top, right) == pytest.approx((0.12 + 0.05) / 4)


def test_the_calibration_error_of_honest_probabilities_vanishes(promises):
    random = np.random.default_rng(1)
    top = random.uniform(0.2, 1, 200_000)
    assert promises.calibration_error(top, random.random(len(top)) < top) < 0.005
    assert promises.calibration_error(top, random.random(len(top)) < top - 0.1) > 0.09


def test_losses_are_against_the_own_levels_and_those_of_the_smallest_loss(promises):
    def rows(what, stated, right, right_all, alignments):
        return pd.DataFrame(
            {
                "kind": "it",
                "seed": 1,
                "what": what,
                "stated": stated,
                "top": 0.9,
                "right": np.arange(10) < right,
                "rejected": np.arange(10) >= 8,
                "right_all": np.arange(10) < right_all,
                "alignments": alignments,
            }
        )

    found = promises.summaries(
        pd.concat([rows("loss", 0.001, 9, 9, 50), rows("alignments", 30, 6, 7, 33)])
    ).set_index("what")
    assert found["own"].tolist() == pytest.approx([0.0, 0.1])
    assert found["most"].tolist() == pytest.approx([0.0, 0.3])
    assert found["accepted"].tolist() == [0.8, 0.8]
    assert found["error"].tolist() == pytest.approx([0.0, 0.25])
    assert "1.10" in promises.cells(found.loc[["alignments"]], "alignments", 30)[6]
