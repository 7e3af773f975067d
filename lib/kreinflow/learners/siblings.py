"""Each fork of a tree of classes learned by itself: its branches against each other."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Forks
from kreinflow.base.numerics import IntArray
from kreinflow.learners.decisions import (
    LinearDecision,
    NearnessDecision,
    NearnessSiblingsDecision,
    SiblingsDecision,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.moments import class_counts
from kreinflow.learners.registry import linear_fault

Learned = Literal["leaves", "siblings", "inner"]
SIBLINGS = "siblings"
"""The hyper-parameter: 1 if forks are learned, 0 if classes are."""


def learner_of(learner: Learner, forks: Forks | None, learn: Learned) -> Learner:
    """Return the learner itself, or what fits it to each fork, or tries both on inner folds.

    It is the learner itself if classes have no levels (None), and for ``inner`` if its decisions
    are not linear; for ``siblings`` such a learner is refused.
    """
    fault = linear_fault(learner, "siblings")
    if forks is None or learn == "leaves" or (learn == "inner" and fault):
        return learner
    if fault:
        raise InputError(fault)
    return SiblingsLearner(learner, forks, learn == "inner")


class SiblingsLearner(Learner):
    r"""A learner that is fitted once for each fork of the tree of the classes.

    At a fork it sees the records of the classes whose ways come by, with the branches as their
    classes. Its decisions g for the branches become those for the classes,

    .. math:: f_c(x) = \sum_{j \in way(c)} \log softmax(g_{fork(j)}(x))_j .

    Landmarks, factor and hyper-parameters are the same at all forks. A fork of which nothing can be
    learned, as where none of the landmarks is of its classes, gives its branches the same decision.
    With ``or_leaves``, the learner itself is among the choices, before the forks.

    Source: koller1997, where a fork decides for good; here probabilities multiply along the
    way.
    """

    def __init__(self, learner: Learner, forks: Forks, or_leaves: bool) -> None:
        super().__init__(learner.settings)
        self.learner, self.forks, self.or_leaves = learner, forks, or_leaves
        for name in ("method", "by_tiles", "needs_factor", "needs_positive", "needs_symmetric"):
            setattr(self, name, getattr(learner, name))
        self.references = (*learner.references, "koller1997")  # type: ignore[misc]

    def describe(self) -> str:
        how = " or the classes, as inner folds prefer" if self.or_leaves else ""
        return f"{self.learner.describe()}, for the children of each node{how}"

    def choices(self, columns: int = 0) -> Sequence[Choice]:
        tried, own = (0.0, 1.0) if self.or_leaves else (1.0,), self.learner.choices(columns)
        return [{**choice, SIBLINGS: value} for value in tried for choice in own]

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        ways: dict[float, list[Choice]] = {0.0: [], 1.0: []}
        for choice in choices:
            own = {key: value for key, value in choice.items() if key != SIBLINGS}
            ways[choice[SIBLINGS]].append(own)
        leaves = iter(self.learner.fit(problem, ways[0]) if ways[0] else [])
        forks = iter(self._fit_forks(problem, ways[1]) if ways[1] else [])
        return [next(forks if choice[SIBLINGS] else leaves) for choice in choices]

    def _fit_forks(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        class_counts(problem.labels, problem.n_classes)
        found: list[tuple[slice, IntArray, list[Fitted]]] = []
        lost, refusals = np.zeros(problem.n_classes, dtype=bool), []
        for branches, codes in zip(self.forks.branches, self.forks.codes, strict=True):
            names = tuple(f"branch {code}" for code in range(codes.max() + 1))
            part = replace(problem.part, labels=codes[problem.part.labels], classes=names)
            inside = np.flatnonzero(codes[problem.labels] >= 0)
            try:
                fits = self.learner.fit(replace(problem, part=part).on(inside), choices)
                found.append((branches, codes, fits))
            except InputError as error:
                refusals.append(error)
                lost |= codes >= 0
        if not found:
            raise refusals[0]
        return [
            self._one_fit(problem, [(b, codes, fits[i]) for b, codes, fits in found], lost)
            for i in range(len(choices))
        ]

    def _one_fit(
        self,
        problem: Problem,
        learned: Sequence[tuple[slice, IntArray, Fitted]],
        lost: NDArray[np.bool_],
    ) -> Fitted:
        """Return one fit from those of the forks: their branches, codes of classes, and fits."""
        fits, n_branches = [fit for *_, fit in learned], len(self.forks.above)
        some = fits[0].decision
        assert isinstance(some, LinearDecision), "decisions that are not linear"
        weights, intercept = np.zeros((len(some.weights), n_branches)), np.zeros(n_branches)
        notes, used = {"unlearned": lost.copy()}, []
        for branches, codes, fit in learned:
            assert isinstance(fit.decision, LinearDecision), "decisions that are not linear"
            weights[:, branches] = fit.decision.weights
            intercept[branches] = fit.decision.intercept
            inside = codes >= 0
            for note, own in fit.notes.items():
                classes = notes.setdefault(note, np.zeros(problem.n_classes, dtype=bool))
                classes[inside] |= own[codes[inside]]
            if fit.basis_used is not None:
                used.append(fit.basis_used * inside[problem.labels].mean())
        kind = NearnessSiblingsDecision if isinstance(some, NearnessDecision) else SiblingsDecision
        tree = (self.forks.above.astype(np.float64), self.forks.leaf.astype(np.float64))
        return Fitted(
            kind(weights, intercept, *tree),
            basis_used=min(1.0, sum(used)) if used else None,
            iterations=max(fit.iterations for fit in fits),
            converged=all(fit.converged for fit in fits),
            notes=dict(sorted(notes.items())),
        )
