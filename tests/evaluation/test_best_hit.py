"""Recipes beside the best hit, by a loop."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.evaluation.best_hit import BEST_HIT_COLUMNS, best_hit_table
from kreinflow.evaluation.metrics import INNER_CHOICE, PREDICTION_COLUMNS
from kreinflow.evaluation.paired import paired_difference

CLASSES = np.array(["3.1", "3.10", "NA", "x"])


def guesses(rng, true, share):
    """Labels of which this share is right, but for luck."""
    right = rng.random(len(true)) < share
    return np.where(right, true, CLASSES[rng.integers(len(CLASSES), size=len(true))])


def made_up(seed=0, n=80, repeats=2, folds=4, each=2, **recipes):
    """Predictions of recipes, each ``(share of right ones, share of right hits, compared)``."""
    rng = np.random.default_rng(seed)
    true, parts = CLASSES[rng.integers(len(CLASSES), size=n)], []
    ids = [f"s{i}" for i in range(n)]
    place = [rng.permutation(n) % folds for _ in range(repeats)]
    for recipe, (share, of_hits, among) in recipes.items():
        for repeat in range(repeats):
            columns = {"recipe": recipe, "repeat": repeat, "fold": place[repeat], "id": ids}
            columns |= {"true": true, "predicted": guesses(rng, true, share)}
            hit = guesses(rng, true, of_hits) if among else ""
            told = {"hit": hit, "hit_among": among, "hit_of": 60 if among else None}
            told |= {"hit_identity": rng.integers(20, 101, n) / 100 if among else np.nan}
            part = pd.DataFrame(columns | told)
            parts.append(part.sample(frac=1, random_state=seed + repeat))
    table = pd.concat(parts, ignore_index=True)
    for name in ("hit_among", "hit_of"):
        table[name] = pd.array(table[name].astype(object), dtype="Int64")
    return table, pd.Series(np.arange(n) // each, index=ids)


def of_a_loop(predictions, groups, recipe, teller):
    """Which predictions are right, which hits of a recipe are, and the groups, one by one."""
    lines = predictions.to_dict("records")
    told = {(line["repeat"], line["id"]): line for line in lines if line["recipe"] == teller}
    own = [line for line in lines if line["recipe"] == recipe]
    hits = [told[line["repeat"], line["id"]] for line in own]
    right = np.array([line["predicted"] == line["true"] for line in own])
    of_hits = np.array([hit["hit"] == line["true"] for hit, line in zip(hits, own, strict=True)])
    among = np.mean([hit["hit_among"] for hit in hits])
    return right, of_hits, np.array([groups[line["id"]] for line in own]), among


@pytest.mark.parametrize(("seed", "each"), [(0, 2), (0, 1), (1, 1)])
def test_it_is_what_a_loop_finds(seed, each):
    """The hits of one recipe stand beside all of them: it compared the most, on the mean."""
    recipes = {"good": (0.9, 0, 0), "asks": (0.7, 0.5, 20), "all": (0.6, 0.8, 60)}
    predictions, groups = made_up(seed, each=each, **recipes)
    fewer = predictions.index % 5 == 0  # here the other recipe compared more
    predictions.loc[fewer & (predictions["recipe"] == "all"), "hit_among"] = 10
    table = best_hit_table(predictions, groups)
    assert tuple(table) == BEST_HIT_COLUMNS
    assert table["recipe"].tolist() == list(recipes)
    assert table["hit_accuracy"].nunique() == 1
    for row in table.itertuples():
        right, hits, own_groups, among = of_a_loop(predictions, groups, row.recipe, "all")
        assert (row.records, row.of, row.whole) == (160, 60, False)
        assert row.among == pytest.approx(among)
        assert row.accuracy == pytest.approx(right.mean())
        assert row.hit_accuracy == pytest.approx(hits.mean())
        assert row.difference == pytest.approx(row.accuracy - row.hit_accuracy)
        expected = paired_difference(right, hits, own_groups, 2)
        assert (row.difference, row.low, row.high, row.p) == expected


def test_a_record_without_a_hit_leaves_no_rows():
    predictions, groups = made_up(good=(0.9, 0, 0), asks=(0.7, 0.5, 20))
    lines = (predictions["id"] == "s3") & (predictions["repeat"] == 1)
    predictions.loc[lines, ["hit", "hit_among", "hit_of"]] = ["", pd.NA, pd.NA]
    for some in (predictions, predictions[["recipe", *PREDICTION_COLUMNS[1:]]]):
        table = best_hit_table(some, groups)
        assert table.empty
        assert tuple(table) == BEST_HIT_COLUMNS


def test_recipes_that_were_not_measured_on_all_folds_have_none():
    """Nor do their hits count: those of two recipes are not mixed."""
    predictions, groups = made_up(raced=(0.9, 1.0, 60), asks=(0.7, 0.5, 20))
    first, asks = predictions["fold"] == 0, predictions["recipe"] == "asks"
    table = best_hit_table(predictions[first | asks], groups)
    assert table["recipe"].tolist() == ["asks"]
    assert table["among"].item() == 20
    right = predictions["hit"] == predictions["true"]
    assert table["hit_accuracy"].item() == pytest.approx(right[asks].mean())


def test_the_inner_choice_has_no_hits_of_its_own():
    """Its hits are those of several recipes, and here among more records than those of any."""
    predictions, groups = made_up(one=(0.9, 0.2, 20), two=(0.7, 0.5, 20), choice=(0.7, 1.0, 60))
    chosen = predictions["recipe"] == "choice"
    predictions.loc[chosen, "recipe"] = INNER_CHOICE
    table = best_hit_table(predictions, groups)
    assert table["recipe"].tolist() == ["one", "two", INNER_CHOICE]
    assert set(table["among"]) == {20}
    right = predictions["hit"] == predictions["true"]
    first = right[predictions["recipe"] == "one"].mean()
    assert table["hit_accuracy"].tolist() == pytest.approx([first] * 3), "the first of equals"
    assert best_hit_table(predictions[chosen], groups).empty


@pytest.mark.parametrize(("fewer", "whole"), [(0, True), (1, False)])
def test_a_search_of_all_is_one_for_each_prediction(fewer, whole):
    predictions, groups = made_up(all=(0.9, 0.8, 60), alone=(0.7, 0, 0))
    predictions.loc[: fewer - 1, "hit_among"] = 59
    assert best_hit_table(predictions, groups)["whole"].tolist() == [whole] * 2
