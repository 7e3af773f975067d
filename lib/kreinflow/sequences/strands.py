"""The other strand of nucleotide sequences, and those that stand on it unlike their class."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.wording import plural
from kreinflow.sequences.collapse import shown_examples

MOST_COMPARED = 200
"""Members of a class that each is compared with."""

MORE = 2
"""Times as many words that a sequence must have in common once it is turned."""

_CHANCE = 1 / 64
"""Words in common with all members together, for each word, by chance at most."""

_CODES = np.full(256, -1, dtype=np.int64)
for _letters, _code in ((b"Aa", 0), (b"Cc", 1), (b"Gg", 2), (b"TtUu", 3)):
    _CODES[np.frombuffer(_letters, dtype=np.uint8)] = _code


def on_other_strand(sequences: Sequence[bytes], labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return which nucleotide sequences look like the other strand of their class, (n,) of bool.

    Words in common are counted with each other member of the class; words with letters but A, C, G,
    T and U do not count. A sequence is meant if it has more than :data:`MORE` times as many once it
    is turned, and eight times what chance gives. None is meant in a class of one sequence, or whose
    members share no words, or of which about half is turned.
    """
    members: dict[str, list[int]] = {}
    for row, label in enumerate(labels):
        members.setdefault(label, []).append(row)
    found = np.zeros(len(sequences), dtype=np.bool_)
    for rows in members.values():
        step = math.ceil(len(rows) / MOST_COMPARED)
        compared = set(rows[::step])
        letters = sum(len(sequences[row]) for row in compared)
        word = math.ceil(math.log(max(letters, 4) / _CHANCE, 4))
        words = {row: _words(sequences[row], word) for row in rows}
        of_class = np.concatenate([words[row] for row in compared])
        known, counts = np.unique(of_class, return_counts=True)
        for row, own in words.items():
            turned = _words(sequences[row], word, turned=True)
            itself = own if row in compared else own[:0]
            there, back = (_shared(w, itself, known, counts) for w in (own, turned))
            found[row] = back > max(MORE * there, 8 * _CHANCE * len(turned))
    return found


def _words(sequence: bytes, word: int, turned: bool = False) -> NDArray[np.int64]:
    """Return each word once, as a number in base 4, of a sequence or its reverse complement.

    Words with a letter that has no code are left out.
    """
    codes = _CODES[np.frombuffer(sequence, dtype=np.uint8)]
    if turned:
        codes = np.where(codes < 0, -1, 3 - codes)[::-1]
    if len(codes) < word:
        return np.empty(0, dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(codes, word)
    whole = windows[(windows >= 0).all(axis=1)]
    return np.unique(whole @ 4 ** np.arange(word, dtype=np.int64))


def _shared(
    words: NDArray[np.int64],
    itself: NDArray[np.int64],
    known: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Return how many words stand in other members, counted for each of these."""
    if not len(words) or not len(known):
        return 0
    place = np.minimum(np.searchsorted(known, words), len(known) - 1)
    found = np.where(known[place] == words, counts[place], 0)
    return int(found.sum() - np.isin(words, itself).sum())


def strand_advice(other_strand: Mapping[str, Any] | None) -> str:
    """Return a sentence or two on the records that the statistics name, empty if there are none."""
    if other_strand is None or not other_strand["count"]:
        return ""
    looking = plural(other_strand["count"], "record looks", "records look")
    return (
        f"{looking} like the other strand of their class: {shown_examples(other_strand)}. "
        "Sequences are aligned as they stand: reverse and complement these, or leave them out."
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
