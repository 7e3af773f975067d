"""Pairs, minutes and megabytes that jobs ask for, counted by hand."""

import importlib.util
from pathlib import Path

import pytest

from kreinflow.config import costs
from kreinflow.config.costs import Seconds
from kreinflow.learners.registry import LEARNERS

PATH = Path(__file__).parents[2] / "benchmarks" / "asked.py"
_spec = importlib.util.spec_from_file_location("asked", PATH)
asked = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(asked)

STATISTICS = {
    "distinct": 100,
    "class_sizes": {"a": 60, "b": 45},
    "lengths": {"mean": 200.0},
    "unknown": {"c": 7, "d": 5},
}
"""105 records are 100 distinct sequences."""


def test_class_scores_are_members_with_candidates_and_all_with_the_sketch():
    assert costs.class_pairs(STATISTICS, ["a", "a", "b", ""]) == 60 + 60 + 45 + 100
    assert costs.class_pairs(STATISTICS, []) == 0


def test_columns_are_all_with_the_landmarks_of_which_none_counts_twice():
    assert costs.column_pairs(STATISTICS, 30) == 3000
    assert costs.column_pairs(STATISTICS, 300) == 100 * 100


def test_unknown_records_meet_all_landmarks():
    assert costs.unknown_pairs(STATISTICS, 30) == 12 * 30


@pytest.mark.parametrize("threads", [1, 4, 8])
def test_minutes_are_those_of_the_start_and_thrice_what_is_expected(threads):
    start = costs.START_MINUTES
    assert costs.minutes(Seconds(), threads) == start
    # No thread shortens what has one alone.
    seconds = Seconds(serial=1200, shared=4800)
    assert costs.minutes(seconds, threads) == start + 60 + 240 // threads
    assert costs.minutes(seconds, threads, attempt=3) == 3 * (start + 60 + 240 // threads)


@pytest.mark.parametrize("attempt", [1, 2, 3])
@pytest.mark.parametrize("seconds", [0.0, 1e3, 1e9])
def test_minutes_have_a_bound_whatever_the_attempt(seconds, attempt):
    assert 1 <= costs.minutes(Seconds(seconds), 1, attempt, most=90) <= 90
    assert costs.minutes(Seconds(seconds), 1, attempt, most=0) == 1  # the least that can be asked


def test_an_alignment_takes_columns_and_cells():
    def of_length(length, *by):
        return costs.alignment_seconds({**STATISTICS, "lengths": {"mean": length}}, 1e6, *by).on(1)

    assert of_length(200.0) == pytest.approx(1e6 * (3e-8 + 200**2 * 4e-11), rel=1e-12)
    assert of_length(200.0, True) == pytest.approx(1e6 * (200 * 3.5e-8 + 200**2 * 6e-11), rel=1e-12)
    assert costs.alignment_seconds({**STATISTICS, "lengths": {}}, 1e6) == Seconds()
    # One thread, billions of cells a second, of benchmarks/results.md; the work of jobs is more.
    by_parasail = (75, 2.6), (150, 4.4), (350, 8.2), (1000, 14.0), (3000, 18.8)
    for length, measured in by_parasail:
        expected = 1e6 * length**2 / of_length(length, True) / 1e9
        assert 0.7 < expected / measured < 0.95


def test_clusters_take_half_the_square_of_each_class():
    larger = {**STATISTICS, "class_sizes": {"a": 60_000, "b": 45_000}}
    pairs = (60_000**2 + 45_000**2) / 2
    aligned = costs.alignment_seconds(larger, pairs, by_parasail=True)
    expected = costs.grouping_seconds(larger) + 3 * aligned
    assert costs.clustering_seconds(larger).on(1) == pytest.approx(expected.on(1), rel=1e-12)


def test_a_record_with_several_labels_is_counted_once():
    assert costs.records(STATISTICS) == 105
    assert costs.records({**STATISTICS, "labels_per_record": {"1": 50, "2": 20, "15": 1}}) == 71


def statistics(n, classes=10, length=200.0):
    sizes = {f"c{i}": n // classes for i in range(classes)}
    return {"distinct": n, "class_sizes": sizes, "lengths": {"mean": length}}


@pytest.mark.parametrize("method", LEARNERS)
def test_training_costs_more_with_records_landmarks_classes_recipes_and_folds(method):
    one = asked.learner(method)

    def both(n=10_000, m=200, classes=10, recipes=1, inner=3, tested=0.2):
        data = statistics(n, classes)
        seconds = costs.training_seconds(data, m, [one] * recipes, inner, tested)
        return seconds.on(1), costs.learning_mb(data, m, 2048, [one] * recipes, tested)

    least = both()
    for more in ({"n": 20_000}, {"m": 400}, {"classes": 20}, {"recipes": 2}, {"tested": 0.5}):
        seconds, mb = both(**more)
        assert seconds > least[0], more
        assert mb > least[1], more
    assert both(inner=6)[0] > least[0]


def test_hyper_parameters_to_choose_and_steps_are_counted():
    def fit(method, **settings):
        return costs.fit_seconds(asked.learner(method, **settings), 10_000, 300, 20).on(1)

    assert fit("svc") == pytest.approx(4 * fit("svc", penalty=1.0), rel=0.2)
    assert fit("ny_pcvm", max_iter=50) < 0.6 * fit("ny_pcvm")
    assert fit("ny_pcvm", max_iter=5000) == fit("ny_pcvm")
    assert fit("ny_pcvm", basis="all") > fit("ny_pcvm")
    assert fit("nearest_landmark") == 0


def test_each_label_of_several_has_a_fit_of_two_classes():
    """100 labels of 5,000 records with 372 landmarks: the seconds of a training, on one thread."""
    statistics = {"class_sizes": {f"c{i}": 10 for i in range(100)}, "several": True}
    for method, took in (("krein_lsm", 36), ("sf_lsm", 12), ("ny_ikfd", 8.5)):
        learner = asked.learner(method)
        fits = costs.fit_of_all(statistics, learner, 5000, 372)
        assert fits == 100 * costs.fit_seconds(learner, 5000, 372, 2)
        assert 1.5 <= costs.SPARE * 4 * fits.on(1) / took <= 20
    one = {"class_sizes": statistics["class_sizes"]}
    assert costs.fit_of_all(one, learner, 5000, 372) == costs.fit_seconds(learner, 5000, 372, 100)


ONE_THREAD = ("ny_epcvm", "krein_sh_svm", "cvm", "dissimilarity_space", "svc", "linear_svc")


@pytest.mark.parametrize("method", ONE_THREAD)
def test_learners_of_one_thread_ask_for_no_less_with_eight(method):
    fit = costs.fit_seconds(asked.learner(method), 10_000, 100, 46)
    assert fit.on(8) > 0.9 * fit.on(1)


def test_a_job_with_eight_threads_is_asked_for_by_what_it_took():
    """SVC with 3,000 records, 100 landmarks and 46 classes: 10.2 s by one thread, 8.8 s by two."""
    fit = costs.fit_seconds(asked.learner("svc"), 3000, 100, 46)
    for threads, took in ((1, 10.2), (8, 8.8)):
        assert 1.5 <= costs.SPARE * fit.on(threads) / took <= 10


def test_what_has_no_rows_is_of_one_thread():
    """BLAS has one: eigenvalues and inverses of m x m matrices."""
    few, many = costs.factor_seconds(5000, 5000), costs.factor_seconds(1_000_000, 500)
    assert few.on(8) > 0.8 * few.on(1)
    assert many.on(8) < 0.2 * many.on(1)


@pytest.mark.parametrize(
    ("kernel", "size", "measured"),
    [
        ("linear", 100, 1.2e-7),
        ("linear", 1000, 1.26e-6),
        ("gaussian", 1000, 1.54e-6),
        ("spectral_information_divergence", 1000, 3.0e-6),
        ("dynamic_time_warping", 10, 8.2e-6),
        ("dynamic_time_warping", 150, 1.0e-4),
        ("dynamic_time_warping", 500, 1.12e-3),
        ("edit_distance", 200, 2.75e-6),
        ("edit_distance", 600, 1.5e-5),
        ("edit_distance", 2000, 1.3e-4),
    ],
)
def test_a_score_of_a_kernel_is_asked_for_by_what_it_took(kernel, size, measured):
    seconds = costs.kernel_seconds({"name": kernel}, size)
    assert 1.5 <= costs.SPARE * seconds / measured <= 10
    # And wherever scores are computed.
    gathering = costs.gathering_seconds(STATISTICS, 30, seconds).on(8)
    selection = costs.selection_seconds(STATISTICS, 3000, "uniform", seconds).on(8)
    assert min(gathering, selection) >= 3000 * seconds


def test_a_window_spares_time_warping_all_but_a_band():
    def seconds(window):
        return costs.kernel_seconds({"name": "dynamic_time_warping", "window": window}, 500)

    assert seconds(10) < 0.1 * seconds(None)
    assert seconds(1000) == seconds(None)


def test_classification_follows_landmarks_lengths_and_strands():
    """100 MB of 350 residues each, 11,000 landmarks: 257 minutes by parasail on four threads."""
    by_parasail = costs.classification_seconds(100, 11_000, 11_000 * 350, by_parasail=True)
    assert 1.5 <= costs.SPARE * by_parasail.on(4) / 60 / 257 <= 10
    seconds = costs.classification_seconds(100, 11_000, 11_000 * 350)
    pairs = 100e6 / 350 * 11_000
    aligned = costs.alignment_seconds({"lengths": {"mean": 350}}, pairs)
    assert seconds.shared == pytest.approx(aligned.shared, rel=1e-12)
    both = costs.classification_seconds(200, 11_000, 11_000 * 350)
    assert both.on(4) == pytest.approx(2 * seconds.on(4))
    assert costs.classification_seconds(100, 0, 0).on(4) < 100  # of a matrix: nothing is aligned


def test_classification_by_a_kernel_is_of_one_thread():
    """6 MB of vectors: a million numbers, so 10,000 vectors, with 200 landmarks."""
    kernel = {"name": "dynamic_time_warping"}
    seconds = costs.comparison_seconds(text_mb=6, landmarks=200, size=100, kernel=kernel)
    assert seconds.on(8) == seconds.on(1)
    pairs = 10_000 * 200
    expected = 6 * 0.5 + pairs * (costs.kernel_seconds(kernel, 100) + 5e-9)
    assert seconds.on(1) == pytest.approx(expected, rel=1e-12)


LINES = asked.lines()


def test_the_benchmark_is_all_there():
    stages = {"read", "align", "columns", "landmarks", "factor", "predict"}
    assert {line.stage for line in LINES} == stages | set(LEARNERS)
    assert max(line.n for line in LINES) == 1_000_000
    assert max(line.m for line in LINES) == 4000


@pytest.mark.parametrize("line", [line for line in LINES if line.used_seconds >= 1])
def test_each_stage_is_asked_for_by_what_it_took(line):
    """Of the stored benchmark, without the minutes of the start: nothing is measured here."""
    assert 1.5 <= line.asked_seconds / line.used_seconds <= 10, line


@pytest.mark.parametrize("line", [line for line in LINES if line.used_mb])
def test_each_stage_is_asked_for_by_the_memory_that_it_took(line):
    assert 1.4 <= line.asked_mb / line.used_mb <= 4.5, line


def test_rows_by_tiles_have_a_bound_and_others_have_none():
    data, square = statistics(100_000), 16 * 8 * 1000**2 / 1e6
    held = costs.BASE_MB + 100_000 * (1000 + 2 * 200) / 1e6 + square
    assert costs.learning_mb(data, 1000, 2048) == pytest.approx(held + 2048)
    assert costs.learning_mb(data, 1000, None) == pytest.approx(held + 48 * 1e8 / 1e6)
    few = statistics(1000)
    assert costs.learning_mb(few, 1000, 2048) - costs.learning_mb(few, 1, 2048) < 128


@pytest.mark.parametrize("landmarks", [0, 200, 4000])
def test_rows_have_what_is_left_of_less_memory(landmarks):
    def rows(given):
        return costs.rows_mb(given, landmarks, 2048)

    assert rows(100_000) == 2048
    square = costs.square_mb(landmarks)
    assert rows(costs.BASE_MB + square + 500) == pytest.approx(500)
    assert rows(100) == 64
    # A job that is given what it asks for is not in want of any.
    data = statistics(500_000)
    assert rows(costs.learning_mb(data, landmarks, 2048)) >= min(48 * 0.5 * landmarks, 2048)
