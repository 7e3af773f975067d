"""What a run is told to take beforehand, held against what two runs took."""

from pathlib import Path

import pytest
import yaml

from kreinflow.config import costs, query_costs
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.plan import DatasetPlan
from kreinflow.config.run_costs import SCORE_BYTES, RunCosts

ROOT = Path(__file__).parents[2]
FOLDS = {f"r0f{fold}": 0.2 for fold in range(5)}


def of_config(config, statistics, tested=FOLDS, **more):
    config = complete_configuration(config)
    (name,) = config["datasets"]
    return RunCosts(DatasetPlan(config, name), statistics, tested, **more)


def statistics(sizes, length, **more):
    return {
        "distinct": sum(sizes),
        "class_sizes": {f"c{at}": size for at, size in enumerate(sizes)},
        "lengths": {"mean": length} if length else {},
        **more,
    }


def demonstration():
    held_out = {"C1-set": 60, "CSD": 60}
    data = statistics([60] * 14, 87.02, unknown=held_out)
    return of_config(yaml.safe_load((ROOT / "config.yaml").read_text()), data)


def automatic(sizes, length, **config):
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"from_file_names": True}}
    data = {"mine": {"source": source, "folds": {"k": 5}}}
    return of_config({"datasets": data, **config}, statistics(sizes, length))


SIZES = [4999 // 28] * 27 + [4999 - 27 * (4999 // 28)]


@pytest.mark.parametrize(
    ("run", "pairs", "minutes", "megabytes", "disk", "factor"),
    [
        # columns/alignments.json and the logs of the models; the command; times.tsv; du
        pytest.param(demonstration, 4.0e6, 1.48, 483, 106, 1.5, id="demonstration"),
        # benchmarks/whole.py: 4,999 sequences of 28 classes
        pytest.param(lambda: automatic(SIZES, 380), 15.5e6, 4.9, 1890, 359, 2, id="whole"),
    ],
)
def test_estimates_are_near_to_what_runs_took(run, pairs, minutes, megabytes, disk, factor):
    run = run()
    told = run.pairs, run.minutes(2), run.memory_mb, run.disk_mb
    for estimate, taken in zip(told, (pairs, minutes, megabytes, disk), strict=True):
        assert taken / factor < estimate < factor * taken


def test_more_cores_are_less_time_until_one_job_is_all():
    run = automatic(SIZES, 380)
    one, two, many = (run.minutes(cores) for cores in (1, 2, 1000))
    assert two == pytest.approx(one / 2, rel=0.2)
    longest = max(run.training_seconds(name, "r0f0") for name in run.plan.trained_selectors)
    assert longest / 60 < many < two


def test_more_and_longer_sequences_cost_more():
    few, many = automatic(SIZES, 380), automatic([3 * size for size in SIZES], 380)
    longer = automatic(SIZES, 760)
    for figure in ("pairs", "memory_mb", "disk_mb"):
        assert getattr(many, figure) > getattr(few, figure)
    assert longer.pairs == few.pairs
    assert few.minutes(2) < longer.minutes(2) < many.minutes(2)


def test_unknown_objects_take_pairs_and_time():
    plain = automatic([60] * 10, 100)
    told = automatic([60] * 10, 100, unknown={"false_alarms": 0.05})
    assert told.pairs > plain.pairs
    assert told.minutes(1) > plain.minutes(1)


def by_hand(selector, data, tested=FOLDS, length=0, **more):
    """One recipe of the nearest landmark."""
    recipe = {"name": "one", "selector": "own", "learner": "near", "transform": "raw"}
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"from_file_names": True}}
    if not length:
        source = {"type": "matrix", "matrix": "x.csv", "labels": {"lines": "y.txt"}}
    config = {
        "datasets": {"mine": {"source": source}},
        "selectors": {"own": selector},
        "learners": {"near": {"method": "nearest_landmark"}},
        "recipes": [recipe],
    }
    return of_config(config, statistics(data, length), tested, **more)


@pytest.mark.parametrize(
    ("selector", "landmarks"),
    [
        ({"method": "uniform", "budget": 30}, (30, 30)),
        ({"method": "uniform", "budget": {"share": 0.25}}, (40, 50)),
        ({"method": "all"}, (160, 200)),
        ({"method": "meb", "transform": "raw"}, (10, 10)),  # five of each ball
    ],
)
def test_landmarks_of_a_training_part(selector, landmarks):
    run = by_hand(selector, [100, 100])
    assert (run.landmarks("own", "r0f0"), run.landmarks("own")) == landmarks


def test_landmarks_of_a_table_are_counted():
    selector = {"method": "given", "table": "kept.tsv"}
    run = by_hand(selector, [100, 100], length=50, given={"own": 50})
    assert (run.landmarks("own", "r0f0"), run.landmarks("own")) == (40, 50)


def test_pairs_of_one_part_are_those_of_all_with_the_landmarks():
    run = by_hand({"method": "uniform", "budget": 30}, [100, 100], tested={}, length=50)
    assert run.pairs == 200 * 30 - 30 * 31 / 2
    assert run.disk_mb > SCORE_BYTES * 200 * 30 / 1e6


def test_a_matrix_aligns_nothing_and_asks_nothing_of_a_query():
    run = by_hand({"method": "uniform", "budget": 30}, [100, 100])
    assert run.pairs == 0
    assert run.queries() == []
    assert 0 < run.minutes(2) < 2


def test_scores_that_a_kernel_computes_take_time():
    plain, warped = (
        by_hand({"method": "uniform", "budget": 30}, [1000, 1000], of_score=seconds)
        for seconds in (0.0, 1e-3)
    )
    pairs = 2000 * int(plain.union)
    assert 60 * (warped.minutes(1) - plain.minutes(1)) == pytest.approx(1e-3 * pairs)


def test_queries_are_those_of_the_final_recipe_or_of_all():
    (query,) = demonstration().queries()
    assert (query.recipe, query.alignments, query.more) == ("cascade-60", 60, 0)
    queries = automatic(SIZES, 380).queries()
    assert [round(query.alignments) for query in queries] == [61, 121, 121, 501, 4001, 4001, 4001]
    assert [query.more for query in queries] == [200, 0, 200, 0, 0, 0, 0]
    assert [query.relatives for query in queries] == [100] * 7
    assert queries[0].hours < queries[3].hours < queries[5].hours
    assert queries[5].hours == query_costs.million_hours(query_costs.query_seconds(4001, 380, 380))


@pytest.mark.parametrize(
    ("landmarks", "relatives"), [(30, 100), (150, 50), (200, 0)], ids=["few", "many", "all"]
)
def test_the_most_of_a_query_is_with_all_relatives(landmarks, relatives):
    """Landmarks have been aligned; what is asked has to be searched for, in each record."""
    given = {"method": "uniform", "budget": landmarks}, [100, 100]
    (query,) = by_hand(*given, length=50).queries()
    base = landmarks + 1
    assert (query.alignments, query.more, query.relatives) == (base, 0, relatives)
    assert query.hours == query_costs.million_hours(query_costs.query_seconds(base, 50, 50))
    searched = 200 if relatives else 0
    most = query_costs.query_seconds(base + relatives, 50, 50, asked=relatives, searched=searched)
    assert query.most_hours == query_costs.million_hours(most)
    run = by_hand(*given, length=50)
    run.plan.settings["scoring"]["mode"] = "global"
    (query,) = run.queries()
    assert (query.relatives, query.most_hours) == (0, query.hours), "without E-values none"


def test_the_most_of_a_cascade_is_with_what_it_asks():
    query, *others = automatic(SIZES, 380).queries()
    given = {"asked": query.more, "searched": 4999, "inducing": 4000}
    of_most = query_costs.query_seconds(61 + query.more, 380, 380, **given)
    assert query.most_hours == query_costs.million_hours(of_most)
    assert all(query.most_hours > query.hours for query in others)


def test_a_part_has_its_share_of_the_records_with_several_labels():
    """Each of 200 records has one or two of the classes."""
    counted = {"labels_per_record": {"1": 150, "2": 50}, "several": True}
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": "(.)", "multiple": "all"}}
    data = statistics([130, 120], 100, **counted) | {"distinct": 200}
    run = of_config({"datasets": {"mine": {"source": source}}}, data)
    assert run.n == 200
    assert costs.records(run.part("r0f0")) == 160
    assert run.part("r0f0")["class_sizes"] == {"c0": 104, "c1": 96}
    assert run.minutes(2) > 0
