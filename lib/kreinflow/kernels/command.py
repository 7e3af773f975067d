"""A program of the user's that compares two files of objects and writes a table of pairs."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import SettingsSchema, one_of, text
from kreinflow.base.wording import shortened
from kreinflow.kernels.asked import AskedKernel
from kreinflow.kernels.kernel import Mask
from kreinflow.kernels.pair_table import COLUMN, SCORE_COLUMN, scored_pairs

LAST_WORDS = 3  #: lines of what a program said that its message tells


class CommandKernel(AskedKernel):
    """A command line with ``{a}`` and ``{b}``, the names of two files that it is given.

    With ``{pairs}`` it compares no others than those of a third file, lines of two names. It is
    started without a shell. It writes lines of two names and a score to standard output, or
    to ``{out}``. Lines that begin with ``#`` are left out; of several lines of a pair the best one
    counts.
    """

    name = "command"
    what = "command"
    takes = ("texts", "files")
    of_digest = (*AskedKernel.of_digest, "reads", "writes", "score_column", "missing")
    settings_schema: ClassVar[SettingsSchema] = {
        "command": text(
            "a command line with {a} and {b}, files of objects, or {pairs}, a file of two a line; "
            "{out}, if it does not write to standard output"
        ),
        "reads": one_of(
            "texts",
            "fasta",
            about="what the files hold: the objects, texts or paths, one a line; or the texts as "
            "FASTA, with q1, q2 and so on as ids in {a}, and t1, t2 in {b}",
        ),
        "writes": one_of(*SCORE_COLUMN, about="a table of two names and a score; or BLAST's m8"),
        "score_column": COLUMN,
        "missing": {
            "description": "the score of pairs that are not written; null: all have to be",
            "type": ["number", "null"],
            "default": None,
        },
        **AskedKernel.settings_schema,
    }

    def __init__(self, settings: Mapping[str, Any], ready: bool = False) -> None:
        super().__init__(settings)
        self.ready, self.by_pairs = ready, "{pairs}" in self.named

    @classmethod
    def fault(cls, score: Mapping[str, Any]) -> str | None:
        try:
            words = shlex.split(score["command"])
        except ValueError as error:
            return f"{error}. Close the quotation mark."
        needed = () if "{pairs}" in score["command"] else ("{a}", "{b}")
        if missing := [key for key in needed if not any(key in word for word in words)]:
            return f"{missing[0]} does not stand in it, the name of a file that it has to read."
        return None

    def loaded(self, folders: Sequence[Path]) -> Self:
        program = shlex.split(self.named)[0]
        if shutil.which(program) is None:
            raise InputError(
                f"command {self.named}: there is no program {program!r} here. Install it, or "
                "write its whole path."
            )
        return type(self)(self.settings, ready=True)

    def values(self, X: list[Any], Y: list[Any], place: str, wanted: Mask) -> FloatArray:
        if not self.ready:
            raise InputError(
                f"the scores are those of the command {self.named}, which no file may start. Say "
                f"that it may be asked: --score {shlex.quote(self.named)}"
            )
        (X, rows), (Y, columns) = map(_distinct, (X, Y))
        among, block = np.zeros((len(X), len(Y)), dtype=np.bool_), np.ix_(rows, columns)
        np.logical_or.at(among, block, wanted)
        return self._of_distinct(X, Y, among, place)[block]

    def _of_distinct(self, X: list[str], Y: list[str], wanted: Mask, place: str) -> FloatArray:
        with tempfile.TemporaryDirectory(prefix="kreinflow-") as name:
            folder = Path(name)
            files = {key: folder / key for key in ("a", "b", "pairs", "out")}
            self._write(files["a"], "q", X)
            self._write(files["b"], "t", Y)
            if self.by_pairs:
                fasta, places = self.settings["reads"] == "fasta", np.argwhere(wanted).tolist()
                sides = ((f"q{i + 1}", f"t{j + 1}") if fasta else (X[i], Y[j]) for i, j in places)
                files["pairs"].write_text("".join(f"{x}\t{y}\n" for x, y in sides))
            said = self._run({f"{{{key}}}": str(path) for key, path in files.items()}, place)
            written = files["out"].read_text() if files["out"].exists() else said
            return self._read(written.splitlines(), X, Y, wanted, place)

    def _write(self, path: Path, letter: str, objects: list[str]) -> None:
        fasta = self.settings["reads"] == "fasta"
        lines = (f">{letter}{i}\n{x}\n" if fasta else f"{x}\n" for i, x in enumerate(objects, 1))
        path.write_text("".join(lines))

    def _run(self, files: Mapping[str, str], place: str) -> str:
        """Run the command in a session of its own, and return what it wrote."""
        words = shlex.split(self.named)
        for key, path in files.items():
            words = [word.replace(key, path) for word in words]
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise InputError(f"{place}: cannot be started ({error.strerror}).") from error
        try:
            out, told = process.communicate(timeout=self.settings["timeout"])
        except subprocess.TimeoutExpired as error:
            raise InputError(
                f"{place}: took more than the {self.settings['timeout']:g} seconds of its timeout. "
                "Ask for less at a time (batch), or give it more time."
            ) from error
        finally:  # of its children too, whatever ends us
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        text = out.decode(errors="replace")
        if process.returncode:
            last = told.decode(errors="replace") if told.strip() else text
            raise InputError(
                f"{place}: ended with exit code {process.returncode}. {_last_words(last)}"
            )
        return text

    def _read(
        self,
        lines: Iterable[str],
        X: list[str],
        Y: list[str],
        wanted: Mask,
        place: str,
    ) -> FloatArray:
        settings = self.settings
        column = settings["score_column"] or SCORE_COLUMN[settings["writes"]]
        rows, columns = self._names("q", X), self._names("t", Y)
        found = np.full((len(X), len(Y)), np.nan)
        better = np.fmin if self.kind == "squared_dissimilarity" else np.fmax
        wrote = f"{place}: what it wrote"
        for number, first, second, score in scored_pairs(lines, column, wrote):
            if first not in rows or second not in columns:
                unknown = shortened(first if first not in rows else second)
                raise InputError(
                    f"{wrote}, line {number}, names {unknown!r}, which it was not given."
                )
            pair = rows[first], columns[second]
            found[pair] = better(found[pair], score)
        lacking = np.argwhere(np.isnan(found) & wanted)
        if lacking.size and settings["missing"] is None:
            i, j = lacking[0]
            raise InputError(
                f"{place}: wrote no line for {shortened(X[i])} with {shortened(Y[j])} "
                f"and {len(lacking) - 1} other pairs. Say what their score is: 'missing'."
            )
        found[np.isnan(found)] = np.nan if settings["missing"] is None else settings["missing"]
        return found

    def _names(self, letter: str, objects: list[str]) -> dict[str, int]:
        """Return the place of each object by the names that a table may have for it.

        Of a file they are its path, its name, and that without endings, where only one has it.
        """
        if self.settings["reads"] == "fasta":
            return {f"{letter}{number + 1}": number for number in range(len(objects))}
        known: dict[str, int] = {}
        for number, value in enumerate(objects):
            names = [value]
            if self.settings["objects"] == "files":
                name = Path(value).name
                names += [name, Path(name).stem, name.partition(".")[0]]
            for own in dict.fromkeys(names):
                known[own] = number if own not in known or own == value else -1
        return {name: number for name, number in known.items() if number >= 0}


def _distinct(objects: list[Any]) -> tuple[list[str], list[int]]:
    """Return distinct objects as texts, and which of them each one is."""
    place: dict[str, int] = {}
    which = [place.setdefault(str(value), len(place)) for value in objects]
    return list(place), which


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()][-LAST_WORDS:]
    return f"It said: {' / '.join(map(shortened, lines))}" if lines else "It said nothing."
