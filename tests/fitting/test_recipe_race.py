"""The race of recipes: who is behind, and that chance alone stops nobody for long."""

import numpy as np
import pytest

from fitting.test_recipe_choice import all_but, in_folds, inner
from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.tables import write_table
from kreinflow.fitting.recipe_choice import (
    RACE_COLUMNS,
    choose_recipe,
    going_on,
    race_table,
)


def first(n, of=400):
    return np.arange(of) < n


FIGURES = [
    inner("many", first(380), 900),
    inner("many-too", first(378), 900),
    inner("many-behind", first(370), 900),
    inner("some", first(381), 100),
    inner("few", first(378), 10),
    inner("free", first(300), 1),
]
ORDER = [row["recipe"] for row in FIGURES]


def fate(prefer, wanted=None, figures=FIGURES, order=ORDER):
    table = race_table(figures, order, prefer, wanted)
    assert table["recipe"].tolist() == order
    assert ((table["goes_on"] == "no") <= (table["why"] != "")).all()
    return table.loc[table["goes_on"] == "yes", "recipe"].tolist()


def test_who_is_behind_or_dearer_does_not_go_on_unless_asked_for_as_final():
    assert fate("accuracy") == ["many", "many-too", "some", "few"]
    assert fate("cheap") == ["some", "few"], "some is 3 of 400 ahead of few, many behind some"
    assert fate("cheap", "free") == ["some", "few", "free"]
    table = race_table(FIGURES, ORDER, "accuracy").set_index("recipe")
    d = first(381).astype(float) - first(370)
    assert table["behind"]["many-behind"] == pytest.approx(d.mean())
    assert table["standard_error"]["many-behind"] == pytest.approx(d.std(ddof=1) / 20)
    assert "behind some by more than 2" in table["why"]["many-behind"]


@pytest.mark.parametrize("prefer", ["accuracy", "cheap"])
@pytest.mark.parametrize("seed", range(30))
def test_what_the_part_prefers_always_goes_on(prefer, seed):
    """And so somebody does, whatever the correlations and ties."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 60))
    base = random.random(n) < 0.7
    figures = [
        inner(f"r{i}", np.where(random.random(n) < 0.9, base, random.random(n) < 0.6), int(cost))
        for i, cost in enumerate(random.integers(1, 5, 8))
    ]
    order = [row["recipe"] for row in figures]
    kept = fate(prefer, None, figures, order)
    assert choose_recipe(figures, order, prefer=prefer) in kept
    assert choose_recipe(figures, order) in kept
    if prefer == "cheap":
        assert set(kept) <= set(fate("accuracy", None, figures, order)) | {
            choose_recipe(figures, order, prefer="cheap")
        }
        # So what is left names the same two, whatever is asked for as final.
        left = [row for row in figures if row["recipe"] in kept]
        for other in ("cheap", "accuracy"):
            wanted = choose_recipe(figures, order, prefer=other)
            assert choose_recipe(left, order, prefer=other) == wanted
        assert fate(prefer, kept[0], figures, order) == kept


def test_a_dear_recipe_goes_on_if_the_cheap_one_fails_beside_it_in_an_inner_fold():
    """Neither the best recipe nor the one that is preferred is so: these go on in any case."""
    best, dear = all_but([10, 19, 10, 12, 10]), all_but([15, 10, 12, 15, 12])
    cheap = all_but([9, 20, 12, 11, 11])
    named = (("many", best, 900), ("some", dear, 100), ("few", cheap, 10))
    order = ["many", "some", "few"]
    for make, kept in ((inner, ["many", "few"]), (in_folds, order)):
        figures = [make(*row) for row in named]
        assert choose_recipe(figures, order) == "many"
        assert choose_recipe(figures, order, prefer="cheap") == "few"
        assert fate("cheap", None, figures, order) == kept


def test_recipes_that_are_as_good_as_the_best_are_seldom_behind_it():
    """Two standard errors from the best of several are more than from any one: it is told here."""
    random = np.random.default_rng(1)
    stopped = 0
    for _ in range(400):
        figures = [inner(f"r{i}", random.random(500) < 0.8, 10) for i in range(5)]
        stopped += 5 - len(fate("accuracy", None, figures, [f"r{i}" for i in range(5)]))
    assert 0.02 < stopped / (400 * 4) < 0.2


def test_recipes_go_on_as_the_table_says(tmp_path):
    path = tmp_path / "race.tsv"
    table = race_table(FIGURES, ORDER, "cheap")
    write_table(path, table)
    recipes = [{"name": name} for name in ORDER]
    assert going_on(recipes, []) == recipes
    assert going_on(recipes, [path]) == [{"name": "some"}, {"name": "few"}]
    assert going_on(recipes[:3], [path]) == []
    for damaged in (table[1:], table.assign(goes_on="maybe")):
        write_table(path, damaged)
        with pytest.raises(InputError, match="race.tsv.*Delete it and run again"):
            going_on(recipes, [path])
    write_table(path, table)
    assert tuple(table.columns) == RACE_COLUMNS
    assert count_refused(path, lambda p: going_on(recipes, [p]), flips=150) > 20
