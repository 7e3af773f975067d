"""Predictions of records with one label each."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.evaluation.metrics import Part, class_names, probabilities_of, refuse_other_labels
from kreinflow.numerics import FloatArray


class OneLabel(Part):
    """Predictions of records with one label each.

    Attributes
    ----------
    true, predicted : ndarray of int
        Places in ``classes``.
    """

    metrics = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "log_loss", "brier")
    class_measures = ("precision", "recall", "f1", "support")

    def __init__(self, table: pd.DataFrame, classes: tuple[str, ...]) -> None:
        super().__init__(table, classes)
        index = pd.Index(classes)
        self.true, self.predicted = (
            index.get_indexer(pd.Index(table[column].astype(str))).astype(np.int64)
            for column in ("true", "predicted")
        )

    @classmethod
    def checked(cls, predictions: pd.DataFrame) -> tuple[str, ...]:
        """Return the classes that a table has probabilities for; those of a row sum to one."""
        names = class_names(predictions)
        for column in ("true", "predicted"):
            refuse_other_labels(set(predictions[column].astype(str)), names, column)
        sums = probabilities_of(predictions, names).sum(axis=1)
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6))
        if wrong.size:
            row = predictions.iloc[int(wrong[0])]
            raise InputError(
                f"predictions: the probabilities of {row['id']!r} by {row['recipe']!r} sum to "
                f"{sums[wrong[0]]:.6g}, not to one. Calibrate the learner's decisions."
            )
        return names

    @property
    def given(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probability of each prediction, and whether it is right."""
        found: FloatArray = self.probabilities[np.arange(len(self.true)), self.predicted]
        return found, np.equal(self.true, self.predicted)

    def measures(self) -> tuple[float, ...]:
        r"""Return the measures of these rows.

        With n records, the true class t_i, the prediction \hat t_i and probabilities p_ic:

        - ``accuracy``: share of records with \hat t_i = t_i;
        - ``balanced_accuracy``: mean recall over the classes that occur in these records (a class
          that is absent has no recall and does not count);
        - ``macro_f1``: mean F1 over the classes that occur there, or are predicted there;
        - ``mcc``: Matthews' correlation coefficient for many classes (0 where it is undefined: only
          one class in truth or in prediction);
        - ``log_loss``: -(1/n) sum_i ln p_i,t_i, in nats, probabilities clipped at the machine
          epsilon;
        - ``brier``: (1/n) sum_i sum_c (p_ic - [t_i = c])^2, from 0 to 2.

        References
        ----------
        Gorodkin, Comput. Biol. Chem. 28, 367-374 (2004): the coefficient for many classes.
        Brier, Mon. Weather Rev. 78, 1-3 (1950): the score for many classes.
        """
        # scikit-learn is slow to import, and the report takes only names from here.
        from sklearn.metrics import f1_score, log_loss, matthews_corrcoef, recall_score

        true, predicted, p = self.true, self.predicted, self.probabilities
        present = np.unique(true)
        single = len(present) == 1 and np.array_equal(np.unique(predicted), present)
        recall = recall_score(true, predicted, labels=present, average="macro", zero_division=0.0)
        return (
            float(np.mean(true == predicted)),
            float(recall),
            float(f1_score(true, predicted, average="macro", zero_division=0.0)),
            # Undefined; scikit-learn says 0 too, with a warning.
            0.0 if single else float(matthews_corrcoef(true, predicted)),
            float(log_loss(true, p, labels=np.arange(p.shape[1]))),
            float(np.mean(np.sum((p - np.eye(p.shape[1])[true]) ** 2, axis=1))),
        )

    def per_class(self) -> FloatArray:
        """Return precision, recall, F1, and support: how many of these records are of the class.

        A class that is never predicted has precision 0; one that never occurs has recall 0.
        """
        from sklearn.metrics import precision_recall_fscore_support  # slow to import

        measures = precision_recall_fscore_support(
            self.true, self.predicted, labels=np.arange(len(self.classes)), zero_division=0.0
        )
        return np.array(measures, dtype=np.float64)

    def confusions(self) -> FloatArray:
        """Return how many records of each class (row) were predicted to be of each (column)."""
        counts = np.zeros((len(self.classes), len(self.classes)))
        np.add.at(counts, (self.true, self.predicted), 1)
        return counts
