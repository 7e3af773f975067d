"""A table of the scores of pairs, as a program wrote it: by the user, or for a command."""

import math
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.settings import SettingsSchema, text
from kreinflow.base.wording import shortened
from kreinflow.files.provenance import file_sha256
from kreinflow.files.text_files import name_endings, open_text
from kreinflow.kernels.asked import AGREES, AskedKernel
from kreinflow.kernels.kernel import Mask

SCORE_COLUMN = {"tsv": 3, "m8": 12}
"""The column of the score in a table, from 1; those of m8 end with the bit score."""

COLUMN: Mapping[str, Any] = {
    "description": "of the score, from 1; null: 3, of m8 12",
    "type": ["integer", "null"],
    "minimum": 3,
    "default": None,
}


def scored_pairs(
    lines: Iterable[str],
    column: int,
    place: str,
    header: list[str] | None = None,
    comma: bool = False,
) -> Iterator[tuple[int, str, str, float]]:
    """Yield the number of each line, its two names and its score, a finite number.

    Fields are separated by tabs, by white space if a line has none, or by commas. Blank lines and
    those that begin with ``#`` are left out. So is the first one if it has no number and may be a
    header: its two names go into the list ``header``. An InputError, which begins with the
    ``place``, names another line without a number.
    """
    for number, line in enumerate(lines, 1):
        fields = line.split("," if comma else "\t" if "\t" in line else None)
        try:
            first, second, score = fields[0].strip(), fields[1].strip(), float(fields[column - 1])
        except (IndexError, ValueError):
            first, second, score = "", "", math.nan
        if line.startswith("#") or not line.strip():
            continue
        if first and second and math.isfinite(score):
            yield number, first, second, score
        elif header is None:
            fault = f"has no two names and a number in column {column}. Correct it."
            raise InputError(f"{place}, line {number}: {shortened(line.strip())!r} {fault}")
        else:
            header += [field.strip() for field in fields[:2]]
        header = None


def _alike(scores: FloatArray, others: FloatArray | float) -> Mask:
    """Return which scores are the same but for rounding."""
    size = np.maximum(np.abs(scores), np.abs(others))
    return np.asarray(np.abs(scores - others) <= AGREES * size)


class PairsKernel(AskedKernel):
    """A table of pairs that is there already: objects are ids, and nothing is run.

    Once it is read, ids have a ``number`` each. ``keys`` are sorted, number n + number of the ids
    of a pair (the smaller one first if there is no direction), and beside them stand the scores.
    """

    name = "pairs"
    runs = False
    what = "table"
    by_pairs = True
    takes = ("texts",)
    of_digest = (*AskedKernel.of_digest, "score_column", "missing")
    settings_schema: ClassVar[SettingsSchema] = {
        "pairs": text("two ids and a score: .tsv, .csv, .txt, .m8"),
        "score_column": COLUMN,
        "missing": {
            "description": "the score of pairs without a line; worst: the worst of all lines",
            "type": ["number", "string", "null"],
            "pattern": "^worst$",
            "default": None,
        },
        **AskedKernel.settings_schema,
    }
    keys: IntArray
    scores: FloatArray
    searched: Mask  # which ids stand both first and second in lines
    new: list[str]  # those that stand first

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.number: dict[str, int] = {}

    def describe(self) -> str:
        return f"the scores of a table of pairs ({self.settings['kind'].replace('_', ' ')})"

    def loaded(self, folders: Sequence[Path]) -> Self:
        paths = [folder / self.named for folder in (*folders, Path())]
        return self.at(next((path for path in paths if path.exists()), paths[0]))

    def at(self, path: Path, known: Collection[str] = ()) -> Self:
        """Return the kernel of a table, whose content is its version.

        Of several lines of a pair in m8 the best counts. An InputError names a line that is wrong,
        or two that give a pair two scores elsewhere; or says that ids which are ``known`` stand
        first alone, where new ones belong.
        """
        ending, made = name_endings(path)[1], type(self)(self.settings)
        header: list[str] = []
        column = self.settings["score_column"] or SCORE_COLUMN.get(ending[1:], 3)
        number, i, j, at, values = made.number, array("q"), array("q"), array("q"), array("d")
        with open_text(path) as file:
            for line, a, b, score in scored_pairs(
                file, column, str(path), header, ending == ".csv"
            ):
                i.append(number.setdefault(a, len(number)))
                j.append(number.setdefault(b, len(number)))
                at.append(line)
                values.append(score)
        if not values:
            raise InputError(f"{path}: has no line with a score. Give the right file.")
        if odd := [id for id in header if id in number]:
            fault = f"has no number, and is no header, as {odd[0]} has other lines. Correct it."
            raise InputError(f"{path}, line 1: {fault}")
        first, second, names = np.array(i), np.array(j), [*number]
        met = np.array([number[id] for id in known if id in number], dtype=np.int64)
        if len(met) and not np.isin(met, second).any():
            raise InputError(
                f"{path}: {names[met.min()]} and all else that the model knows stand first in "
                "lines, where new ids belong. Turn the columns."
            )
        scores, least = np.array(values), self.kind == "squared_dissimilarity"
        order = np.lexsort((scores if least else -scores, made._key(first, second)))  # best first
        made.keys, start, counts = np.unique(
            made._key(first, second)[order], return_index=True, return_counts=True
        )
        made.scores, best = scores[order[start]], np.repeat(order[start], counts)
        apart = ~_alike(scores[order], scores[best])
        if ending != ".m8" and apart.any():
            x, y = sorted((best[apart][0], order[apart][0]))
            why = "" if self.kind == "asymmetric" else "; if it has a direction: 'kind: asymmetric'"
            raise InputError(
                f"{path}, lines {at[x]} and {at[y]}: the score of {names[i[x]]} with "
                f"{names[j[x]]} is {scores[x]:.6g}, and {scores[y]:.6g}. Give one{why}."
            )
        if (own := self._alone) is not None:
            for n in np.flatnonzero((first == second) & ~_alike(scores, own))[:1].tolist():
                raise InputError(
                    f"{path}, line {at[n]}: the score of {names[i[n]]} with itself is "
                    f"{scores[n]:.6g}, and by 'kind' or 'self' it is {own:g}. Correct one."
                )
        made.searched = np.isin(np.arange(len(number)), np.intersect1d(first, second))
        made.new = [names[own] for own in np.unique(first)]
        made.settings["version"] = file_sha256(path)
        if made.settings["missing"] == "worst":
            made.settings["missing"] = float((np.max if least else np.min)(scores))
        return made

    def _key(self, i: IntArray, j: IntArray) -> IntArray:
        if self.kind != "asymmetric":
            i, j = np.minimum(i, j), np.maximum(i, j)
        return np.asarray(i * len(self.number) + j)

    @property
    def _alone(self) -> float | None:
        """The score of each id with itself, if there is one."""
        own: float | None = self.settings["self"]
        return 0.0 if self.kind == "squared_dissimilarity" else own

    def values(self, X: list[Any], Y: list[Any], place: str, wanted: Mask) -> FloatArray:
        i, j = (np.array([self.number.get(id, -1) for id in side]) for side in (X, Y))
        keys, known = self._key(i[:, None], j), (i[:, None] >= 0) & (j >= 0)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        found = np.where(known & (self.keys[at] == keys), self.scores[at], np.nan)
        alone = np.array(X)[:, None] == np.array(Y)
        if (own := self._alone) is not None:
            found[alone] = own
        if (stated := self.settings["missing"]) is not None:
            found[np.isnan(found) & ~alone] = stated
        for a, b in np.argwhere(np.isnan(found) & wanted):
            key, what = ("self", "itself") if alone[a, b] else ("missing", Y[b])
            why = f"no line for {X[a]} with {what}. Add it, or say what such scores are: '{key}'."
            raise InputError(f"{self.what} {self.named}: has {why}")
        return found

    def complete(self, ids: Sequence[str]) -> Mask:
        """Return which ids have a score with all others of these, both ways if there are two.

        Where ``missing`` is stated, lines are hits of a search. Then they are those that were
        looked for, and among which others were: they stand both first and second.
        """
        i, j = np.divmod(self.keys, len(self.number))
        out, into = (np.bincount(side[i != j], minlength=len(self.number)) for side in (i, j))
        full = np.minimum(out, into) if self.kind == "asymmetric" else out + into
        searched = self.settings["missing"] is not None
        found = self.searched if searched else full == len(ids) - 1
        return np.array([id in self.number and found[self.number[id]] for id in ids])
