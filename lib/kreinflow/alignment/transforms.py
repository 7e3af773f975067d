r"""Score transforms: from the integers of an alignment to a similarity.

With :math:`\tilde s_{ij} = s_{ij} / \sqrt{s_{ii} s_{jj}}`:

===============  ===========================================================================
``raw``          :math:`s_{ij}`
``normalised``   :math:`\tilde s_{ij}`
``sqrt``         :math:`\sqrt{\tilde s_{ij}}`
``log``          :math:`\log(1 + a \tilde s_{ij}) / \log(1 + a)`
``evalue``       :math:`e_{ij} / \sqrt{e_{ii} e_{jj}}`,
                 :math:`e_{ij} = \max(0, \lambda s_{ij} - \ln(K n_i n_j))`, that is -ln E;
                 an :math:`e_{ii}` below 1 counts as 1
===============  ===========================================================================

Each entry depends on its own pair alone, so that a row is the same to the last bit in whatever
block it is transformed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.alignment.statistics import local_statistics
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray


@dataclass(frozen=True)
class ScoreTransform:
    """A score transform with its constants; see the table of this module.

    An InputError names a constant that is missing, unknown or out of range.
    """

    name: ClassVar[str]
    takes_negative: ClassVar[bool] = False
    constant_names: ClassVar[tuple[str, ...]] = ()
    constants: Mapping[str, Any]

    def __post_init__(self) -> None:
        if set(self.constants) != set(self.constant_names):
            raise InputError(
                f"transform {self.name}: its constants are "
                f"{', '.join(self.constant_names) or 'none'}; "
                f"given are {', '.join(sorted(self.constants)) or 'none'}."
            )
        for key, value in self.constants.items():
            if key == "source":
                continue
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value <= 0:
                raise InputError(
                    f"transform {self.name}: {key} is {value!r}. Give a positive number."
                )

    @classmethod
    def completed(cls, given: Mapping[str, Any], scheme: ScoringScheme | None) -> dict[str, Any]:
        """Return the constants, with those that follow from the scheme."""
        return dict(given)

    def apply(
        self,
        scores: NDArray[Any],
        row_self: ArrayLike,
        column_self: ArrayLike,
        row_lengths: ArrayLike,
        column_lengths: ArrayLike,
    ) -> FloatArray:
        """Return the similarities of a block of integer scores, of shape (n, m).

        An InputError if a score is negative, or a self-score does not allow to normalise by it.
        """
        row_scale = self._scale(row_self, row_lengths)
        column_scale = self._scale(column_self, column_lengths)
        s = np.array(scores, dtype=np.float64, order="C")
        if not self.takes_negative and s.min(initial=0) < 0:
            raise InputError(
                f"transform {self.name}: a score is negative, as scores of global and semiglobal "
                "alignments can be. Use raw or normalised, or local alignment."
            )
        n, m = np.asarray(row_lengths, np.float64), np.asarray(column_lengths, np.float64)
        s = self._gain(s, n[:, None], m[None, :])
        s /= np.sqrt(row_scale[:, None] * column_scale[None, :])
        return self._of_quotients(s)

    def evidence(
        self,
        scores: NDArray[Any],
        row_self: FloatArray,
        column_self: FloatArray,
        row_lengths: FloatArray,
        column_lengths: FloatArray,
    ) -> FloatArray:
        """Return the evidence of a relation of single pairs: the similarity, of evalue log(1 + e).

        All arrays have the shape of the pairs, or one that broadcasts to it. Where a score is NaN,
        nothing is known, and the evidence is 0; so it is where a self-score cannot be divided by.
        """
        s = np.nan_to_num(np.asarray(scores, dtype=np.float64))
        scale = self._divisors(row_self, row_lengths) * self._divisors(column_self, column_lengths)
        return self._evidence_of(self._gain(s, row_lengths, column_lengths), scale)

    def _evidence_of(self, gain: FloatArray, scale: FloatArray) -> FloatArray:
        return self._of_quotients(_quotients(gain, scale))

    def likeness(self, scores: FloatArray, scale: FloatArray) -> FloatArray:
        r"""Return :math:`\tilde s_{ij}` of pairs, NaN where a score is; ``scale``: s_ii s_jj."""
        return np.where(np.isnan(scores), np.nan, _quotients(scores, scale))

    def evalues(self, scores: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        r"""Return :math:`K n m e^{-\lambda s}` of pairs; NaN of other transforms."""
        return np.full(np.shape(scores), np.nan)

    def log_evalues(self, scores: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        """Return ln of :meth:`evalues`, which does not underflow; NaN of other transforms."""
        return np.full(np.shape(scores), np.nan)

    def _gain(self, s: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        """Return what is divided, and divided by, for scores of sequences of these lengths."""
        return s

    def _of_quotients(self, s: FloatArray) -> FloatArray:
        return s

    def _divisors(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        n = np.asarray(lengths, dtype=np.float64)
        return self._gain(np.asarray(self_scores, dtype=np.float64), n, n)

    def unusable(self, self_scores: ArrayLike, lengths: ArrayLike) -> NDArray[np.int64]:
        """Return the places of the sequences whose self-score cannot be divided by."""
        return np.flatnonzero(self._divisors(self_scores, lengths) <= 0)

    def _scale(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        """Return the divisor of each sequence, all above 0."""
        for place in self.unusable(self_scores, lengths):
            raise InputError(
                f"transform {self.name}: a sequence of {np.asarray(lengths)[place]} residues "
                f"scores {np.asarray(self_scores)[place]} with itself, too little to divide by. "
                "Leave out sequences this short or of low information, or use raw."
            )
        return self._divisors(self_scores, lengths)

    def self_similarity(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        """Return the similarity of each sequence with itself: one, except for ``raw``."""
        return np.ones_like(self._scale(self_scores, lengths))

    def to_dict(self) -> dict[str, Any]:
        """Return the transform as an object that JSON can hold."""
        return {"name": self.name, "constants": dict(self.constants)}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> "ScoreTransform":
        """Return the transform that :meth:`to_dict` wrote."""
        own = content["name"] == _OwnScore.name
        kind = _OwnScore if own else _transform_class(content["name"])
        return kind(dict(content["constants"]))


class _Raw(ScoreTransform):
    name = "raw"
    takes_negative = True

    def apply(self, scores: NDArray[Any], *_: Any, **__: Any) -> FloatArray:
        return np.array(scores, dtype=np.float64, order="C")

    def _divisors(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        return np.ones(np.shape(self_scores))

    def unusable(self, self_scores: ArrayLike, lengths: ArrayLike) -> NDArray[np.int64]:
        return np.empty(0, dtype=np.int64)

    def self_similarity(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        return np.array(self_scores, dtype=np.float64)


class _Normalised(ScoreTransform):
    name = "normalised"
    takes_negative = True


class _SquareRoot(ScoreTransform):
    name = "sqrt"

    def _of_quotients(self, s: FloatArray) -> FloatArray:
        return np.sqrt(s)


class _Logarithm(ScoreTransform):
    name = "log"
    constant_names = ("a",)

    @classmethod
    def completed(cls, given: Mapping[str, Any], scheme: ScoringScheme | None) -> dict[str, Any]:
        return {"a": 20.0, **given}

    def _of_quotients(self, s: FloatArray) -> FloatArray:
        a = self.constants["a"]
        return np.asarray(np.log1p(a * s) / math.log1p(a))


class _Evalue(ScoreTransform):
    name = "evalue"
    constant_names = ("lambda", "K", "source")

    @classmethod
    def completed(cls, given: Mapping[str, Any], scheme: ScoringScheme | None) -> dict[str, Any]:
        if given:
            return {**given, "source": "given"}
        if scheme is None:
            raise InputError("transform evalue: give lambda and K, or a scoring scheme.")
        return dict(zip(cls.constant_names, local_statistics(scheme), strict=True))

    def _gain(self, s: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        surprise = self.constants["lambda"] * s - np.log(self.constants["K"] * (n * m))
        return np.asarray(np.maximum(0.0, surprise))

    def _evidence_of(self, gain: FloatArray, scale: FloatArray) -> FloatArray:
        return np.log1p(gain)

    def evalues(self, scores: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        return np.asarray(self.constants["K"] * n * m * np.exp(-self.constants["lambda"] * scores))

    def log_evalues(self, scores: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        return np.asarray(np.log(self.constants["K"] * (n * m)) - self.constants["lambda"] * scores)

    def _divisors(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        # Masked and very short sequences expect their own score by chance: they resemble nothing.
        known = np.asarray(self_scores, dtype=np.float64) > 0
        return np.where(known, np.maximum(1.0, super()._divisors(self_scores, lengths)), 0.0)

    def self_similarity(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        scale = self._scale(self_scores, lengths)
        return super()._divisors(self_scores, lengths) / scale


class _OwnScore(ScoreTransform):
    r"""What the user's own score says of a relation, by the ``unit`` u of its data.

    .. math:: e_{ij} = \mathrm{arsinh}(\pm s_{ij} / u)

    with a minus for squared dissimilarities (the ``source``). It is linear where s is small, a
    logarithm where it is large, takes either sign, and has no unit. It is no transform of a kernel.
    """

    name = "own_score"
    takes_negative = True
    constant_names = ("unit", "source")

    def _gain(self, s: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        sign = -1.0 if self.constants["source"] == "squared_dissimilarity" else 1.0
        return np.asarray(np.arcsinh(sign * s / self.constants["unit"]))

    def _evidence_of(self, gain: FloatArray, scale: FloatArray) -> FloatArray:
        return gain

    def likeness(self, scores: FloatArray, scale: FloatArray) -> FloatArray:
        return self._gain(scores, scale, scale)

    def log_evalues(self, scores: FloatArray, n: FloatArray, m: FloatArray) -> FloatArray:
        return -self._gain(scores, n, m)


def own_evidence(scores: NDArray[Any], kind: str) -> ScoreTransform:
    """Return the evidence of a score of the user's, from those of the landmarks with each other.

    Its unit is the median size of a score of two landmarks, the mean if that is 0.
    """
    sizes = np.abs(scores[~np.eye(len(scores), dtype=bool)])
    units = (float(middle(sizes)) for middle in (np.median, np.mean) if sizes.size)
    return _OwnScore({"unit": next((u for u in units if u > 0), 1.0), "source": kind})


def _quotients(values: FloatArray, scale: FloatArray) -> FloatArray:
    """Return values by the root of what they are scaled by, 0 where that is not above 0."""
    values, scale = np.broadcast_arrays(values, scale)
    found = np.zeros(values.shape)
    np.divide(values, np.sqrt(np.maximum(scale, 0.0)), out=found, where=scale > 0)
    return found


_TRANSFORMS: dict[str, type[ScoreTransform]] = {
    transform.name: transform for transform in (_Raw, _Normalised, _SquareRoot, _Logarithm, _Evalue)
}

NAMES = tuple(_TRANSFORMS)


def _transform_class(name: Any) -> type[ScoreTransform]:
    if name not in NAMES:  # a list has no hash
        raise InputError(f"transform: {name!r} is not one of {', '.join(NAMES)}.")
    return _TRANSFORMS[name]


def make_transform(
    name: str, scheme: ScoringScheme | None = None, **constants: float
) -> ScoreTransform:
    """Return the transform of this name, with all its constants.

    They are ``a`` of ``log`` (20 by default), ``lambda`` and ``K`` of ``evalue``, which the scoring
    scheme gives by default, see :func:`~kreinflow.alignment.statistics.local_statistics`.
    """
    transform = _transform_class(name)
    return transform(transform.completed(constants, scheme))
