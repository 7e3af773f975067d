r"""Relatives: whether a new object has any among the training records, and whether it is strange.

An object is in front of A(x), the landmarks and the 10 training records that are nearest to it, by
seeds if it has any. With :math:`T(x)` the mean of the three largest -ln E over A(x), it has no
relative if T(x) is at most the second largest T of 200 reversed training records, so it is with 40
nearest records, and none of these has an E of 1e-10 or less. T only grows with more records: an
object that passes by the landmarks alone asks no other, and one that passes by the nearest three no
further one. This is found before a cascade answers, which asks no records for what has none.

Whether it is strange says a p-value; see :mod:`kreinflow.answering.unknown_pvalue`.

Of classes that are paths what is unknown at one level may be known above. Let :math:`l_v(x)` be
the largest :math:`s_{xy} / \sqrt{s_{xx} s_{yy}}` over those of the landmarks and the 3 nearest
records whose class is below the node v or ends there. An object is answered with the likeliest node
v of level d only if :math:`l_v(x)` is above the largest :math:`l_w` that records have with another
node w of level d than their own, but for a share of ``overclassification`` of them; and so at the
levels before. Then at most that share of all objects, whether their node is known or not, gets a
wrong node of level d. Records whose class ends above level d say nothing of it. What is rejected as
strange is not answered at the last level, and what has no relative at none.

A prediction is not unsure, whatever its probability, if the best E of its class in A(x) is at most
1e-10, and that of any other class a thousand times as large or more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.nearest_records import Records, RecordScores
from kreinflow.answering.parts import TRANSFORM, ModelPart, Subject, Told
from kreinflow.answering.query_and_answers import NOBODY, REASONS, Answers, Decided, unsure
from kreinflow.answering.unknown_pvalue import NONE, Strangeness, mean_of_largest, strange
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Number, Part

FEW = 3  #: nearest records that may show that there is a relative
NEAREST, MORE = 10, 40  #: nearest records asked, and by those that seem to have no relative

_BEST = 3  # of -ln E that T is the mean of
_OVERWHELMING, _AHEAD = -np.log(1e-10), np.log(1e3)


def evidence_mean(gains: FloatArray) -> FloatArray:
    """Return T of objects from -ln E of records, NaN for none; of fewer than three, less."""
    none = np.full((len(gains), _BEST), NONE)  # so T only grows with more records
    return mean_of_largest(np.hstack([gains, none]), _BEST, -np.inf)


class NoRelative(NamedTuple):
    """The thresholds of T, over the landmarks and :data:`NEAREST` or :data:`MORE` records.

    What is not above them has no relative.
    """

    near: float
    far: float

    def alone(self, gains: FloatArray) -> NDArray[np.bool_]:
        """Return whether objects have no relative, by -ln E of :data:`MORE` records."""
        best = mean_of_largest(gains, 1, -np.inf)
        return np.asarray((evidence_mean(gains) <= self.far) & (best < _OVERWHELMING))


@dataclass(frozen=True, eq=False)
class Relatives(ModelPart):
    """The training records that tell whether an object is like any of them."""

    needs: ClassVar = "records"

    records: Records = field()
    evidence: ScoreTransform  # of E-values
    null: NoRelative | None = None  # None if the rule is off
    strangeness: Strangeness | None = None  # None if p-values were not asked for
    # The reject threshold of (h + p) / 2, with the largest probability p, and h = 1 of an
    # overwhelming hit, else 0; None if hits do not count.
    sure_threshold: float | None = None
    # Of classes that are paths: l_v(x) that an object must have more of to be answered at level 1,
    # 2, ...; infinite where nothing is. And the nodes of each class, see Levels.paths.
    needed: FloatArray | None = None
    paths: IntArray | None = None

    def most_asked(self, n_classes: int) -> int:
        """See :meth:`~kreinflow.answering.parts.ModelPart.most_asked`."""
        return len(self.records.landmarks) + MORE

    def before_cascade(self, query: Decided, before: Answers) -> Answers:
        """Return answers that name what has no relative, so that no more records are asked."""
        if self.null is None:
            return before
        scores = RecordScores(self.records, query, self.evidence)
        up, (_, gains) = np.arange(len(query)), scores.with_landmarks()
        for q in (FEW, NEAREST, MORE):
            up = up[evidence_mean(gains) <= self.null.near]
            scores.rank(up, q)
            around = scores.around(up, q)
            gains = scores.resemblance(up, around)[1]
        alone = self.null.alone(gains)
        up, around = up[alone], around[alone]
        reason, nearest = before.reason.copy(), before.nearest.copy()
        score, anyone = before.nearest_score.copy(), np.full(len(up), NOBODY)
        reason[up] = REASONS[3]
        nearest[up], score[up] = scores.best(
            up, anyone, around, lambda *of: scores.resemblance(*of)[1]
        )
        return replace(before, reason=reason, nearest=nearest, nearest_score=score)

    def answer(self, query: Decided, before: Answers) -> Answers:
        """Return answers with the reasons why they are rejected."""
        n, threshold, needed = len(query), self.sure_threshold, self.needed
        scores = RecordScores(self.records, query, self.evidence)
        everyone, sureness = np.arange(n), before.probabilities.max(axis=1)
        alone = before.reason == REASONS[3]
        labels = before.probabilities.argmax(axis=1)
        normalised, gains = scores.with_landmarks()
        of_landmarks = strange(normalised, gains, before.first)
        asks, unlike = np.zeros((2, n), dtype=bool)
        if self.strangeness is not None:
            asks |= self.strangeness.asks(of_landmarks)
        if threshold is not None:
            asks |= sureness / 2 < threshold
        if self.null is not None:
            unlike = evidence_mean(gains) <= self.null.near
        scores.rank(everyone if needed is not None else everyone[unlike], FEW)
        few = scores.around(everyone, FEW)
        alike, gains = scores.resemblance(everyone, few)
        if self.null is not None:
            asks |= evidence_mean(gains) <= self.null.near
        scores.rank(everyone[asks], NEAREST)
        up = everyone[asks | unlike]
        around = scores.around(up, NEAREST)
        normalised, gains = scores.resemblance(up, around)
        reason = before.reason
        if threshold is not None:
            hit = overwhelming(self.records.classes, around, gains) == labels[up]
            reason = unsure((_placed(hit, up, n, False) + sureness) / 2, threshold)
        p_value = before.p_value
        if self.strangeness is not None:
            own = strange(normalised, gains, sureness[up])
            p_value = self.strangeness.p_values(of_landmarks, _placed(own, up, n, 0.0))
            reason = np.where(p_value <= self.strangeness.false_alarms, REASONS[2], reason)
        nearest, score = before.nearest.copy(), before.nearest_score.copy()
        if self.null is not None:
            far = (evidence_mean(gains) <= self.null.near) & ~alone[up]
            scores.rank(up[far], MORE)
            further = scores.around(up[far], MORE)
            wide = np.full((len(up), further.shape[1]), NOBODY)
            wide[:, : around.shape[1]] = around
            wide[far] = further
            around = wide
        around = np.concatenate([around, nearest[up][:, None]], axis=1)
        reason = np.where(alone, REASONS[3], reason)
        strangers, deepest = np.isin(reason, REASONS[2:]), before.deepest
        wanted = np.where(strangers, NOBODY, labels)
        named = ~alone[up]  # the others are named before
        up, around = up[named], around[named]
        nearest[up], score[up] = scores.best(
            up, wanted[up], around, lambda *of: scores.resemblance(*of)[1]
        )
        if needed is not None:
            assert self.paths is not None, "limits of levels without the nodes of classes"
            paths, classes = self.paths[:, : len(needed)], self.records.classes[few]
            nodes = likeliest_nodes(before.probabilities, paths)
            likeness = level_likeness(alike, classes, paths, nodes)
            deepest = levels_reached(likeness, needed).sum(axis=1)
            deepest = np.where(strangers, np.minimum(deepest, len(needed) - 1), deepest)
        deepest = np.where(reason == REASONS[3], 0, deepest)
        return replace(
            before,
            reason=reason,
            p_value=p_value,
            nearest=nearest,
            nearest_score=score,
            deepest=deepest,
        )

    def explained(self, it: Subject) -> Told:
        """Return how strange the object is, and what it is most like if it is rejected."""
        answers, told = it.answers, []
        if not np.isnan(p := float(answers.p_value[0])):
            told.append(f"{100 * p:.2g} % of true members are as strange")
        if answers.rejected[0] and (nearest := int(answers.nearest[0])) >= 0:
            lengths = it.query.lengths[0], self.records.lengths[nearest]
            evalue = self.evidence.evalues(answers.nearest_score[0], *lengths)
            best = f"its best alignment is with {it.record_ids[nearest]}, E-value {evalue:.2g}"
            told.append(best if evalue == evalue else f"it is most like {it.record_ids[nearest]}")
        return Told(["; ".join(told)] if told else [])

    def inspected(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is known of the rejection of unknown objects, if anything is."""
        if "unknown" not in about:
            return {}
        told = {"records": len(self.records), **about["unknown"]}
        if {"near", "far"} <= set(rule := dict(told.get("no_relative") or {})):
            told["no_relative"] = rule
            rule["geometric_mean_of_3_best_evalues_at_least"] = {
                f"with_{count}_nearest_records": float(np.exp(-rule.pop(name)))
                for name, count in (("near", NEAREST), ("far", MORE))
            }
        if self.sure_threshold is not None:
            told["reject_threshold_of_sureness"] = self.sure_threshold
        if self.needed is not None:
            told["likeness_of_levels"] = [
                limit if np.isfinite(limit) else None for limit in self.needed.tolist()
            ]
        return {"unknown": told}

    state: ClassVar = {
        "evidence": TRANSFORM,
        "null": Number("f", "2", optional=True),
        "strangeness": Part(Strangeness),
        "sure_threshold": Number("f", optional=True),
        "needed": Array("f8", "needed", optional=True),
        "paths": Array("i", "c levels", optional=True),
    }

    @classmethod
    def restored(cls, **values: Any) -> "Relatives":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        null = values["null"]
        if values["needed"] is not None and values["paths"] is None:
            raise ValueError("its limits of levels lack the nodes of classes")
        return cls(**{**values, "null": None if null is None else NoRelative(*null.tolist())})


def likeliest_nodes(probabilities: FloatArray, paths: IntArray) -> IntArray:
    """Return the likeliest node of level 1, 2, ... of objects, of shape (n, n_levels).

    ``probabilities``, of shape (n, n_classes); ``paths``, of shape (n_classes, n_levels): the node
    of each class at each level, -1 below its end.
    """
    found = np.empty((len(probabilities), paths.shape[1]), dtype=np.int64)
    for level, own in enumerate(paths.T):
        order = np.argsort(own, kind="stable")
        order = order[own[order] >= 0]
        nodes, starts = np.unique(own[order], return_index=True)
        sums = np.add.reduceat(probabilities[:, order], starts, axis=1)
        found[:, level] = nodes[sums.argmax(axis=1)]
    return found


def level_likeness(
    normalised: FloatArray, classes: IntArray, paths: IntArray, nodes: IntArray | None = None
) -> FloatArray:
    """Return l_v(x) of a node of level 1, 2, ..., of shape (n, n_levels); -inf of no record.

    ``normalised``, ``classes``, of shape (n, q): normalised scores with records, NaN of none, and
    the codes of their classes. ``nodes``, of shape (n, n_levels): v; without it that of any node.
    """
    found = []
    for level, own in enumerate(paths.T):
        of = own[classes]
        there = of >= 0 if nodes is None else of == nodes[:, level, None]
        found.append(mean_of_largest(np.where(there, normalised, np.nan), 1, -np.inf))
    return np.stack(found, axis=1)


def levels_reached(likeness: FloatArray, needed: FloatArray) -> NDArray[np.bool_]:
    """Return whether objects may be answered at level 1, 2, ..., by their l_v(x) of each."""
    return np.asarray(np.logical_and.accumulate(likeness > needed, axis=1))


def overwhelming(classes: IntArray, around: IntArray, gains: FloatArray) -> IntArray:
    """Return the class whose records leave no doubt, of shape (n,), -1 for none; see this module.

    ``around``, ``gains``, of shape (n, q): records, and -ln E.
    """
    gains = np.where((around >= 0) & ~np.isnan(gains), gains, -np.inf)
    best, found = gains.max(axis=1, initial=-np.inf), classes[around]
    own = np.where(gains == best[:, None], found, NOBODY).max(axis=1, initial=NOBODY)
    other = np.where(found != own[:, None], gains, -np.inf).max(axis=1, initial=-np.inf)
    return np.where((best >= _OVERWHELMING) & (best >= other + _AHEAD), own, NOBODY)


def _placed(values: NDArray[Any], places: IntArray, n: int, fill: Any) -> NDArray[Any]:
    out = np.full((n, *values.shape[1:]), fill, dtype=values.dtype)
    out[places] = values
    return out
