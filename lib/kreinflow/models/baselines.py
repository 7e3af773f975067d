"""Two classifiers on the landmark scores themselves, to measure the others against."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray, single_threaded, tiled_product

IntArray = NDArray[np.integer]


class LandmarkNearestNeighbour:
    r"""The nearest neighbour among the landmarks: :math:`f_c(x) = \max_{l \in c} k(x, l)`.

    A class without landmarks gets the row's smallest score minus 1, below all others.

    Attributes
    ----------
    landmark_classes_ : ndarray of shape (m,)
    n_classes_ : int
    """

    landmark_classes_: IntArray
    n_classes_: int

    def fit(self, landmark_classes: IntArray, n_classes: int) -> "LandmarkNearestNeighbour":
        """Keep the class codes of the landmarks; there is nothing else to learn.

        Raises
        ------
        InputError
            If there are no landmarks.
        """
        if len(landmark_classes) == 0:
            raise InputError("nearest neighbour: there are no landmarks. Ask for at least one.")
        self.landmark_classes_ = np.asarray(landmark_classes)
        self.n_classes_ = n_classes
        return self

    def decision_function(self, C: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins.

        Parameters
        ----------
        C : ndarray of shape (N, m)
            Transformed scores with the landmarks (larger is more similar).
        """
        decisions = np.repeat(C.min(axis=1, keepdims=True) - 1.0, self.n_classes_, axis=1)
        for code in np.unique(self.landmark_classes_):
            decisions[:, code] = C[:, self.landmark_classes_ == code].max(axis=1)
        return decisions

    def predict(self, C: FloatArray) -> NDArray[np.intp]:
        """Return the class codes of the nearest landmarks."""
        codes: NDArray[np.intp] = np.argmax(self.decision_function(C), axis=1)
        return codes


class LandmarkLinearSVC:
    r"""scikit-learn's ``LinearSVC`` on the landmark scores, one class against the rest.

    The penalty is not invariant to scale: so the scores with each landmark are centred, divided by
    their standard deviation in the training rows, and by :math:`\sqrt m`, which gives rows a mean
    squared norm of 1, like a kernel of unit diagonal. Squared hinge loss:

    .. math:: \min_{w, b}\ (w'w + b^2)/2 + C \sum_i \max(0, 1 - y_i (w'x_i + b))^2 .

    The scaling is folded into the weights, so decisions are linear in the raw landmark scores.

    Parameters
    ----------
    penalty : float
        C of the formula.
    random_state : int
        For the order in which the dual coordinate descent visits the rows.

    Attributes
    ----------
    coef_ : ndarray of shape (m, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.

    References
    ----------
    R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin (2008), LIBLINEAR, JMLR 9.
    """

    coef_: FloatArray
    intercept_: FloatArray

    def __init__(self, penalty: float = 1.0, random_state: int = 0) -> None:
        if not (np.isfinite(penalty) and penalty > 0):
            raise InputError(f"penalty: {penalty} is not a positive number. Give one such.")
        self.penalty = penalty
        self.random_state = random_state

    def fit(self, C: FloatArray, y: IntArray, n_classes: int) -> "LandmarkLinearSVC":
        """Fit all classes.

        Parameters
        ----------
        C : ndarray of shape (N, m)
            Transformed scores with the landmarks.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a class has no row.
        """
        from sklearn.svm import LinearSVC  # importing it takes a second

        if n_classes < 2 or not np.array_equal(np.unique(y), np.arange(n_classes)):
            raise InputError(
                f"linear SVC: not all of {n_classes} classes have training rows (or there is one "
                "class only). Drop small classes, or use fewer folds."
            )
        mean, deviation = C.mean(axis=0), C.std(axis=0)
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0  # a constant column tells nothing
        deviation *= np.sqrt(C.shape[1])
        with single_threaded():
            machine = LinearSVC(C=self.penalty, dual=True, random_state=self.random_state)
            machine.fit((C - mean) / deviation, y)
            self.coef_ = np.ascontiguousarray(machine.coef_.T / deviation[:, None])
            self.intercept_ = machine.intercept_ - mean @ self.coef_
        if n_classes == 2:
            self.coef_ = np.column_stack([-self.coef_, self.coef_])
            self.intercept_ = np.array([-self.intercept_[0], self.intercept_[0]])
        return self

    def decision_function(self, C: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins."""
        return tiled_product(C, self.coef_) + self.intercept_

    def predict(self, C: FloatArray) -> NDArray[np.intp]:
        """Return the class codes of largest decision."""
        codes: NDArray[np.intp] = np.argmax(self.decision_function(C), axis=1)
        return codes
