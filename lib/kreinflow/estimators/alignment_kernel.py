"""Transformed alignment scores as a kernel of strings, aligned when they are asked for.

The workflow keeps all scores it ever aligned in a store; this is for sequences in memory.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.scoring import MODES, ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import NAMES, make_transform
from kreinflow.errors import InputError
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.numerics import FloatArray
from kreinflow.settings import SettingsSchema


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
            "description": "a substitution matrix of parasail's, by name, or a file in the NCBI "
            "format",
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
        self._scheme = ScoringScheme(matrix, s["gap_open"], s["gap_extend"], s["mode"])
        self._transform = make_transform(s["transform"], self._scheme)
        self._alphabet = ResidueAlphabet(matrix.alphabet, s["molecule"])

    @property
    def letters(self) -> str:
        """All letters that sequences are made of, in the order of the substitution matrix."""
        return self._scheme.matrix.alphabet

    def describe(self) -> str:
        """See :meth:`Kernel.describe`."""
        s = self.settings
        return (
            f"{s['mode']} alignment scores ({self._scheme.matrix.name}, gaps {s['gap_open']} and "
            f"{s['gap_extend']}), transform {s['transform']}"
        )

    def read(self, sequences: Iterable[str | bytes]) -> Objects:
        """Return sequences as the kernel takes them: cleaned, each of legal residues alone.

        Returns
        -------
        ndarray of shape (n,), object
            Of bytes.

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
                    f"matrix {self._scheme.matrix.name} lacks. Correct or remove it."
                )
            if not residues:
                raise InputError(f"sequence {number}: has no residues. Leave it out.")
        objects = np.empty(len(cleaned), dtype=object)
        objects[:] = cleaned
        for poor in self._transform.unusable(self._self_scores(objects), _lengths(objects)):
            raise InputError(
                f"sequence {poor + 1}: scores too little with itself to be compared (transform "
                f"{self._transform.name}). Leave it out, or use raw."
            )
        return objects

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        """See :meth:`Kernel.columns`; of what :meth:`read` returns."""
        n, m = len(X), len(Y)
        align = checked(backend_named("auto"), share=0.02)
        scores = align(
            pack([*Y, *X]),
            np.arange(m, m + n),
            np.arange(m),
            self._scheme,
            self.settings["threads"],
        )
        return self._transform.apply(
            scores,
            self._self_scores(X),
            self._self_scores(Y),
            _lengths(X),
            _lengths(Y),
        )

    def diagonal(self, X: Objects) -> FloatArray:
        """See :meth:`Kernel.diagonal`."""
        return self._transform.self_similarity(self._self_scores(X), _lengths(X))

    def _self_scores(self, X: Objects) -> FloatArray:
        packed, everyone = pack(list(X)), np.arange(len(X))
        scores = self_scores(packed, everyone, self._scheme, self.settings["threads"])
        return scores.astype(np.float64)


def _lengths(X: Objects) -> FloatArray:
    return np.array([len(residues) for residues in X], dtype=np.float64)
