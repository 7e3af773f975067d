"""What is rejected of the known and of the unknown, counted by hand."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.evaluation import unknown as u
from kreinflow.evaluation.inner_choice import with_inner_choice
from kreinflow.evaluation.metrics import INNER_CHOICE

RECIPES = ["one", "two"]
FOLDS = [(0, 0), (0, 1), (1, 0)]


def made_up(seed=3):
    """Known and unknown predictions of two recipes, and the tables of their models."""
    rng = np.random.default_rng(seed)
    known, unknown, models = [], [], []
    for number, recipe in enumerate(RECIPES):
        for repeat, fold in [*FOLDS, (-1, -1)]:
            limit = float(np.round(rng.uniform(0.5, 0.9), 2))
            models.append((recipe, repeat, fold, rng.uniform(), rng.uniform(), limit))
            if repeat < 0:
                continue
            for i in range(20):
                p = np.round(rng.uniform(0.4 if number else 0.3, 1), 2)  # some are equal
                true, predicted = rng.choice(["a", "b"], 2)
                ps = (p, 1 - p) if predicted == "a" else (1 - p, p)
                known.append((recipe, repeat, fold, f"k{i}", true, predicted, *ps))
            for i in range(9):
                p = np.round(rng.uniform(0.5, 1), 2)
                rejected, reason = ("yes", "unsure") if p < limit else ("no", "")
                family = "xy"[i % 2]
                predicted = rng.choice(["a", "b"])
                told = reason, np.nan, p, rejected
                unknown.append((recipe, repeat, fold, f"u{i}", family, predicted, *told))
    head = ["recipe", "repeat", "fold"]
    known = pd.DataFrame(known, columns=[*head, "id", "true", "predicted", "p_a", "p_b"])
    unknown = pd.DataFrame(unknown, columns=list(u.UNKNOWN_COLUMNS))
    more = ["inner_accuracy", "inner_log_loss", "reject_threshold"]
    return known, unknown, pd.DataFrame(models, columns=[*head, *more])


def measured(seed=3):
    known, unknown, models = made_up(seed)
    known, unknown = (with_inner_choice(table, models, RECIPES) for table in (known, unknown))
    limits = u.thresholds(models, RECIPES)
    return known, u.known_confidences(known), unknown, models, limits


def of(table, recipe, repeat, fold):
    """The rows of one model."""
    keys = table[["recipe", "repeat", "fold"]]
    return table[(keys == [recipe, repeat, fold]).all(axis=1)]


def test_thresholds_of_the_inner_choice_are_those_of_the_recipe_it_took():
    *_, models, limits = measured()
    assert len(limits) == 9
    assert (limits["repeat"] >= 0).all()
    by_place = models.set_index(["repeat", "fold"])
    for repeat, fold in FOLDS:
        rows = by_place.loc[(repeat, fold)]
        best = rows[rows["inner_accuracy"] == rows["inner_accuracy"].max()]
        chosen = of(limits, INNER_CHOICE, repeat, fold)["threshold"].item()
        assert chosen == best["reject_threshold"].item()
    assert len(u.thresholds(models, ["one"])) == 6  # nothing to choose from


def test_shares_and_pairs_are_counted():
    table, known, unknown, _, limits = measured()
    found = u.rejection(known, unknown, limits)
    assert tuple(found.columns) == u.REJECTION_COLUMNS
    assert list(dict.fromkeys(found["recipe"])) == [*RECIPES, INNER_CHOICE]
    assert len(found) == 9
    for row in found.to_dict("records"):
        place = (row["recipe"], row["repeat"], row["fold"])
        ours, theirs, limit = (of(t, *place) for t in (table, unknown, limits))
        limit = limit["threshold"].item()
        sure = ours[["p_a", "p_b"]].max(axis=1)
        assert row["known_rejected"] == pytest.approx((sure < limit).mean())
        accepted = ours[sure >= limit]
        wrong = (accepted["true"] != accepted["predicted"]).mean()
        assert row["known_error"] == pytest.approx(wrong)
        assert row["unknown_rejected"] == pytest.approx((theirs["probability"] < limit).mean())
        difference = sure.to_numpy()[:, None] - theirs["probability"].to_numpy()
        pairs = np.mean((difference > 0) + 0.5 * (difference == 0))
        assert row["auroc"] == pytest.approx(pairs)
        assert (row["known"], row["unknown"]) == (20, 9)


def test_summary_is_mean_and_deviation_over_folds():
    _, known, unknown, _, limits = measured()
    folds = u.rejection(known, unknown, limits)
    summary = u.rejection_summary(folds).set_index("recipe")
    for recipe, part in folds.groupby("recipe"):
        assert summary.loc[recipe, "folds"] == 3
        values = part["unknown_rejected"].to_numpy()
        assert summary.loc[recipe, "unknown_rejected_mean"] == pytest.approx(values.mean())
        assert summary.loc[recipe, "unknown_rejected_sd"] == pytest.approx(values.std(ddof=1))
    assert np.isnan(u.rejection_summary(folds[:1])["auroc_sd"].item())


def test_all_known_rejected_leaves_no_error():
    _, known, unknown, _, limits = measured()
    found = u.rejection(known, unknown, limits.assign(threshold=1.5))
    assert (found["known_rejected"] == 1).all()
    assert found["known_error"].isna().all()


def test_families_and_what_they_are_taken_for():
    _, _, unknown, _, _ = measured()
    families = u.rejected_families(unknown)
    assert tuple(families.columns) == u.FAMILIES_COLUMNS
    for row in families.to_dict("records"):
        part = unknown[(unknown["recipe"] == row["recipe"]) & (unknown["true"] == row["class"])]
        shares = [(of(part, row["recipe"], *fold)["reject"] == "yes").mean() for fold in FOLDS]
        assert row["records"] == {"x": 5, "y": 4}[row["class"]]
        assert row["rejected_mean"] == pytest.approx(np.mean(shares))
        assert row["rejected_sd"] == pytest.approx(np.std(shares, ddof=1))
        counts = {name: (part["predicted"] == name).sum() for name in "ab"}
        assert counts[row["taken_for"]] == max(counts.values())
        assert row["taken_share"] == pytest.approx(max(counts.values()) / len(part))


def test_the_curve_is_the_mean_of_what_each_fold_rejects():
    _, known, unknown, _, _ = measured()
    curve = u.rejection_curve(known, unknown)
    assert tuple(curve.columns) == u.UNKNOWN_CURVE_COLUMNS
    for recipe, part in curve.groupby("recipe"):
        shares = part["known_rejected"].to_numpy()
        assert (np.diff(shares) > 0).all()
        assert (np.diff(part["unknown_rejected"]) >= -1e-15).all()
        assert part.iloc[-1, 1:].tolist() == [1, 1]
        expected = np.zeros(len(shares))
        for fold in FOLDS:
            ours, theirs = (of(t, recipe, *fold)["probability"] for t in (known, unknown))
            points = [((ours < t).mean(), (theirs < t).mean()) for t in sorted(set(ours))]
            for place, share in enumerate(shares):
                below = [point for point in points if point[0] <= share][-1]
                above = next((point for point in points if point[0] > share), (1.0, 1.0))
                way = (share - below[0]) / (above[0] - below[0]) if share < 1 else 1.0
                expected[place] += (below[1] + way * (above[1] - below[1])) / len(FOLDS)
        np.testing.assert_allclose(part["unknown_rejected"], expected, atol=1e-12)


def test_the_curve_passes_through_the_marker_of_folds_of_different_confidence():
    # Each fold tells known from unknown; what one thinks of the known, another of the unknown.
    known = pd.DataFrame(
        {"recipe": "one", "repeat": 0, "fold": [0, 0, 1, 1], "probability": [0.9, 0.95, 0.6, 0.7]}
    ).assign(right=True)
    unknown = known.assign(probability=[0.75, 0.8, 0.3, 0.4])
    limits = pd.DataFrame({"recipe": "one", "repeat": 0, "fold": [0, 1], "threshold": [0.85, 0.5]})
    folds = u.rejection(known, unknown, limits)
    assert folds[["known_rejected", "unknown_rejected"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    curve = u.rejection_curve(known, unknown)
    assert curve[["known_rejected", "unknown_rejected"]].iloc[0].tolist() == [0, 1]
