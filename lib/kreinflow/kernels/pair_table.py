"""A table of the scores of pairs, as a program wrote it: by the user, or for a command."""

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.settings import SettingsSchema
from kreinflow.base.wording import shortened
from kreinflow.files.provenance import file_sha256
from kreinflow.files.text_files import name_endings, open_text
from kreinflow.kernels.asked import AGREES, AskedKernel

SCORE_COLUMN = {"tsv": 3, "m8": 12}
"""The column of the score in a table, from 1; those of m8 end with the bit score."""

COLUMN: Mapping[str, Any] = {
    "description": "of the score, from 1; null: 3, of m8 12",
    "type": ["integer", "null"],
    "minimum": 3,
    "default": None,
}


def scored_pairs(
    lines: Iterable[str], column: int, place: str, header: bool = False, comma: bool = False
) -> Iterator[tuple[int, str, str, float]]:
    """Yield the number of each line, its two names and its score, a finite number.

    Fields are separated by tabs, by white space if a line has none, or by commas. Blank lines and
    those that begin with ``#`` are left out, and the first one if it may be a ``header`` and has no
    number. An InputError, which begins with the ``place``, names another line without one.
    """
    first = header
    for number, line in enumerate(lines, 1):
        if line.startswith("#") or not (text := line.rstrip()):
            continue
        fields = [*map(str.strip, text.split("," if comma else "\t" if "\t" in text else None))]
        try:
            score = float(fields[column - 1])
        except (IndexError, ValueError):
            score = math.nan
        if math.isfinite(score) and all(fields[:2]):
            yield number, fields[0], fields[1], score
        elif not first:
            raise InputError(
                f"{place}, line {number}: {shortened(text)!r} has no two names and a number in "
                f"column {column}. Correct it."
            )
        first = False


@dataclass(frozen=True, eq=False)
class PairTable:
    """Scores by the numbers of two ids: sorted ``keys``, first n + second, with their scores.

    ``first`` and ``second`` say which ids stand in that column. Without a direction (``ordered``)
    the smaller number is the first of a key.
    """

    number: Mapping[str, int]
    keys: IntArray
    scores: FloatArray
    first: NDArray[np.bool_]
    second: NDArray[np.bool_]
    ordered: bool

    @classmethod
    def read(cls, path: Path, column: int | None, ordered: bool, least: bool) -> Self:
        """Read a table. Of several lines of a pair in m8 the best counts, the ``least`` or most.

        An InputError names a line that is wrong, or two of a pair that differ elsewhere.
        """
        ending = name_endings(path)[1]
        number: dict[str, int] = {}
        found = array("q"), array("q"), array("q")
        values = array("d")
        with open_text(path) as file:
            place = column or SCORE_COLUMN.get(ending[1:], SCORE_COLUMN["tsv"])
            for line, a, b, score in scored_pairs(file, place, str(path), True, ending == ".csv"):
                ids = (number.setdefault(id, len(number)) for id in (a, b))
                for kept, value in zip(found, (*ids, line), strict=True):
                    kept.append(value)
                values.append(score)
        if not values:
            raise InputError(f"{path}: has no line with a score. Give the right file.")
        i, j, lines = (np.frombuffer(kept, dtype=np.int64) for kept in found)
        scores, n = np.frombuffer(values), len(number)
        keys = (i if ordered else np.minimum(i, j)) * n + (j if ordered else np.maximum(i, j))
        order = np.lexsort((scores if least else -scores, keys))  # the best first
        keys, scores = keys[order], scores[order]
        one_each, counts = np.unique(keys, return_index=True, return_counts=True)[1:]
        best = np.repeat(one_each, counts)
        apart = np.abs(scores - scores[best]) > AGREES * np.abs(scores).max()
        if ending != ".m8" and apart.any():
            here = int(apart.argmax())
            one, other = sorted(order[[best[here], here]].tolist())
            names = list(number)
            why = "" if ordered else "; if it has a direction, set 'kind: asymmetric'"
            raise InputError(
                f"{path}, lines {lines[one]} and {lines[other]}: the score of {names[i[one]]} with "
                f"{names[j[one]]} is {values[one]:.6g}, and {values[other]:.6g}. A pair has one "
                f"score{why}. Correct the table."
            )
        first, second = (np.bincount(side, minlength=n) > 0 for side in (i, j))
        return cls(number, keys[one_each], scores[one_each], first, second, ordered)

    def of_pairs(self, X: Sequence[str], Y: Sequence[str]) -> FloatArray:
        """Return the scores of ids with others, NaN where no line has one."""
        rows, columns = ([self.number.get(id, -1) for id in ids] for ids in (X, Y))
        i, j = np.array(rows)[:, None], np.array(columns)[None, :]
        keys = (i if self.ordered else np.minimum(i, j)) * len(self.number)
        keys = keys + (j if self.ordered else np.maximum(i, j))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        there = (self.keys[places] == keys) & (i >= 0) & (j >= 0)
        return np.where(there, self.scores[places], np.nan)

    def complete(self, ids: Sequence[str], searched: bool) -> NDArray[np.bool_]:
        """Return which ids have a score with all others of these, both ways if there are two.

        In the hits of a search (``searched``) they are those that were looked for, and among which
        others were: they stand in both columns.
        """
        i, j = np.divmod(self.keys, len(self.number))
        ways = (np.bincount(side[i != j], minlength=len(self.number)) for side in (i, j))
        out, into = ways
        full = np.minimum(out, into) if self.ordered else out + into
        found = self.first & self.second if searched else full == len(ids) - 1
        own = np.array([self.number.get(id, -1) for id in ids])
        return np.asarray((own >= 0) & found[own])


class PairsKernel(AskedKernel):
    """A table of pairs that is there already: objects are ids, and nothing is run."""

    name = "pairs"
    what = "table"
    takes = ("texts",)
    of_digest = (*AskedKernel.of_digest, "score_column", "missing")
    settings_schema: ClassVar[SettingsSchema] = {
        "pairs": {
            "description": "the table: two ids and a score (.tsv, .csv, .txt), or .m8; or with .gz",
            "type": "string",
            "minLength": 1,
        },
        "score_column": COLUMN,
        "missing": {
            "description": "the score of two ids without a line: a number, or worst, the worst of "
            "all lines; null: none is asked for",
            "type": ["number", "string", "null"],
            "pattern": "^worst$",
            "default": None,
        },
        **AskedKernel.settings_schema,
    }

    def __init__(self, settings: Mapping[str, Any], table: PairTable | None = None) -> None:
        super().__init__(settings)
        self.table = table

    def describe(self) -> str:
        return f"the {self.settings['kind'].replace('_', ' ')} of a table of pairs"

    def loaded(self, folders: Sequence[Path]) -> Self:
        paths = [folder / self.named for folder in (*folders, Path())]
        return self.at(next((path for path in paths if path.exists()), paths[0]))

    def at(self, path: Path) -> Self:
        """Return the kernel of a table. Its version is what the table holds."""
        least = self.kind == "squared_dissimilarity"
        column, ordered = self.settings["score_column"], self.kind == "asymmetric"
        table = PairTable.read(path, column, ordered, least)
        settings = self.settings | {"version": file_sha256(path)}
        if settings["missing"] == "worst":
            settings["missing"] = float((np.max if least else np.min)(table.scores))
        return type(self)(settings, table)

    def values(self, X: list[Any], Y: list[Any], place: str) -> FloatArray:
        assert self.table is not None, "a table that was not read"
        found, alone = self.table.of_pairs(X, Y), np.array(X)[:, None] == np.array(Y)
        own = 0.0 if self.kind == "squared_dissimilarity" else self.settings["self"]
        if own is not None:
            found[alone] = own
        if (stated := self.settings["missing"]) is not None:
            found[np.isnan(found) & ~alone] = stated
        for i, j in np.argwhere(np.isnan(found)):
            key, what = ("self", "itself") if alone[i, j] else ("missing", Y[j])
            raise InputError(
                f"{self.what} {self.named}: has no line for {X[i]} with {what}. Add it, or say "
                f"what such scores are: '{key}'."
            )
        return found
