"""What is rejected of the known and of the unknown, counted by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from kreinflow.evaluation import unknown as u
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, REASON_COLUMNS

RECIPES = ["one", "two"]
FOLDS = [(0, 0), (0, 1), (1, 0)]


def made_up():
    """Known and unknown predictions of two recipes, and what their models expected to find.

    The second one has p-values.
    """
    rng = np.random.default_rng(3)
    known, unknown, expected = [], [], []

    def told(p):
        reason = rng.choice(["", "", *u.AS])
        return str(reason), np.round(rng.uniform(), 1) if recipe == "two" else ""

    for number, recipe in enumerate(RECIPES):
        for repeat, fold in FOLDS:
            found = rng.uniform() if recipe == "two" else np.nan
            expected.append((recipe, repeat, fold, found))
            for i in range(20):
                p = np.round(rng.uniform(0.4 if number else 0.3, 1), 2)  # some are equal
                true, predicted = rng.choice(["a", "b"], 2)
                ps = (p, 1 - p) if predicted == "a" else (1 - p, p)
                known.append((recipe, repeat, fold, f"k{i}", true, predicted, *told(p), *ps))
            for i in range(9):
                p = np.round(rng.uniform(0.5, 1), 2)
                family, predicted = "xy"[i % 2], rng.choice(["a", "b"])
                reason, p_value = told(p)
                own = reason, p_value, p, "yes" if reason else "no"
                unknown.append((recipe, repeat, fold, f"u{i}", family, predicted, *own))
    head = [*PREDICTION_COLUMNS, *REASON_COLUMNS]
    known = pd.DataFrame(known, columns=[*head, "p_a", "p_b"])
    unknown = pd.DataFrame(unknown, columns=list(u.UNKNOWN_COLUMNS))
    told = pd.DataFrame(expected, columns=["recipe", "repeat", "fold", "would_be_found"])
    return known, u.known_confidences(known), unknown, told


def of(table, recipe, repeat, fold):
    """The rows of one model."""
    keys = table[["recipe", "repeat", "fold"]]
    return table[(keys == [recipe, repeat, fold]).all(axis=1)]


def sureness_of(row, ps):
    """The p-value where there is one, else the largest probability."""
    return max(row[p] for p in ps) if row["unknown_p"] == "" else row["unknown_p"]


def test_shares_and_pairs_are_counted():
    table, known, unknown, told = made_up()
    found = u.rejection(known, unknown, told)
    assert tuple(found.columns) == u.REJECTION_COLUMNS
    assert list(dict.fromkeys(found["recipe"])) == RECIPES
    assert len(found) == 6
    for row in found.to_dict("records"):
        place = (row["recipe"], row["repeat"], row["fold"])
        ours, theirs = (of(t, *place) for t in (table, unknown))
        for side, part in (("known", ours), ("unknown", theirs)):
            shares = [row[f"{side}_{name}"] for name in u.AS.values()]
            counted = [sum(part["reason"] == reason) / len(part) for reason in u.AS]
            assert shares == pytest.approx(counted)
            assert row[f"{side}_rejected"] == pytest.approx(sum(shares))
        accepted = ours[ours["reason"] == ""]
        wrong = (accepted["true"] != accepted["predicted"]).mean()
        assert row["known_error"] == pytest.approx(wrong)
        sure = [sureness_of(one, ["p_a", "p_b"]) for one in ours.to_dict("records")]
        strange = [sureness_of(one, ["probability"]) for one in theirs.to_dict("records")]
        difference = np.array(sure)[:, None] - np.array(strange)
        pairs = np.mean((difference > 0) + 0.5 * (difference == 0))
        assert row["auroc"] == pytest.approx(pairs)
        assert (row["known"], row["unknown"]) == (20, 9)
        expected = of(told, *place)["would_be_found"].item()
        assert row["would_be_found"] == pytest.approx(expected, nan_ok=True)


def test_summary_is_mean_and_deviation_over_folds():
    _, known, unknown, told = made_up()
    folds = u.rejection(known, unknown, told)
    summary = u.rejection_summary(folds).set_index("recipe")
    for recipe, part in folds.groupby("recipe"):
        assert summary.loc[recipe, "folds"] == 3
        for measure in u.MEASURES:
            mean, sd = (summary.loc[recipe, f"{measure}_{name}"] for name in ("mean", "sd"))
            values = part[measure].to_numpy()
            assert (mean, sd) == pytest.approx((values.mean(), values.std(ddof=1)))
        expected = summary.loc[recipe, "would_be_found"]
        assert expected == pytest.approx(part["would_be_found"].mean(), nan_ok=True)
    assert summary["would_be_found"].isna().sum() == 1
    assert np.isnan(u.rejection_summary(folds[:1])["auroc_sd"].item())


def test_families_and_what_they_are_taken_for():
    _, _, unknown, _ = made_up()
    families = u.rejected_families(unknown)
    assert tuple(families.columns) == u.FAMILIES_COLUMNS
    for row in families.to_dict("records"):
        part = unknown[(unknown["recipe"] == row["recipe"]) & (unknown["true"] == row["class"])]
        shares = [(of(part, row["recipe"], *fold)["reason"] != "").mean() for fold in FOLDS]
        assert row["records"] == {"x": 5, "y": 4}[row["class"]]
        assert row["rejected_mean"] == pytest.approx(np.mean(shares))
        assert row["rejected_sd"] == pytest.approx(np.std(shares, ddof=1))
        reasons = [(part["reason"] == reason).mean() for reason in u.AS]
        assert [row[name] for name in u.AS.values()] == pytest.approx(reasons)
        counts = {name: (part["predicted"] == name).sum() for name in "ab"}
        assert counts[row["taken_for"]] == max(counts.values())
        assert row["taken_share"] == pytest.approx(max(counts.values()) / len(part))


def test_the_curve_is_the_mean_of_what_each_fold_rejects():
    _, known, unknown, _ = made_up()
    curve = u.rejection_curve(known, unknown)
    assert tuple(curve.columns) == u.UNKNOWN_CURVE_COLUMNS
    for recipe, part in curve.groupby("recipe"):
        shares = part["known_rejected"].to_numpy()
        assert (np.diff(shares) > 0).all()
        assert (np.diff(part["unknown_rejected"]) >= -1e-15).all()
        assert part.iloc[-1, 1:].tolist() == [1, 1]
        expected = np.zeros(len(shares))
        for fold in FOLDS:
            ours = of(known, recipe, *fold)["sureness"]
            theirs = u.sureness(of(unknown, recipe, *fold))
            points = [((ours < t).mean(), (theirs < t).mean()) for t in sorted(set(ours))]
            for place, share in enumerate(shares):
                below = [point for point in points if point[0] <= share][-1]
                above = next((point for point in points if point[0] > share), (1.0, 1.0))
                way = (share - below[0]) / (above[0] - below[0]) if share < 1 else 1.0
                expected[place] += (below[1] + way * (above[1] - below[1])) / len(FOLDS)
        np.testing.assert_allclose(part["unknown_rejected"], expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_area_under_the_curve_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.7, 1, rng.integers(1, 200)), rng.normal(0, 1, rng.integers(1, 200))
    if seed % 2:  # with many ties
        ours, theirs = np.round(ours), np.round(theirs)
    known = np.repeat([1, 0], [len(ours), len(theirs)])
    expected = roc_auc_score(known, np.concatenate([ours, theirs]))
    assert u.auroc(ours, theirs) == pytest.approx(expected, rel=1e-14)
