"""The lift: a kernel of scores and views together, with columns that need no alignment."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kreinflow.base.numerics import PRODUCT_ROWS, FloatArray, IntArray, ordered_map
from kreinflow.files.state import Array, State, Value
from kreinflow.views.nearest import Search
from kreinflow.views.objects import Features, Points, Viewed, Words, residue_arrays, split_residues

Form = Literal["gaussian", "linear"]
SCORES = "scores"
"""The view that is there by itself: the transformed scores with the landmarks."""
VIEWS = (SCORES, "words", "vectors")


def compared(form: Form, X: Features, points: Points) -> FloatArray:
    """Return squared distances, or inner products for the linear form."""
    return points.squared_distances(X) if form == "gaussian" else points.inner_products(X)


def by_rows(n: int, p: int, rows: Callable[[slice], NDArray[Any]]) -> FloatArray:
    """Return the (n, p) rows of a function, made some at a time."""
    out = np.empty((n, p))

    def fill(part: slice) -> None:
        out[part] = rows(part)

    parts = [slice(i, min(i + PRODUCT_ROWS, n)) for i in range(0, n, PRODUCT_ROWS)]
    for first in parts[:1]:  # alone: it makes what is kept for the others
        fill(first)
    deque(ordered_map(fill, parts[1:]), maxlen=0)
    return out


def combined(
    form: Form,
    rates: Mapping[str, float],
    part_of: Callable[[str], NDArray[Any]],
    kind: DTypeLike = np.float64,
) -> NDArray[Any]:
    r"""Return the kernel of views that are compared one by one, by :func:`compared`.

    .. math:: k(x, y) = \exp\Bigl(-\sum_v r_v \|x_v - y_v\|^2\Bigr) \quad\text{or}\quad
              \sum_v r_v\, x_v'y_v .

    The views are added in the order of ``rates``, as numbers of a ``kind``; ``part_of`` returns an
    array of its own for each.
    """
    total: NDArray[Any] | None = None
    for view, rate in rates.items():
        part = part_of(view)
        part *= rate  # first: a square may be too large for single precision
        with np.errstate(over="ignore"):  # so far away that the kernel is 0, or it is not finite
            part = part.astype(kind, copy=False)
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None, "a lift without views"
    if form == "gaussian":
        np.exp(np.negative(total, out=total), out=total)
    return total


def _rates(given: Mapping[str, Any]) -> dict[str, float]:
    # A file has its keys in the order of the alphabet, and sums round by their order.
    return {view: float(given[view]) for view in VIEWS if view in given}


def _words(given: Mapping[str, Any] | None) -> Words | None:
    if given is None:
        return None
    return Words(tuple(map(int, given["lengths"])), str(given["letters"]))


@dataclass(frozen=True, eq=False)
class Lift(State):
    r"""The kernel of objects with the inducing points, which are training records.

    For the landmark scores u(x) and the views of an object it gives
    :math:`k(x, x_j), j = 1 \ldots p`; see :func:`combined`. Only u needs alignments.

    ``rates`` are r of each view, above 0; a view without one is not used. ``scores``, of shape
    (p, n_landmarks), are u of the inducing points; all u are rounded to single precision, as the
    model file has them. ``objects`` are the inducing points as views see them.
    """

    form: Form
    rates: Mapping[str, float]
    words: Words | None
    scores: NDArray[np.float32]
    objects: Viewed

    def __len__(self) -> int:
        """Return the number of inducing points."""
        return len(self.scores)

    @cached_property
    def _points(self) -> dict[str, Points]:
        """What the inducing points are compared by, of the views that were asked for."""
        return {}

    def columns(self, U: FloatArray, objects: Viewed | None) -> FloatArray:
        """Return the kernel of objects, of landmark scores U, with the inducing points, (n, p).

        ``objects`` is None if there is no view but the scores. Views are added, and words compared,
        in single precision: twice as fast, and the learned kernel but for some 1e-6 of it.
        """

        def rows(places: slice) -> NDArray[Any]:
            own = None if objects is None else objects.take(np.arange(len(U))[places])
            parts = partial(self.part, U=U[places], objects=own)
            return combined(self.form, self.rates, parts, np.float32)

        return by_rows(len(U), len(self), rows)

    def part(self, view: str, U: FloatArray, objects: Viewed | None) -> FloatArray:
        """Return what one view says: squared distances from the inducing points, or products."""
        if view == SCORES:
            given: Features = U.astype(np.float32).astype(np.float64)
        elif objects is not None:
            given = self._seen(view, objects)
        else:
            raise TypeError(f"the view {view} needs what the objects are, not their scores alone")
        if view not in self._points:
            own: Features = self.scores.astype(np.float64)
            if view != SCORES:
                own = self._seen(view, self.objects)
            self._points[view] = Points(own)
        return compared(self.form, given, self._points[view])

    def _seen(self, view: str, objects: Viewed) -> Features:
        features = objects.features(view, self.words)
        return features if isinstance(features, np.ndarray) else features.astype(np.float32)

    def nearest(self, U: FloatArray, objects: Viewed | None, q: int) -> IntArray:
        """See :meth:`kreinflow.views.nearest.Search.nearest`."""
        return self._search.nearest(U.astype(np.float32), objects, q)

    @cached_property
    def _search(self) -> Search:
        return Search(self.rates, self.words, self.scores, self.objects)

    def forget(self) -> None:
        """Drop what :meth:`nearest` keeps for the next time; it is made again when needed."""
        self.__dict__.pop("_search", None)

    state: ClassVar = {
        "kernel": Value(str),
        "rates": Value(_rates, dict),
        "words": Value(_words, lambda words: words and vars(words)),
        "scores": Array("f4", "inducing m"),
        "residues": Array("u1", "residues", optional=True),
        "ends": Array("i8", "inducing", optional=True),
        "vectors": Array("f8", "inducing vectors", optional=True),
    }

    def without_unseen(self) -> "Lift":
        """Return the lift without residues if no view looks at them."""
        if "words" in self.rates:
            return self
        return replace(self, objects=Viewed(None, self.objects.vectors))

    def stored(self) -> dict[str, Any]:
        """Return what is kept; words and vectors only if the lift looks at them."""
        sequences, vectors = self.objects.sequences, self.objects.vectors
        residues: dict[str, Any] = {"residues": None, "ends": None}
        if sequences is not None:
            residues = residue_arrays(sequences)
        looked_at = vectors is not None and "vectors" in self.rates
        return {
            "kernel": self.form,
            "rates": self.rates,
            "words": self.words if "words" in self.rates else None,
            "scores": self.scores,
            "vectors": np.asarray(vectors, dtype=np.float64) if looked_at else None,
            **residues,
        }

    @classmethod
    def restored(cls, **values: Any) -> "Lift":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        sequences = None
        if values["residues"] is not None:
            sequences = split_residues(values["residues"], values["ends"])
        objects = Viewed(sequences, values["vectors"])
        return cls(values["kernel"], values["rates"], values["words"], values["scores"], objects)
