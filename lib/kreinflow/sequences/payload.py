"""Payload of a data set: sequences, a matrix, or objects with the kernel that compares them."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.arrays import open_array
from kreinflow.files.tables import read_plain_columns, read_table
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import make_kernel

DISTINCT_FILE, MATRIX_FILE, VECTORS_FILE = "distinct.tsv", "matrix.npy", "vectors.npy"


def digest(content: bytes) -> str:
    """Return the name of a distinct row: 32 hexadecimal digits of the sha256 of its content."""
    return hashlib.sha256(content).hexdigest()[:32]


def row_digests(rows: Iterable[NDArray[np.floating]], largest: float) -> tuple[str, ...]:
    """Return names of the rows of a matrix that no order of rows and columns and no unit changes.

    A name is the digest of the sorted numbers of the row, rounded; ``largest`` is the size of the
    largest number of all. Rows with the same numbers are told apart by their order.
    """
    names = []
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        same = _rounded(row, largest)
        name = digest(_bytes(np.sort(same)))
        alike = found.setdefault(name, {})
        place = alike.setdefault(digest(_bytes(same)), len(alike))
        names.append(digest(f"{name} {place}".encode()) if place else name)
    return tuple(names)


def _rounded(row: NDArray[np.floating], largest: float) -> FloatArray:
    """Return a row as shares of its largest number, and last that number as a share of all.

    They have six decimals; twelve are taken before, so that a number written with few decimals
    stays on one side, whatever its unit.
    """
    numbers = np.asarray(row, dtype=np.float64)
    own = float(np.abs(numbers).max(initial=0.0))
    size = np.log(own / largest) if own > 0 else 0.0
    shares = np.concatenate([numbers / (own or 1.0), [size]])
    return np.asarray(np.round(np.round(shares, 12), 6), dtype=np.float64)


def _bytes(numbers: FloatArray) -> bytes:
    return (numbers + 0.0).tobytes()  # -0.0 is 0.0


class Payload(ABC):
    """The objects of the distinct rows, how they are told apart, and the files that keep them.

    The ``kind`` is sequences, similarity, asymmetric or squared_dissimilarity; ``free`` tells that
    the score of any two rows costs next to nothing; ``what`` is what messages call an object.
    """

    kind: str
    free: ClassVar[bool] = False
    what: ClassVar[str] = "object"
    complete: NDArray[np.bool_] | None = None
    """Which rows have a score with all others, so that they may be landmarks; None: all."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def take(self, rows: Sequence[int] | IntArray) -> Self:
        """Return some of the rows, in this order."""

    @abstractmethod
    def contents(self, ids: Sequence[str]) -> list[bytes]:
        """Return the bytes that tell rows apart, of rows with these ids."""

    def digests(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        """Return the names of the rows with these contents."""
        return tuple(map(digest, contents))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Residues of each row; 0 if they are not aligned."""
        return np.zeros(len(self), dtype=np.int64)

    def length_quantiles(self) -> dict[str, float]:
        """Return the quartiles, the ends and the mean of the lengths; empty if not aligned."""
        names = ("minimum", "lower_quartile", "median", "upper_quartile", "maximum")
        lengths = self.lengths.tolist()
        if not any(lengths):
            return {}
        values = np.quantile(lengths, (0, 0.25, 0.5, 0.75, 1)).tolist()
        return dict(zip(names, values, strict=True)) | {"mean": float(np.mean(lengths))}

    @property
    def kernel_settings(self) -> dict[str, Any] | None:
        """The kernel that compares the rows, as in the config, if one does."""
        return None

    def texts(self) -> list[str]:
        """Return the text of each row in ``distinct.tsv``."""
        return [""] * len(self)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers by the file that keeps them, if there are any."""
        return {}


@dataclass(frozen=True, eq=False)
class Sequences(Payload):
    """Sequences, which are aligned."""

    residues: tuple[bytes, ...]
    kind = "sequences"
    what = "sequence"

    def __len__(self) -> int:
        return len(self.residues)

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        return type(self)(tuple(self.residues[row] for row in rows))

    def contents(self, ids: Sequence[str]) -> list[bytes]:
        return list(self.residues)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(s) for s in self.residues], dtype=np.int64)

    def texts(self) -> list[str]:
        return [sequence.decode("ascii") for sequence in self.residues]


@dataclass(frozen=True, eq=False)
class Matrix(Payload):
    """All scores, as given, symmetric unless the kind is ``asymmetric``: a row is told by its id.

    ``numbered`` tells that the rows have no ids but their numbers, which follow their order.
    """

    values: NDArray[np.floating]
    kind: str = field(kw_only=True)
    numbered: bool = False
    free = True

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        """Return some of the rows; all of them are not copied."""
        if np.array_equal(rows, np.arange(len(self))):
            return self
        places = np.asarray(rows)
        return replace(self, values=self.values[np.ix_(places, places)])

    def contents(self, ids: Sequence[str]) -> list[bytes]:
        """Return the ids: two rows of a matrix are never one object."""
        return [id.encode() for id in ids]

    def digests(self, contents: Sequence[bytes]) -> tuple[str, ...]:
        """Return digests of the ids, or :func:`row_digests`; identical rows share the least one."""
        objects: Iterable[NDArray[np.floating]] = self.values
        if self.kind == "asymmetric":
            objects = map(np.append, self.values, self.values.T)
        largest = float(max(self.values.max(initial=0.0), -self.values.min(initial=0.0)))
        if self.numbered:
            return row_digests(objects, largest)
        same = [digest(_bytes(_rounded(row, largest))) for row in objects]
        least: dict[str, bytes] = {}
        for name, content in zip(same, contents, strict=True):
            least[name] = min(content, least.get(name, content))
        return tuple(digest(least[name]) for name in same)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {MATRIX_FILE: self.values.astype(np.float64, copy=False)}


@dataclass(frozen=True, eq=False)
class Compared(Payload):
    """Objects, and the kernel that compares them when scores are asked for."""

    objects: Objects
    kernel: Kernel
    complete: NDArray[np.bool_] | None = None

    @property
    def kind(self) -> str:  # type: ignore[override]
        return self.kernel.kind

    @property
    def free(self) -> bool:  # type: ignore[override]
        # To compare others costs as much as alignments.
        return not (self.kernel.strings or self.kernel.asked)

    def __len__(self) -> int:
        return len(self.objects)

    def take(self, rows: Sequence[int] | IntArray) -> Self:
        places = np.asarray(rows)
        complete = None if self.complete is None else self.complete[places]
        return replace(self, objects=self.objects[places], complete=complete)

    def contents(self, ids: Sequence[str]) -> list[bytes]:
        contents = map(self.kernel.content, self.objects)
        return [
            id.encode() if content is None else content
            for id, content in zip(ids, contents, strict=True)
        ]

    @property
    def what(self) -> str:  # type: ignore[override]
        if self.kernel.asked:
            return "object"
        return "string" if self.kernel.strings else "vector"

    @property
    def kernel_settings(self) -> dict[str, Any]:
        return {"name": self.kernel.name, **self.kernel.settings}

    def texts(self) -> list[str]:
        return self.objects.tolist() if self.kernel.strings else super().texts()

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.kernel.strings else {VECTORS_FILE: self.objects}


def read_payload(folder: Path, summary: dict[str, Any]) -> tuple[tuple[str, ...], Payload]:
    """Return the digests of the rows and the payload, from the files of a data set.

    Numbers are a read-only memory map; they belong to the tables beside them.
    """
    advice = f"Delete the folder {folder} and run again."
    path = folder / DISTINCT_FILE
    if summary["kind"] == "sequences":
        names, texts = read_plain_columns(path, ("digest", "sequence"))
        return tuple(name.decode("ascii") for name in names), Sequences(tuple(texts))
    table = read_table(path, ("digest", "length", "sequence"), text=("digest", "sequence"))
    complete = table["complete"].to_numpy(np.bool_) if "complete" in table else None
    digests = tuple(table["digest"].tolist())
    if summary["kernel"] is None:
        return digests, Matrix(open_array(folder / MATRIX_FILE, 2, advice), kind=summary["kind"])
    kernel = make_kernel(summary["kernel"])
    if kernel.strings:
        return digests, Compared(table["sequence"].to_numpy(dtype=object), kernel, complete)
    return digests, Compared(open_array(folder / VECTORS_FILE, 2, advice), kernel)
