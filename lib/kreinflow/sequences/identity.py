"""The identity of two sequences, and clusters of near-identical ones without comparing all."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import parasail
from numpy.typing import NDArray

from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.engine import pack
from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix
from kreinflow.base.numerics import compiled


class _Kind(NamedTuple):
    """Words and scores of proteins or of nucleotides.

    A word shared by chance has a diagonal that gains ``gain`` in about one case of 25 (BLOSUM62,
    lambda .32) or 80 (2/-3, lambda .63). Words of ``counted`` letters are counted before a pair is
    aligned.
    """

    word: int
    counted: int
    gain: int
    alphabet: bytes
    gap_open: int
    gap_extend: int
    matrix: "parasail.Matrix"

    def table(self) -> NDArray[np.int32]:
        """Return the scores of all pairs of bytes; unknown ones have those of the last letter."""
        size = self.matrix.size
        rows = range(size)
        values = np.array([[self.matrix.matrix[i][j] for j in rows] for i in rows])
        place = np.full(256, size - 1)
        place[np.frombuffer(self.alphabet, dtype=np.uint8)] = np.arange(len(self.alphabet))
        return np.ascontiguousarray(values[np.ix_(place, place)], dtype=np.int32)


# Beyond so many cells the trace of an alignment, of 4 bytes a cell, would fill the memory.
_TRACED_CELLS = 25_000_000
_NUCLEOTIDES = b"ACGTURYSWKMBDHVN"
_PROTEIN = _Kind(5, 3, 12, b"ARNDCQEGHILKMFPSTWYVBZX*", 11, 1, parasail.blosum62)
_NUCLEOTIDE = _Kind(10, 6, 8, b"ACGT", 5, 2, parasail.matrix_create("ACGT", 2, -3))
# Short words that are told apart, and words of a sequence and partners that are looked at.
_CODES = 1 << 15
_SHARED_WORDS = 20
_MOST_WORDS = 100
_NEIGHBOURS = 4
# What a pair must score for each residue of the shorter before its alignment is looked at: half of
# the lowest found among the pairs of nine Pfam families that were joined at 40 % over 80 %.
_LEAST_SCORE = 0.4
# Of an alignment in parts: a residue of the first against a gap, of the second, equal ones.
_INSERTED, _DELETED, _EQUAL = 1, 2, 7


def identity_clusters(
    sequences: Sequence[bytes],
    threshold: float,
    coverage: float | None = None,
    classes: Sequence[str] | None = None,
) -> NDArray[np.intp]:
    """Return clusters by single linkage of sequences of at least ``threshold`` identity.

    Candidate pairs share one of their lowest-hashed words of 5 residues (10 nucleotides), as in
    Linclust: each sequence is compared with the longest that has the word, and with the next longer
    ones. A pair is aligned only if the word, extended without gaps, scores more than chance, and if
    as many short words are shared as the identity makes certain. The most alike pairs come first,
    and pairs of one cluster are passed over, so the work grows linearly with the number of
    sequences. A pair that shares no such word is missed.

    Identity is the number of identical pairs in the best local alignment (BLOSUM62, or 2/-3 for
    nucleotides; gaps 11/1 or 5/2) divided by the length of the shorter sequence; or, with
    ``coverage`` (the share of the shorter sequence that the alignment must cover), by the columns
    of the alignment, see :func:`covered`. With the ``classes`` of the sequences all pairs of one
    class are compared too: this work grows with the squares of their sizes.

    The sequences are distinct and upper case. The cluster of each, (n,), is the index of its first
    member.

    References
    ----------
    Steinegger & Soeding (2018), Nat. Commun. 9:2542, doi 10.1038/s41467-018-04964-5.
    """
    nucleotides = not any(s.translate(None, _NUCLEOTIDES) for s in sequences)
    kind = _NUCLEOTIDE if nucleotides else _PROTEIN
    parent = list(range(len(sequences)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    def join_if_alike(i: int, j: int) -> None:
        a, b = root(i), root(j)
        if a == b:
            return
        if coverage is None:
            alike = identity(sequences[i], sequences[j], nucleotides) >= threshold
        else:
            share, part = covered(sequences[i], sequences[j], nucleotides)
            alike = share >= threshold and part >= coverage
        if alike:
            parent[max(a, b)] = min(a, b)

    of_shorter = threshold * (1 if coverage is None else coverage)
    for i, j in _candidates(sequences, kind, of_shorter).tolist():
        join_if_alike(i, j)
    if classes is not None and len(sequences):
        packed = pack(sequences, _scoring_scheme(sequences, kind))
        align = checked(backend_named("auto"), share=0.001)  # a pair of each call
        members: dict[str, list[int]] = {}
        for i, name in enumerate(classes):
            members.setdefault(name, []).append(i)
        for own in members.values():
            for place, i in enumerate(own):
                # One sequence with all that are not in its cluster yet, for their scores alone.
                apart = [j for j in own[place + 1 :] if root(j) != root(i)]
                right = np.array(apart, dtype=np.int64)
                [scores] = align(packed, np.array([i]), right)
                least = _LEAST_SCORE * np.minimum(packed.lengths[i], packed.lengths[right])
                for j in right[scores >= least].tolist():
                    join_if_alike(i, j)
    return np.array([root(i) for i in range(len(sequences))], dtype=np.intp)


def identity(a: bytes, b: bytes, nucleotides: bool) -> float:
    """Return the identity of two sequences, as :func:`identity_clusters` defines it."""
    pair = a.decode("ascii"), b.decode("ascii"), *_scheme(nucleotides)
    aligned = parasail.sw_stats_scan_16(*pair)
    if aligned.saturated:
        aligned = parasail.sw_stats_scan_32(*pair)
    return float(aligned.matches) / min(len(a), len(b))


def covered(a: bytes, b: bytes, nucleotides: bool) -> tuple[float, float]:
    """Return the identity of the columns of the best local alignment, and its coverage.

    Gaps are columns too; the coverage is the share of the shorter sequence that is aligned.
    """
    if len(a) * len(b) > _TRACED_CELLS:
        return _covered_by_ends(a, b, nucleotides)
    aligned = parasail.sw_trace_scan_32(a.decode("ascii"), b.decode("ascii"), *_scheme(nucleotides))
    traced = aligned.cigar  # its memory is that of the result
    # Each entry is a length, and in the lowest four bits what it is of (as in BAM files).
    lengths, kinds = traced.seq >> 4, traced.seq & 15
    paired = np.flatnonzero((kinds != _INSERTED) & (kinds != _DELETED))
    if not len(paired):
        return 0.0, 0.0
    # What stands before the first pair is no gap: the residues before the alignment.
    lengths, kinds = lengths[paired[0] :], kinds[paired[0] :]
    columns = int(lengths.sum())
    gaps = _DELETED if len(a) <= len(b) else _INSERTED
    residues = columns - int(lengths[kinds == gaps].sum())
    return float(lengths[kinds == _EQUAL].sum()) / columns, residues / min(len(a), len(b))


def _covered_by_ends(a: bytes, b: bytes, nucleotides: bool) -> tuple[float, float]:
    """Return the values of :func:`covered` from counts and ends alone.

    The alignment of the reversed parts up to its end ends at its beginning. Where several have the
    best score, that may be another one than a trace gives, of less coverage.
    """
    scheme = _scheme(nucleotides)
    there = parasail.sw_stats_striped_32(a.decode("ascii"), b.decode("ascii"), *scheme)
    if there.score == 0:
        return 0.0, 0.0
    parts = a[: there.end_query + 1][::-1], b[: there.end_ref + 1][::-1]
    back = parasail.sw_striped_32(parts[0].decode("ascii"), parts[1].decode("ascii"), *scheme)
    residues = 1 + (back.end_query if len(a) <= len(b) else back.end_ref)
    return float(there.matches) / there.length, residues / min(len(a), len(b))


def _scoring_scheme(sequences: Sequence[bytes], kind: _Kind) -> ScoringScheme:
    """Return the scores for the letters that occur, known to the matrix or not."""
    present = np.unique(np.frombuffer(b"".join(sequences), dtype=np.uint8))
    scores = kind.table()[np.ix_(present, present)]
    matrix = SubstitutionMatrix("of the clusters", present.tobytes().decode("ascii"), scores)
    return ScoringScheme(matrix, kind.gap_open, kind.gap_extend)


def _scheme(nucleotides: bool) -> tuple[int, int, "parasail.Matrix"]:
    kind = _NUCLEOTIDE if nucleotides else _PROTEIN
    return kind.gap_open, kind.gap_extend, kind.matrix


def _candidates(sequences: Sequence[bytes], kind: _Kind, threshold: float) -> NDArray[np.int64]:
    """Return pairs (i, j), i < j, to be verified: each once, the most alike first."""
    word = kind.word
    # A word survives in both with probability threshold^word: take more words where fewer do.
    count = min(_MOST_WORDS, math.ceil(_SHARED_WORDS / threshold**word))
    hashes, places, owners = [], [], []
    for i, sequence in enumerate(sequences):
        lowest, place = np.unique(_word_hashes(sequence, word), return_index=True)
        hashes.append(lowest[:count])
        places.append(place[:count].astype(np.int32))
        owners.append(np.full(len(places[-1]), i, dtype=np.int32))
    if not hashes:
        return np.empty((0, 2), dtype=np.int64)
    key, place, owner = np.concatenate(hashes), np.concatenate(places), np.concatenate(owners)
    length = np.array([len(s) for s in sequences])
    order = np.lexsort((owner, -length[owner], key))
    key, place, owner = key[order], place[order], owner[order]
    letters = np.frombuffer(b"".join(sequences), dtype=np.uint8)
    starts = np.r_[0, np.cumsum(length)]
    scores = kind.table()
    entry = np.arange(len(key))
    longest = np.maximum.accumulate(np.where(np.r_[True, key[1:] != key[:-1]], entry, 0))
    found = []
    neighbours = [np.maximum(entry - step, longest) for step in range(1, _NEIGHBOURS + 1)]
    for partner in [longest, *neighbours]:
        left = np.flatnonzero(owner != owner[partner])
        right = partner[left]
        extended = _extend(
            letters, starts, owner, place, left, right, word, scores, kind.gain, threshold
        )
        passed = extended > 0
        i, j = owner[left[passed]].astype(np.int64), owner[right[passed]].astype(np.int64)
        found.append(np.c_[np.minimum(i, j), np.maximum(i, j), extended[passed]])
    pairs = np.concatenate(found)
    pairs = pairs[np.lexsort((-pairs[:, 2], pairs[:, 1], pairs[:, 0]))]
    first = np.r_[True, (pairs[1:, :2] != pairs[:-1, :2]).any(axis=1)][: len(pairs)]
    pairs = pairs[first]
    word = kind.counted
    if word * (1 - threshold) < 1:
        words = [_word_hashes(s, word) & np.uint64(_CODES - 1) for s in sequences]
        codes = np.concatenate(words).astype(np.uint16)
        ends = np.cumsum([len(w) for w in words])
        pairs = pairs[_enough_words(codes, np.r_[0, ends], length, pairs, word, threshold)]
    alike: NDArray[np.int64] = pairs[np.argsort(-pairs[:, 2], kind="stable"), :2]
    return alike


@compiled
def _extend(
    letters: NDArray[np.uint8],
    starts: NDArray[np.int64],
    owner: NDArray[np.int32],
    place: NDArray[np.int32],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    word: int,
    scores: NDArray[np.int32],
    gain: int,
    threshold: float,
) -> NDArray[np.int32]:
    """Return the score of the diagonal through each shared word, 0 if it is that of chance.

    The word is extended both ways without gaps until the score falls by ``gain`` below its best.
    """
    result = np.zeros(len(left), dtype=np.int32)
    for pair in range(len(left)):
        one, two = left[pair], right[pair]
        i, j = owner[one], owner[two]
        a, b = starts[i] + place[one], starts[j] + place[two]
        of_word = 0
        matches = 0
        for step in range(word):
            of_word += scores[letters[a + step], letters[b + step]]
            matches += letters[a + step] == letters[b + step]
        best = of_word
        for direction in (1, -1):
            x, y = (a + word, b + word) if direction == 1 else (a - 1, b - 1)
            score = best
            since = 0
            while starts[i] <= x < starts[i + 1] and starts[j] <= y < starts[j + 1]:
                score += scores[letters[x], letters[y]]
                since += letters[x] == letters[y]
                if score > best:
                    best = score
                    matches += since
                    since = 0
                elif score <= best - gain:
                    break
                x += direction
                y += direction
        shorter = min(starts[i + 1] - starts[i], starts[j + 1] - starts[j])
        if best >= of_word + gain or matches >= threshold * shorter:
            result[pair] = max(best, 1)
    return result


@compiled
def _enough_words(
    codes: NDArray[np.uint16],
    starts: NDArray[np.int64],
    length: NDArray[np.int64],
    pairs: NDArray[np.int64],
    word: int,
    threshold: float,
) -> NDArray[np.bool_]:
    """Return whether a pair, sorted by its first, shares as many words as the threshold asks for.

    Of the n - word + 1 words of the shorter sequence, each residue without an identical partner
    takes ``word`` at most, and each gap ``word`` - 1: one in 25 residues, and two, are allowed.
    """
    enough = np.zeros(len(pairs), dtype=np.bool_)
    present = np.full(_CODES, -1, dtype=np.int64)  # the last first of a pair that has the word
    last = -1
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        if i != last:
            for place in range(starts[i], starts[i + 1]):
                present[codes[place]] = i
            last = i
        shared = 0
        for place in range(starts[j], starts[j + 1]):
            shared += present[codes[place]] == i
        n = min(length[i], length[j])
        gaps = n / 25 + 2
        enough[p] = shared >= n - word + 1 - word * (1 - threshold) * n - (word - 1) * gaps
    return enough


def _word_hashes(sequence: bytes, word: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each word: its letters in base 32, mixed as by splitmix64."""
    letters = np.frombuffer(sequence, dtype=np.uint8).astype(np.uint64) & np.uint64(31)
    n = len(letters) - word + 1
    if n <= 0:
        return np.empty(0, dtype=np.uint64)
    x = np.zeros(n, dtype=np.uint64)
    for i in range(word):
        x = (x << np.uint64(5)) | letters[i : n + i]
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x
