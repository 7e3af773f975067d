from types import SimpleNamespace

import pytest

from kreinflow.artifacts import write_json
from kreinflow.commands.time_left import TimeLeft, costs_of_results
from kreinflow.configuration import complete_configuration
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
    "select_landmarks": 2,
    "make_factor": 2,
    "train_models": 2,
    "draw_figures": 5,
    "write_report": 5,
}


@pytest.fixture
def costs():
    return [SimpleNamespace(stages=lambda: STAGES)]


def test_at_its_beginning_a_run_takes_what_its_stages_take(costs):
    left = TimeLeft(costs, 2, JOBS).after(0.0, JOBS)
    # on two cores: reading, two blocks, two selections, the largest training, what is behind
    assert left == pytest.approx(4 + 10 + 1 + 40 + 30)
    assert TimeLeft(costs, 1, JOBS).after(0.0, JOBS) == pytest.approx(4 + 20 + 2 + 60 + 30)


def test_a_run_that_is_slower_than_was_thought_stays_so(costs):
    time, behind = TimeLeft(costs, 1, JOBS), {"draw_figures": 5, "write_report": 5}
    as_thought, slow = time.after(86.0, behind), time.after(860.0, behind)
    assert as_thought == pytest.approx(30.0)
    assert 150 < slow < 300
    assert time.after(860.0, {}) == 0.0


def test_other_targets_have_no_estimate(costs):
    assert TimeLeft(costs, 2, {"run_competitor": 4, **JOBS}).after(1.0, JOBS) is None


def test_costs_are_known_when_data_and_folds_are_there(tmp_path):
    config = complete_configuration(configuration(fasta_source()) | {"results": str(tmp_path)})
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
    assert all(seconds > 0 for stage in costs.stages().values() for seconds in stage)
