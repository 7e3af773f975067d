"""Residues: what is rewritten, stripped or illegal under a substitution matrix.

parasail scores letters that its matrix lacks as ``*``, without a word; so every sequence passes
here before it is aligned.
"""

from collections import Counter

_REWRITTEN = {
    "protein": {"U": "C", "O": "K", "J": "X"},  # selenocysteine, pyrrolysine, leucine/isoleucine
    "nucleotide": {"U": "T"},
}
_END = b"*-."
_PROTEIN = frozenset(b"ARNDCQEGHILKMFPSTWYV")
_TELLING = 50
"""Residues from which on a record of bases alone is no protein."""


class ResidueAlphabet:
    """The residues that a substitution matrix can score, of a "protein" or a "nucleotide".

    Lower case is upper case. U, O and J become C, K and X in proteins, U becomes T in
    nucleotides, each only if the matrix lacks the letter. Stop (``*``) and gap signs (``-``,
    ``.``) at the end are stripped; elsewhere they are as illegal as any other unknown letter.

    Examples
    --------
    >>> alphabet = ResidueAlphabet("ARNDCQEGHILKMFPSTWYVBZX*", "protein")
    >>> residues = alphabet.clean(b"mUl*")
    >>> residues, alphabet.illegal(residues), dict(alphabet.substitutions(b"mUl*"))
    (b'MCL', None, {'U to C': 1, '* at the end': 1})
    """

    def __init__(self, letters: str, molecule: str) -> None:
        known = letters.upper().encode("ascii", "replace")
        self._legal = bytes(sorted(set(known) - set(_END)))
        self._rewritten = {
            old: new
            for old, new in _REWRITTEN[molecule].items()
            if ord(old) not in self._legal and ord(new) in self._legal
        }
        table = bytearray(bytes(range(256)).upper())
        for old, new in self._rewritten.items():
            table[ord(old)] = table[ord(old.lower())] = ord(new)
        self._table = bytes(table)
        self._of_proteins = molecule == "protein" and _PROTEIN.issubset(self._legal)

    def clean(self, residues: bytes) -> bytes:
        """Return the residues rewritten, with their end stripped."""
        return residues.rstrip(_END).translate(self._table)

    def illegal(self, cleaned: bytes) -> tuple[int, str] | None:
        """Return the position (from 1) and letter of the first illegal residue, or None."""
        unknown = cleaned.translate(None, self._legal)
        if not unknown:
            return None
        return cleaned.index(unknown[:1]) + 1, chr(unknown[0])

    def are_nucleotides(self, cleaned: bytes) -> bool:
        """Return whether residues that should be of a protein are nucleotides beyond doubt.

        They are 50 or more, all of them A, C, G, T, U or N, and three of A, C, G and T occur.
        """
        if not self._of_proteins or len(cleaned) < _TELLING or cleaned.translate(None, b"ACGTUN"):
            return False
        return len(set(cleaned) & set(b"ACGT")) > 2

    def substitutions(self, residues: bytes) -> Counter[str]:
        """Return how many residues :meth:`clean` rewrites or strips, by kind."""
        kept = residues.rstrip(_END)
        upper = kept.upper()
        counts = Counter(
            {
                f"{old} to {new}": upper.count(old.encode())
                for old, new in self._rewritten.items()
                if old.encode() in upper
            }
        )
        counts.update(f"{chr(sign)} at the end" for sign in residues[len(kept) :])
        return counts
