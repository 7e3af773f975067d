"""Explanations as plain text, and the alignments that they name."""

import numpy as np
import pandas as pd

from kreinflow.alignment.traceback import Alignment, trace
from kreinflow.base.errors import InputError
from kreinflow.classify.evidence import OTHER
from kreinflow.classify.explanation import INTERCEPT, Explanation
from kreinflow.classify.model_file import Model

_FORMATS = {"evalue": "{:.2g}".format, "bits": "{:.1f}".format, "identity": "{:.2f}".format}


def explanation_text(found: Explanation, shown: int) -> str:
    """Return an explanation as plain text, with the first ``shown`` rows of each long table."""
    out = _answer_lines(found)
    for told in found.told.values():
        out += told.lines
    out += _evidence_lines(found)
    for told in found.told.values():
        for lines, table, whole in told.sections.values():
            out += ["", *lines]
            if table is not None:
                out += _first_rows(table, len(table) if whole else shown)
    return "\n".join(out) + "\n"


def _answer_lines(found: Explanation) -> list[str]:
    what = "strand" if found.strand in ("+", "-") else "frame"
    name = f"{found.id} ({what} {found.strand})" if found.strand else found.id
    told = (
        f"{found.labels[0]}, probability {found.probabilities[0]:.6g}; "
        f"runner-up {found.labels[1]}, {found.probabilities[1]:.6g}; "
        f"{'rejected' if found.rejected else 'not rejected'}"
    )
    out = [f"{name}: {told}"]
    if found.several is not None:
        own = ", ".join(f"{label} ({p:.6g})" for label, p in found.several.items())
        none = "no label" if found.why else "no label reaches its threshold"
        out = [f"{name}: {own or none}", f"likeliest: {told}"]
    return out + ([found.why] if found.why else [])


def _evidence_lines(found: Explanation) -> list[str]:
    out, told = [], set()
    for (of, label), rows in found.evidence.groupby(["of", "label"], sort=False):
        told.add(label)
        left_out = ["query", "label", "of", "strand", "frame", "mismatches", "gap_opens"]
        own = rows.drop(columns=left_out, errors="ignore")
        own = own.replace("", np.nan).dropna(axis="columns", how="all")
        members = "member of another class," if of == OTHER else "members of"
        out += ["", f"nearest {members} {label} ({of})", _text(own)]
    for label in found.labels if found.several is None else found.several:
        if label not in told:
            out += ["", f"{label} has no landmark, and no training record that may be asked"]
    return out


def _first_rows(table: pd.DataFrame, shown: int) -> list[str]:
    """Return the first rows of a table; the row that stands for no record is always there."""
    rest = table.iloc[:, 0] == INTERCEPT
    rows, last = table[~rest], table[rest]
    out = [_text(pd.concat([rows.head(shown), last]) if len(last) else rows.head(shown))]
    return out + ([f"... and {len(rows) - shown} more"] if len(rows) > shown else [])


def _text(table: pd.DataFrame) -> str:
    return table.to_string(
        index=False, formatters=_FORMATS, float_format="{:.6g}".format, na_rep=""
    )


def alignments(model: Model, found: Explanation, shown: int) -> list[tuple[str, Alignment]]:
    """Return the alignments of an object with the nearest members of its classes.

    If the answer names a member of another class, it comes first. Then comes the nearest member of
    each class, then the second of each; ``shown`` at most. An InputError if the model is not one of
    sequences.
    """
    if model.scheme is None or found.sequence is None or not isinstance(model.landmarks, tuple):
        raise InputError("--alignment: the model is not one of sequences. Leave it out.")
    sequences = dict(zip(model.landmark_ids, model.landmarks, strict=True))
    if model.record_residues is not None:
        sequences |= dict(zip(model.record_ids, model.record_residues, strict=True))
    rank = found.evidence.groupby(["of", "label"], sort=False).cumcount()
    rank = rank.mask(found.evidence["of"] == OTHER, -1)
    wanted = found.evidence["member"].loc[rank.sort_values(kind="stable").index][:shown]
    return [(id, trace(found.sequence, sequences[id], model.scheme)) for id in wanted]
