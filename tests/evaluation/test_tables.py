"""All tables tell of the inner choice, as of a recipe."""

import numpy as np
import pandas as pd
import pytest

from evaluation.made_up import made_up_paths, made_up_predictions, made_up_several
from kreinflow.answering.query_and_answers import REASONS
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation import unknown as u
from kreinflow.evaluation.inner_choice import with_inner_choice
from kreinflow.evaluation.levels import level_tables
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.evaluation.tables import SEVERAL_COLUMNS, TABLE_COLUMNS, evaluation_tables
from kreinflow.files.tables import read_table, write_table

QUALITIES = {"one": 1.0, "two": 2.0, "three": 0.5}
LEVELS = {"separator": ".", "back_off": 0.6, "learn": "leaves"}


def chosen(table, preferred="two"):
    """A table of predictions with those of the inner choice, which is the same in all folds."""
    places = table[["recipe", "repeat", "fold"]].drop_duplicates()
    figures = {"inner_accuracy": places["recipe"] == preferred, "inner_log_loss": 0.0}
    return with_inner_choice(table, places.assign(**figures), list(QUALITIES))


def with_reasons(table):
    rng = np.random.default_rng(2)
    return table.assign(
        reason=rng.choice(REASONS, len(table), p=[0.7, 0.1, 0.1, 0.1]),
        unknown_p=np.nan,
        hit=rng.permutation(table["true"].to_numpy()),
        hit_among=7,
        hit_of=9,
        hit_identity=0.75,
    )


def assert_told(tables, preferred="two"):
    """Each table has rows of the inner choice, and they are those of the recipe it chose."""
    for name, table in tables.items():
        parts = [table[table["recipe"] == recipe] for recipe in (INNER_CHOICE, preferred)]
        ours, theirs = (part.drop(columns="recipe").reset_index(drop=True) for part in parts)
        assert len(ours) or name == "ranking", name  # which is of two classes
        if name != "comparison":  # which neither ranks nor tests it
            pd.testing.assert_frame_equal(ours, theirs, obj=name)


@pytest.mark.parametrize("several", [False, True])
def test_the_measures(several, tmp_path):
    made_up = made_up_several if several else made_up_predictions
    predictions = chosen(with_reasons(made_up(["a", "b", "c"], QUALITIES, 60, 3, repeats=2)))
    groups = pd.Series(range(60), index=predictions["id"][:60])
    tables = evaluation_tables(predictions, groups, several)
    columns = SEVERAL_COLUMNS if several else TABLE_COLUMNS
    assert {name: tuple(table) for name, table in tables.items()} == columns
    nothing = evaluation_tables(predictions[:0], groups, several)
    assert {name: tuple(table) for name, table in nothing.items()} == columns
    write_table(tmp_path / "p.tsv.gz", predictions)
    again = read_table(tmp_path / "p.tsv.gz", m.PREDICTION_COLUMNS, m.PREDICTION_TEXT)
    for name, table in evaluation_tables(again, groups, several).items():
        pd.testing.assert_frame_equal(table, tables[name], obj=name)
    if several:  # which have no sets of labels
        assert tables.pop("coverage").empty
        assert tables.pop("errors").empty
    assert_told(tables)


def test_the_levels():
    assert_told(level_tables(chosen(made_up_paths(QUALITIES, 60, folds=2)), LEVELS))


def test_the_unknown():
    known = with_reasons(made_up_predictions(["a", "b"], QUALITIES, 60, folds=3))
    unknown = known.assign(
        true=np.where(known["id"].str[-1] < "5", "new", "newer"),
        probability=known[["p_a", "p_b"]].max(axis=1) ** 2,
        reject=np.where(known["reason"] == "", "no", "yes"),
    )[list(u.UNKNOWN_COLUMNS)]
    told = known[["recipe", "repeat", "fold"]].drop_duplicates().assign(would_be_found=0.5)
    known, unknown, told = map(chosen, (known, unknown, told))
    known = u.known_confidences(known)
    folds = u.rejection(known, unknown, told)
    tables = {"folds": folds.sort_values(["repeat", "fold"]), "summary": u.rejection_summary(folds)}
    tables["families"] = u.rejected_families(unknown)
    tables["curve"] = u.rejection_curve(known, unknown)
    assert_told(tables)
