"""What the learners share that have a penalty for each part of a Kreĭn space."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.hyper_parameters import LAMBDA_GRID, in_words, number_or_inner
from kreinflow.learners.learner import Choice, Learner


class KreinLearner(Learner):
    r"""A learner with a penalty for each part of a Kreĭn space.

    The rows z of the factor split by the signs into :math:`z_+` and :math:`z_-`, the weights
    likewise, and what is minimised has the penalties

    .. math:: N t \lambda_+ \|w_+\|^2 + N t \lambda_- \|w_-\|^2 , \qquad t = tr(T)/r ,

    where T is the covariance of all N rows and r their number of columns: so equal lambdas
    regularise equally whatever the scale of the kernel.
    """

    settings_schema: ClassVar[SettingsSchema] = {
        name: number_or_inner(
            f"penalty of the {part} part of the spectrum, as a share of the mean variance of the "
            "factor's columns, or 'inner': chosen on inner folds",
            exclusiveMinimum=0,
        )
        for name, part in (("lambda_plus", "positive"), ("lambda_minus", "negative"))
    }
    grids: Mapping[str, Sequence[float]] = {"lambda_plus": LAMBDA_GRID, "lambda_minus": LAMBDA_GRID}
    references = ("oglic2019",)

    def choices(self, columns: int = 0) -> Sequence[Choice]:
        """See :meth:`Learner.choices`; by falling product of lambda+ and lambda-.

        Of equal products the pair nearest to equality stands first, then the one with the larger
        lambda-.
        """

        def rank(choice: Choice) -> tuple[float, float, float]:
            plus, minus = np.log10((choice["lambda_plus"], choice["lambda_minus"]))
            return -round(plus + minus, 9), round(abs(plus - minus), 9), -minus

        return sorted(super().choices(columns), key=rank)

    def describe_penalties(self) -> str:
        """Return what the methods paragraph says of lambda+ and lambda-."""
        shown = [in_words(self.settings[key]) for key in ("lambda_plus", "lambda_minus")]
        how = shown[0] if shown[0] == shown[1] else f"{shown[0]} and {shown[1]}"
        return f"penalties lambda+ and lambda- of the two parts of the spectrum ({how})"


def penalties_by_sign(signs: FloatArray, choice: Choice) -> FloatArray:
    """Return lambda+ where a sign is +1 and lambda- where it is -1, of shape (r,)."""
    return np.where(signs > 0, choice["lambda_plus"], choice["lambda_minus"])
