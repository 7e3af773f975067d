"""What carried the answer for one object: what its first stage sums up, and what its parts tell."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.answering.parts import Section, Subject, Told
from kreinflow.base.errors import InputError
from kreinflow.base.wording import plural
from kreinflow.classify.classification import first_alignments, likeliest_two
from kreinflow.classify.evidence import Witnesses
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import DEFAULTS, Batch, Options, normalised_scores, score_new
from kreinflow.files.text_files import shown_name
from kreinflow.learners.decisions import LinearDecision
from kreinflow.views.lift import combined

INTERCEPT = "(intercept)"  #: instead of a landmark or record, in the last row of a table

_WHY = {
    "": "",
    "unsure": "it is unsure between classes",
    "unknown": "it is stranger than the true members of the classes",
    "no relative": "its best alignments are no better than those of a sequence read backwards",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    r"""Why a model answers one object as it does.

    A linear decision of the first stage is the sum
    :math:`f_c(x) = \sum_l k(x, l)\, w_{lc} + b_c`, and its terms are the contributions. Of a lifted
    decision l are not the landmarks but the inducing points.

    ``table`` has a row for each landmark: ``score`` as aligned or measured (dissimilarities:
    squared), of sequences ``normalised``, and ``transformed`` as the decision sees it; or for each
    inducing point: ``kernel``, which the decision sees, and what each view says, as
    ``near_scores``: the factors :math:`\exp(-r_v d_v^2)` whose product is a Gaussian kernel, or the
    terms :math:`r_v\, x_v'y_v` of a linear one. If the decision is linear, also the
    ``contribution`` for the predicted class and ``runner_up_contribution``, the largest difference
    of the two first, and a last row :data:`INTERCEPT`.
    """

    id: str
    labels: tuple[str, str]  # the predicted class and the runner-up
    probabilities: tuple[float, float]
    decisions: tuple[float, float]  # of the first stage; sums are before the forks of a tree
    rejected: bool
    why: str  # it is rejected, if the model aligns records
    several: Mapping[str, float] | None  # the labels it has, the likeliest first
    evidence: pd.DataFrame  # see kreinflow.classify.evidence.Evidence
    table: pd.DataFrame
    told: Mapping[str, Told]  # by the first stage, and each part of the model
    sequence: bytes | None  # the residues that were scored
    strand: str | None  # that is scored, or the frame, if others were tried


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is told by its name
def explain(
    model: Model, path: Path, id: str, shown: int = 10, options: Options = DEFAULTS
) -> Explanation:
    """Explain the decision for the first object of a file that has this id.

    There are ``shown`` members of each class that speak for the answer, at most. An InputError if
    the file cannot be read or does not fit the model, no object has this id, or it cannot be
    classified.
    """
    batch, place = _found(model, path, id, options)
    classifier = model.classifier
    query = classifier.decided(batch)
    if not np.isfinite(query.decisions / classifier.temperature).all():
        raise InputError(f"{place}: the model's decision for it is not finite.")
    answers = classifier.answer(query)
    probabilities, names = answers.probabilities[0], classifier.classes
    first, second = (int(codes[0]) for codes in likeliest_two(answers.probabilities))
    alignments = first_alignments(model, batch)
    it = Subject(query, answers, (first, second), names, model.record_ids, alignments)
    decisions, table, told = _first_stage(model, batch, it)
    asks, several, had = batch.ask is not None, classifier.several, []
    of_parts = {
        name: part.explained(it)
        for name, part in classifier.parts.items()
        if asks or part.records is None
    }
    if several is not None and not answers.rejected[0]:
        had = several.ranked(probabilities)
    return Explanation(
        id=id,
        labels=(names[first], names[second]),
        probabilities=(float(probabilities[first]), float(probabilities[second])),
        decisions=decisions,
        rejected=bool(answers.rejected[0]),
        why=_WHY[str(answers.reason[0])] if asks else "",
        several=None if several is None else {names[c]: float(probabilities[c]) for c in had},
        evidence=Witnesses(model).evidence(batch, answers, shown, options.threads).table,
        table=table,
        told={"first stage": told, **of_parts},
        sequence=None if batch.sequences is None else batch.sequences[0],
        strand=None if batch.strands is None else str(batch.strands[0]),
    )


def _found(model: Model, path: Path, id: str, options: Options) -> tuple[Batch, str]:
    """Return the batch of the one object that has the id, and what messages call it."""
    seen = 0
    for batch in score_new(model, path, options):
        seen += len(batch.ids)
        if id not in batch.ids:
            continue
        number = batch.ids.index(id)
        if number in batch.faults:
            raise InputError(f"{batch.place(number)}: {batch.faults[number]}")
        one = batch.take(np.flatnonzero(batch.scored == number))
        ask = one.ask and ScoreCache(one.ask, len(model.record_ids))  # nothing is aligned twice
        found = replace(one, ids=[id], scored=np.zeros(1, dtype=np.int64), ask=ask)
        return found, batch.place(number)
    raise InputError(f"{shown_name(path)}: none of its {plural(seen, 'record')} has the id {id!r}.")


def _first_stage(
    model: Model, batch: Batch, it: Subject
) -> tuple[tuple[float, float], pd.DataFrame, Told]:
    """Return both decisions, the table of all landmarks or inducing points, and what is told."""
    classifier, pair = model.classifier, list(it.pair)
    decision, lift, rows = classifier.decision, classifier.lift, it.query.rows
    values, stage = classifier.decision_rows(batch), "first stage: " if classifier.cascade else ""
    columns = {"landmark": model.landmark_ids, "class": model.landmark_labels}
    columns["score"] = batch.scores[0]
    if model.scheme is not None:
        columns["normalised"] = normalised_scores(model, batch.scores, batch.self_scores)[0]
    what, seen = "landmark", "transformed"
    table = pd.DataFrame({**columns, seen: (values if lift is None else rows)[0]})
    sections = {}
    if lift is not None:
        by_score = table.sort_values(seen, ascending=False, kind="stable")
        sections["landmarks"] = Section([], by_score)
        what, seen = "training record", "kernel"
        labels = np.array(it.classes, dtype=object)[classifier.inducing_classes]
        table = pd.DataFrame({"record": model.inducing_ids, "class": labels, seen: values[0]})
        for view, rate in lift.rates.items():
            near = combined(lift.form, {view: rate}, lambda v: lift.part(v, rows, batch.objects))
            table[f"near_{view}"] = near[0]
    if not isinstance(decision, LinearDecision):
        one, other = it.query.decisions[0, pair].tolist()
        table = table.sort_values(seen, ascending=False, kind="stable").reset_index(drop=True)
        lines = [
            f"{stage}decision for {it.classes[pair[0]]}: {one:.6g}",
            f"{stage}decision for {it.classes[pair[1]]}: {other:.6g}",
            f"This decision (kind {decision.kind!r}) is not a sum over {what}s, so that no {what} "
            "has a contribution of its own; they are listed by score.",
        ]
        return (one, other), table, Told((), {"decisions": Section(lines, table), **sections})
    one, other = decision.decide(values)[0, pair].tolist()
    lines, weights = [], decision.weights[:, pair]
    last: dict[str, Any] = {table.columns[0]: INTERCEPT, "class": ""}
    both = {"contribution": one, "runner_up_contribution": other}
    for place, (name, f) in enumerate(both.items()):
        table[name] = values[0] * weights[:, place]
        last[name] = float(decision.intercept[pair[place]])
        lines.append(
            f"{stage}decision for {it.classes[pair[place]]}: {f:.6g} = {table[name].sum():.6g} "
            f"from {plural(len(table), what)} + {last[name]:.6g} (intercept)"
        )
    difference = (table["contribution"] - table["runner_up_contribution"]).abs()
    table = table.loc[difference.sort_values(ascending=False, kind="stable").index]
    table = pd.concat([table, pd.DataFrame([last])], ignore_index=True)
    return (one, other), table, Told((), {"decisions": Section(lines, table), **sections})
