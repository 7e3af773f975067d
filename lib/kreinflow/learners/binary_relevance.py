"""Records with several labels: a machine of its own for each label, over what all share."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.learners.decisions import LinearDecision
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.registry import linear_fault


class BinaryRelevance(Learner):
    r"""A learner of two classes, fitted once for each label: records with it against the others.

    With the weights :math:`w_c, b_c` that the learner finds for label c, with targets +1 where a
    record has c and -1 where it does not,

    .. math:: f_c(x) = w_c' k(x) + b_c .

    Landmarks, factor and hyper-parameters are the same for all labels. A learner whose decisions
    are not linear is refused.

    Source: tsoumakas2007.
    """

    def __init__(self, learner: Learner) -> None:
        if fault := linear_fault(learner, "records with several labels"):
            raise InputError(fault)
        super().__init__(learner.settings)
        self.learner = learner

    def describe(self) -> str:
        return self.learner.describe()

    def choices(self, columns: int = 0) -> Sequence[Choice]:
        return self.learner.choices(columns)

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; ``basis_used`` and iterations are those of the largest label."""
        memberships, by_label = problem.part.memberships, []
        assert memberships is not None, "records with one label each"
        for label, own in zip(problem.part.classes, memberships.T, strict=True):
            if len(set(own[problem.chosen].tolist())) < 2:
                raise InputError(
                    f"no training record has the label {label!r}, or all have it, so nothing can "
                    "be learned of it. Leave the label out."
                )
            names, codes = (f"not {label}", label), own.astype(np.int64)
            part = replace(problem.part, labels=codes, classes=names, memberships=None)
            by_label.append(self.learner.fit(replace(problem, part=part), choices))
        return [_side_by_side(own) for own in zip(*by_label, strict=True)]


def _side_by_side(fits: Sequence[Fitted]) -> Fitted:
    decisions = [fit.decision for fit in fits if isinstance(fit.decision, LinearDecision)]
    assert len(decisions) == len(fits), "decisions that are not linear"
    used = [fit.basis_used for fit in fits if fit.basis_used is not None]
    return Fitted(
        type(decisions[0])(
            weights=np.column_stack([own.weights[:, 1] for own in decisions]),
            intercept=np.array([own.intercept[1] for own in decisions]),
        ),
        basis_used=max(used, default=None),
        iterations=max(fit.iterations for fit in fits),
        converged=all(fit.converged for fit in fits),
        notes={note: np.array([fit.notes[note][1] for fit in fits]) for note in fits[0].notes},
    )
