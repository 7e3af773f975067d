"""The lift: a kernel of scores and views together, with columns that need no alignment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import PRODUCT_ROWS, FloatArray, IntArray
from kreinflow.views.nearest import Search
from kreinflow.views.objects import Features, Points, Viewed, cut, joined
from kreinflow.views.words import Words

Form = Literal["gaussian", "linear"]
FORMS: tuple[Form, ...] = get_args(Form)
SCORES = "scores"
"""The view that is there by itself: the transformed scores with the landmarks."""
VIEWS = (SCORES, "words", "vectors")


def compared(form: Form, X: Features, points: Points) -> FloatArray:
    """Return what a form asks of one view: squared distances, or inner products."""
    return points.squared_distances(X) if form == "gaussian" else points.inner_products(X)


def by_rows(n: int, p: int, rows: Callable[[slice], FloatArray]) -> FloatArray:
    """Return the (n, p) rows of a function, some at a time: those that it is asked for."""
    out = np.empty((n, p))
    for start in range(0, n, PRODUCT_ROWS):
        part = slice(start, min(start + PRODUCT_ROWS, n))
        out[part] = rows(part)
    return out


def combined(
    form: Form, rates: Mapping[str, float], part_of: Callable[[str], FloatArray]
) -> FloatArray:
    r"""Return the kernel of views that are compared one by one.

    .. math:: k(x, y) = \exp\Bigl(-\sum_v r_v \|x_v - y_v\|^2\Bigr) \quad\text{or}\quad
              \sum_v r_v\, x_v'y_v .

    Parameters
    ----------
    form : {"gaussian", "linear"}
    rates : mapping of str to float
        r of each view, in the order in which they are added.
    part_of : callable
        Returns an ndarray of shape (n, p) of its own for each view; see :func:`compared`.
    """
    total: FloatArray | None = None
    for view, rate in rates.items():
        part = part_of(view)
        part *= rate
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None, "a lift without views"
    if form == "linear":
        return total
    np.negative(total, out=total)
    return np.exp(total, out=total)


@dataclass(frozen=True, eq=False)
class Lift:
    r"""The kernel of objects with the inducing points, which are training records.

    For the landmark scores u(x) and the views of an object it gives
    :math:`k(x, x_j), j = 1 \ldots p`; see :func:`combined`. Only u asks for alignments.

    Parameters
    ----------
    form : {"gaussian", "linear"}
    rates : mapping of str to float
        r of each view, above 0; a view without a rate is not looked at.
    words : Words or None
        What makes the view "words".
    scores : ndarray of shape (p, n_landmarks), float32
        u of the inducing points. The model file has room for single precision, so all u are
        rounded to it.
    objects : Viewed
        The inducing points as views see them.
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
        """What the inducing points are compared by."""
        return {
            view: Points(
                np.asarray(self.scores, dtype=np.float64)
                if view == SCORES
                else self.objects.features(view, self.words)
            )
            for view in self.rates
        }

    def columns(self, U: FloatArray, objects: Viewed | None) -> FloatArray:
        """Return the kernel of objects with the inducing points, of shape (n, p).

        Parameters
        ----------
        U : ndarray of shape (n, n_landmarks)
            Their transformed scores with the landmarks.
        objects : Viewed or None
            What the views see of them; None if there is no view but the scores.
        """

        def rows(places: slice) -> FloatArray:
            own = None if objects is None else objects.take(np.arange(len(U))[places])
            return combined(self.form, self.rates, lambda view: self.part(view, U[places], own))

        return by_rows(len(U), len(self), rows)

    def part(self, view: str, U: FloatArray, objects: Viewed | None) -> FloatArray:
        """Return what one view says: squared distances from the inducing points, or products."""
        if view == SCORES:
            given: Features = U.astype(np.float32).astype(np.float64)
        elif objects is not None:
            given = objects.features(view, self.words)
        else:
            raise TypeError(f"the view {view} needs what the objects are, not their scores alone")
        return compared(self.form, given, self._points[view])

    def nearest(self, U: FloatArray, objects: Viewed | None, q: int) -> IntArray:
        """Return the places of the q nearest inducing points of each object, (n, min(q, p)).

        Parameters
        ----------
        U, objects
            See :meth:`columns`.
        q : int
            At least 1.

        See Also
        --------
        kreinflow.views.nearest.Search : Which are the nearest, and how they are found.
        """
        return self._search.nearest(U.astype(np.float32), objects, q)

    @cached_property
    def _search(self) -> Search:
        return Search(self.rates, self.words, self.scores, self.objects)

    def forget(self) -> None:
        """Drop what :meth:`nearest` keeps for the next time; it is made again when needed."""
        self.__dict__.pop("_search", None)

    def to_parts(self, whole: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a JSON header and arrays that :meth:`from_parts` reads.

        Parameters
        ----------
        whole : bool
            Keep the residues of the inducing points even if no view looks at them.
        """
        header: dict[str, Any] = {
            "kernel": self.form,
            "rates": dict(self.rates),
            "inducing": len(self),
            "words": None,
        }
        arrays: dict[str, NDArray[Any]] = {"scores": self.scores}
        of_words = "words" in self.rates and self.words is not None
        if of_words and self.words is not None:
            header["words"] = {"lengths": list(self.words.lengths), "letters": self.words.letters}
        if (of_words or whole) and self.objects.sequences is not None:
            header["residues"] = sum(map(len, self.objects.sequences))
            arrays |= joined(self.objects.sequences)
        if "vectors" in self.rates and self.objects.vectors is not None:
            header["vectors"] = int(self.objects.vectors.shape[1])
            arrays["vectors"] = np.asarray(self.objects.vectors, dtype=np.float64)
        return header, arrays

    @staticmethod
    def sizes(header: Mapping[str, Any], n_landmarks: int) -> dict[str, Any]:
        """Return the arrays that :meth:`from_parts` takes, and the largest shape of each."""
        p = int(header["inducing"])
        found: dict[str, tuple[str, tuple[int, ...]]] = {"scores": ("f", (p, n_landmarks))}
        if "residues" in header:
            found |= {"residues": ("u", (int(header["residues"]),)), "ends": ("i", (p,))}
        if "vectors" in header:
            found["vectors"] = ("f", (p, int(header["vectors"])))
        return found

    @classmethod
    def from_parts(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], n_landmarks: int
    ) -> "Lift":
        """Build a lift from a header and arrays, which may be anybody's.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they do not fit together.
        """
        form, scores = header["kernel"], arrays["scores"]
        # A file has its keys in the order of the alphabet, and sums round by their order.
        rates = {view: float(header["rates"][view]) for view in VIEWS if view in header["rates"]}
        p = int(header["inducing"])
        if form not in FORMS or not rates or len(rates) != len(header["rates"]):
            raise ValueError("its lift is unknown")
        if not all(0 < rate < np.inf for rate in rates.values()):
            raise ValueError("its rates are out of range")
        if scores.dtype != np.float32 or scores.shape != (p, n_landmarks) or p < 1:
            raise ValueError("the scores of its inducing points do not fit")
        words, sequences, vectors = None, None, None
        if header["words"] is not None:
            given = header["words"]
            words = Words(tuple(int(k) for k in given["lengths"]), str(given["letters"]))
        if "residues" in header:
            sequences = cut(arrays["residues"], arrays["ends"])
        if words is not None:
            words.check(sequences or ())
        if "vectors" in header:
            vectors = arrays["vectors"]
            if vectors.dtype != np.float64 or vectors.shape != (p, int(header["vectors"])):
                raise ValueError("the vectors of its inducing points do not fit")
        if not all(np.isfinite(a).all() for a in (scores, vectors) if a is not None):
            raise ValueError("numbers of its inducing points are not finite")
        if any(len(own) != p for own in (sequences, vectors) if own is not None):
            raise ValueError("its inducing points differ in number")
        lift = cls(form, rates, words, scores, Viewed(sequences, vectors))
        if ("words" in rates) > (words is not None) or ("vectors" in rates) > (vectors is not None):
            raise ValueError("its inducing points lack what a view is made of")
        return lift
