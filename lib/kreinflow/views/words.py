"""Words of sequences: features that cost no alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

LONGEST = 4
"""Letters of a word at most: 24 letters make 330,000 words of four."""

_ROWS = 256  # counted at once: a table of so many rows and all words is in memory


@dataclass(frozen=True)
class Words:
    r"""Square roots of the shares of the words of a sequence, a block for each length of words.

    A sequence with :math:`c_w` words w of length k has the features

    .. math:: x_w = \sqrt{c_w / \sum_{v: |v| = k} c_v} ,

    so each block has the norm 1, or 0 where the sequence is shorter than k, and the squared
    distance of two sequences in a block is twice the squared Hellinger distance of their words.

    Parameters
    ----------
    lengths : tuple of int
        Of the words, in residues.
    letters : str
        All that sequences are made of.
    """

    lengths: tuple[int, ...]
    letters: str

    @property
    def n_features(self) -> int:
        """How many words there are."""
        return sum(len(self.letters) ** k for k in self.lengths)

    def check(self, sequences: Sequence[bytes]) -> None:
        """Refuse sequences of other letters, and words that are too many to count.

        Raises
        ------
        ValueError
        """
        if not (self.lengths and 1 <= min(self.lengths) <= max(self.lengths) <= LONGEST):
            raise ValueError(f"words have 1 to {LONGEST} letters")
        if len(set(self.letters)) != len(self.letters) or len(self.letters) > 64:
            raise ValueError("the letters of its words are damaged")
        if any(sequence.translate(None, self.letters.encode()) for sequence in sequences):
            raise ValueError("a sequence has letters that its words lack")

    def features(self, sequences: Sequence[bytes]) -> scipy.sparse.csr_array:
        """Return the features, a row a sequence; each depends on its own sequence alone.

        Parameters
        ----------
        sequences : sequence of bytes
            Made of :attr:`letters`.

        Returns
        -------
        csr_array of shape (n, n_features)
        """
        codes = np.zeros(256, dtype=np.int64)
        codes[np.frombuffer(self.letters.encode(), dtype=np.uint8)] = np.arange(len(self.letters))
        blocks = [
            self._block([codes[np.frombuffer(s, dtype=np.uint8)] for s in sequences[a : a + _ROWS]])
            for a in range(0, len(sequences), _ROWS)
        ]
        if not blocks:
            return scipy.sparse.csr_array((0, self.n_features))
        return scipy.sparse.csr_array(scipy.sparse.vstack(blocks, format="csr"))

    def _block(self, coded: Sequence[NDArray[np.int64]]) -> scipy.sparse.csr_array:
        parts = []
        for k in self.lengths:
            size = len(self.letters) ** k
            counts = np.zeros((len(coded), size))
            for row, sequence in enumerate(coded):
                if len(sequence) < k:
                    continue
                words = sequence[: len(sequence) - k + 1]
                for shift in range(1, k):
                    words = (
                        words * len(self.letters) + sequence[shift : len(sequence) - k + 1 + shift]
                    )
                counts[row] = np.bincount(words, minlength=size)
                counts[row] /= len(words)
            parts.append(scipy.sparse.csr_array(np.sqrt(counts)))
        return scipy.sparse.csr_array(scipy.sparse.hstack(parts, format="csr"))
