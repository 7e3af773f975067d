"""What a run is told to take beforehand, held against what two runs took; what its jobs ask for."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from kreinflow.base.errors import InputError
from kreinflow.config import query_costs
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.costs import RunCosts
from kreinflow.config.fit_costs import SPARE, kernel_seconds
from kreinflow.config.plan import DatasetPlan
from kreinflow.files.json_files import write_json
from small_inputs import configuration, fasta_source

ROOT = Path(__file__).parents[2]


def of_config(config, statistics):
    config = complete_configuration(config)
    (name,) = config["datasets"]
    return RunCosts(DatasetPlan(config, name), statistics)


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
    ("run", "pairs", "minutes", "megabytes", "factor"),
    [
        # columns/alignments.json and the logs of the models; the command; times.tsv
        pytest.param(demonstration, 4.0e6, 1.48, 483, 1.5, id="demonstration"),
        # benchmarks/whole.py: 4,999 sequences of 28 classes
        pytest.param(lambda: automatic(SIZES, 380), 15.5e6, 4.9, 1890, 2, id="whole"),
    ],
)
def test_estimates_are_near_to_what_runs_took(run, pairs, minutes, megabytes, factor):
    run = run()
    told = run.pairs, run.minutes(2), run.memory_mb
    for estimate, taken in zip(told, (pairs, minutes, megabytes), strict=True):
        assert taken / factor < estimate < factor * taken


def test_more_cores_are_less_time_until_one_job_is_all():
    run = automatic(SIZES, 380)
    one, two, many = (run.minutes(cores) for cores in (1, 2, 1000))
    assert two == pytest.approx(one / 2, rel=0.2)
    longest = max(run.training(name).on(1) for name in run.plan.trained_selectors)
    assert longest / 60 < many < two


def by_hand(selector, sizes, length=0):
    """One recipe of the nearest landmark, and five folds."""
    recipe = {"name": "one", "selector": "own", "learner": "near", "transform": "raw"}
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"from_file_names": True}}
    if not length:
        source = {"type": "matrix", "matrix": "x.csv", "labels": {"lines": "y.txt"}}
    config = {
        "datasets": {"mine": {"source": source, "folds": {"k": 5}}},
        "selectors": {"own": selector},
        "learners": {"near": {"method": "nearest_landmark"}},
        "recipes": [recipe],
    }
    return of_config(config, statistics(sizes, length))


@pytest.mark.parametrize(
    ("selector", "landmarks"),
    [
        ({"method": "uniform", "budget": 30}, 30),
        ({"method": "uniform", "budget": {"share": 0.25}}, 50),
        ({"method": "all"}, 200),
        ({"method": "meb", "transform": "raw"}, 10),  # five of each ball
    ],
)
def test_pairs_are_those_of_all_with_the_landmarks_of_all_training_parts(selector, landmarks):
    run = by_hand(selector, [100, 100], length=50)
    assert run.landmarks("own") == landmarks
    union = min(200, (1 + 5 * 0.24) * landmarks)
    assert run.column_pairs == pytest.approx(200 * union - union * (union + 1) / 2)
    assert run.pairs == pytest.approx(run.choosing_pairs + run.column_pairs, rel=0.5)


def test_a_matrix_aligns_nothing_and_asks_nothing_of_a_query():
    run = by_hand({"method": "uniform", "budget": 30}, [100, 100])
    assert run.pairs == 0
    assert query_costs.queries(run) == []
    assert 0 < run.minutes(2) < 2


def test_queries_are_those_of_the_final_recipe_or_of_all():
    (query,) = query_costs.queries(demonstration())
    assert (query.recipe, query.alignments, query.more) == ("cascade-60", 60, 100)
    queries = query_costs.queries(automatic(SIZES, 380))
    assert [round(query.alignments) for query in queries] == [61, 121, 121, 501, 4001, 4001, 4001]
    assert [query.more for query in queries] == [200, 100, 200, 100, 100, 100, 100]
    assert queries[0].hours < queries[3].hours < queries[5].hours
    assert queries[5].hours == query_costs.million_hours(query_costs.query_seconds(4001, 380, 380))


@pytest.mark.parametrize(
    ("landmarks", "more"), [(30, 100), (150, 50), (200, 0)], ids=["few", "many", "all"]
)
def test_the_most_of_a_query_is_with_all_relatives(landmarks, more):
    """Landmarks have been aligned; what is asked has to be searched for, in each record."""
    given = {"method": "uniform", "budget": landmarks}, [100, 100]
    (query,) = query_costs.queries(by_hand(*given, length=50))
    base = landmarks + 1
    assert (query.alignments, query.more) == (base, more)
    assert query.hours == query_costs.million_hours(query_costs.query_seconds(base, 50, 50))
    searched = 200 if more else 0
    most = query_costs.query_seconds(base + more, 50, 50, asked=more, searched=searched)
    assert query.most_hours == query_costs.million_hours(most)
    run = by_hand(*given, length=50)
    run.has_evalues = False
    (query,) = query_costs.queries(run)
    assert (query.more, query.most_hours) == (0, query.hours), "without E-values none"


def test_the_most_of_a_cascade_is_with_what_it_asks():
    query, *others = query_costs.queries(automatic(SIZES, 380))
    given = {"asked": query.more, "searched": 4999, "inducing": 4000}
    of_most = query_costs.query_seconds(61 + query.more, 380, 380, **given)
    assert query.most_hours == query_costs.million_hours(of_most)
    assert all(query.most_hours > query.hours for query in others)


def jobs(run):
    """Return the costs of all jobs, with a name each."""
    made = {"training": run.training(run.plan.trained_selectors[0])}
    made |= {stage: run.block(stage) for stage in ("class_scores", "columns")}
    made["classifying"] = run.classifying(100)
    for name in ("comparing", "gathering", "selecting", "finishing", "unknown"):
        made[name] = getattr(run, name)()
    return made


def test_each_job_costs_more_with_more_records():
    config, held_out = yaml.safe_load((ROOT / "config.yaml").read_text()), {"unknown": {"x": 100}}
    few, many = (
        jobs(of_config(config, statistics([size] * 14, 90, **held_out))) for size in (60, 6000)
    )
    for name, cost in few.items():
        assert many[name].mb > cost.mb, name
        assert many[name].on(2) >= cost.on(2), name


def test_classification_follows_alignments_and_lengths():
    """100 MB of 350 residues each, 11,000 landmarks: 257 minutes by parasail on four threads."""
    selector = {"method": "uniform", "budget": 11_000}
    run = by_hand(selector, [10_000] * 2, length=350)
    run.by_parasail, run.has_evalues = True, False
    assert 1.5 <= SPARE * run.classifying(100).on(4) / 60 / 257 <= 10


def test_costs_of_results_are_by_what_is_there(tmp_path):
    config = complete_configuration(configuration(fasta_source()))
    plan = DatasetPlan(config, "mine")
    with pytest.raises(InputError, match="summary.json"):
        RunCosts.of_results(plan, tmp_path)
    (tmp_path / "dataset").mkdir()
    data = statistics([50] * 4, 0)
    summary = {"statistics": data, "kernel": {"name": "linear"}}
    write_json(tmp_path / "dataset" / "summary.json", summary)
    np.save(tmp_path / "dataset" / "vectors.npy", np.zeros((200, 30)))
    (selector,) = plan.selectors
    table = tmp_path / "landmarks" / selector / "r0f0.tsv"
    table.parent.mkdir(parents=True)
    table.write_text("row\n1\n2\n5\n")
    run = RunCosts.of_results(plan, tmp_path, "r0f0")
    assert run.landmarks(selector) == 3
    assert run.of_score == pytest.approx(kernel_seconds({"name": "linear"}, 30), rel=0.05)
    assert run.tested == 1 / config["datasets"]["mine"]["folds"]["k"]
    assert run.training(selector).on(1) > 0
