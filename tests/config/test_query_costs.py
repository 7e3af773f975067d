"""What a new sequence costs, against figures that were measured."""

import re
from pathlib import Path

import pytest

from kreinflow.config.query_costs import (
    ASKED,
    ASKED_CELL,
    CELL,
    INDUCED,
    INDUCED_CELL,
    INDUCED_SCORE,
    PAIR,
    SEARCHED,
    TOLD,
    million_hours,
    query_seconds,
    recipe_seconds,
)

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_all_of_uniprot_with_a_thousand_landmarks():
    """docs/scale.md: 36 billion cells a second, and 14 microseconds beside."""
    hours = 249.308459 * million_hours(query_seconds(1000, 348.4, 350))
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
    """Measured: 44 and 42 % of the queries ask some of 2,000 records."""
    given = {"alignments": alignments, "length": length, "others": length}
    asking = query_seconds(**given, asked=alignments - 51, searched=0.43 * 2000)
    assert measured / 1.5 < asking - query_seconds(**given) < 1.5 * measured


def worked_examples():
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [\d,]+ \| ", line)]
    return [[float(cell.replace(",", "")) for cell in line.split("|")[1:-1]] for line in lines]


@pytest.mark.parametrize("example", worked_examples())
def test_the_worked_examples_of_the_page(example):
    n, length, landmarks, others, asked, searched, inducing, hours = example
    seconds = query_seconds(
        landmarks + asked, length, others, asked=asked, searched=searched, inducing=inducing
    )
    assert float(f"{n / 1e6 * million_hours(seconds):.2g}") == hours


def test_the_formula_of_the_page_is_that_of_the_library():
    """Each constant of the page, with the units it is written in, is one of the module."""
    formula = PAGE.read_text().partition("core hours = n / 3600")[2].partition("|")[0]
    written = [float(number) for number in re.findall(r"[\d.]+e-\d+", formula)]
    known = (TOLD, PAIR, CELL, ASKED, ASKED_CELL, SEARCHED, INDUCED, INDUCED_SCORE, INDUCED_CELL)
    assert written == pytest.approx(known, rel=1e-12)


def test_a_cascade_and_a_lift_of_a_recipe_are_counted():
    """The demonstration's final model: the seconds that were measured are above."""
    plain = {"cascade": None, "lift": None}
    one = recipe_seconds(plain, 25, 24, 840, 87)
    assert one == query_seconds(25, 87, 87)
    both = {"cascade": {"alignments": 60}, "lift": {"inducing": 4000}}
    given = {"asked": 35, "searched": 420, "inducing": 840}
    assert recipe_seconds(both, 60, 24, 840, 87) == query_seconds(60, 87, 87, **given)
    assert recipe_seconds(plain | {"lift": {"inducing": 100}}, 25, 24, 840, 87) > one
    relatives = query_seconds(45, 87, 87, asked=20, searched=420)
    assert recipe_seconds(plain, 45, 24, 840, 87) == relatives, "those of relatives are asked too"
