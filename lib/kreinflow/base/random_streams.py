"""Random numbers: one named stream for each draw, all from the seed of the config."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def _digest(seed: int, parts: Iterable[object]) -> bytes:
    text = "\x1f".join([str(int(seed)), *(str(part) for part in parts)])
    return hashlib.sha256(text.encode()).digest()


def stream(seed: int, *name: object) -> np.random.Generator:
    """Return the generator of one draw, independent of those of other names.

    The name says what it is for, from the general to the special: ``"uniform", "fold 3"``.
    """
    return np.random.default_rng(np.frombuffer(_digest(seed, name), dtype=np.uint32).tolist())


def hash_keys(seed: int, name: str, ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return one 64-bit key for each id, which depends on the seed, the name and the id alone.

    Sorting by these keys is a random order that adding or removing other ids does not change.
    """
    return np.array(
        [int.from_bytes(_digest(seed, (name, i))[:8], "little") for i in ids], dtype=np.uint64
    )


def row_uniforms(keys: NDArray[np.uint64], draw: int) -> NDArray[np.float64]:
    """Return draw number ``draw`` (from 0) of each row's own generator, in [0, 1).

    The generator is SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, doi:10.1145/2660193.2660195),
    started at the key of the row. Two folds that share most rows draw mostly the same, and added
    rows leave the others' draws alone.
    """
    # Products of 64 bits are meant to overflow.
    x = keys + np.uint64((draw + 1) * 0x9E3779B97F4A7C15 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53
