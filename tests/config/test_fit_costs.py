"""What parts of jobs cost, held against what they took."""

import importlib.util
from pathlib import Path

import pytest

from kreinflow.config.fit_costs import SPARE, START_MINUTES, Cost, fit, kernel_seconds

PATH = Path(__file__).parents[2] / "benchmarks" / "asked.py"
_spec = importlib.util.spec_from_file_location("asked", PATH)
asked = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(asked)
LINES = asked.lines()


@pytest.mark.parametrize("threads", [1, 4, 8])
def test_minutes_are_those_of_the_start_and_thrice_what_is_expected(threads):
    assert Cost().minutes(threads) == START_MINUTES
    # No thread shortens what has one alone.
    cost = Cost(serial=1200, shared=4800)
    assert cost.minutes(threads) == START_MINUTES + 60 + 240 // threads
    assert cost.minutes(threads, attempt=3) == 3 * (START_MINUTES + 60 + 240 // threads)


def test_hyper_parameters_to_choose_and_steps_are_counted():
    def seconds(method, **settings):
        return fit(asked.learner(method, **settings), 10_000, 300, 20).on(1)

    assert seconds("svc") == pytest.approx(4 * seconds("svc", penalty=1.0), rel=0.2)
    assert seconds("ny_pcvm", max_iter=50) < 0.6 * seconds("ny_pcvm")
    assert seconds("ny_pcvm", max_iter=5000) == seconds("ny_pcvm")
    assert seconds("ny_pcvm", basis="all") > seconds("ny_pcvm")
    assert seconds("nearest_landmark") == 0


@pytest.mark.parametrize(
    ("kernel", "size", "measured"),
    [
        ("linear", 100, 1.2e-7),
        ("gaussian", 1000, 1.54e-6),
        ("spectral_information_divergence", 1000, 3.0e-6),
        ("dynamic_time_warping", 10, 8.2e-6),
        ("dynamic_time_warping", 500, 1.12e-3),
        ("edit_distance", 200, 2.75e-6),
        ("edit_distance", 2000, 1.3e-4),
    ],
)
def test_a_score_of_a_kernel_is_asked_for_by_what_it_took(kernel, size, measured):
    assert 1.5 <= SPARE * kernel_seconds({"name": kernel}, size) / measured <= 10


@pytest.mark.parametrize("line", [line for line in LINES if line.used >= 1])
def test_each_stage_is_asked_for_by_what_it_took(line):
    """Of the stored benchmark, without the minutes of the start: nothing is measured here."""
    assert 1.4 <= line.asked / line.used <= 10, line
