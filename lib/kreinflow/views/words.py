"""Words of sequences: features that cost no alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from kreinflow.base.compiled import worth_compiling
from kreinflow.views import few

LONGEST = 4
"""Letters of a word at most: 24 letters make 330,000 words of four."""

_ROWS = 256  # counted at once: there is room for a word at each of their residues


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
        if len(set(self.lengths)) != len(self.lengths):
            raise ValueError("a length of its words stands twice")
        if any(sequence.translate(None, self.letters.encode()) for sequence in sequences):
            raise ValueError("a sequence has letters that its words lack")

    def coded(self, sequences: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the places of all residues among the letters, and the ends of the sequences."""
        codes = np.zeros(256, dtype=np.uint8)
        codes[np.frombuffer(self.letters.encode(), dtype=np.uint8)] = np.arange(len(self.letters))
        ends = np.cumsum([len(sequence) for sequence in sequences], dtype=np.int64)
        return codes[np.frombuffer(b"".join(sequences), dtype=np.uint8)], ends

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
        shares_of_words = few.shares_of_words
        if worth_compiling(len(self.lengths) * sum(map(len, sequences)) / 10):
            from kreinflow.views.loops import shares_of_words
        blocks = []
        for first in range(0, len(sequences), _ROWS):
            block = sequences[first : first + _ROWS]
            residues, ends_of_block = self.coded(block)
            starts = np.concatenate([[0], ends_of_block])
            ends = np.zeros(len(block) + 1, dtype=np.int64)
            places = np.empty(len(self.lengths) * len(residues), dtype=np.int32)
            values = np.empty(len(places))
            lengths = np.array(self.lengths, dtype=np.int64)
            shares_of_words(residues, starts, lengths, len(self.letters), ends, places, values)
            made = values[: ends[-1]].copy(), places[: ends[-1]].copy(), ends
            rows = scipy.sparse.csr_array(made, shape=(len(block), self.n_features))
            rows.sort_indices()  # the compiled loop does not: a sort takes seconds to compile
            blocks.append(rows)
        if not blocks:
            return scipy.sparse.csr_array((0, self.n_features))
        return scipy.sparse.csr_array(scipy.sparse.vstack(blocks, format="csr"))
