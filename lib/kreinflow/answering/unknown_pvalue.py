r"""Strangeness: how unlike the training records an object is, as a conformal p-value.

Of the records that an object x was aligned with, with E = K n m exp(-lambda s):

* :math:`n(x)`: minus the mean of the five largest :math:`s_{xy} / \sqrt{s_{xx} s_{yy}}`;
* :math:`e(x)`: minus the mean of the five largest -ln E, which may be below 0;
* :math:`p(x)`: minus the largest probability.

Of a score of the user's own n and e both are of its evidence,
:class:`~kreinflow.alignment.transforms.ScoreTransform` ``own_score``.

The three are combined by their ranks among the N records that calibrate and x, as in Fisher's
method: with :math:`r_k(x)` the number of these N + 1 that are at least as strange by k,

.. math:: Q(x) = r_n(x)\, r_e(x)\, r_p(x), \qquad S = -\ln (Q / (N + 1)^3),

and the p-value is the share of the N + 1 with a Q of at most Q(x). The records that calibrate are
ranked together with x, so all N + 1 are treated alike: for an x that is exchangeable with them the
p-value is below :math:`\alpha` with a probability of at most :math:`\alpha`, whatever they are
(V. Vovk, A. Gammerman, G. Shafer: Algorithmic learning in a random world, Springer 2005).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Number, State

GATE = 0.3  #: an object asks its nearest records if its p-value by the landmarks is at most this
LARGEST = 5  #: values that means are taken of
NONE = -20.0  #: -ln E where nothing is aligned
_ROWS = 512  # objects at once: each is ranked with all that calibrate


def mean_of_largest(values: FloatArray, k: int, none: float) -> FloatArray:
    """Return the mean of the k largest of each row, of those there are; NaN is none."""
    found = np.sort(np.where(np.isnan(values), -np.inf, values), axis=1)[:, ::-1][:, :k]
    there = found > -np.inf
    count = there.sum(axis=1)
    total = np.where(there, found, 0.0).sum(axis=1)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), none))


def unlike(normalised: FloatArray, gains: FloatArray) -> FloatArray:
    """Return n and e of objects, of shape (n, 2); see this module.

    ``normalised``, ``gains``, of shape (n, q): normalised scores, and -ln E; NaN where none was
    aligned.
    """
    likeness = mean_of_largest(normalised, LARGEST, 0.0)
    evidence = mean_of_largest(gains, LARGEST, NONE)
    return np.stack([-likeness, -evidence], axis=1)


def strange(normalised: FloatArray, gains: FloatArray, probability: FloatArray) -> FloatArray:
    """Return n, e and p of objects, of shape (n, 3); see :func:`unlike`."""
    return np.column_stack([unlike(normalised, gains), -probability])


@dataclass(frozen=True, eq=False)
class Strangeness(State):
    """What p-values are made of, and the largest one that is rejected.

    :func:`strange` of the N records that calibrate: by the landmarks alone with the probability of
    the first stage; and by the landmarks and the nearest records with that of the answer.
    """

    of_landmarks: FloatArray
    of_nearest: FloatArray
    false_alarms: float  # objects with a p-value of at most this are unknown

    def __len__(self) -> int:
        return len(self.of_landmarks)

    def asks(self, of_landmarks: FloatArray) -> NDArray[np.bool_]:
        """Return which objects have to be aligned with their nearest records."""
        out = np.zeros(len(of_landmarks), dtype=bool)
        for part in _parts(len(out)):
            own, others = ranked(self.of_landmarks, of_landmarks[part])
            out[part] = own < self._gate(own, others)
        return out

    def p_values(self, of_landmarks: FloatArray, of_nearest: FloatArray) -> FloatArray:
        """Return the p-value of each object.

        Whoever asks is stranger than all who do not. Of those who do not ask the order is that by
        the landmarks. ``of_nearest`` is looked at where :meth:`asks` says so.
        """
        out = np.empty(len(of_landmarks))
        for part in _parts(len(out)):
            own, others = ranked(self.of_landmarks, of_landmarks[part])
            gate = self._gate(own, others)
            asks = own < gate
            as_strange = np.count_nonzero(others <= own[:, None], axis=1)
            if asks.any():
                far, near = ranked(self.of_nearest, of_nearest[part][asks])
                also = others[asks] < gate[asks, None]
                as_strange[asks] = np.count_nonzero(also & (near <= far[:, None]), axis=1)
            out[part] = (1 + as_strange) / (1 + len(self))
        return out

    def _gate(self, own: IntArray, others: IntArray) -> IntArray:
        """Return the Q below which an object asks, by each bag of N + 1."""
        bag = np.concatenate([others, own[:, None]], axis=1)
        asking = int(GATE * bag.shape[1])
        return np.asarray(np.partition(bag, asking, axis=1)[:, asking])

    state: ClassVar = {
        "false_alarms": Number("f"),
        "of_landmarks": Array("f8", "calibrating 3"),
        "of_nearest": Array("f8", "calibrating 3"),
    }


def ranked(calibrating: FloatArray, objects: FloatArray) -> tuple[IntArray, IntArray]:
    """Return Q of each object, of shape (n,), and of the records in its bag, of shape (n, N).

    Whole numbers, so that equal ones are equal in whatever order the factors are multiplied.
    """
    own = np.ones(len(objects), dtype=np.int64)
    others = np.ones((len(objects), len(calibrating)), dtype=np.int64)
    for calibrated, values in zip(calibrating.T, objects.T, strict=True):
        ordered = np.sort(calibrated)
        n = len(ordered)
        own *= 1 + n - np.searchsorted(ordered, values, side="left")
        rank = n - np.searchsorted(ordered, calibrated, side="left")
        others *= rank + (values[:, None] >= calibrated)
    return own, others


def _parts(n: int) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, n, _ROWS)]
