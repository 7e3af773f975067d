"""What the report says of recipes with a cascade."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.report.cascades import broken_loss, costs_of, loss_p_value, mean_curve, pairs_asked
from kreinflow.report.recipes import cascades
from report.made_up import config, dataset_report, report_page


def curve_of(rows, recipe="r", fold=0):
    """Rows of threshold, alignments, right; the third from the end of 100 records is chosen."""
    table = pd.DataFrame(rows, columns=["threshold", "alignments", "right"])
    marks = ["yes" if place == 1 else "no" for place in range(len(rows))]
    return table.assign(recipe=recipe, repeat=0, fold=fold, records=100, chosen=marks)


TWO_FOLDS = pd.concat(
    [
        curve_of([(0.0, 11, 80), (0.9, 30, 90), (2.0, 61, 92)]),
        curve_of([(0.0, 13, 84), (0.9, 40, 88), (0.95, 50, 91), (2.0, 63, 92)], fold=1),
    ],
    ignore_index=True,
)


def test_a_mean_curve_is_that_of_its_folds_at_the_same_share_of_the_way():
    """Thresholds differ from fold to fold, and so do the alignments at the ends."""
    found = mean_curve(TWO_FOLDS)
    np.testing.assert_allclose(found.iloc[[0, -1]], [[12, 0.82], [62, 0.92]])
    half = np.interp(37, found["alignments"], found["accuracy"])
    # Half of the way is 36 alignments in the first fold, and 38 in the second.
    first = 0.90 + 0.02 * (36 - 30) / (61 - 30)
    second = 0.84 + 0.04 * (38 - 13) / (40 - 13)
    np.testing.assert_allclose(half, (first + second) / 2, atol=2e-4)
    point = mean_curve(curve_of([(0.0, 11, 80), (2.0, 11, 80)]))  # it asks nobody
    np.testing.assert_allclose(point, [[11, 0.8]] * len(point))
    # Where folds are alike, the curve is theirs, whatever the number of thresholds.
    one = curve_of([(0.0, 11, 80), (0.7, 30, 90), (2.0, 61, 92)])
    finer = curve_of([(0.0, 11, 80), (0.5, 20.5, 85), (0.9, 30, 90), (2.0, 61, 92)], fold=1)
    for curve in (one, pd.concat([one, finer]), pd.concat([finer, one])):
        found = mean_curve(curve)
        expected = np.interp(found["alignments"], [11, 30, 61], [0.80, 0.90, 0.92])
        np.testing.assert_allclose(found["accuracy"], expected)


def test_costs_and_pairs_of_cascades_are_those_of_the_outer_folds(asked):
    models = pd.DataFrame({"recipe": ["r", "r", "s"], "repeat": 0, "alignments_per_query": 20.0})
    accepted = {"recipe": ["r", "s", "inner choice"], "alignments_mean": [35.0, np.nan, 30.0]}
    assert costs_of(models, pd.DataFrame(accepted)) == {"r": 35.0, "s": 20.0}
    models = pd.DataFrame({"cascade_pairs": [500, 700, 0]})
    pairs = 100 * (61 - 11) + 100 * (63 - 13)
    assert pairs_asked(models, TWO_FOLDS) == {"fitted": 1200, "tested": pairs}
    text = report_page(asked, config(cascades=2))[1].all_text
    found = pairs_asked(asked["models"], asked["curves"])
    assert found["fitted"] == 2 * 4 * 1500  # three folds and the final model
    assert "Cascades took 12,000 pairs more to be fitted, and " in text
    assert f"{found['tested']:,} to be tested on the outer folds" in text
    total = asked["alignments"]["aligned"] + sum(found.values())
    share = 100 * total / asked["alignments"]["full_matrix"]
    assert f"these are {total:,} pairs, or {share:.1f} % of the full matrix" in text


def test_the_table_holds_the_figures_of_the_curves():
    place = {"recipe": "r", "repeat": [0, 0, -1], "cascade_pairs": [500, 700, 1000]}
    models = pd.DataFrame(place | {"alignments_per_query": [32.0, 34.0, 99.0]})
    models["cascade"] = [
        *("nearest 10, threshold 0.9", "nearest 10, 20, pairs of 3, threshold 0.9"),
        "nearest 10, threshold 0.8",
    ]
    assert rows_of(TWO_FOLDS, models) == {
        "recipe": "r",
        "levels": "nearest 10; nearest 10, 20, pairs of 3",
        "threshold": "0.9",
        "alignments per query": "35.0",
        "on inner folds": "33.0",
        "if all were asked": "62.0",
        "accuracy": "89.00",
        "of the first stage": "82.00",
        "with all asked": "92.00",
        "points lost": "3.00",
        "asked for": "at most 0.1 points",
        "pairs more to train": "2,200",
    }
    late = ["no", "yes", "no", "no", "no", "yes", "no"]
    close = TWO_FOLDS.replace({"threshold": {0.9: 1 - 4.2e-4, 0.95: 1 - 6e-6}})
    for curves, shown in (
        (TWO_FOLDS.assign(chosen=late), "0.9 to 0.95"),
        (close.assign(chosen=late), "0.99958 to 0.999994"),
        (TWO_FOLDS.assign(chosen=["yes", "no", "no", "no", "no", "no", "yes"]), "0 to 2"),
    ):
        assert rows_of(curves, models)["threshold"] == shown
    by_number = {"loss": None, "alignments": 40}
    assert rows_of(TWO_FOLDS, models, by_number)["asked for"] == "40 alignments"


def rows_of(curves, models, cascade=None):
    """The one row of the table of these curves, by its headings."""
    recipes = [{"name": "s", "cascade": None}, {"name": "r", "cascade": cascade or {"loss": 0.001}}]
    whole = config() | {"recipes": recipes}
    tables = {"statistics": {}, "models": models, "curves": curves}
    table = cascades(dataset_report(tables, whole))
    return dict(zip(table.head, *table.rows, strict=True))


def test_a_page_without_cascades_says_nothing_of_them(tables):
    page = report_page(tables)[1].sections()
    said = " ".join(part for name, part in page.items() if name not in ("config", "references"))
    assert "ascade" not in said
    assert "A new object is compared with the landmarks only." in said


def lost_of(right, every, distinct=1000):
    curve = curve_of([(0.0, 11, right), (0.9, 30, right), (2.0, 61, every)]).assign(records=1000)
    return broken_loss(curve, 0.01, distinct)


def test_a_loss_beyond_chance_is_told():
    assert lost_of(930, 950) is None
    assert lost_of(880, 950) == pytest.approx(0.07)
    # The same records again, or records that are alike, tell no more.
    assert lost_of(880, 950, 60) is None
    assert lost_of(960, 950) is None
    # With nothing to lose it is the sign test. 8 heads of 10: (45 + 10 + 1)/1024.
    np.testing.assert_allclose(loss_p_value(8, 2, 0.0), 56 / 1024)
    assert loss_p_value(8, 2, 10.0) == 1.0


@pytest.mark.parametrize(("lost", "gained"), [(0.011, 0.001), (0.03, 0.02), (0.06, 0.05)])
def test_a_loss_as_stated_is_seldom_a_warning(lost, gained):
    """The stated loss is 1 point, and so is the true one; both ways err in some records too."""
    rng = np.random.default_rng(0)
    shares = [lost, gained, 0.02, 1 - lost - gained - 0.02]
    drawn = rng.multinomial(1000, shares, size=1000)
    told = [lost_of(1000 - b - both, 1000 - c - both) for b, c, both, _ in drawn[:300]]
    warned = sum(found is not None for found in told)
    assert warned <= 300 * 0.05
    exact = np.mean([loss_p_value(b, c, 10.0) < 0.05 for b, c, *_ in drawn if b + c])
    assert exact <= 0.065  # where b and c are known: three standard errors of 1,000 draws above
