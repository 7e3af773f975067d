"""Measures of the predictions of the outer folds.

All functions take the *predictions table*: one row for each recipe, repeat, fold and tested record,
with the columns of :data:`PREDICTION_COLUMNS` followed by one column of probabilities for each
class, named ``p_`` and the class (:func:`class_names` reads them). Each table that is returned has
the columns of the constant that its function names.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray

PREDICTION_COLUMNS = ("recipe", "repeat", "fold", "id", "true", "predicted")
"""What a predictions table starts with; the probabilities ``p_CLASS`` follow."""

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
    "calibration_error",
)
"""The measures of a fold; of the last three less is better."""

FOLD_METRICS_COLUMNS = ("recipe", "repeat", "fold", "records", *METRICS)
"""``records`` is the number of records tested in the fold."""

SUMMARY_COLUMNS = (
    "recipe",
    "folds",
    "records",
    *(f"{metric}_{part}" for metric in METRICS for part in ("mean", "sd")),
)
"""``folds`` counts the folds of all repeats, ``records`` the predictions; sd is empty for one."""

PER_CLASS_COLUMNS = ("recipe", "class", "precision", "recall", "f1", "support")
"""``support`` is the number of tested records of the class in a repeat."""

CONFUSION_COLUMNS = ("recipe", "true", "predicted", "count")
"""Pairs that never occur have no row."""

REJECT_CURVE_COLUMNS = ("recipe", "coverage", "threshold", "accuracy", "error")
"""Predictions with a probability of at least ``threshold`` are the share ``coverage`` of all."""

CALIBRATION_COLUMNS = ("recipe", "bin", "lower", "upper", "count", "confidence", "accuracy")
"""``confidence`` and ``accuracy`` are means over the ``count`` predictions of the bin."""

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

    true: NDArray[np.int64]
    predicted: NDArray[np.int64]
    probabilities: FloatArray


def _part(predictions: pd.DataFrame, classes: tuple[str, ...]) -> _Part:
    index = pd.Index(classes)
    return _Part(
        index.get_indexer(pd.Index(predictions["true"].astype(str))).astype(np.int64),
        index.get_indexer(pd.Index(predictions["predicted"].astype(str))).astype(np.int64),
        _probabilities(predictions, classes),
    )


def _by_recipe(predictions: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    # Recipes stay in the order of their first row, which is that of the config.
    for recipe, rows in predictions.groupby("recipe", sort=False):
        yield str(recipe), rows


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
    - ``brier``: (1/n) sum_i sum_c (p_ic - [t_i = c])^2, from 0 to 2;
    - ``calibration_error``: top-label expected calibration error,
      sum_b (n_b/n) abs(accuracy_b - confidence_b) over 15 bins of equal width of the probability
      of the prediction.

    Parameters
    ----------
    predictions : DataFrame
        See the module.

    Returns
    -------
    DataFrame
        Columns :data:`FOLD_METRICS_COLUMNS`, one row a recipe, repeat and fold.

    Raises
    ------
    InputError
        See :func:`class_names`.

    References
    ----------
    Gorodkin, Comput. Biol. Chem. 28, 367-374 (2004): the coefficient for many classes.
    Brier, Mon. Weather Rev. 78, 1-3 (1950): the score for many classes.
    Guo et al., On calibration of modern neural networks, ICML 2017, section 2: the calibration
    error (15 bins there too).
    """
    classes = class_names(predictions)
    rows = [
        (recipe, repeat, fold, len(table), *_measure(_part(table, classes)))
        for recipe, of_recipe in _by_recipe(predictions)
        for (repeat, fold), table in of_recipe.groupby(["repeat", "fold"], sort=True)
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
        _calibration_error(_bins(part)),
    )


def _bins(part: _Part) -> pd.DataFrame:
    """Return count, mean confidence and accuracy of the bins that are not empty."""
    confidence = _confidence(part)
    # Bins are (lower, upper], so that a certain prediction falls into the last one.
    number = np.clip(np.ceil(confidence * CALIBRATION_BINS).astype(int) - 1, 0, None)
    number = np.minimum(number, CALIBRATION_BINS - 1)
    right = (part.true == part.predicted).astype(float)
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


def _confidence(part: _Part) -> FloatArray:
    """Return the probability of the class that was predicted."""
    confidence: FloatArray = part.probabilities[np.arange(len(part.true)), part.predicted]
    return confidence


def _calibration_error(bins: pd.DataFrame) -> float:
    gap = (bins["accuracy"] - bins["confidence"]).abs()
    return float((bins["count"] * gap).sum() / bins["count"].sum())


def summary(metrics: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds of each measure, for each recipe.

    Each fold counts the same, whatever its size; with repeats all their folds are taken together.

    Parameters
    ----------
    metrics : DataFrame
        From :func:`fold_metrics`.

    Returns
    -------
    DataFrame
        Columns :data:`SUMMARY_COLUMNS`. With a single fold the standard deviations are NaN.
    """
    rows = []
    for recipe, table in metrics.groupby("recipe", sort=False):
        values: list[float] = []
        for metric in METRICS:
            values += [float(table[metric].mean()), float(table[metric].std(ddof=1))]
        rows.append((recipe, len(table), int(table["records"].sum()), *values))
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def per_class(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return precision, recall, F1 and support of each class.

    The folds of a repeat are pooled (a class may be rare in a single fold), repeats are averaged.
    A class that is never predicted has precision 0; one that never occurs has recall 0.

    Returns
    -------
    DataFrame
        Columns :data:`PER_CLASS_COLUMNS`.

    Raises
    ------
    InputError
        See :func:`class_names`.
    """
    from sklearn.metrics import precision_recall_fscore_support  # slow to import

    classes = class_names(predictions)
    tables = []
    for recipe, of_recipe in _by_recipe(predictions):
        repeats = []
        for _, table in of_recipe.groupby("repeat", sort=True):
            part = _part(table, classes)
            measures = precision_recall_fscore_support(
                part.true, part.predicted, labels=np.arange(len(classes)), zero_division=0.0
            )
            repeats.append(np.array(measures, dtype=np.float64))
        means = np.mean(repeats, axis=0)
        measured = dict(zip(PER_CLASS_COLUMNS[2:], means, strict=True))
        tables.append(pd.DataFrame({"recipe": recipe, "class": list(classes), **measured}))
    return pd.concat(tables, ignore_index=True)[list(PER_CLASS_COLUMNS)]


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """Count true against predicted classes, summed over folds and averaged over repeats.

    Returns
    -------
    DataFrame
        Columns :data:`CONFUSION_COLUMNS`, in the order of the classes.

    Raises
    ------
    InputError
        See :func:`class_names`.
    """
    classes = class_names(predictions)
    rows = []
    for recipe, table in _by_recipe(predictions):
        part = _part(table, classes)
        counts = np.bincount(
            part.true * len(classes) + part.predicted, minlength=len(classes) ** 2
        ) / float(table["repeat"].nunique())
        rows += [
            (recipe, classes[cell // len(classes)], classes[cell % len(classes)], counts[cell])
            for cell in np.flatnonzero(counts)
        ]
    return pd.DataFrame(rows, columns=list(CONFUSION_COLUMNS))


def reject_curve(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy among the predictions that are kept when uncertain ones are set aside.

    Predictions of all folds and repeats are sorted by their probability; those of one probability
    are kept or set aside together. At most :data:`REJECT_POINTS` coverages are given, the last
    is 1.

    Returns
    -------
    DataFrame
        Columns :data:`REJECT_CURVE_COLUMNS`, by growing coverage.

    Raises
    ------
    InputError
        See :func:`class_names`.
    """
    classes = class_names(predictions)
    rows = []
    for recipe, table in _by_recipe(predictions):
        part = _part(table, classes)
        confidence = _confidence(part)
        order = np.argsort(-confidence, kind="stable")
        confidence = confidence[order]
        right = np.cumsum((part.true == part.predicted)[order])
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
    empty bins have no row.

    Returns
    -------
    DataFrame
        Columns :data:`CALIBRATION_COLUMNS`.

    Raises
    ------
    InputError
        See :func:`class_names`.
    """
    classes = class_names(predictions)
    tables = [
        _bins(_part(table, classes)).assign(recipe=recipe)
        for recipe, table in _by_recipe(predictions)
    ]
    return pd.concat(tables, ignore_index=True)[list(CALIBRATION_COLUMNS)]
