"""Measures of the predictions of the outer folds.

All functions take the *predictions table*: one row for each recipe, repeat, fold and tested record,
with the columns of :data:`PREDICTION_COLUMNS` followed by one column of probabilities for each
class, named ``p_`` and the class. :func:`class_names` reads them, and raises an
:class:`~kreinflow.errors.InputError` of all functions here if the table is none of these. Each
table that is returned has the columns of the constant that its function names.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray

PREDICTION_COLUMNS = ("recipe", "repeat", "fold", "id", "true", "predicted")
"""What a predictions table starts with; the probabilities ``p_CLASS`` follow."""

REASON_COLUMNS = ("reason", "unknown_p")
"""What stands between them: ``reason`` and ``p_value`` of
:class:`~kreinflow.models.cascade.Answers`. A class may be called ``value``, so the p-value has
another name here. Measures do without them."""

PROBABILITY_PREFIX = "p_"

INNER_CHOICE = "inner choice"
"""The recipe that is none: in each outer fold the one that the inner folds preferred."""

METRICS = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "mcc",
    "log_loss",
    "brier",
)
"""The measures of a fold; of the last two less is better."""

FOLD_METRICS_COLUMNS = ("recipe", "repeat", "fold", "records", *METRICS)
"""``records`` is the number of records tested in the fold."""

SUMMARY_COLUMNS = (
    "recipe",
    "folds",
    "records",
    *(f"{metric}_{part}" for metric in METRICS for part in ("mean", "sd")),
    "calibration_error",
    "calibration_error_perfect",
)
"""``folds`` counts the folds of all repeats, ``records`` the predictions; sd is empty for one.

The last two are those of :func:`calibration_errors`."""

PER_CLASS_COLUMNS = ("recipe", "class", "precision", "recall", "f1", "support")
"""``support`` is the number of tested records of the class in a repeat."""

CONFUSION_COLUMNS = ("recipe", "true", "predicted", "count")
"""Pairs that never occur have no row."""

REJECT_CURVE_COLUMNS = ("recipe", "coverage", "threshold", "accuracy", "error")
"""Predictions with a probability of at least ``threshold`` are the share ``coverage`` of all."""

CALIBRATION_COLUMNS = (
    *("recipe", "bin", "lower", "upper", "count", "confidence", "accuracy"),
    *("perfect_low", "perfect_high"),
)
"""``confidence`` and ``accuracy`` are means over the ``count`` predictions of the bin. Were the
probabilities perfect, the accuracy would be in the last two with a probability of 95 % or more."""

CALIBRATION_BINS = 15
REJECT_POINTS = 100


def class_names(predictions: pd.DataFrame) -> tuple[str, ...]:
    """Return the classes that a predictions table has probabilities for, in their order.

    Raises
    ------
    InputError
        If a column is missing, there are no rows, a label has no column of probabilities, or the
        probabilities of a row do not sum to one.
    """
    missing = [name for name in PREDICTION_COLUMNS if name not in predictions.columns]
    if missing:
        raise InputError(
            f"predictions: column {missing[0]!r} is missing. Make the table again with the rule "
            "that predicts."
        )
    names = tuple(
        str(column)[len(PROBABILITY_PREFIX) :]
        for column in predictions.columns[len(PREDICTION_COLUMNS) :]
        if str(column).startswith(PROBABILITY_PREFIX)
    )
    if predictions.empty:
        raise InputError("predictions: no rows, so nothing can be measured. Test at least a fold.")
    for column in ("true", "predicted"):
        unknown = sorted(set(predictions[column].astype(str)) - set(names))
        if unknown:
            raise InputError(
                f"predictions: the label {unknown[0]!r} in column {column!r} has no column "
                f"{PROBABILITY_PREFIX + unknown[0]!r}. Train on all classes that are tested."
            )
    sums = _probabilities(predictions, names).sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6))
    if wrong.size:
        row = predictions.iloc[int(wrong[0])]
        raise InputError(
            f"predictions: the probabilities of {row['id']!r} by {row['recipe']!r} sum to "
            f"{sums[wrong[0]]:.6g}, not to one. Calibrate the learner's decisions."
        )
    return names


def _probabilities(predictions: pd.DataFrame, classes: tuple[str, ...]) -> FloatArray:
    columns = [PROBABILITY_PREFIX + name for name in classes]
    return predictions[columns].to_numpy(np.float64)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows of a predictions table, with classes as codes."""

    classes: tuple[str, ...]
    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    probabilities: FloatArray

    @property
    def right(self) -> NDArray[np.bool_]:
        return np.equal(self.true, self.predicted)

    @property
    def confidence(self) -> FloatArray:
        """The probability of the class that was predicted."""
        given: FloatArray = self.probabilities[np.arange(len(self.true)), self.predicted]
        return given


def _parts(predictions: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], _Part]]:
    """Yield the rows of each recipe and value of these columns, with its recipe and values.

    Recipes stay in the order of their first row, which is that of the config.
    """
    classes = class_names(predictions)
    index = pd.Index(classes)
    for recipe, rows in predictions.groupby("recipe", sort=False):
        for place, table in rows.groupby(list(keys)) if keys else [((), rows)]:
            true, predicted = (
                index.get_indexer(pd.Index(table[column].astype(str))).astype(np.int64)
                for column in ("true", "predicted")
            )
            part = _Part(classes, true, predicted, _probabilities(table, classes))
            yield (str(recipe), *place), part


def fold_metrics(predictions: pd.DataFrame) -> pd.DataFrame:
    r"""Measure each recipe in each fold of each repeat.

    With n test records, the true class t_i, the prediction \hat t_i and probabilities p_ic:

    - ``accuracy``: share of records with \hat t_i = t_i;
    - ``balanced_accuracy``: mean recall over the classes that occur in the fold's test records
      (a class that is absent has no recall and does not count);
    - ``macro_f1``: mean F1 over the classes that occur there, or are predicted there;
    - ``mcc``: Matthews' correlation coefficient for many classes (0 where it is undefined: only
      one class in truth or in prediction);
    - ``log_loss``: -(1/n) sum_i ln p_i,t_i, in nats, probabilities clipped at the machine epsilon;
    - ``brier``: (1/n) sum_i sum_c (p_ic - [t_i = c])^2, from 0 to 2.

    Parameters
    ----------
    predictions : DataFrame
        See the module.

    Returns
    -------
    DataFrame
        Columns :data:`FOLD_METRICS_COLUMNS`, one row a recipe, repeat and fold.

    References
    ----------
    Gorodkin, Comput. Biol. Chem. 28, 367-374 (2004): the coefficient for many classes.
    Brier, Mon. Weather Rev. 78, 1-3 (1950): the score for many classes.
    """
    rows = [
        (*place, len(part.true), *_measure(part))
        for place, part in _parts(predictions, "repeat", "fold")
    ]
    return pd.DataFrame(rows, columns=list(FOLD_METRICS_COLUMNS))


def _measure(part: _Part) -> tuple[float, ...]:
    # scikit-learn is slow to import, and the report takes only names from here.
    from sklearn.metrics import f1_score, log_loss, matthews_corrcoef, recall_score

    true, predicted, p = part.true, part.predicted, part.probabilities
    present = np.unique(true)
    single = len(present) == 1 and np.array_equal(np.unique(predicted), present)
    return (
        float(np.mean(true == predicted)),
        float(recall_score(true, predicted, labels=present, average="macro", zero_division=0.0)),
        float(f1_score(true, predicted, average="macro", zero_division=0.0)),
        # Undefined; scikit-learn says 0 too, with a warning.
        0.0 if single else float(matthews_corrcoef(true, predicted)),
        float(log_loss(true, p, labels=np.arange(p.shape[1]))),
        float(np.mean(np.sum((p - np.eye(p.shape[1])[true]) ** 2, axis=1))),
    )


def _bins(part: _Part) -> pd.DataFrame:
    """Return count, mean confidence and accuracy of the bins that are not empty."""
    confidence = np.minimum(part.confidence, 1.0)  # sums of probabilities are checked to 1e-6
    # Bins are (lower, upper], so that a certain prediction falls into the last one.
    number = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(int) - 1, 0, None)
    number = np.minimum(number, CALIBRATION_BINS - 1)
    right = part.right.astype(float)
    count = np.bincount(number, minlength=CALIBRATION_BINS)
    filled = np.flatnonzero(count)
    return pd.DataFrame(
        {
            "bin": filled + 1,
            "lower": filled / CALIBRATION_BINS,
            "upper": (filled + 1) / CALIBRATION_BINS,
            "count": count[filled],
            "confidence": np.bincount(number, confidence, CALIBRATION_BINS)[filled] / count[filled],
            "accuracy": np.bincount(number, right, CALIBRATION_BINS)[filled] / count[filled],
        }
    )


def calibration_errors(predictions: pd.DataFrame) -> pd.DataFrame:
    r"""Return the calibration error of each recipe, and what it would be of perfect probabilities.

    The top-label expected calibration error over 15 bins of equal width of the probability of the
    prediction is

    .. math:: \sum_b \frac{n_b}{n} |a_b - c_b|

    with the accuracy a_b and the mean probability c_b of the n_b predictions of bin b. Even of
    perfect probabilities it is above 0, and the more so the fewer predictions there are. So the
    folds of a repeat are pooled, and repeats are averaged. If each prediction of bin b is right
    with probability c_b, the expectation is, by de Moivre's formula with k = floor(n_b c_b) + 1,

    .. math:: \sum_b \frac{n_b}{n} E|a_b - c_b| = \sum_b \frac{2 k}{n} (1 - c_b)
       \binom{n_b}{k} c_b^k (1 - c_b)^{n_b - k}.

    Were it each with its own probability, the expectation would be smaller by 3.4 % at most.

    Returns
    -------
    DataFrame
        Columns recipe, calibration_error, calibration_error_perfect.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 2: the calibration
    error (15 bins there too).
    Diaconis and Zabell, Closed form summation for classical distributions: variations on a theme
    of de Moivre, Statistical Science 6, 284-302 (1991): the mean absolute deviation.
    """
    from scipy.stats import binom  # slow to import

    rows = []
    for (recipe, _), part in _parts(predictions, "repeat"):
        bins = _bins(part)
        n, c = (bins[name].to_numpy(np.float64) for name in ("count", "confidence"))
        gaps = n * np.abs(bins["accuracy"].to_numpy(np.float64) - c)
        k = np.floor(n * c) + 1.0
        expected = 2.0 * k * (1.0 - c) * binom.pmf(k, n, c)
        rows.append((recipe, gaps.sum() / n.sum(), expected.sum() / n.sum()))
    names = ["recipe", "calibration_error", "calibration_error_perfect"]
    table = pd.DataFrame(rows, columns=names)
    return table.groupby("recipe", sort=False).mean().reset_index()


def summary(metrics: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds of each measure, for each recipe.

    Each fold counts the same, whatever its size; with repeats all their folds are taken together.
    The calibration error is the exception: see :func:`calibration_errors`.

    Parameters
    ----------
    metrics : DataFrame
        From :func:`fold_metrics`.
    predictions : DataFrame
        What they were made of.

    Returns
    -------
    DataFrame
        Columns :data:`SUMMARY_COLUMNS`. With a single fold the standard deviations are NaN.
    """
    rows = []
    for recipe, table in metrics.groupby("recipe", sort=False):
        pairs = [(table[metric].mean(), table[metric].std(ddof=1)) for metric in METRICS]
        values = [float(value) for pair in pairs for value in pair]
        rows.append((recipe, len(table), int(table["records"].sum()), *values))
    means = pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS[:-2]))
    return means.merge(calibration_errors(predictions), on="recipe")


def per_class(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return precision, recall, F1 and support of each class.

    The folds of a repeat are pooled (a class may be rare in a single fold), repeats are averaged.
    A class that is never predicted has precision 0; one that never occurs has recall 0.

    Columns :data:`PER_CLASS_COLUMNS`.
    """
    from sklearn.metrics import precision_recall_fscore_support  # slow to import

    repeats: dict[str, list[FloatArray]] = {}
    for (recipe, _), part in _parts(predictions, "repeat"):
        measures = precision_recall_fscore_support(
            part.true, part.predicted, labels=np.arange(len(part.classes)), zero_division=0.0
        )
        repeats.setdefault(recipe, []).append(np.array(measures, dtype=np.float64))
    rows = [
        (recipe, label, *values)
        for recipe, found in repeats.items()
        for label, values in zip(part.classes, np.mean(found, axis=0).T, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(PER_CLASS_COLUMNS))


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """Count true against predicted classes, summed over folds and averaged over repeats.

    Columns :data:`CONFUSION_COLUMNS`, in the order of the classes.
    """
    repeats = predictions.groupby("recipe")["repeat"].nunique()
    rows = []
    for (recipe,), part in _parts(predictions):
        counts = np.zeros((len(part.classes), len(part.classes)))
        np.add.at(counts, (part.true, part.predicted), 1)
        rows += [
            (recipe, part.classes[i], part.classes[j], counts[i, j] / float(repeats[recipe]))
            for i, j in np.argwhere(counts)
        ]
    return pd.DataFrame(rows, columns=list(CONFUSION_COLUMNS))


def reject_curve(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy among the predictions that are kept when uncertain ones are set aside.

    Predictions of all folds and repeats are sorted by their probability; those of one probability
    are kept or set aside together. At most :data:`REJECT_POINTS` coverages are given, the last
    is 1.

    Columns :data:`REJECT_CURVE_COLUMNS`, by growing coverage.
    """
    rows = []
    for (recipe,), part in _parts(predictions):
        order = np.argsort(-part.confidence, kind="stable")
        confidence = part.confidence[order]
        right = np.cumsum(part.right[order])
        n = len(order)
        ends = np.append(np.flatnonzero(np.diff(confidence)), n - 1)  # last of equal ones
        wanted = np.ceil(np.arange(1, REJECT_POINTS + 1) * n / REJECT_POINTS) - 1
        for end in np.unique(ends[np.searchsorted(ends, wanted)]):
            accuracy = right[end] / (end + 1)
            rows.append((recipe, (end + 1) / n, confidence[end], accuracy, 1.0 - accuracy))
    return pd.DataFrame(rows, columns=list(REJECT_CURVE_COLUMNS))


def calibration_bins(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how often predictions are right, by the probability they were given.

    Fifteen bins (lower, upper] of equal width, over the predictions of all folds and repeats;
    empty bins have no row. The range of the accuracy of perfect probabilities is that of a binomial
    number of right predictions, each right with the mean probability of the bin [1]_. Repeats
    predict the same records again, so the number is that of one repeat.

    Columns :data:`CALIBRATION_COLUMNS`.

    References
    ----------
    .. [1] Bröcker, J., Smith, L. A.: Increasing the reliability of reliability diagrams. Weather
       and Forecasting 22, 651-661 (2007): consistency bars.
    """
    from scipy.stats import binom  # slow to import

    tables = []
    repeats = predictions.groupby("recipe")["repeat"].nunique()
    for (recipe,), part in _parts(predictions):
        bins = _bins(part)
        n = np.ceil(bins["count"].to_numpy(np.float64) / float(repeats[recipe]))
        low, high = binom.interval(0.95, n, bins["confidence"].to_numpy(np.float64))
        tables.append(bins.assign(recipe=recipe, perfect_low=low / n, perfect_high=high / n))
    return pd.concat(tables, ignore_index=True)[list(CALIBRATION_COLUMNS)]
