"""Transformed alignment scores as a kernel of strings, of sequences in memory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.scoring import MODES, ScoringScheme, load_substitution_matrix
from kreinflow.alignment.transforms import NAMES, ScoreTransform, make_transform
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import Configured, SettingsSchema, one_of, whole_number
from kreinflow.fitting.run import pair_scores
from kreinflow.sequences.scores import AlignedScores
from kreinflow.views.objects import Viewed


class AlignmentKernel(Configured):
    r"""The transformed score of the alignment of two sequences, as the estimators ask for it.

    .. math:: k(x, y) = t(s_{xy}; s_{xx}, s_{yy}, n_x, n_y)

    with the scores s of :class:`~kreinflow.alignment.backends.Backend`, the lengths n and the
    transform t of :mod:`kreinflow.alignment.transforms`.
    """

    named_by = "name"
    name = "alignment"
    strings = True
    settings_schema: ClassVar[SettingsSchema] = {
        "matrix": {
            "description": "a substitution matrix of parasail's, by name, or an NCBI file",
            "type": "string",
            "default": "BLOSUM62",
        },
        "gap_open": whole_number("cost of the first residue of a gap", 1000, 11),
        "gap_extend": whole_number("cost of each further residue of a gap", 1000, 1),
        "mode": one_of(*MODES, about="local is Smith-Waterman"),
        "transform": {"description": "score transform", "enum": list(NAMES), "default": "log"},
        "molecule": one_of("protein", "nucleotide", about="what U stands for"),
        "threads": whole_number("of the alignment; scores do not depend on it", 1000),
    }

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        s = self.settings
        matrix = load_substitution_matrix(s["matrix"])
        self.scheme = ScoringScheme(matrix, s["gap_open"], s["gap_extend"], s["mode"])
        self.transform: ScoreTransform = make_transform(s["transform"], self.scheme)
        self._alphabet = ResidueAlphabet(matrix.alphabet, s["molecule"])

    def pair_scores(self, sequences: Sequence[bytes]) -> ScoreCache:
        """Return the scores of sequences with each other, aligned when they are asked for."""
        return pair_scores(sequences, self.scheme, "auto", self.settings["threads"])

    def aligned(self, sequences: Sequence[bytes]) -> AlignedScores:
        """Return the same as a matrix; a part is held against parasail."""
        aligner = checked(backend_named("auto"), share=0.02)
        return AlignedScores(sequences, self.scheme, self.settings["threads"], aligner)

    def read(self, sequences: Iterable[str | bytes]) -> tuple[bytes, ...]:
        """Return cleaned sequences; InputError where one cannot be aligned or transformed."""
        texts = (s.encode("ascii", "replace") if isinstance(s, str) else s for s in sequences)
        cleaned = tuple(map(self._alphabet.clean, texts))
        for number, residues in enumerate(cleaned, start=1):
            if found := self._alphabet.illegal(residues):
                raise InputError(
                    f"sequence {number}: residue {found[0]} is {found[1]!r}, which the "
                    f"substitution matrix {self.scheme.matrix.name} lacks. Correct or remove it."
                )
            if not residues:
                raise InputError(f"sequence {number}: has no residues. Leave it out.")
        own = self.aligned(cleaned).self_scores()
        for poor in self.transform.unusable(own, _lengths(cleaned)):
            raise InputError(
                f"sequence {poor + 1}: scores too little with itself to be compared (transform "
                f"{self.transform.name}). Leave it out, or use raw."
            )
        return cleaned

    def query(self, X: Sequence[bytes], Y: Sequence[bytes]) -> Query:
        """Return the scores of X with Y as aligned, with what else is known of X."""
        aligned, n = self.aligned([*X, *Y]), len(X)
        own = aligned.self_scores()
        scores = aligned.rectangle(np.arange(n), np.arange(n, len(own)))
        return Query(scores, own[:n], _lengths(X), Viewed(X))


def _lengths(X: Sequence[bytes]) -> FloatArray:
    return np.array([len(residues) for residues in X], dtype=np.float64)
