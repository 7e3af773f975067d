"""The series in short, so that they stay able to run; see ``docs/reliability.md``."""

import json

import pytest

from kreinflow.base.errors import InputError
from series import flips, fuzz
from series.fuzzing import ACCEPTED, EITHER, REFUSED, Case
from series.kills import plan, run_series


@pytest.mark.parametrize(
    ("number", "only"),
    [
        (2, "run: SIGKILL to the process group"),
        (1, "run: Ctrl-C"),
        (8, "job: SIG"),
        (5, "writing"),
        (2, "classify: SIGINT"),
    ],
)
def test_kills_lose_nothing(reference, tmp_path, number, only):
    # A seed whose whole runs have little left to do: each kill costs a start of Snakemake.
    table = run_series(plan(number, only), 35, 1, tmp_path, (reference, None))
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


def test_inputs_are_taken_for_what_they_are():
    counts, wrong = fuzz.tried(500, seed=1)
    assert wrong == []
    for kind in fuzz.KINDS:
        assert counts[kind, "accepted"], kind
        assert counts[kind, "refused"], kind


def refuse(message):
    def read(folder):
        raise InputError(message)

    return read


def slow(folder):
    while True:
        pass


@pytest.mark.parametrize(
    ("outcome", "verdict", "read", "more"),
    [
        ("accepted", ACCEPTED, lambda folder: 3, {"expected": 3}),
        ("accepted", EITHER, lambda folder: (folder / "x.json").read_text(), {"expected": "[1]"}),
        ("refused", REFUSED, refuse("x.json, line 1: is wrong."), {"named": "line 1"}),
        ("wrongly accepted", REFUSED, lambda folder: 3, {}),
        ("wrongly accepted", EITHER, lambda folder: 3, {"fault": lambda found: "odd"}),
        ("wrongly refused", ACCEPTED, refuse("x.json: is wrong."), {}),
        ("other content", ACCEPTED, lambda folder: 3, {"expected": 4}),
        ("unclear message", REFUSED, refuse("x.json: is wrong."), {"named": "line 1"}),
        ("unclear message", REFUSED, refuse("something is wrong."), {}),
        ("unclear message", REFUSED, refuse("x.json: is\nwrong."), {}),
        ("traceback", REFUSED, lambda folder: json.loads("["), {}),
        ("too slow", EITHER, slow, {}),
        ("too much memory", EITHER, lambda folder: len(b"x" * 600_000_000), {}),
    ],
)
def test_the_judge_tells_right_from_wrong(tmp_path, monkeypatch, outcome, verdict, read, more):
    monkeypatch.setattr(fuzz, "SECONDS", 0.2 if outcome == "too slow" else 5)
    case = Case({"x.json": b"[1]"}, read, verdict, "a test", **more)
    assert fuzz.judge(case, tmp_path)[0] == outcome
