"""Digests of sequences, by which the score store knows them whatever the data set."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import KreinflowError
from kreinflow.numerics import IntArray


def block_of(digest: str, blocks: int) -> int:
    """Return the block of rows that a sequence belongs to, by its digest alone.

    Examples
    --------
    >>> block_of("00000000000000ff", 7)
    3
    """
    return int(digest[:16], 16) % blocks


class DigestTable:
    """Finds the numbers of sequences by their digests, in a ``table`` of bytes.

    Many are looked up at once in a sorted array and in sorted order: a dictionary of a million
    digests is far larger than the processor's cache, and each question misses it.

    Raises
    ------
    KreinflowError
        If two digests are the same, or are not hexadecimal of one length.
    """

    def __init__(self, digests: Sequence[str]) -> None:
        wrong = KreinflowError(
            "score store: give each sequence one digest, all different, hexadecimal, of one length "
            "of at least 16 digits."
        )
        try:
            raw = bytes.fromhex("".join(digests))
        except ValueError as error:
            raise wrong from error
        width = max(map(len, digests), default=16) // 2
        uneven = any(len(digest) != 2 * width for digest in digests)
        if width < 8 or uneven or len(raw) != width * len(digests):  # blanks do not count as digits
            raise wrong
        self.table = np.frombuffer(raw, dtype=np.uint8).reshape(len(digests), width)
        whole = self.table.view(f"S{width}").ravel()  # compared as bytes
        self._order = np.argsort(whole, kind="stable")
        if (whole[self._order[1:]] == whole[self._order[:-1]]).any():
            raise wrong
        self._words = self._first_words(self.table)[self._order]
        self._rank = np.argsort(self._order)
        self._bit = self.table[:, 0] >> 7

    @staticmethod
    def _first_words(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return np.ascontiguousarray(table[:, :8]).view(">u8").ravel().astype(np.uint64)

    def numbers(self, table: NDArray[np.uint8]) -> IntArray:
        """Return the number of each digest of a table, -1 for those of other sequences."""
        found = np.full(len(table), -1, dtype=np.int64)
        if table.shape[1] != self.table.shape[1]:
            return found
        words = self._first_words(table)
        asked = np.argsort(words)
        place = np.searchsorted(self._words, words[asked])
        while asked.size:  # once, unless digests share their first 8 bytes
            there = place < self._words.size
            asked, place = asked[there], place[there]
            there = self._words[place] == words[asked]
            asked, place = asked[there], place[there]
            number = self._order[place]
            same = (self.table[number] == table[asked]).all(axis=1)
            found[asked[same]] = number[same]
            asked, place = asked[~same], place[~same] + 1
        return found

    def aligned_as_given(self, i: IntArray, j: IntArray) -> NDArray[np.bool_]:
        """Return whether (i, j) and not (j, i) is aligned where both are wanted: half of them."""
        first: NDArray[np.bool_] = (self._rank[i] < self._rank[j]) ^ (self._bit[i] != self._bit[j])
        return first
