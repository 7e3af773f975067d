"""Which recipe is best on the outer folds, and which others cannot be told apart from it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtr

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.evaluation.paired import paired_difference

COMPARISON_COLUMNS = (
    *("recipe", "folds", "accuracy_mean", "accuracy_sd", "difference", "p_folds", "p_folds_holm"),
    *("difference_records", "low", "high", "p_records", "p_records_holm"),
    *("best", "indistinguishable"),
)
"""``difference`` is the mean accuracy minus the best one's, over the ``folds`` that the recipe was
measured on. ``difference_records`` takes all predictions as one; see
:func:`~kreinflow.evaluation.paired.paired_difference`. What was not tested is empty.
``indistinguishable`` is true where a test did not show that the recipe is worse:
``p_records_holm`` is above :data:`SIGNIFICANCE`, or ``difference_records`` above zero, as it can be
where folds are of unlike size."""

SIGNIFICANCE = 0.05


def corrected_t_test(
    differences: FloatArray, n_train: FloatArray, n_test: FloatArray
) -> tuple[float, float]:
    """Test the mean of differences over folds against zero: the corrected resampled t-test.

    With J folds (of all repeats together) and differences d_j of mean m and variance s^2 (J - 1),

        t = m / sqrt((1/J + n_test/n_train) s^2),   J - 1 degrees of freedom, two sides.

    The training sets of folds overlap, so the plain 1/J is too small. n_test/n_train is the mean
    of the folds' ratios. Returned are t and p: NaN for fewer than two folds. If all differences are
    equal: (0, 1) if they are zero, else (plus or minus infinity, 0), the formula's limit.

    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 239-281 (2003),
    section 4. doi:10.1023/A:1024068626366
    """
    J = len(differences)
    if J < 2:
        return float("nan"), float("nan")
    mean = float(np.mean(differences))
    variance = float(np.var(differences, ddof=1))
    # Equal differences of accuracies still scatter by rounding.
    if variance <= (1e-12 * max(1.0, abs(mean))) ** 2:
        return (0.0, 1.0) if abs(mean) <= 1e-12 else (float(np.copysign(np.inf, mean)), 0.0)
    factor = 1.0 / J + float(np.mean(n_test / n_train))
    t = mean / np.sqrt(factor * variance)
    return float(t), float(2.0 * stdtr(J - 1, -abs(t)))


def holm(p: FloatArray) -> FloatArray:
    """Adjust p-values of one family by Holm's step-down method.

    Sorted p_(1) <= ... <= p_(k) become max_{i <= j} min(1, (k - i + 1) p_(i)). Holm, Scandinavian
    Journal of Statistics 6, 65-70 (1979).
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def compare_recipes(
    predictions: pd.DataFrame, metrics: pd.DataFrame, groups: "pd.Series[int]"
) -> pd.DataFrame:
    """Compare every recipe with the one of the best mean accuracy, which comes first.

    Among equal ones the best has the smaller mean log loss, or is the earlier row.
    :data:`~kreinflow.evaluation.metrics.INNER_CHOICE` is a way to choose and not a recipe: it is
    neither tested nor named the best. Nor are recipes that were not measured on all folds, which
    come last. All tests of one kind are one family for Holm's adjustment. Since the best is found
    on the records that it is measured on, its accuracy is slightly optimistic and the tests are a
    guide, not a proof.

    ``metrics``: of :func:`~kreinflow.evaluation.metrics.fold_metrics`. ``groups``: of each record
    of the data set, by its id; what shares a fold is not independent.
    """
    wide = metrics.pivot(index=["repeat", "fold"], columns="recipe", values="accuracy")
    losses = metrics.groupby("recipe")["log_loss"].mean()
    recipes = list(dict.fromkeys(metrics["recipe"].astype(str)))
    means = wide.mean()
    folds = wide.notna().sum()
    # Rounded: means of equal folds may differ in the last bit.
    ranking = sorted(
        recipes,
        key=lambda r: (folds[r] < len(wide), -round(means[r], 12), round(losses[r], 12)),
    )
    whole = [recipe for recipe in ranking if folds[recipe] == len(wide)]
    best, *tested = [recipe for recipe in whole if recipe != INNER_CHOICE] or whole
    n_test = metrics.groupby(["repeat", "fold"])["records"].first().loc[wide.index]
    against = differences_from(best, tested, wide, n_test, predictions, groups).reindex(ranking)
    worse = (against["p_records_holm"] <= SIGNIFICANCE) & ~(against["difference_records"] > 0)
    own = wide[ranking]
    return pd.DataFrame(
        {
            "recipe": ranking,
            "folds": folds[ranking].to_numpy(),
            "accuracy_mean": means[ranking].to_numpy(),
            "accuracy_sd": own.std(ddof=1).to_numpy(),
            **{name: against[name].to_numpy() for name in against},
            "difference": own.sub(wide[best], axis=0).mean().to_numpy(),
            "best": [recipe == best for recipe in ranking],
            "indistinguishable": [recipe in tested and not worse[recipe] for recipe in ranking],
        },
        columns=list(COMPARISON_COLUMNS),
    )


def differences_from(
    best: str,
    others: Sequence[str],
    accuracies: pd.DataFrame,
    records: "pd.Series[int]",
    predictions: pd.DataFrame,
    groups: "pd.Series[int]",
) -> pd.DataFrame:
    """Return how recipes differ from one: :data:`COMPARISON_COLUMNS` 4 to 11, by recipe.

    ``accuracies`` are by repeat and fold (rows) and recipe (columns), ``records`` how many are
    tested in each of these folds. InputError if two recipes have not predicted the same records.
    """
    n_test = records.to_numpy().astype(np.float64)
    n_train: FloatArray = len(groups) - n_test
    place = [predictions[name] for name in ("recipe", "repeat", "id")]
    right = (predictions["true"] == predictions["predicted"]).groupby(place).first()
    of_record = right.unstack("recipe")[[best, *others]]
    if of_record.isna().any(axis=None):
        raise InputError(
            f"predictions: {best!r} and others have not predicted the same records. Predict the "
            "folds again."
        )
    own_groups = groups.loc[of_record.index.get_level_values("id")].to_numpy(np.int64)
    repeats, lines = int(predictions["repeat"].max()) + 1, []
    for name in others:
        d = (accuracies[name] - accuracies[best]).to_numpy(np.float64)
        own, of_best = (of_record[recipe].to_numpy(np.bool_) for recipe in (name, best))
        paired = paired_difference(own, of_best, own_groups, repeats)
        p_folds = corrected_t_test(d, n_train, n_test)[1]
        lines.append((float(d.mean()), p_folds, np.nan, *paired, np.nan))
    table = pd.DataFrame(lines, list(others), COMPARISON_COLUMNS[4:12], dtype=np.float64)
    for kind in ("p_folds", "p_records"):
        table[f"{kind}_holm"] = holm(table[kind].to_numpy())
    return table
