"""Words of sequences: features that cost no alignment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse

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
    """

    lengths: tuple[int, ...]
    letters: str

    @property
    def n_features(self) -> int:
        """The number of words."""
        return sum(len(self.letters) ** k for k in self.lengths)

    def check(self, sequences: Sequence[bytes]) -> None:
        """Raise ValueError for sequences of other letters, and for words too many to count."""
        lengths, letters = set(self.lengths), set(self.letters)
        if not lengths or not lengths <= set(range(1, LONGEST + 1)):
            raise ValueError(f"words have 1 to {LONGEST} letters")
        if (len(lengths), len(letters)) != (len(self.lengths), len(self.letters)) or len(
            letters
        ) > 64:
            raise ValueError("the letters or lengths of its words are damaged")
        if any(sequence.translate(None, self.letters.encode()) for sequence in sequences):
            raise ValueError("a sequence has letters that its words lack")

    def features(self, sequences: Sequence[bytes]) -> scipy.sparse.csr_array:
        """Return the features, (n, n_features); a row depends on its own sequence alone."""
        blocks = [scipy.sparse.csr_array((0, self.n_features))]
        for first in range(0, len(sequences), _ROWS):
            blocks.append(self._block(sequences[first : first + _ROWS]))
        return scipy.sparse.csr_array(scipy.sparse.vstack(blocks, format="csr"))

    def _block(self, sequences: Sequence[bytes]) -> scipy.sparse.csr_array:
        code_of = np.zeros(256, dtype=np.int32)
        code_of[np.frombuffer(self.letters.encode(), dtype=np.uint8)] = np.arange(len(self.letters))
        codes = code_of[np.frombuffer(b"".join(sequences), dtype=np.uint8)]
        sizes = np.array([len(sequence) for sequence in sequences])
        row_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(codes))  # to the sequence's end
        blocks = []
        for k in self.lengths:
            words = np.zeros(max(len(codes) - k + 1, 0), dtype=np.int32)
            for place in range(k):
                words = words * len(self.letters) + codes[place : place + len(words)]
            whole = left[: len(words)] >= k
            rows = row_of[: len(words)][whole]
            counted = (np.ones(len(rows)), (rows, words[whole]))
            shape = len(sizes), len(self.letters) ** k
            shares = scipy.sparse.coo_array(counted, shape=shape).tocsr()  # sums up the counts
            shares.data /= np.repeat(sizes - k + 1, np.diff(shares.indptr))
            np.sqrt(shares.data, out=shares.data)
            blocks.append(shares)
        return scipy.sparse.hstack(blocks, format="csr")
