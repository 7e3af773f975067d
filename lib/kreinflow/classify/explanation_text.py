"""Explanations as plain text, and the alignments that they name."""

import numpy as np
import pandas as pd

from kreinflow.alignment.traceback import Alignment, trace
from kreinflow.answering.cascade import SMALLEST
from kreinflow.answering.query_and_answers import NEAREST, STAGES
from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.classify.evidence import OTHER
from kreinflow.classify.explanation import INTERCEPT, LANDMARKS, CascadeExplanation, Explanation
from kreinflow.classify.model_file import Model


def explanation_text(found: Explanation, shown: int) -> str:
    """Return an explanation as plain text, with the first ``shown`` landmarks or records."""
    rest = found.table.iloc[:, 0] == INTERCEPT
    table, intercept = found.table[~rest], found.table[rest]
    what = "landmark" if found.landmarks is None else "training record"
    out = _answer_lines(found)
    stage = ""
    if found.cascade is not None:
        last = found.cascade.terms.iloc[-1]
        name = _stage(last["stage"], last["asked"])
        total = plural(found.cascade.alignments, "alignment")
        out.append(f"answered by the stage {name}, with {total} in all")
        stage = "first stage: "
    out += [*_evidence_lines(found), ""]
    columns = ("contribution", "runner_up_contribution")
    for label, decision, column in zip(found.labels, found.decisions, columns, strict=True):
        line = f"{stage}decision for {label}: {decision:.6g}"
        if found.linear:
            line += (
                f" = {table[column].sum():.6g} from {plural(len(table), what)} + "
                f"{intercept[column].iloc[0]:.6g} (intercept)"
            )
        out.append(line)
    if not found.linear:
        out.append(
            f"This decision (kind {found.kind!r}) is not a sum over {what}s, so that no {what} "
            "has a contribution of its own; they are listed by score."
        )
    for view, (one, other) in found.view_decisions.items():
        own = f"{one:.6g} for {found.labels[0]}, {other:.6g} for {found.labels[1]}"
        out.append(f"the view {view} adds {own}")
    for part in (table, found.landmarks):
        if part is not None:
            out += ["", *_first_rows(part, shown)]
    if found.cascade is not None:
        out += ["", *_cascade_lines(found.cascade, found.labels, shown)]
    return "\n".join(out) + "\n"


def _answer_lines(found: Explanation) -> list[str]:
    """Return the classes, the labels, the node and the reason."""
    name = f"{found.id} (strand {found.strand})" if found.strand else found.id
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
    if found.node is not None:
        node, level, probability = found.node
        named = f"node {node}, " if level else "no node is sure enough: "
        out.append(f"{named}level {level}, probability {probability:.6g}")
    return out + ([found.why] if found.why else [])


_FORMATS = {"evalue": "{:.2g}".format, "bits": "{:.1f}".format, "identity": "{:.2f}".format}


def _evidence_lines(found: Explanation) -> list[str]:
    """Return a table of the nearest members for each class, in the order of the evidence."""
    out, told = [], set()
    for (of, label), rows in found.evidence.groupby(["of", "label"], sort=False):
        told.add(label)
        own = rows.drop(columns=["query", "label", "of", "strand"], errors="ignore")
        own = own.replace("", np.nan).dropna(axis="columns", how="all")
        members = "member of another class," if of == OTHER else "members of"
        out += ["", f"nearest {members} {label} ({of})"]
        out.append(own.to_string(index=False, formatters=_FORMATS, float_format=_digits, na_rep=""))
    for label in found.labels if found.several is None else found.several:
        if label not in told:
            out += ["", f"{label} has no landmark, and no training record that may be asked"]
    return out


def _cascade_lines(found: CascadeExplanation, labels: tuple[str, str], shown: int) -> list[str]:
    one, other = labels
    out = [
        f"stages: the object goes up while its largest probability is below {found.threshold:.6g}",
        _text(found.levels),
        "",
        f"why {one} and not {other}: the terms of the log odds at each level",
        _text(found.terms),
    ]
    names = found.terms["stage"].combine(found.terms["asked"], _stage)
    for name, total in found.terms.groupby(names, sort=False)["contribution"].sum().items():
        out.append(f"log odds at the stage {name}: {total:.6g}")
    last = found.levels.iloc[-1][["probability", "runner_up_probability"]].to_numpy(np.float64)
    odds = float(-np.diff(np.log(np.maximum(last, SMALLEST)))[0])
    out.append(
        f"log odds of the answer: {odds:.6g} / {found.temperature:.6g} (temperature) = "
        f"{odds / found.temperature:.6g}"
    )
    for title, table in (
        ("nearest records that were asked", found.records),
        ("machines that voted", found.machines),
        (f"machine between {one} and {other}: contributions to {one}", found.members),
    ):
        if table is not None:
            out += ["", title, *_first_rows(table, shown)]
    if found.machines is not None and found.members is None:
        out += ["", f"no machine tells {one} from {other}"]
    return out


def _stage(stage: str, asked: int) -> str:
    return f"{stage} {asked}" if stage == STAGES[NEAREST] else stage


def _first_rows(table: pd.DataFrame, shown: int) -> list[str]:
    """Return the first rows of a table; the rows that stand for no record are always there."""
    rest = table.iloc[:, 0].isin([LANDMARKS, INTERCEPT])
    rows, last = table[~rest], table[rest]
    out = [_text(pd.concat([rows.head(shown), last]) if len(last) else rows.head(shown))]
    return out + ([f"... and {len(rows) - shown} more"] if len(rows) > shown else [])


def _text(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=_digits, na_rep="")


def _digits(value: float) -> str:
    return f"{value:.6g}"


def alignments(model: Model, found: Explanation, shown: int) -> list[tuple[str, Alignment]]:
    """Return the alignments of an object with the nearest members of its classes.

    If the answer names a member of another class, it comes first. Then comes the nearest member of
    each class, then the second of each; ``shown`` at most.

    Raises
    ------
    InputError
        If the model is not one of sequences.
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
