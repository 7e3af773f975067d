"""A score of the user's, asked for pairs of objects: each once, and a few again to check them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.engine import Mask
from kreinflow.alignment.scorer import Scorer
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.kernels.asked import AGREES, AskedKernel
from kreinflow.kernels.kernel import Objects

CHECKED = 10
"""Pairs of a job that are asked for again, and the other way round where both must agree."""


@dataclass(eq=False)
class Asking(Scorer):
    """Objects, and the kernel that is asked; messages name them by their ids.

    ``asked`` counts all pairs that the user's code was asked for, ``agreed`` those of them that
    were asked for again.
    """

    objects: Objects
    kernel: AskedKernel
    ids: Sequence[str]
    asked: int = 0
    agreed: int = 0
    dtype = np.dtype(np.float64)
    kept_dtype = np.dtype(np.float64)

    def __post_init__(self) -> None:
        self.digest = self.kernel.digest
        self.ordered = self.kernel.kind == "asymmetric"
        self.lengths = np.ones(len(self.objects), dtype=np.int64)
        self.cells_per_call = self.kernel.settings["batch"]

    def score(self, rows: IntArray, columns: IntArray, mask: Mask) -> NDArray[Any]:
        """See :class:`Scorer`; an InputError if a pair has another score the second time."""
        found = self._compared(rows, columns, mask)
        if not self.kernel.runs:
            return found
        size = float(np.nanmax(np.abs(found), initial=0.0))
        ways, places = 1 if self.ordered else 2, np.flatnonzero(mask)
        places = places[:: max(1, -(-places.size // CHECKED))]
        sides = rows[places // columns.size], columns[places % columns.size]
        both = [np.stack([sides[k], sides[1 - k]][:ways], axis=1).ravel() for k in (0, 1)]
        one, other = (side[: max(0, CHECKED * ways - self.agreed)] for side in both)
        again = np.diagonal(self._compared(one, other, np.eye(one.size, dtype=bool)))
        self.agreed += one.size
        first = np.repeat(found.flat[places], ways)[: one.size]
        for place in np.flatnonzero(np.abs(again - first) > AGREES * size).tolist():
            turned, start = place % ways == 1, place - place % ways
            self._refuse(one[start], other[start], first[place], again[place], turned)
        return found

    def said(self) -> str:
        """Return how often the user's code was asked, in words."""
        return (
            f"{self.kernel.named} was asked for {self.asked:,} pairs, {self.agreed} of them again"
        )

    def _compared(self, rows: IntArray, columns: IntArray, mask: Mask | None = None) -> FloatArray:
        ids, others = ([self.ids[i] for i in side.tolist()] for side in (rows, columns))
        self.asked += rows.size * columns.size if mask is None else int(np.count_nonzero(mask))
        return self.kernel.compare(self.objects[rows], self.objects[columns], ids, others, mask)

    def _refuse(self, i: int, j: int, first: float, again: float, turned: bool) -> None:
        kind, how = self.kernel.settings["kind"], "the second time"
        why = "A pair must have one number, in any batch: draw no random numbers in it."
        if turned:
            how = f"of {self.ids[j]} with {self.ids[i]}"
            why = "If it has a direction, set kind: asymmetric; else return the mean of both."
        values = np.array([first, again])
        shown = np.sqrt(values) if kind == "dissimilarity" else values
        raise InputError(
            f"{self.kernel.what} {self.kernel.named}: the score of {self.ids[i]} with "
            f"{self.ids[j]} is {shown[0]:.9g}, and {shown[1]:.9g} {how}. {why}"
        )

    def alone(self, rows: IntArray) -> NDArray[Any]:
        ids = [self.ids[number] for number in rows.tolist()]
        self.asked += len(ids) if self.kernel.asks_alone else 0
        return self.kernel.alone(self.objects[rows], ids)
