"""Clusters of near-identical sequences, without comparing all with all."""

import math
from collections.abc import Sequence

import numpy as np
import parasail
from numpy.typing import NDArray

_PROTEIN_WORD = 5
_NUCLEOTIDE_WORD = 10
_NUCLEOTIDES = b"ACGTURYSWKMBDHVN"
_SHARED_WORDS = 20
_MOST_WORDS = 100
_NEIGHBOURS = 4


def identity_clusters(sequences: Sequence[bytes], threshold: float) -> NDArray[np.intp]:
    """Return clusters by single linkage of sequences of at least ``threshold`` identity.

    Candidate pairs share one of their lowest-hashed words of 5 residues (10 nucleotides), as in
    Linclust: each sequence is compared with the longest that has the word, and with the next
    longer ones. Each candidate is verified by an alignment. So the work grows linearly with the
    number of sequences, and a pair that shares no such word is missed; see the tests for the
    share found. Sequences shorter than a word stay alone.

    Identity is the number of identical pairs in the best local alignment (BLOSUM62, or 2/-3 for
    nucleotides; gaps 11/1 or 5/2) divided by the length of the shorter sequence.

    Parameters
    ----------
    sequences : sequence of bytes
        Distinct, upper case.
    threshold : float
        From 0 (excluded) to 1.

    Returns
    -------
    ndarray of shape (n,)
        The cluster of each sequence: the index of its first member.

    References
    ----------
    Steinegger & Soeding (2018), Nat. Commun. 9:2542, doi 10.1038/s41467-018-04964-5.
    """
    nucleotides = not any(s.translate(None, _NUCLEOTIDES) for s in sequences)
    parent = list(range(len(sequences)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    word = _NUCLEOTIDE_WORD if nucleotides else _PROTEIN_WORD
    for i, j in _candidates(sequences, word, threshold):
        a, b = root(i), root(j)
        if a != b and identity(sequences[i], sequences[j], nucleotides) >= threshold:
            parent[max(a, b)] = min(a, b)
    return np.array([root(i) for i in range(len(sequences))], dtype=np.intp)


def identity(a: bytes, b: bytes, nucleotides: bool) -> float:
    """Return the share of identical residues, as :func:`identity_clusters` defines it."""
    if nucleotides:
        matrix, gap_open, gap_extend = _nucleotide_matrix(), 5, 2
    else:
        matrix, gap_open, gap_extend = parasail.blosum62, 11, 1
    aligned = parasail.sw_stats_striped_sat(
        a.decode("ascii"), b.decode("ascii"), gap_open, gap_extend, matrix
    )
    return float(aligned.matches) / min(len(a), len(b))


def _nucleotide_matrix() -> "parasail.Matrix":
    return parasail.matrix_create("ACGT", 2, -3)


def _candidates(sequences: Sequence[bytes], word: int, threshold: float) -> list[tuple[int, int]]:
    """Return pairs (i, j), i < j, to be verified, each once, in order."""
    # A word survives in both with probability threshold^word: take more words where fewer do.
    count = min(_MOST_WORDS, math.ceil(_SHARED_WORDS / threshold**word))
    hashes, owners = [], []
    for i, sequence in enumerate(sequences):
        lowest = np.unique(_word_hashes(sequence, word))[:count]
        hashes.append(lowest)
        owners.append(np.full(len(lowest), i))
    if not hashes:
        return []
    key, owner = np.concatenate(hashes), np.concatenate(owners)
    length = np.array([len(s) for s in sequences])
    order = np.lexsort((owner, -length[owner], key))
    key, owner = key[order], owner[order]
    place = np.arange(len(key))
    start = np.maximum.accumulate(np.where(np.r_[True, key[1:] != key[:-1]], place, 0))
    partners = [start, *(np.maximum(place - step, start) for step in range(1, _NEIGHBOURS + 1))]
    pairs = np.concatenate([np.c_[owner, owner[partner]] for partner in partners])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return [(int(i), int(j)) for i, j in np.unique(np.sort(pairs, axis=1), axis=0)]


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
