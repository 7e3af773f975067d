import re
from types import SimpleNamespace

import pytest

from kreinflow.commands import time_left
from kreinflow.commands.time_left import TimeLeft, costs_of_results
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.plan import DatasetPlan
from kreinflow.files.json_files import write_json
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from small_inputs import configuration, fasta_source

STAGES = {
    "read": [4.0],
    "align": [10.0, 10.0],
    "choose": [1.0, 1.0],
    "train": [20.0, 40.0],
    "behind": [30.0],
}
JOBS = {
    "read_dataset": 1,
    "assign_folds": 1,
    "align_columns": 2,
    "select_landmarks": 1,
    "select_landmarks_2": 1,
    "train_models": 2,
    "draw_figures": 5,
    "write_report": 5,
}


@pytest.fixture
def costs():
    return [SimpleNamespace(stages=lambda: STAGES)]


def made_up(**more):
    """A config with two selectors."""
    config = configuration(fasta_source(), **more)
    config["selectors"]["few"] = {"method": "uniform", "budget": 2}
    config["recipes"].append(config["recipes"][0] | {"name": "two", "selector": "few"})
    return complete_configuration(config)


def test_at_its_beginning_a_run_takes_what_its_stages_take(costs):
    left = TimeLeft(costs, 2, JOBS).after(0.0, JOBS)
    # on two cores: reading, two blocks, two selections, the largest training, what is behind
    assert left == pytest.approx(4 + 10 + 1 + 40 + 30)
    assert TimeLeft(costs, 1, JOBS).after(0.0, JOBS) == pytest.approx(4 + 20 + 2 + 60 + 30)


def test_rules_that_are_named_are_there():
    files = [WORKFLOW_FOLDER / "Snakefile", *WORKFLOW_FOLDER.glob("rules/*.smk")]
    rules = re.findall(r'(?:rule |_name = ")(\w+)', "\n".join(f.read_text() for f in files))
    rules.append(DatasetPlan(made_up(), "mine").files_read(learned_alone=False)[0])
    assert {*time_left._INSTANT, *time_left._UNESTIMATED} <= {*rules}
    for beginning in time_left._STAGES:
        assert any(rule.startswith(beginning) for rule in rules), beginning


def test_what_is_behind_takes_as_long_whatever_its_jobs(costs):
    for jobs in ({"evaluate": 5}, {"evaluate": 9}):
        assert TimeLeft(costs, 1, jobs).after(0.0, jobs) == pytest.approx(30.0)
    last = {"write_report": 1}
    assert TimeLeft(costs, 1, last).after(0.0, last) == pytest.approx(30 / 5)


def test_a_run_that_is_slower_than_was_thought_stays_so(costs):
    time, behind = TimeLeft(costs, 1, JOBS), {"draw_figures": 5, "write_report": 5}
    as_thought, slow = time.after(86.0, behind), time.after(860.0, behind)
    assert as_thought == pytest.approx(30.0)
    assert 150 < slow < 300
    assert time.after(860.0, {}) == 0.0


def test_other_targets_have_no_estimate(costs):
    assert TimeLeft(costs, 2, {"run_competitor": 4, **JOBS}).after(1.0, JOBS) is None


def test_costs_are_known_when_data_and_folds_are_there(tmp_path):
    config = made_up(results=str(tmp_path))
    (name,) = config["datasets"]
    assert costs_of_results(tmp_path, config) == []
    statistics = {
        "records_kept": 6,
        "distinct": 6,
        "class_sizes": {"a": 3, "b": 3},
        "lengths": {"mean": 60.0, "max": 60, "min": 60},
    }
    write_json(tmp_path / name / "dataset" / "summary.json", {"statistics": statistics})
    assert costs_of_results(tmp_path, config) == []
    rows = [f"r{i}\t{i}\t0\t{fold}" for i, fold in enumerate((0, 0, 0, 1, 1, -1))]
    (tmp_path / name / "folds.tsv").write_text("\n".join(["id\tgroup\trepeat\tfold", *rows]) + "\n")
    (costs,) = costs_of_results(tmp_path, config)
    assert costs.tested == {"r0f0": 3 / 6, "r0f1": 2 / 6, "all": 0.0}
    assert len(costs.stages()["choose"]) == 3, "one job a fold, for all selectors"
    assert all(seconds > 0 for stage in costs.stages().values() for seconds in stage)
