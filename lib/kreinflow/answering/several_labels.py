"""Records with several labels: a probability and a threshold of each label."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, State
from kreinflow.sequences.labels import SEPARATOR


@dataclass(frozen=True, eq=False)
class Several(State):
    """What makes labels of the decisions for each: p = expit(a f + b), and p at least t.

    Labels that are nodes of a tree have those ``above`` them: an object that has a label has these
    too, whatever their own probability is.
    """

    slopes: FloatArray  # (n_labels,): a, above 0, and b
    intercepts: FloatArray  # (n_labels,)
    thresholds: FloatArray  # (n_labels,): t, above 0 and below 1
    above: IntArray | None = None  # (n_labels,): the code of the label above, a smaller one, or -1

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return the probability of each label, of shape (n, n_labels)."""
        return np.asarray(expit(decisions * self.slopes + self.intercepts))

    def margins(self, decisions: FloatArray) -> FloatArray:
        """Return how far the logit of each probability is above that of its threshold."""
        return np.asarray(decisions * self.slopes + self.intercepts - logit(self.thresholds))

    def chosen(self, probabilities: FloatArray) -> NDArray[np.bool_]:
        """Return which labels objects have: those whose probability is at least the threshold."""
        return self._with_above(probabilities >= self.thresholds)

    def ranked(self, probabilities: FloatArray) -> list[int]:
        """Return the labels that one object has, by their codes, the likeliest first.

        Of labels that are nodes of a tree only those that have no other one of them below.
        """
        chosen = self.chosen(probabilities)
        if self.above is not None:
            has_below = np.zeros(len(chosen) + 1, dtype=bool)  # the last: above none
            has_below[self.above[chosen]] = True
            chosen &= ~has_below[:-1]
        return [c for c in np.argsort(-probabilities, kind="stable").tolist() if chosen[c]]

    def _with_above(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if self.above is not None:
            for code in np.flatnonzero(self.above >= 0)[::-1].tolist():  # those below come first
                chosen[..., self.above[code]] |= chosen[..., code]
        return chosen

    state: ClassVar = {
        "slopes": Array("f", "c"),
        "intercepts": Array("f", "c"),
        "thresholds": Array("f", "c"),
        "above": Array("i", "c", optional=True),
    }


def label_texts(names: Sequence[str], chosen: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the labels of each object as tables have them: in the order of the classes.

    Examples
    --------
    >>> label_texts(("a", "b", "c"), np.array([[True, False, True], [False, False, False]]))
    array(['a;c', ''], dtype=object)
    """
    labels = np.array(names, dtype=object)
    return np.array([SEPARATOR.join(labels[row]) for row in chosen], dtype=object)
