"""Linear machines of two classes each, which tell siblings apart by their own members."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, State


@dataclass(frozen=True, eq=False)
class PairMachines(State):
    """The machines of the pairs of classes that a first stage confuses.

    A machine sees the transformed scores of an object with all members of its two classes, and
    with the landmarks.

    Parameters
    ----------
    member_weights : ndarray of shape (sum of members,)
        Of all machines, one after the other: for the records of both classes in their order.
    """

    pairs: IntArray  # (n_pairs, 2): codes of the classes, the lower one first; rows are sorted
    member_weights: FloatArray
    landmark_weights: FloatArray  # (n_pairs, n_landmarks)
    intercepts: FloatArray  # (n_pairs,)

    def members(self, classes: IntArray, pair: int) -> IntArray:
        """Return the places of the records of both classes, whose codes are ``classes``."""
        return np.flatnonzero(np.isin(classes, self.pairs[pair]))

    def ends(self, classes: IntArray) -> IntArray:
        """Return where the weights of each machine end."""
        sizes = np.bincount(classes, minlength=int(self.pairs.max(initial=0)) + 1)
        return np.concatenate([[0], np.cumsum(sizes[self.pairs].sum(axis=1))])

    def contests(self, probabilities: FloatArray, likeliest: int) -> IntArray:
        """Return the machines of the pairs of the likeliest classes of objects.

        ``probabilities``, of shape (n, n_classes). The result has shape (n, likeliest (likeliest -
        1) / 2): numbers of machines, -1 for a pair without one.
        """
        k = probabilities.shape[1]
        known = np.append(self.pairs[:, 0] * k + self.pairs[:, 1], k * k)  # sorted, as pairs are
        top = np.argsort(-probabilities, axis=1, kind="stable")[:, :likeliest]
        found = []
        for i, j in combinations(range(top.shape[1]), 2):
            wanted = np.minimum(top[:, i], top[:, j]) * k + np.maximum(top[:, i], top[:, j])
            places = np.searchsorted(known, wanted)
            found.append(np.where(known[places] == wanted, places, -1))
        return np.stack(found, axis=1)

    def decide(
        self, pair: int, ends: IntArray, members: FloatArray, landmarks: FloatArray
    ) -> FloatArray:
        """Return the decisions of a machine, above 0 for its first class; each by its row alone.

        ``pair``: its number. ``ends``: see :meth:`ends`. ``members``, ``landmarks``, of shape (n,
        n_members) and (n, n_landmarks): transformed scores.
        """
        own = self.member_weights[ends[pair] : ends[pair + 1]]
        # Row by row: the sums of BLAS and of einsum depend on how many rows there are.
        decisions = (np.ascontiguousarray(members) * own).sum(axis=1)
        decisions += (np.ascontiguousarray(landmarks) * self.landmark_weights[pair]).sum(axis=1)
        return np.asarray(decisions + self.intercepts[pair])

    state: ClassVar = {
        "pairs": Array("i", "pairs 2"),
        "pair_member_weights": Array("f8", "weights"),
        "pair_landmark_weights": Array("f8", "pairs m"),
        "pair_intercepts": Array("f8", "pairs"),
    }

    def stored(self) -> dict[str, Any]:
        """See :meth:`~kreinflow.files.state.State.stored`."""
        own = self.pairs, self.member_weights, self.landmark_weights, self.intercepts
        return dict(zip(self.state, own, strict=True))

    @classmethod
    def restored(cls, **values: Any) -> "PairMachines":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        pairs, *weights = (values[name] for name in cls.state)
        pairs = pairs.astype(np.int64)
        order = pairs[:, 0] * (pairs.max(initial=0) + 1) + pairs[:, 1]
        if not len(pairs) or (np.diff(order) <= 0).any() or (pairs[:, 0] >= pairs[:, 1]).any():
            raise ValueError("its pairs of classes are none, or not in order")
        return cls(pairs, *weights)
