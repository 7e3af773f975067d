"""The other strand of nucleotide sequences, and those that stand on it unlike their class."""

import math
import re
from collections import Counter, defaultdict
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

_TURNED = bytes.maketrans(b"ACGT", b"TGCA")


def on_other_strand(sequences: Sequence[bytes], labels: Sequence[str]) -> NDArray[np.bool_]:
    """Return which nucleotide sequences look like the other strand of their class, (n,) of bool.

    Words in common are counted with each other member of the class; words with letters but A, C, G,
    T and U do not count. A sequence is meant if it has more than :data:`MORE` times as many once it
    is turned, and eight times what chance gives. None is meant in a class of one sequence, or whose
    members share no words, or of which about half is turned.
    """
    members = defaultdict[str, list[int]](list)
    for row, label in enumerate(labels):
        members[label].append(row)
    found = np.zeros(len(sequences), dtype=np.bool_)
    for rows in members.values():
        compared = set(rows[:: math.ceil(len(rows) / MOST_COMPARED)])
        letters = sum(len(sequences[row]) for row in compared)
        word = math.ceil(math.log(max(letters, 4) / _CHANCE, 4))
        counts = Counter(w for row in compared for w in _words(sequences[row], word))
        for row in rows:
            own = _words(sequences[row], word)
            turned = {w.translate(_TURNED)[::-1] for w in own}
            itself = own if row in compared else set()
            there, back = (
                sum(counts[w] for w in words) - len(words & itself) for words in (own, turned)
            )
            found[row] = back > max(MORE * there, 8 * _CHANCE * len(turned))
    return found


def _words(sequence: bytes, word: int) -> set[bytes]:
    pieces = re.findall(rb"[ACGT]+", sequence.replace(b"U", b"T"))
    return {piece[i : i + word] for piece in pieces for i in range(len(piece) - word + 1)}


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
