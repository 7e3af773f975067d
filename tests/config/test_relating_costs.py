"""What telling unknown objects costs, beside what a fit asks."""

from kreinflow.answering.relatives import MORE, NEAREST
from kreinflow.config import relating_costs
from kreinflow.fitting.fit_cascade import SAMPLE
from kreinflow.fitting.fit_unknown import LEFT_OUT
from kreinflow.fitting.strangers import STRANGERS


def statistics(n=10_000, classes=20, length=300.0):
    sizes = {f"c{i}": n // classes for i in range(classes)}
    return {"distinct": n, "class_sizes": sizes, "lengths": {"mean": length}, "unknown": {}}


def test_pairs_are_those_of_the_strangers_and_of_the_sample():
    assert relating_costs.rule_pairs(60) == 2 * STRANGERS * (60 + MORE) + STRANGERS * MORE
    pairs = relating_costs.calibration_pairs(statistics(), 0.2)
    assert pairs == (SAMPLE + LEFT_OUT) * NEAREST + 2000 * MORE
    assert relating_costs.calibration_pairs(statistics(100, 5), 0.0) == 200 * NEAREST
    paths = {"distinct": 100, "class_sizes": {"a.b.c": 50, "a.b.d": 40, "e": 10}}
    levels = {"separator": "."}
    assert relating_costs.calibration_pairs(paths, 0.0, levels) == 400 * NEAREST


def test_more_records_landmarks_words_and_pairs_cost_more():
    given = {"landmarks": 60, "lengths": 0, "searched": 2000.0, "pairs": 1e5}

    def seconds(n=10_000, **changed):
        return relating_costs.relating_seconds(statistics(n), **{**given, **changed}).on(1)

    def megabytes(n=10_000, most=2048, **changed):
        own = {**given, **changed}
        own.pop("searched")
        return relating_costs.relating_mb(statistics(n), **own, most_mb=most)

    for cost in (seconds, megabytes):
        for change in ({"n": 20_000}, {"landmarks": 300}, {"lengths": 3}, {"pairs": 1e6}):
            assert cost(**change) > cost()
    assert megabytes(200_000, 100, landmarks=300) < megabytes(200_000, landmarks=300)
