"""Random numbers: one named stream for each random draw, all from the seed of the config."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def _digest(seed: int, parts: Iterable[object]) -> bytes:
    text = "\x1f".join([str(int(seed)), *(str(part) for part in parts)])
    return hashlib.sha256(text.encode()).digest()


def stream(seed: int, *name: object) -> np.random.Generator:
    """Return the random generator of one draw.

    Parameters
    ----------
    seed : int
        The seed of the config.
    *name : object
        What the draw is for, from the general to the special, for example
        ``"uniform", "fold 3"``. Streams of different names are independent.

    Examples
    --------
    >>> float(stream(1, "demo").random()) == float(stream(1, "demo").random())
    True
    >>> float(stream(1, "demo").random()) == float(stream(1, "other").random())
    False
    """
    return np.random.default_rng(np.frombuffer(_digest(seed, name), dtype=np.uint32).tolist())


def hash_keys(seed: int, name: str, ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return one 64-bit key for each id, that depends on the seed, the name and the id alone.

    Sorting by these keys is a random order that adding or removing other ids does not change.

    Examples
    --------
    >>> bool((hash_keys(1, "folds", ["a", "b"])[1:] == hash_keys(1, "folds", ["b"])).all())
    True
    """
    return np.array(
        [int.from_bytes(_digest(seed, (name, i))[:8], "little") for i in ids], dtype=np.uint64
    )
