"""What the page tells of the sequences of a data set that have no label."""

from pathlib import Path

import pandas as pd

from kreinflow.artifacts import read_table

UNLABELLED_COLUMNS = ("class", "records", "rejected", "landmark_score")
"""Predicted records of a class, how many of them are flagged, and the median of their scores with
the nearest landmark."""


def read_unlabelled(folder: Path) -> pd.DataFrame:
    """Count the predictions of a data set's own unlabelled sequences.

    Parameters
    ----------
    folder : Path
        The data set's results.

    Returns
    -------
    DataFrame
        Columns :data:`UNLABELLED_COLUMNS`, the largest class first; records that could not be
        classified are in a class of their own, the empty text.
    """
    text = ("label", "reject", "problem")
    table = read_table(folder / "classified" / "unlabelled.tsv", text, text)
    scores = pd.to_numeric(table["landmark_score"], errors="coerce")
    counted = pd.DataFrame(
        {
            "records": table.groupby("label").size(),
            "rejected": (table["reject"] == "yes").groupby(table["label"]).sum(),
            "landmark_score": scores.groupby(table["label"]).median(),
        }
    )
    counted = counted.rename_axis("class").reset_index()
    order = counted.sort_values(["records", "class"], ascending=[False, True], kind="stable")
    return order[list(UNLABELLED_COLUMNS)].reset_index(drop=True)
