"""The figures of the papers' tables, each with the experiment and recipe of ours beside it."""

from pathlib import Path

import pandas as pd

from kreinflow.files.artifacts import read_table

_FILE = Path(__file__).parent / "data" / "published.tsv"

NUMBERS = ("accuracy", "accuracy_sd", "seconds", "seconds_sd", "complexity", "complexity_sd")
"""Columns of numbers; empty where the paper gives none."""


def read_published() -> pd.DataFrame:
    """Return the published figures.

    Returns
    -------
    DataFrame
        One line a figure, in the order of the papers, with the columns

        * ``source``: a key of :data:`kreinflow.base.references.REFERENCES`; ``table``, ``dataset``,
          ``n``, ``classes``, ``landmarks`` and ``method``, as in the paper;
        * ``accuracy`` and ``accuracy_sd``, in percent; ``seconds``, ``seconds_sd`` and
          ``seconds_of``: "all folds" of a cross-validation, or "one fold"; ``complexity`` and
          ``complexity_sd``, basis functions in percent of the training points;
        * ``experiment`` and ``recipe``: ours, or empty, and then
        * ``reason`` says why there is none. Where the paper leaves a setting of the data open,
          ``experiment`` names several, separated by spaces;
        * ``note``.
    """
    text = ["source", "table", "dataset", "n", "classes", "landmarks", "method", "seconds_of"]
    text += ["experiment", "recipe", "reason", "note"]
    table = read_table(_FILE, [*text, *NUMBERS], text=text)
    for column in NUMBERS:
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table
