"""``tests/fuzz.py`` in short: a thousand inputs, and that its oracle tells right from wrong."""

import json

import pytest

import fuzz
from fuzzing import ACCEPTED, EITHER, REFUSED, Case, judge
from kreinflow.base.errors import InputError


def test_a_thousand_inputs_are_taken_for_what_they_are():
    counts, wrong = fuzz.tried(1000, seed=1)
    assert wrong == []
    assert sum(counts.values()) == 1000
    for kind in fuzz.KINDS:
        assert counts[kind, "accepted"], kind
        assert counts[kind, "refused"], kind


def test_an_input_is_the_same_each_time():
    for kind in fuzz.KINDS:
        one, other = (fuzz.made(kind, 3, seed=2) for _ in range(2))
        assert one.files == other.files
        assert one.verdict == other.verdict


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
        ("accepted", EITHER, lambda folder: 3, {}),
        ("accepted", EITHER, lambda folder: (folder / "x.json").read_text(), {"expected": "[1]"}),
        ("refused", REFUSED, refuse("x.json, line 1: is wrong."), {"named": "line 1"}),
        ("refused", EITHER, refuse("x.json: is wrong."), {}),
        ("wrongly accepted", REFUSED, lambda folder: 3, {}),
        ("wrongly accepted", EITHER, lambda folder: 3, {"fault": lambda found: "odd"}),
        ("wrongly refused", ACCEPTED, refuse("x.json: is wrong."), {}),
        ("other content", ACCEPTED, lambda folder: 3, {"expected": 4}),
        ("unclear message", REFUSED, refuse("x.json: is wrong."), {"named": "line 1"}),
        ("unclear message", REFUSED, refuse("something is wrong."), {}),
        ("unclear message", REFUSED, refuse("x.json: is\nwrong."), {}),
        ("unclear message", REFUSED, refuse(f"x.json: is {'very ' * 999}wrong."), {}),
        ("traceback", REFUSED, lambda folder: json.loads("["), {}),
        ("too slow", EITHER, slow, {}),
        ("too much memory", EITHER, lambda folder: len(b"x" * 600_000_000), {}),
    ],
)
def test_each_outcome_is_told(tmp_path, monkeypatch, outcome, verdict, read, more):
    monkeypatch.setattr("fuzzing.SECONDS", 0.2 if outcome == "too slow" else 5)
    case = Case({"x.json": b"[1]"}, read, verdict, "a test", **more)
    assert judge(case, tmp_path).what == outcome


def test_the_table_has_a_line_for_each_kind():
    counts, wrong = fuzz.tried(20, only="table of labels")
    table = fuzz.as_table(counts).splitlines()
    assert len(table) == 4
    assert table[0].startswith("| kind | inputs | accepted | refused | wrongly accepted |")
    assert table[2].startswith("| table of labels | 3 |")
    assert table[3].startswith("| all | 3 |")
    assert wrong == []
