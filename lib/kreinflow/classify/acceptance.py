"""Predictions that are accepted together, so that few of them are wrong: all rows are needed."""

import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import IO

import numpy as np
import pandas as pd

from kreinflow.answering.answers import REASONS
from kreinflow.answering.label_sets import accepted
from kreinflow.base.errors import unwritable


def accepting(
    tables: Iterable[pd.DataFrame], errors: float, progress: Callable[[int], None] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield pieces of the table of new objects again, with the column ``accepted``.

    They are those of :func:`~kreinflow.classify.classification.classify_batches`. The column
    depends on all rows: they wait in a temporary file, and memory has a number for each. What is
    unknown or has no relative is never accepted.

    Parameters
    ----------
    tables : iterable of DataFrame
        With ``error_p``.
    errors : float
        The expected share of wrong predictions among the accepted; see
        :func:`~kreinflow.answering.label_sets.accepted`.
    progress : callable, optional
        Called with the number of rows that are read.
    """
    p, strange, sizes = [np.empty(0)], [np.empty(0, dtype=bool)], [0]
    with tempfile.TemporaryFile() as waiting:
        for table in tables:
            _put_down(table, waiting)
            strange.append(table["reason"].isin(REASONS[2:]).to_numpy())
            p.append(table["error_p"].to_numpy(np.float64))
            sizes.append(sizes[-1] + len(table))
            if progress is not None:
                progress(sizes[-1])
        every = np.concatenate(p)
        known = ~np.isnan(every)
        yes = np.where(known, "no", "").astype(object)
        yes[known] = np.where(accepted(every[known], errors), "yes", "no")
        yes[known & np.concatenate(strange)] = "no"
        waiting.seek(0)
        for start, end in itertools.pairwise(sizes):
            table = _taken_up(waiting)
            table.insert(list(table).index("error_p") + 1, "accepted", yes[start:end])
            yield table


def _put_down(table: pd.DataFrame, waiting: IO[bytes]) -> None:
    """Write a table as a line of text that holds all digits of its numbers."""
    columns = [[name, str(values.dtype), values.tolist()] for name, values in table.items()]
    try:
        waiting.write(json.dumps(columns).encode() + b"\n")
        waiting.flush()
    except OSError as error:
        with suppress(OSError):  # it would try to write the rest again
            waiting.close()
        raise unwritable(tempfile.gettempdir(), error) from error


def _taken_up(waiting: IO[bytes]) -> pd.DataFrame:
    """Return the next table that was put down."""
    columns = json.loads(waiting.readline())
    return pd.DataFrame({name: pd.Series(values, dtype=kind) for name, kind, values in columns})
