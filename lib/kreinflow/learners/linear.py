"""What all estimators share, and those whose decisions are linear in their rows."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from kreinflow.numerics import FloatArray, tiled_product


class ClassDecisions(ABC):
    """One function a class, of which the largest wins."""

    @abstractmethod
    def decision_function(self, Z: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins."""

    def predict(self, Z: FloatArray) -> NDArray[np.intp]:
        """Return the class codes of largest decision."""
        codes: NDArray[np.intp] = np.argmax(self.decision_function(Z), axis=1)
        return codes


class LinearEstimator(ClassDecisions):
    """Decisions f(z) = z' coef + intercept, one function a class.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
    """

    coef_: FloatArray
    intercept_: FloatArray

    def decision_function(self, Z: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins.

        Parameters
        ----------
        Z : ndarray of shape (N, r)
            Rows like those of the fit: of the factor, or scores with the landmarks.
        """
        return tiled_product(Z, self.coef_) + self.intercept_
