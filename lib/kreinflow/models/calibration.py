"""From decisions to probabilities: temperature scaling."""

import numpy as np
from scipy.special import log_softmax, softmax

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray, IntArray

LOSS_DIGITS = 9
"""Log losses that agree to so many decimals are equal: where all rows are right, all methods have
the same but for rounding."""

_ROUNDING = 1e-10  # differences below this share of the largest decision may be rounding
_FLATTEST = 1e3  # the largest temperature, in units of the typical spread of the decisions


class TemperatureCalibrator:
    r"""Probabilities by temperature scaling, :math:`p = softmax(f / T)`.

    One temperature :math:`T > 0` for all classes minimises the mean log loss

    .. math:: L(T) = -\frac{1}{N} \sum_i \log softmax(f_i / T)_{y_i}

    on decisions that the model made for rows it was not trained on (inner out-of-fold decisions).
    The predicted class never changes.

    Attributes
    ----------
    temperature_ : float
    log_loss_ : float
        The mean log loss at this temperature.

    Notes
    -----
    L is convex in 1/T, so there is one minimum, found to machine precision. These cases have none
    in the open, or one that means nothing, and are given a finite temperature:

    * every row is right: L falls to 0 as T does. T is then where
      :math:`L = \log 2 / (N + 1)`, as if one row more had been at even odds;
    * the decisions tell nothing (L rises with 1/T): T is 1,000 times the mean absolute deviation
      of the decisions from their row mean, which is flat for all purposes;
    * the decisions of a row differ by rounding alone: that mean is at most 1e-10 times the largest
      decision. All classes are equal then, and T is 1;
    * so do those of some classes, and another class stands far from them: T is not below 1e-10
      times the largest decision, so the classes that are equal get equal probabilities.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017), On calibration of modern neural networks,
    ICML, PMLR 70, eq. 9.
    """

    temperature_: float
    log_loss_: float

    def fit(self, decisions: FloatArray, y: IntArray) -> "TemperatureCalibrator":
        """Find the temperature.

        Parameters
        ----------
        decisions : ndarray of shape (N, n_classes)
            Out-of-fold decisions.
        y : ndarray of shape (N,)
            True class codes.

        Raises
        ------
        InputError
            If there are no rows, or a decision is not finite.
        """
        from scipy.optimize import brentq  # slow to import, and not needed to classify

        if len(decisions) == 0 or not np.isfinite(decisions).all():
            raise InputError("calibration: it needs at least one row, and finite decisions only.")
        deviations = decisions - decisions.mean(axis=1, keepdims=True)
        spread = float(np.abs(deviations).mean())
        rounding = _ROUNDING * float(np.abs(decisions).max())
        if spread <= rounding:  # all decisions equal: any temperature gives the same
            self.temperature_, self.log_loss_ = 1.0, float(np.log(decisions.shape[1]))
            return self
        scaled = deviations / spread  # 1/T is looked for in units of the spread
        own = np.take_along_axis(scaled, np.asarray(y)[:, None], axis=1)[:, 0]

        def loss(inverse: float) -> float:
            return -float(_own(log_softmax(inverse * scaled, axis=1), y).mean())

        def slope(inverse: float) -> float:
            expected = (softmax(inverse * scaled, axis=1) * scaled).sum(axis=1)
            return float((expected - own).mean())

        floor = float(np.log(2.0)) / (len(decisions) + 1)
        low, high, finest = 1.0 / _FLATTEST, 1.0, spread / rounding
        if slope(low) >= 0.0:
            inverse = low
        else:
            while slope(high) < 0.0 and loss(high) > floor and high < finest:
                high = min(2.0 * high, finest)
            if loss(high) < floor:
                inverse = brentq(lambda x: loss(x) - floor, low, high, xtol=1e-14, rtol=1e-14)
            elif slope(high) < 0.0:
                inverse = finest
            else:
                inverse = brentq(slope, low, high, xtol=1e-14, rtol=1e-14)
        self.temperature_ = spread / float(inverse)
        self.log_loss_ = loss(float(inverse))
        return self

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return softmax(decisions / T), ndarray of shape (N, n_classes); rows sum to one."""
        return np.asarray(softmax(decisions / self.temperature_, axis=1))


def _own(values: FloatArray, y: IntArray) -> FloatArray:
    picked: FloatArray = np.take_along_axis(values, np.asarray(y)[:, None], axis=1)[:, 0]
    return picked
