"""Which recipe is best on the outer folds, and which others cannot be told apart from it."""

import numpy as np
import pandas as pd
from scipy.special import stdtr

from kreinflow.errors import InputError
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.numerics import FloatArray

COMPARISON_COLUMNS = (
    "recipe",
    "accuracy_mean",
    "accuracy_sd",
    "difference",
    "p",
    "p_holm",
    "best",
    "indistinguishable",
)
"""``difference`` is the recipe's mean accuracy minus the best one's.

``p`` and ``p_holm`` are empty where nothing was tested: for the best recipe itself, for the inner
choice, and for all if there is only one fold. ``indistinguishable`` is true where a test was made
and found nothing (``p_holm`` above :data:`SIGNIFICANCE`).
"""

SIGNIFICANCE = 0.05


def corrected_t_test(
    differences: FloatArray, n_train: FloatArray, n_test: FloatArray
) -> tuple[float, float]:
    """Test the mean of differences over folds against zero: the corrected resampled t-test.

    With J folds (of all repeats together) and differences d_j of mean m and variance s^2 (J - 1),

        t = m / sqrt((1/J + n_test/n_train) s^2),   J - 1 degrees of freedom, two sides.

    The training sets of folds overlap, so the plain 1/J is too small. n_test/n_train is the mean
    of the folds' ratios.

    Parameters
    ----------
    differences : ndarray of shape (J,)
    n_train, n_test : ndarray of shape (J,)
        Records trained on and tested in each fold.

    Returns
    -------
    t, p : float
        NaN, NaN for fewer than two folds. If all differences are equal: (0, 1) if they are zero,
        else (plus or minus infinity, 0), the formula's limit.

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 239-281 (2003),
    section 4, "corrected resampled t-test". doi:10.1023/A:1024068626366
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

    Sorted p_(1) <= ... <= p_(k) become max_{i <= j} min(1, (k - i + 1) p_(i)).

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 65-70 (1979).
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def compare_recipes(metrics: pd.DataFrame, n_records: int) -> pd.DataFrame:
    """Compare every recipe with the one of the best mean accuracy, over the outer folds.

    The best has the largest mean accuracy; among equal ones the smaller mean log loss, then the
    earlier row. The recipe called :data:`~kreinflow.evaluation.metrics.INNER_CHOICE` is a way to
    choose and not a recipe: it is listed, but neither tested nor named the best. All tests against
    the best are one family for Holm's adjustment. Since the best is found on the folds that it is
    measured on, its accuracy is slightly optimistic and the tests are a guide, not a proof.

    Parameters
    ----------
    metrics : DataFrame
        From :func:`~kreinflow.evaluation.metrics.fold_metrics`; all recipes on the same folds.
    n_records : int
        Records of the data set; a fold trains on those that it does not test.

    Returns
    -------
    DataFrame
        Columns :data:`COMPARISON_COLUMNS`, best accuracy first.

    Raises
    ------
    InputError
        If recipes were measured on different folds, or a fold leaves nothing to train on.
    """
    wide = metrics.pivot(index=["repeat", "fold"], columns="recipe", values="accuracy")
    incomplete = wide.columns[wide.isna().any(axis=0)]
    if len(incomplete):
        recipe = incomplete[0]
        raise InputError(
            f"metrics: {recipe!r} was not measured on all folds, so it cannot be compared. "
            "Predict the missing folds."
        )
    n_test = metrics.groupby(["repeat", "fold"])["records"].first().loc[wide.index].to_numpy(float)
    n_train = n_records - n_test
    if (n_train <= 0).any():
        raise InputError(
            f"metrics: a fold tests {int(n_test.max())} of {n_records} records and leaves none "
            "to train on. Give the number of records of the whole data set."
        )
    losses = metrics.groupby("recipe")["log_loss"].mean()
    recipes = list(dict.fromkeys(metrics["recipe"].astype(str)))
    means = {recipe: float(wide[recipe].mean()) for recipe in recipes}
    # Rounded: means of equal folds may differ in the last bit.
    ranking = sorted(recipes, key=lambda r: (-round(means[r], 12), round(losses[r], 12)))
    candidates = [recipe for recipe in ranking if recipe != INNER_CHOICE] or ranking
    best = candidates[0]
    tested = candidates[1:]
    p = np.array(
        [
            corrected_t_test((wide[recipe] - wide[best]).to_numpy(float), n_train, n_test)[1]
            for recipe in tested
        ]
    )
    plain = dict(zip(tested, p, strict=True))
    adjusted = dict(zip(tested, holm(p), strict=True))
    nothing = float("nan")
    rows = [
        (
            recipe,
            means[recipe],
            float(wide[recipe].std(ddof=1)),
            means[recipe] - means[best],
            plain.get(recipe, nothing),
            adjusted.get(recipe, nothing),
            recipe == best,
            adjusted.get(recipe, nothing) > SIGNIFICANCE,
        )
        for recipe in ranking
    ]
    return pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS))
