"""The series in short, so that they stay able to run; see ``docs/scale.md``."""

import json
import sys

import pytest

from kreinflow.base.errors import InputError
from series import flips, formats, fuzz
from series.kills import plan, run_series
from warm.server import warm_python


@pytest.mark.parametrize(
    ("number", "only"),
    [
        (1, "run: Ctrl-C"),
        (2, "job: SIGKILL"),  # and while it writes
        (1, "job: SIGTERM while"),
    ],
)
def test_kills_lose_nothing(reference, tmp_path, number, only):
    # A seed whose whole runs have little left to do: each kill costs a start of Snakemake.
    table = run_series(plan(number, only), 35, 1, tmp_path, reference)
    assert [fault for _, faults in table.values() for fault in faults] == []
    assert sum(kills for kills, _ in table.values()) >= 0.8 * number


def test_a_flipped_bit_is_found_or_harmless(reference, tmp_path):
    run = flips.FinishedRun(reference.folder)
    drawn = flips.draw(run, len(run.files()), seed=2, only="")
    assert len(drawn) == len(run.files()) >= 15
    tried = list(flips.outcomes(run, drawn, str(tmp_path)))
    assert flips.faults(tried) == []
    outcomes = [found for _, found, _ in tried]
    assert outcomes.count("found") >= len(tried) / 3


@pytest.mark.slow
def test_a_file_becomes_a_model_without_an_edit(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", warm_python())
    assert formats.faults(formats.ROWS["SINTAX, a stranger's"], tmp_path) == []


def test_inputs_are_taken_for_what_they_are():
    counts, wrong = fuzz.tried(500, seed=1)
    assert wrong == []
    for kind in fuzz.KINDS:
        assert counts[kind, "accepted"], kind
        assert counts[kind, "refused"], kind


def refuse(message):
    def read(path):
        raise InputError(message)

    return read


def slow(path):
    while True:
        pass


@pytest.mark.parametrize(
    ("outcome", "right", "read", "more"),
    [
        ("accepted", True, lambda path: path.read_text(), {}),
        ("refused", False, refuse("x.json, line 1: is wrong."), {}),
        ("wrongly accepted", False, lambda path: 3, {"fault": lambda found: "odd"}),
        ("wrongly refused", True, refuse("x.json: is wrong."), {}),
        ("other content", True, lambda path: 4, {}),
        ("unclear message", False, refuse("x.json: is\nwrong."), {}),
        ("traceback", False, lambda path: json.loads("["), {}),
        ("too slow", False, slow, {}),
    ],
)
def test_the_judge_tells_right_from_wrong(tmp_path, monkeypatch, outcome, right, read, more):
    monkeypatch.setattr(fuzz, "SECONDS", 0.2 if outcome == "too slow" else 5)
    case = fuzz.Case("x.json", b"[1]", read, "[1]", right=right, **more)
    assert fuzz.judge(case, tmp_path)[0] == outcome
