"""How like a training record an object must be to be answered at a level of classes that are paths.

Some training records are tried as if their node of a level were unknown: in front of all records
but those of that node. No model has to be trained without it, for how sure a model is of another
node says nothing of how sure one would be that was never told of this node.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.answering.levels import Levels
from kreinflow.answering.nearest_records import RecordScores
from kreinflow.answering.relatives import FEW, level_likeness, levels_reached
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.views.gapless import Besides


def likeness_needed(likeness: FloatArray, error: float) -> float:
    r"""Return what the likeness of an object must be above; infinite if there are too few records.

    ``likeness``: of N records whose node in a tree was left out. An object that is exchangeable
    with them has more than what is returned with a probability of at most ``error``: its p-value
    :math:`(1 + |\{i : l_i \ge l(x)\}|) / (N + 1)` would be at most ``error``.
    """
    most = int(error * (len(likeness) + 1) + 1e-9)
    return float(np.sort(likeness)[-most]) if most else np.inf


def likeness_of(
    scores: RecordScores,
    objects: IntArray,
    besides: Besides,
    paths: IntArray,
    nodes: IntArray | None = None,
) -> FloatArray:
    """Return l_v(x) of objects, which are ranked, without the records that are left out.

    See :func:`~kreinflow.answering.relatives.level_likeness`.
    """
    around = scores.around(objects, FEW, besides)
    normalised, _ = scores.resemblance(objects, around)
    return level_likeness(normalised, scores.records.classes[around], paths, nodes)


@dataclass(frozen=True, eq=False)
class NodeLimits:
    """What l_v(x) must be above at each level, found on records that were tried."""

    likeness: FloatArray  # (n_levels,): infinite where too few records were tried
    there: NDArray[np.bool_]  # (n_tried, n_levels): which records have a node of the level

    @classmethod
    def of(
        cls, levels: Levels, scores: RecordScores, objects: IntArray, labels: IntArray, error: float
    ) -> "NodeLimits":
        """Find them with some ``objects``, places in the query, of classes with these codes."""
        there, needed = levels.paths[labels] >= 0, []
        for of_class, own in zip(levels.paths.T, there.T, strict=True):
            besides = of_class[labels], of_class[scores.records.classes]
            scores.rank(objects, FEW, besides)
            likeness = likeness_of(scores, objects, besides, of_class[:, None])[:, 0]
            needed.append(likeness_needed(likeness[own], error))
        return cls(np.array(needed), there)

    def told(
        self, free: Levels, limited: Levels, probabilities: FloatArray, likeness: FloatArray
    ) -> list[dict[str, float | None]]:
        """Return limits, and the shares of the tried records that a level answers, for people.

        Of levels with the thresholds that they have without limits, and with them.
        ``probabilities`` and ``likeness`` are those of the records in front of all others.
        """
        top = free.likeliest(probabilities)[1][:, 1:]
        before = top >= free.thresholds
        after = (top >= limited.thresholds) & levels_reached(likeness, self.likeness)
        # Infinite where too few are left out, minus infinity where all records have one node.
        return [
            {
                "left_out": int(own.sum()),
                "likeness": float(limit) if np.isfinite(limit) else None,
                "answered_before": float(one[own].sum() / max(1, own.sum())),
                "answered": float(other[own].sum() / max(1, own.sum())),
            }
            for own, limit, one, other in zip(
                self.there.T, self.likeness, before.T, after.T, strict=True
            )
        ]
