"""How like a training record an object must be to be answered at a level of classes that are paths.

Some training records are tried as if their node of a level were unknown: in front of all records
but those of that node. No model has to be trained without it, for how sure a model is of another
node says nothing of how sure one would be that was never told of this node.
"""

from dataclasses import dataclass

import numpy as np

from kreinflow.answering.levels import Levels, lineages
from kreinflow.answering.nearest_records import Besides, RecordScores
from kreinflow.answering.relatives import FEW, levels_reached
from kreinflow.answering.unknown_pvalue import mean_of_largest
from kreinflow.base.numerics import FloatArray, IntArray


def likeness_needed(likeness: FloatArray, error: float) -> float:
    r"""Return what the likeness of an object must be above; infinite if there are too few records.

    ``likeness``: of N records whose node in a tree was left out. An object that is exchangeable
    with them has more than what is returned with a probability of at most ``error``: its p-value
    :math:`(1 + |\{i : l_i \ge l(x)\}|) / (N + 1)` would be at most ``error``.
    """
    most = int(error * (len(likeness) + 1) + 1e-9)
    return float(np.sort(likeness)[-most]) if most else np.inf


@dataclass(frozen=True, eq=False)
class LevelsTried:
    """Records that are tried in front of others, to see at which levels they may be answered."""

    levels: Levels
    scores: RecordScores
    objects: IntArray  # (n,): places of the records in the query
    labels: IntArray  # (n,): codes of their classes
    probabilities: FloatArray  # (n, n_classes), by a fit that held them out

    def fit(self, error: float, alone: Besides) -> tuple[FloatArray, list[dict[str, float | None]]]:
        """Return what l(x) must be above at each level, and how many are answered by it.

        ``alone``: codes of the groups of the records that are tried, and of all records.
        """
        of_classes = lineages(self.levels.tree)[self.levels.tree.leaf, 1:]
        known = self._likeness(alone)
        sure = self.levels.likeliest(self.probabilities)[1][:, 1:] >= self.levels.thresholds
        needed, told = np.empty(0), []
        for of_class, answered in zip(of_classes.T, sure.T, strict=True):
            own = of_class[self.labels]
            there = own >= 0
            left = self._likeness((own, of_class[self.scores.records.classes]))[there]
            needed = np.append(needed, likeness_needed(left, error))
            kept = answered & levels_reached(known, needed)[:, -1]
            shares = {"answered_before": answered, "answered": kept}
            means = {name: float(share[there].mean()) for name, share in shares.items()}
            # Infinite where too few are left out, minus infinity where all records have one node.
            limit = float(needed[-1]) if np.isfinite(needed[-1]) else None
            told.append({"left_out": len(left), "likeness": limit, **means})
        return needed, told

    def _likeness(self, besides: Besides) -> FloatArray:
        """Return l(x) without the records that are left out."""
        self.scores.rank(self.objects, FEW, besides)
        around = self.scores.around(self.objects, FEW, besides)
        return mean_of_largest(self.scores.resemblance(self.objects, around)[0], 1, -np.inf)
