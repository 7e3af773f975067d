"""Transformed alignment scores as a kernel of strings, aligned when they are asked for.

The workflow keeps all scores it ever aligned in a store; this is for sequences in memory.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.scoring import MODES, ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import NAMES, ScoreTransform, make_transform
from kreinflow.answering.score_cache import ScoreCache
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, tiles
from kreinflow.base.settings import SettingsSchema
from kreinflow.fitting.run import pair_scores
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.sequences.scores import Scores


class AlignmentKernel(Kernel):
    r"""The transformed score of the alignment of two sequences.

    .. math:: k(x, y) = t(s_{xy}; s_{xx}, s_{yy}, n_x, n_y)

    with the scores s of :class:`~kreinflow.alignment.backends.Backend`, the lengths n and the
    transform t of :mod:`kreinflow.alignment.transforms`.

    Examples
    --------
    >>> kernel = AlignmentKernel({"transform": "normalised"})
    >>> X = kernel.read(["mkvlaagiw", "MKVLSAGIW"])
    >>> kernel.columns(X, X).round(3).tolist()
    [[1.0, 0.936], [0.936, 1.0]]
    """

    name = "alignment"
    strings = True
    settings_schema: ClassVar[SettingsSchema] = {
        "matrix": {
            "description": "a substitution matrix of parasail's, by name, or an NCBI file",
            "type": "string",
            "default": "BLOSUM62",
        },
        "gap_open": {
            "description": "cost of the first residue of a gap",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 11,
        },
        "gap_extend": {
            "description": "cost of each further residue of a gap",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 1,
        },
        "mode": {
            "description": "local is Smith-Waterman",
            "enum": list(MODES),
            "default": "local",
        },
        "transform": {"description": "score transform", "enum": list(NAMES), "default": "log"},
        "molecule": {
            "description": "what U stands for",
            "enum": ["protein", "nucleotide"],
            "default": "protein",
        },
        "threads": {
            "description": "of the alignment; scores do not depend on it",
            "type": "integer",
            "minimum": 1,
            "default": 1,
        },
    }
    references = ("rognes2011", "daily2016")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        s = self.settings
        matrix = load_substitution_matrix(s["matrix"])
        self.scheme = ScoringScheme(matrix, s["gap_open"], s["gap_extend"], s["mode"])
        self.transform: ScoreTransform = make_transform(s["transform"], self.scheme)
        self._alphabet = ResidueAlphabet(matrix.alphabet, s["molecule"])

    def pair_scores(self, sequences: Iterable[bytes]) -> ScoreCache:
        """Return the scores of sequences with each other, aligned when they are asked for."""
        return pair_scores(list(sequences), self.scheme, "auto", self.settings["threads"])

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        s = self.settings
        return (
            f"{s['mode']} alignment scores ({self.scheme.matrix.name}, gaps {s['gap_open']} and "
            f"{s['gap_extend']}), transform {s['transform']}"
        )

    def read(self, sequences: Iterable[str | bytes]) -> Objects:
        """Return cleaned sequences, an ndarray of bytes of shape (n,).

        Raises
        ------
        InputError
            If a residue is not in the substitution matrix, a sequence is empty, or its score with
            itself is too small for the transform to divide by.
        """
        cleaned = [
            self._alphabet.clean(s.encode("ascii", "replace") if isinstance(s, str) else bytes(s))
            for s in sequences
        ]
        for number, residues in enumerate(cleaned, start=1):
            found = self._alphabet.illegal(residues)
            if found:
                position, letter = found
                raise InputError(
                    f"sequence {number}: residue {position} is {letter!r}, which the substitution "
                    f"matrix {self.scheme.matrix.name} lacks. Correct or remove it."
                )
            if not residues:
                raise InputError(f"sequence {number}: has no residues. Leave it out.")
        objects = array_of(cleaned)
        for poor in self.transform.unusable(self.self_scores(objects), lengths(objects)):
            raise InputError(
                f"sequence {poor + 1}: scores too little with itself to be compared (transform "
                f"{self.transform.name}). Leave it out, or use raw."
            )
        return objects

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        """See :meth:`Kernel.columns`; of what :meth:`read` returns."""
        own = self.self_scores(X), self.self_scores(Y)
        return self.transform.apply(self.scores(X, Y), *own, lengths(X), lengths(Y))

    def diagonal(self, X: Objects) -> FloatArray:
        """See :meth:`Kernel.diagonal`."""
        return self.transform.self_similarity(self.self_scores(X), lengths(X))

    def scores(self, X: Objects, Y: Objects) -> NDArray[np.int32]:
        """Return the scores of X with Y as aligned, of shape (n, m).

        Raises
        ------
        InputError
            If one is negative and the transform cannot take it.
        """
        rows, columns, threads = (
            len(Y) + np.arange(len(X)),
            np.arange(len(Y)),
            self.settings["threads"],
        )
        aligner = checked(backend_named("auto"), share=0.02)
        scores = aligner(pack([*Y, *X]), rows, columns, self.scheme, threads)
        if not self.transform.takes_negative and scores.min(initial=0) < 0:
            raise InputError(
                f"transform {self.transform.name}: the score of two sequences is negative, as "
                "those of global and semiglobal alignments can be. Use raw or normalised, or local "
                "alignment."
            )
        return scores

    def self_scores(self, X: Objects) -> FloatArray:
        """Return the score of each sequence with itself as aligned."""
        packed, everyone = pack(list(X)), np.arange(len(X))
        scores = self_scores(packed, everyone, self.scheme, self.settings["threads"])
        return scores.astype(np.float64)


@dataclass(frozen=True, eq=False)
class AlignedScores(Scores):
    """Scores of sequences in memory as aligned, which no store keeps.

    Parameters
    ----------
    kernel : AlignmentKernel
    sequences : ndarray of shape (n,)
        Distinct; see :meth:`AlignmentKernel.read`.
    """

    kernel: AlignmentKernel
    sequences: Objects
    dtype = np.dtype(np.int32)

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the scores of rows x columns into ``out``, a tile of rows at a time."""
        others = self.sequences[columns]
        for part in tiles(len(rows)):
            out[part] = self.kernel.scores(self.sequences[rows[part]], others)

    def self_scores(self) -> FloatArray:
        """Return the score of each sequence with itself."""
        return self.kernel.self_scores(self.sequences)


def lengths(X: Objects) -> FloatArray:
    """Return the residues of each sequence."""
    return np.array([len(residues) for residues in X], dtype=np.float64)


def array_of(sequences: Iterable[bytes]) -> Objects:
    """Return sequences as an array of them."""
    values = list(sequences)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
