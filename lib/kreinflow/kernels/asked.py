"""Scores of the user's own: asked for where they are needed, and nowhere else."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import LARGEST_ENTRY, FloatArray, IntArray
from kreinflow.base.settings import SettingsSchema, number, one_of, whole_number
from kreinflow.base.wording import abridged
from kreinflow.files.atomic import read_bytes
from kreinflow.kernels.kernel import Kernel, Mask, Objects

AGREES = 1e-6
"""What two answers for one pair may differ by, as a share of the largest of all."""

KINDS = {
    "similarity": "similarity",
    "dissimilarity": "squared_dissimilarity",
    "squared_dissimilarity": "squared_dissimilarity",
    "asymmetric": "asymmetric",
}
"""What is returned, and the kind of data set that it makes."""

_LISTS = 256  # that are asked for together, by pairs

_COLUMN: dict[str, Any] = {"type": ["string", "integer"]}
FIELDS: dict[str, Any] = {
    "description": "of a table of texts; of several columns the texts are joined by |, and a cell "
    "may be empty",
    "type": ["string", "integer", "array"],
    "items": _COLUMN,
    "minItems": 1,
    "uniqueItems": True,
    "default": "object",
}

READ_BY_SOURCE = ("objects", "column", "id_column")
"""Settings that are no part of a score in the config: the source fills them in."""


class AskedKernel(Kernel):
    """A score that is not ours: each value is checked, and a fault names the objects.

    Without :meth:`loaded` nothing is imported or run: the settings may be those of any model file.
    A dissimilarity is squared, and 0 for an object with itself. ``by_pairs`` says that a call need
    not be for all pairs of its two lists.
    """

    asked = True
    runs: ClassVar[bool] = True  # something that might say another number the second time
    what: ClassVar[str]
    by_pairs: bool = False
    takes: ClassVar[tuple[str, ...]] = ("texts", "files", "arrays")
    of_digest: ClassVar[tuple[str, ...]] = ("kind", "version", "self", "objects")
    settings_schema: ClassVar[SettingsSchema] = {
        "kind": one_of(
            *KINDS,
            about="what is returned; a dissimilarity is squared; asymmetric: similarities with a "
            "direction, of the first object with the second",
        ),
        "version": {
            "description": "of your code: name another one when its scores change, so that those "
            "of before are no longer used",
            "type": ["string", "integer"],
            "default": "1",
        },
        "batch": whole_number("objects on each side of a call, at most", 1_000_000, 256),
        "self": number(
            "the score of each object with itself; null: asked for, 0 of a dissimilarity",
            None,
            type=["number", "null"],
        ),
        "timeout": number(
            "seconds that a call may take; null: no limit",
            None,
            type=["number", "null"],
            exclusiveMinimum=0,
        ),
        "objects": one_of("texts", "files", "arrays", about="what is compared"),
        "column": FIELDS,
        "id_column": {"description": "of their ids", **_COLUMN, "default": "id"},
    }

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.kind = KINDS[self.settings["kind"]]
        self.strings = self.settings["objects"] != "arrays"

    @property
    def named(self) -> str:
        """What messages call it, and a model file names it by."""
        return str(self.settings[self.name])

    @property
    def digest(self) -> str:
        """The name of all scores that it returns in one version."""
        keys = (self.name, *self.of_digest)
        told = {key: str(self.settings[key]) for key in keys}
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()

    @property
    def asks_alone(self) -> bool:
        """Whether the score of an object with itself is asked for."""
        return self.kind != "squared_dissimilarity" and self.settings["self"] is None

    def describe(self) -> str:
        kind = self.settings["kind"].replace("_", " ")
        return f"the {kind} of the {self.what} {self.named}, version {self.settings['version']}"

    @classmethod
    def fault(cls, score: Mapping[str, Any]) -> str | None:
        """Return what is wrong with a score of the config; None if nothing is."""
        return None

    @abstractmethod
    def loaded(self, folders: Sequence[Path]) -> Self:
        """Return the kernel ready to be asked; modules are found in the folders, too."""

    @abstractmethod
    def values(self, X: list[Any], Y: list[Any], place: str, wanted: Mask) -> Any:
        """Return what is answered for all pairs, or those ``wanted``; ``place`` begins messages."""

    def content(self, value: Any) -> bytes | None:
        """Return the bytes that tell objects apart: of a file its own."""
        if isinstance(value, np.ndarray):
            told = f"{value.dtype} {value.shape} ".encode()
            return None if value.dtype.hasobject else told + value.tobytes()
        if self.settings["objects"] != "files":
            return super().content(value)
        return hashlib.sha256(read_bytes(value)).digest()

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        return self.compare(X, Y, numbered(X), numbered(Y))

    def diagonal(self, X: Objects) -> FloatArray:
        return self.alone(X, numbered(X))

    def alone(self, X: Objects, ids: Sequence[str]) -> FloatArray:
        """Return the score of each object with itself, asked for pair by pair."""
        if not self.asks_alone:
            own = 0.0 if self.kind == "squared_dissimilarity" else self.settings["self"]
            return np.full(len(X), float(own))
        each = (self.compare(X[i : i + 1], X[i : i + 1], [id], [id]) for i, id in enumerate(ids))
        return np.array([value[0, 0] for value in each], dtype=np.float64)

    def compare(
        self,
        X: Objects,
        Y: Objects,
        ids: Sequence[str],
        others: Sequence[str],
        mask: Mask | None = None,
    ) -> FloatArray:
        """Return scores of objects with others, by calls of a batch; what no mask wants is NaN."""
        out = np.full((len(X), len(Y)), np.nan)
        wanted = np.ones(out.shape, dtype=np.bool_) if mask is None else mask
        for rows, columns in rectangles(wanted, self.settings["batch"], self.by_pairs):
            names = [ids[i] for i in rows], [others[j] for j in columns]
            block = np.ix_(rows, columns)
            if (own := wanted[block]).any():
                out[block] = self._asked(X[rows], Y[columns], *names, own)
        return out

    def compare_lists(
        self, X: Objects, Y: Objects, ids: Sequence[str], others: Sequence[str], lists: IntArray
    ) -> FloatArray:
        """Return scores of each object with others of its own, by their places in Y, -1 for none.

        ``lists`` and the scores have the shape (n, q); of none it is NaN.
        """
        out = np.full(lists.shape, np.nan)
        for rows, columns, places, mask in shared_lists(lists, self.by_pairs):
            names = [ids[row] for row in rows], [others[column] for column in columns]
            out.ravel()[places] = self.compare(X[rows], Y[columns], *names, mask)[mask]
        return out

    def _asked(
        self,
        X: Objects,
        Y: Objects,
        ids: Sequence[str],
        others: Sequence[str],
        wanted: Mask,
    ) -> FloatArray:
        """Return the checked answer of one call."""
        place = f"{self.what} {self.named}, asked for {among(ids)} with {among(others)}"
        answer = self.values(list(np.array(X)), list(np.array(Y)), place, wanted)
        try:
            found = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{place}: returned no numbers ({error}). Return an array.") from error
        if found.shape != (len(X), len(Y)):
            raise InputError(
                f"{place}: returned the shape {found.shape}, not {(len(X), len(Y))}: a row for "
                "each object of the first list, a column for each of the second."
            )
        largest, why = LARGEST_ENTRY, "is not a finite number, or too large"
        if self.settings["kind"] == "dissimilarity":
            largest = LARGEST_ENTRY**0.5
        wrong = wanted & ~(np.abs(found) <= largest)
        if self.kind == "squared_dissimilarity" and not wrong.any():
            wrong, why = wanted & (found < 0), f"is negative, which no {self.settings['kind']} is"
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise InputError(
                f"{self.what} {self.named}: the score of {ids[i]} with {others[j]} is "
                f"{found[i, j]:.6g}, which {why}. Correct it, or leave the object out."
            )
        return found * found if self.settings["kind"] == "dissimilarity" else found


def shared_lists(
    lists: IntArray, by_pairs: bool = False
) -> Iterator[tuple[IntArray, IntArray, IntArray, Mask]]:
    """Cut lists of others, one of each object and -1 for none, into blocks of all with all.

    A block has all objects that ask for the same others, or all others that the same objects ask
    for, whichever are fewer blocks: objects, others, and the places of their pairs in ``lists``.
    Without a pair that nobody wants there cannot be fewer than the rank of the matrix of ones for
    what is wanted, and lists of nearest records differ. Calls ``by_pairs`` have blocks of many
    lists, and a mask of the pairs that are wanted.

    Examples
    --------
    >>> lists = np.array([[3, 1], [1, 3], [3, -1]])
    >>> [(rows.tolist(), columns.tolist()) for rows, columns, *_ in shared_lists(lists)]
    [([0, 1], [1, 3]), ([2], [3])]
    """
    rows, at = np.nonzero(lists >= 0)
    ends, ways = (rows, lists[rows, at]), []
    for one, other in (ends, ends[::-1]):
        order = np.lexsort((other, one))
        groups: dict[bytes, list[IntArray]] = {}
        for own in np.split(order, np.flatnonzero(np.diff(one[order])) + 1):
            groups.setdefault(other[own].tobytes(), []).append(own)
        ways.append([np.array(alike) for alike in groups.values() if alike[0].size])
    by_row, by_column = ways
    places = rows * lists.shape[1] + at
    if by_pairs:
        for start in range(0, len(lists), _LISTS):
            some = np.flatnonzero((rows >= start) & (rows < start + _LISTS))
            own, i = np.unique(rows[some], return_inverse=True)
            others, j = np.unique(ends[1][some], return_inverse=True)
            mask = np.zeros((len(own), len(others)), dtype=np.bool_)
            mask[i, j] = True
            yield own, others, places[some[np.lexsort((j, i))]], mask
        return
    for pairs in by_row if len(by_row) <= len(by_column) else [own.T for own in by_column]:
        mask = np.ones(pairs.shape, dtype=np.bool_)
        yield rows[pairs[:, 0]], ends[1][pairs[0]], places[pairs].ravel(), mask


def numbered(objects: Objects) -> list[str]:
    """Return what messages call objects that have no ids."""
    return [f"object {number}" for number in range(1, len(objects) + 1)]


def among(ids: Sequence[str]) -> str:
    """Return the first ids, and how many more there are."""
    return abridged(list(ids), 3)


def rectangles(
    mask: Mask, most: int, by_pairs: bool = False
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Cut the pairs of a mask into rectangles of ``most`` rows and columns, each pair in one.

    Unless calls are ``by_pairs`` no rectangle has others.

    Examples
    --------
    >>> mask = np.array([[True, False], [True, True], [True, False]])
    >>> [(rows.tolist(), columns.tolist()) for rows, columns in rectangles(mask, 9)]
    [([0, 2], [0]), ([1], [0, 1])]
    """
    patterns, which = np.unique(mask, axis=0, return_inverse=True)
    if by_pairs:
        patterns, which = np.array([mask.any(axis=0)]), np.zeros(len(mask), dtype=np.intp)
    for place, pattern in enumerate(patterns):
        rows, columns = np.flatnonzero(which.ravel() == place), np.flatnonzero(pattern)
        for top in range(0, len(rows), most):
            for left in range(0, len(columns), most):
                yield rows[top : top + most], columns[left : left + most]
