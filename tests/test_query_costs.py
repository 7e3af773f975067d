"""What a new sequence costs, against figures that were measured."""

from pathlib import Path

import pytest

from kreinflow.query_costs import million_hours, query_seconds

PAGE = Path(__file__).parents[1] / "docs" / "uniprot-scale.md"


def test_all_of_uniprot_with_a_thousand_landmarks():
    """docs/uniprot-scale.md: 36 billion cells a second, and 14 microseconds beside."""
    hours = 249.308459 * million_hours(1000, 348.4, 350)
    assert hours == pytest.approx(230, rel=0.1)


@pytest.mark.parametrize(
    ("measured", "given"),
    [
        # A model, how often its queries were classified: the processor seconds of each are those
        # of more queries less those of fewer, so without the start of the command.
        (
            365e-6,
            {"alignments": 59.7, "length": 87, "others": 87, "asked": 34.7}
            | {"searched": 0.58 * 840, "inducing": 840},
        ),
        (2.68e-3, {"alignments": 501, "length": 380, "others": 380, "inducing": 4000}),
    ],
    ids=["cascade of the demonstration", "lifted model of benchmarks/whole.py"],
)
def test_seconds_are_near_to_what_was_measured(measured, given):
    assert measured / 1.5 < query_seconds(**given) < 1.5 * measured


@pytest.mark.parametrize(
    ("length", "alignments", "measured"), [(150, 82.9, 262e-6), (350, 86.3, 558e-6)]
)
def test_a_cascade_costs_more_than_one_stage_with_as_many_alignments(length, alignments, measured):
    """``jobs.py --cascade 100``: 44 and 42 % of the queries ask some of 2,000 records."""
    asked = alignments - 51
    one = query_seconds(alignments, length, length)
    own = query_seconds(alignments, length, length, asked=asked, searched=0.43 * 2000)
    assert measured / 1.5 < own - one < 1.5 * measured


def test_each_part_costs():
    plain = query_seconds(100, 300, 350)
    assert plain == pytest.approx(1.4e-5 + 100 * (3e-8 + 2.8e-11 * 300 * 350))
    for more in ("asked", "searched", "inducing"):
        assert query_seconds(100, 300, 350, **{more: 50}) > plain
