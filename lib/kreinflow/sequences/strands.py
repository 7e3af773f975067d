"""The other strand of nucleotide sequences, those that stand on it, and the six frames of DNA."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray
from kreinflow.base.wording import plural
from kreinflow.sequences.collapse import shown_examples

MORE = 2
"""Times as many words that a sequence must have in common once it is turned."""

MOST_WORDS = 1 << 22
"""Words of all sequences that are looked at, which bounds memory; of more a share, by a hash."""

_CHANCE = 1 / 4096
"""Words in common with all others together, for each word, by chance at most."""

_ROUNDS = 100
_MIX = np.uint64(0x9E3779B97F4A7C15)  # a product with it mixes bits

_CODES = np.full(256, -1, dtype=np.int64)
for _letters, _code in ((b"Aa", 0), (b"Cc", 1), (b"Gg", 2), (b"TtUu", 3)):
    _CODES[np.frombuffer(_letters, dtype=np.uint8)] = _code


def on_other_strand(
    sequences: Sequence[bytes], known: NDArray[np.bool_] | None = None, leading: int = 0
) -> NDArray[np.bool_]:
    """Return which nucleotide sequences stand on the other strand than those like them, (n,).

    Words in common are counted, as a sequence stands and once it is turned; words with letters but
    A, C, G, T and U do not count. One sequence of each set that shares words begins. Others join on
    the strand on which they have more than :data:`MORE` times as many words in common with those
    that did, and eight times what chance gives. Then the strand of most of a set is the one as
    given, and a sequence is meant if the same holds for it, turned, with all others. So none is
    meant that shares no words, or about as many on both strands.

    Sequences that are not ``known`` say nothing about others. In a set with some of the first
    ``leading`` ones these alone say which strand is the one as given.
    """
    n = len(sequences)
    known = np.ones(n, dtype=np.bool_) if known is None else known
    signs = _signed_words(sequences)
    told = scipy.sparse.csr_array(signs * known.astype(np.int64)[:, None])
    own, floor = np.diff(signs.indptr), 1 + 8 * _CHANCE * np.diff(signs.indptr)
    every, of_told = abs(signs), abs(told)

    def clear(strands: IntArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return who clearly stands as those that joined, and who does once turned."""
        itself = own * (strands * known)
        both = every @ (of_told.T @ abs(strands)) - abs(itself)
        more = signs @ (told.T @ strands) - itself
        there, back = (both + more) / 2, (both - more) / 2
        return there > np.maximum(MORE * back, floor), back > np.maximum(MORE * there, floor)

    bipartite = scipy.sparse.block_array([[None, of_told], [of_told.T, None]])
    linked = scipy.sparse.csgraph.connected_components(bipartite, directed=False)[1][:n]
    strands, begun = np.zeros((2, n), dtype=np.int64)
    for number in range(_ROUNDS):
        there, back = clear(strands)
        left = (strands == 0) & known
        joining = left & (there | back)
        if not joining.any():
            first = np.unique(linked[left], return_index=True)[1]
            joining[np.flatnonzero(left)[first]] = True
            begun[left] = number  # a chance word may link sets that did not begin together
        strands[joining] = np.where(back, -1, 1)[joining]
    sets = np.unique(linked * _ROUNDS + begun, return_inverse=True)[1]
    votes = np.where(np.arange(n) < leading, n, 1)
    mostly = np.bincount(sets, votes * strands, minlength=1)
    return clear(np.where(mostly[sets] < 0, -strands, strands))[1]


def _signed_words(sequences: Sequence[bytes]) -> "scipy.sparse.csr_array":
    """Return 1 where a sequence has a word, -1 where it has its reverse complement, (n, n_words).

    The word is the first of the two by number. There are those that two sequences have.
    """
    letters = sum(map(len, sequences))
    size = math.ceil(math.log(max(letters, 4) / _CHANCE, 4)) | 1  # odd: no word is its complement
    powers, step = 4 ** np.arange(size, dtype=np.int64), -(-letters // MOST_WORDS)
    rows, words, signs = ([np.empty(0, dtype=np.int64)] for _ in range(3))
    for row, sequence in enumerate(sequences):
        codes = _CODES[np.frombuffer(sequence, dtype=np.uint8)]
        if len(codes) < size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(codes, size)
        windows = windows[(windows >= 0).all(axis=1)]
        given, turned = windows @ powers, (3 - windows) @ powers[::-1]
        word = np.minimum(given, turned)
        kept = (word.astype(np.uint64) * _MIX >> np.uint64(32)) % np.uint64(max(step, 1)) == 0
        rows.append(np.full(int(kept.sum()), row, dtype=np.int64))
        words.append(word[kept])
        signs.append(np.where(given < turned, 1, -1)[kept])
    number = np.unique(np.concatenate(words), return_inverse=True)[1]
    shape = len(sequences), int(number.max(initial=-1)) + 1
    places = np.concatenate(rows), number
    found = scipy.sparse.csr_array((np.concatenate(signs), places), shape=shape)
    found.data = np.sign(found.data)
    found.eliminate_zeros()
    return found[:, np.flatnonzero(np.bincount(found.indices, minlength=shape[1]) > 1)]


def strand_advice(other_strand: Mapping[str, Any] | None) -> str:
    """Return a sentence or two on the records that the statistics name, empty if there are none."""
    if other_strand is None or not other_strand["count"]:
        return ""
    if other_strand["turned"]:
        stood = plural(other_strand["count"], "record was", "records were")
        return f"{stood} turned to the strand of those like them: {shown_examples(other_strand)}."
    looking = plural(other_strand["count"], "record looks", "records look")
    return (
        f"{looking} like the other strand of those like them: {shown_examples(other_strand)}. "
        "Sequences are aligned as they stand: set 'strand: auto', or leave these out."
    )


_COMPLEMENTS = dict(zip("ACGTUMRWSYKVHDBN", "TGCAAKYWSRMBDHVN", strict=True))


def reverse_complements(sequences: Sequence[bytes], letters: str) -> list[bytes]:
    """Return the other strand of each sequence, of letters of a substitution matrix.

    Letters that stand for several nucleotides become those that stand for their complements. See
    :func:`strand_fault` for sequences that cannot be turned.

    Examples
    --------
    >>> reverse_complements([b"AACGR", b"T"], "ACGTRYN")
    [b'YCGTT', b'A']
    """
    pairs = _complements(letters)
    table = bytes.maketrans("".join(pairs).encode(), "".join(pairs.values()).encode())
    return [sequence.translate(table)[::-1] for sequence in sequences]


def _complements(letters: str) -> dict[str, str]:
    pairs = _COMPLEMENTS if "T" in letters else _COMPLEMENTS | {"A": "U"}
    return {letter: other for letter, other in pairs.items() if other in letters}


def strand_fault(sequence: bytes, letters: str) -> str | None:
    """Return why a sequence cannot be turned, or None."""
    left = sequence.translate(None, "".join(_complements(letters)).encode())
    if not left:
        return None
    return (
        f"--strand both: the substitution matrix lacks the complement of {chr(min(left))!r}. "
        "Give sequences of one strand."
    )


def turned(
    sequences: Sequence[bytes], meant: NDArray[np.bool_], letters: str
) -> tuple[list[bytes], list[int]]:
    """Return sequences with those turned that are ``meant`` and can be turned, and their places."""
    found, rows = list(sequences), np.flatnonzero(meant).tolist()
    rows = [row for row in rows if strand_fault(found[row], letters) is None]
    others = reverse_complements([found[row] for row in rows], letters)
    for row, other in zip(rows, others, strict=True):
        found[row] = other
    return found, rows


FRAMES = ("+1", "+2", "+3", "-1", "-2", "-3")
_AMINO = np.frombuffer(
    b"KNKNTTTTRSRSIIMIQHQHPPPPRRRRLLLLEDEDAAAAGGGGVVVVXYXYSSSSXCWCLFLF", dtype=np.uint8
)  # of the codons AAA, AAC to TTT


def six_frames(sequence: bytes) -> list[bytes]:
    """Return the translations of DNA in the order of :data:`FRAMES`, by the standard code.

    Frame -1 begins at the last nucleotide. A stop is X, and so is a codon with other letters than
    A, C, G, T and U.

    Examples
    --------
    >>> six_frames(b"ATGTAA")
    [b'MX', b'C', b'V', b'LH', b'Y', b'T']
    """
    codes = _CODES[np.frombuffer(sequence, dtype=np.uint8)]
    found = []
    for strand in (codes, np.where(codes < 0, -1, 3 - codes)[::-1]):
        for first in range(3):
            codons = strand[first : len(strand) - (len(strand) - first) % 3].reshape(-1, 3)
            letters = _AMINO[np.maximum(codons, 0) @ [16, 4, 1]]
            whole = (codons >= 0).all(axis=1)
            found.append(np.where(whole, letters, ord("X")).astype(np.uint8).tobytes())
    return found
