"""What speaks for the answer for one object, and which landmarks or records carried it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.alignment.traceback import Alignment, trace
from kreinflow.answering.cascade import Answers
from kreinflow.answering.score_cache import ScoreCache
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.classify.cascade_explanation import (
    CascadeExplanation,
    answered_by,
    cascade_text,
    explain_cascade,
)
from kreinflow.classify.classification import (
    LEVEL_COLUMNS,
    answered_nodes,
    first_alignments,
    nearest_records,
)
from kreinflow.classify.evidence import OTHER, Witnesses
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Batch, normalised_scores, score_new
from kreinflow.learners.decisions import LinearDecision
from kreinflow.sequences.files import counted, shown_name
from kreinflow.views.lift import Lift, combined
from kreinflow.views.objects import Viewed

INTERCEPT = "(intercept)"
"""What stands for a landmark in the last row of the table of a linear decision."""


@dataclass(frozen=True, eq=False)
class Explanation:
    r"""The decisions for the two likeliest classes of an object, by landmarks or training records.

    A linear decision is the sum :math:`f_c(x) = \sum_l k(x, l)\, w_{lc} + b_c`, and its terms are
    the contributions. Of a lifted decision l are not the landmarks but the inducing points, which
    are training records.

    Attributes
    ----------
    id : str
    labels : (str, str)
        The predicted class and the runner-up.
    probabilities : (float, float)
    decisions : (float, float)
        If they are sums over the landmarks, before the temperatures of the forks of a tree.
    rejected : bool
    evidence : DataFrame
        The nearest members of both classes, and the one of another class that the answer names:
        the table of :class:`~kreinflow.classify.evidence.Evidence`.
    kind : str
        The kind of decision, by its name in files.
    table : DataFrame
        One row a landmark: ``landmark``, ``class``, ``score`` as aligned or measured
        (dissimilarities: squared), of sequences ``normalised``, and ``transformed`` as the decision
        sees it. If it is linear also ``contribution`` to the decision for the predicted class and
        ``runner_up_contribution`` to the other, the largest difference of the two first, and a
        last row :data:`INTERCEPT`; otherwise the largest ``transformed`` first. Of a lifted
        decision it has one row an inducing point instead: ``record``, ``class``, ``kernel``, which
        is what the decision sees, and what each view says, as ``near_scores`` and ``near_words``:
        the factors :math:`\exp(-r_v d_v^2)` whose product is a Gaussian kernel, or the terms
        :math:`r_v\, x_v'y_v` whose sum is a linear one.
    landmarks : DataFrame or None
        Of a lifted decision: the scores with the landmarks, the largest ``transformed`` first.
    view_decisions : dict of str to (float, float)
        Of a linear decision over a linear lift: what each view adds to the two decisions.
    sequence : bytes or None
        The residues that were scored.
    strand : str or None
        ``+`` or ``-`` if both were aligned.
    cascade : CascadeExplanation or None
        What the levels above the first stage said. The classes and the probabilities are those of
        the whole answer then, and all else is of the first stage.
    several : dict of str to float, or None
        Of a model of several labels: those that the object has and their probabilities, the
        likeliest first. ``labels`` are the two likeliest in any case.
    why : str
        Of a model that asks records: why the object is rejected, and how strange it is.
    node : (str, int, float), or None
        Of a model with levels: the deepest node that it is sure of, its level and probability.
    """

    id: str
    labels: tuple[str, str]
    probabilities: tuple[float, float]
    decisions: tuple[float, float]
    rejected: bool
    evidence: pd.DataFrame
    kind: str
    table: pd.DataFrame
    landmarks: pd.DataFrame | None
    view_decisions: Mapping[str, tuple[float, float]]
    sequence: bytes | None
    strand: str | None
    cascade: CascadeExplanation | None = None
    several: Mapping[str, float] | None = None
    why: str = ""
    node: tuple[str, int, float] | None = None

    @property
    def linear(self) -> bool:
        """Whether the decisions are sums over the landmarks, or over training records."""
        return self.kind == LinearDecision.kind


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is told by its name
def explain(
    model: Model,
    path: Path,
    id: str,
    threads: int = 1,
    both_strands: bool = False,
    vectors: Path | None = None,
    shown: int = 10,
) -> Explanation:
    """Explain the decision for the first object of a file that has this id.

    Parameters
    ----------
    model, path, threads, both_strands, vectors
        As for :func:`~kreinflow.classify.new_objects.score_new`.
    id : str
    shown : int
        Members of each class that speak for the answer, at most.

    Raises
    ------
    InputError
        If the file cannot be read or does not fit the model, no object has this id, or it cannot
        be classified.
    """
    batch, number = _find(model, path, id, threads, both_strands, vectors)
    place = batch.place(number)
    if number in batch.faults:
        raise InputError(f"{place}: {batch.faults[number]}")
    batch = batch.of(np.flatnonzero(batch.scored == number))
    batch = replace(batch, ids=[id], scored=np.zeros(1, dtype=np.int64))
    if batch.ask is not None:  # nothing is aligned twice
        batch = replace(batch, ask=ScoreCache(batch.ask, len(model.record_ids)))
    classifier = model.classifier
    decision, told = classifier.decision, classifier
    if isinstance(decision, LinearDecision):  # a sum, until temperatures of forks are met
        told = replace(classifier, forks=None)
    decisions = told.decision_function(batch)[0]
    if not np.isfinite(decisions / classifier.temperature).all():
        raise InputError(f"{place}: the model's decision for it is not finite.")
    answer, climbed, why = _answered(model, batch, threads)
    found = Witnesses(model).evidence(batch, answer, shown, threads)
    probabilities = answer.probabilities[0]
    first, second = np.argsort(-probabilities, kind="stable")[:2].tolist()
    columns: dict[str, object] = {
        "landmark": model.landmark_ids,
        "class": model.landmark_labels,
        "score": batch.scores[0],
    }
    if model.scheme is not None:
        columns["normalised"] = normalised_scores(model, batch.scores, batch.self_scores)[0]
    transformed = classifier.landmark_rows(batch)
    table, landmarks = pd.DataFrame(columns | {"transformed": transformed[0]}), None
    of_views: dict[str, tuple[float, float]] = {}
    seen = "transformed"
    if (lift := classifier.lift) is not None:
        landmarks, seen = _sorted(table, "transformed"), "kernel"
        near = near_by_view(lift, transformed, batch.objects)
        table = _records(model, lift.columns(transformed, batch.objects)[0], near)
        if lift.form == "linear" and decision.kind == LinearDecision.kind:
            weights = decision.to_parts()[1]["weights"]
            of_views = {
                view: (float(own @ weights[:, first]), float(own @ weights[:, second]))
                for view, own in near.items()
            }
    if isinstance(decision, LinearDecision):
        table = _with_contributions(table, seen, decision, first, second)
    else:
        table = _sorted(table, seen)
    return Explanation(
        id,
        (classifier.classes[first], classifier.classes[second]),
        (float(probabilities[first]), float(probabilities[second])),
        (float(decisions[first]), float(decisions[second])),
        bool(answer.rejected[0]),
        found.table,
        classifier.decision.kind,
        table.reset_index(drop=True),
        landmarks,
        of_views,
        batch.sequences[0] if batch.sequences is not None else None,
        str(batch.strands[0]) if batch.strands is not None else None,
        climbed,
        None
        if (several := classifier.several) is None
        else {
            classifier.classes[c]: float(probabilities[c])
            for c in several.ranked(probabilities)
            if not answer.rejected[0]
        },
        why,
        _node(model, answer),
    )


def _answered(
    model: Model, batch: Batch, threads: int
) -> tuple[Answers, CascadeExplanation | None, str]:
    """Return the answer for one object, what a cascade said, and why it is rejected."""
    query = model.classifier.decided(batch)
    answer = model.classifier.answer(query)
    if batch.ask is None:
        return answer, None, ""
    why = told_reason(answer, nearest_records(model, batch, answer, threads))
    if model.classifier.cascade is None:
        return answer, None, why
    return answer, explain_cascade(model, query, answer, first_alignments(model, batch)), why


def _node(model: Model, answer: Answers) -> tuple[str, int, float] | None:
    """Return the node of one object, its level and its probability, of a model with levels."""
    found = answered_nodes(model, answer)
    if not found:
        return None
    node, level, probability = (found[name][0] for name in LEVEL_COLUMNS)
    return node, level, float(probability)


_WHY = {
    "unsure": "it is unsure between classes",
    "unknown": "it is stranger than the true members of the classes",
    "no relative": "its best alignments are no better than those of a sequence read backwards",
}


def told_reason(answer: Answers, told: Mapping[str, Any]) -> str:
    """Return why one object is rejected, its p-value and its best alignment, in a line."""
    parts = [_WHY[reason]] if (reason := str(answer.reason[0])) else []
    if not np.isnan(p := float(answer.p_value[0])):
        parts.append(f"{100 * p:.2g} % of true members are as strange")
    if answer.rejected[0] and told["nearest_record"][0]:
        record, evalue = told["nearest_record"][0], told["record_evalue"][0]
        parts.append(f"its best alignment is with {record}, E-value {evalue:.2g}")
    return "; ".join(parts)


def near_by_view(lift: Lift, scores: FloatArray, objects: Viewed | None) -> dict[str, FloatArray]:
    """Return the factors of a Gaussian kernel, or the terms of a linear one, of the first object.

    Parameters
    ----------
    lift : Lift
    scores : ndarray of shape (n, n_landmarks)
        Transformed.
    objects : Viewed or None
        The n objects.

    Returns
    -------
    dict of str to ndarray of shape (p,)
        By the name of the view.
    """
    return {
        view: combined(lift.form, {view: rate}, lambda v: lift.part(v, scores, objects))[0]
        for view, rate in lift.rates.items()
    }


def _records(model: Model, kernel: FloatArray, near: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Return the table of the inducing points."""
    return pd.DataFrame(
        {
            "record": model.inducing_ids,
            "class": model.inducing_labels,
            "kernel": kernel,
            **{f"near_{view}": values for view, values in near.items()},
        }
    )


def _sorted(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.sort_values(column, ascending=False, kind="stable")


def _find(
    model: Model, path: Path, id: str, threads: int, both_strands: bool, vectors: Path | None
) -> tuple[Batch, int]:
    """Return the batch that has the id, and the number of the object in it."""
    seen = 0
    for batch in score_new(model, path, threads, both_strands, vectors=vectors):
        if id in batch.ids:
            return batch, batch.ids.index(id)
        seen += len(batch.ids)
    raise InputError(
        f"{shown_name(path)}: none of its {counted(seen, 'record')} has the id {id!r}."
    )


def _with_contributions(
    table: pd.DataFrame, seen: str, decision: LinearDecision, first: int, second: int
) -> pd.DataFrame:
    """Add the terms of the decisions for two classes, sort by their difference, add intercepts."""
    scores, weights, intercept = table[seen], decision.weights, decision.intercept
    table["contribution"] = scores * weights[:, first]
    table["runner_up_contribution"] = scores * weights[:, second]
    difference = (table["contribution"] - table["runner_up_contribution"]).abs()
    table = table.loc[difference.sort_values(ascending=False, kind="stable").index]
    last = {
        table.columns[0]: [INTERCEPT],
        "class": [""],
        "contribution": [float(intercept[first])],
        "runner_up_contribution": [float(intercept[second])],
    }
    return pd.concat([table, pd.DataFrame(last)])


def explanation_text(found: Explanation, shown: int) -> str:
    """Return an explanation as plain text, with the first ``shown`` landmarks or records."""
    table = found.table[found.table.iloc[:, 0] != INTERCEPT]
    what = "landmark" if found.landmarks is None else "training record"
    strand = f" (strand {found.strand})" if found.strand else ""
    said = (
        f"{found.labels[0]}, probability {found.probabilities[0]:.6g}; "
        f"runner-up {found.labels[1]}, {found.probabilities[1]:.6g}; "
        f"{'rejected' if found.rejected else 'not rejected'}"
    )
    out = [f"{found.id}{strand}: {said}"]
    if found.several is not None:
        own = ", ".join(f"{label} ({p:.6g})" for label, p in found.several.items())
        none = "no label" if found.why else "no label reaches its threshold"
        out = [
            f"{found.id}{strand}: {own or none}",
            f"likeliest: {said}",
        ]
    if found.node is not None:
        node, level, probability = found.node
        named = f"node {node}, " if level else "no node is sure enough: "
        out.append(f"{named}level {level}, probability {probability:.6g}")
    stage = ""
    if found.why:
        out.append(found.why)
    if found.cascade is not None:
        out.append(answered_by(found.cascade))
        stage = "first stage: "
    out += [*_evidence_lines(found), ""]
    columns = ("contribution", "runner_up_contribution")
    for label, decision, column in zip(found.labels, found.decisions, columns, strict=True):
        line = f"{stage}decision for {label}: {decision:.6g}"
        if found.linear:
            line += (
                f" = {table[column].sum():.6g} from {counted(len(table), what)} + "
                f"{found.table[column].iloc[-1]:.6g} (intercept)"
            )
        out.append(line)
    if not found.linear:
        out.append(
            f"This decision (kind {found.kind!r}) is not a sum over {what}s, so that no {what} "
            "has a contribution of its own; they are listed by score."
        )
    for view, (one, other) in found.view_decisions.items():
        out.append(
            f"the view {view} adds {one:.6g} for {found.labels[0]}, "
            f"{other:.6g} for {found.labels[1]}"
        )
    for part in (table, found.landmarks):
        if part is not None:
            out += ["", part.head(shown).to_string(index=False, float_format=_digits)]
            out += [f"... and {len(part) - shown} more"] if len(part) > shown else []
    if found.cascade is not None:
        out += ["", *cascade_text(found.cascade, found.labels, shown)]
    return "\n".join(out) + "\n"


def _digits(value: float) -> str:
    return f"{value:.6g}"


def _evidence_lines(found: Explanation) -> list[str]:
    """Return a table of the nearest members for each class, in the order of the evidence."""
    out, told = [], set()
    for (of, label), rows in found.evidence.groupby(["of", "label"], sort=False):
        told.add(label)
        own = rows.drop(columns=["query", "label", "of", "strand"], errors="ignore")
        own = own.replace("", np.nan).dropna(axis="columns", how="all")
        shown = own.to_string(index=False, formatters=_FORMATS, float_format=_digits, na_rep="")
        members = "member of another class," if of == OTHER else "members of"
        out += ["", f"nearest {members} {label} ({of})", shown]
    for label in found.labels if found.several is None else found.several:
        if label not in told:
            out += ["", f"{label} has no landmark, and no training record that may be asked"]
    return out


_FORMATS = {"evalue": "{:.2g}".format, "bits": "{:.1f}".format, "identity": "{:.2f}".format}


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
