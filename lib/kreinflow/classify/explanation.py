"""What carried the answer for one object: landmarks, inducing points, records of a cascade."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.answering.cascade import FEATURES, Level
from kreinflow.answering.query_and_answers import FIRST, NEAREST, STAGES, Answers, Decided
from kreinflow.answering.record_scores import ScoreCache, cached
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.wording import plural
from kreinflow.classify.classification import (
    LEVEL_COLUMNS,
    answered_nodes,
    first_alignments,
    likeliest_two,
    nearest_records,
)
from kreinflow.classify.evidence import Witnesses
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import DEFAULTS, Batch, Options, normalised_scores, score_new
from kreinflow.learners.decisions import LinearDecision
from kreinflow.sequences.text_files import shown_name
from kreinflow.views.lift import combined

LANDMARKS, INTERCEPT = "(landmarks)", "(intercept)"
"""What stands for a landmark or a record in the last rows of a table of contributions."""

_ONE = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CascadeExplanation:
    r"""What each level of a cascade said of an object, and of which records it said so.

    A level is a conditional logit, so its log odds of two classes a and b are a sum:

    .. math:: \log(p_a / p_b) = \sum_k w_k (x_{ak} - x_{bk}) .

    a is the predicted class of the answer and b the runner-up, at all levels.

    Attributes
    ----------
    alignments : int
        Those with the landmarks and with itself among them, as ``classify`` counts them.
    levels : DataFrame
        One row a level that the object came to, with the likeliest class there and its probability
        (``label``, ``largest``) and those of a and b. Where no record could be asked, numbers are
        those of the row before.
    terms : DataFrame
        One row a feature of a level that asked: its weight, its values of a and b, and the term.
    records : DataFrame or None
        Those of the last level ``nearest``, by the distance in the space of the index.
    machines : DataFrame or None
        Those that voted at the level ``pairs``: ``class``, ``against``, ``decision`` (above 0 for
        ``class``) and ``vote``, its tanh.
    members : DataFrame or None
        The machine between a and b, if it voted: the largest contributions first, above 0 for a,
        then :data:`LANDMARKS` and :data:`INTERCEPT`. Their sum is the decision for a.
    """

    threshold: float
    temperature: float
    alignments: int
    levels: pd.DataFrame
    terms: pd.DataFrame
    records: pd.DataFrame | None = None
    machines: pd.DataFrame | None = None
    members: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    r"""The decisions for the two likeliest classes of an object, by landmarks or training records.

    A linear decision is the sum :math:`f_c(x) = \sum_l k(x, l)\, w_{lc} + b_c`, and its terms are
    the contributions. Of a lifted decision l are not the landmarks but the inducing points.

    Attributes
    ----------
    labels, probabilities, decisions : pair
        Of the predicted class and the runner-up. Decisions are the first stage's; if they are sums,
        before the temperatures of the forks of a tree.
    why : str
        Why the object is rejected, and how strange it is, if the model aligns records.
    several : dict of str to float, or None
        The labels that the object has and their probabilities, the likeliest first.
    node : (str, int, float), or None
        The deepest node that the model is sure of, its level and probability.
    evidence : DataFrame
        See :class:`~kreinflow.classify.evidence.Evidence`.
    kind : str
        The kind of decision, by its name in files.
    table : DataFrame
        One row a landmark: ``score`` as aligned or measured (dissimilarities: squared), of
        sequences ``normalised``, and ``transformed`` as the decision sees it; or of a lifted
        decision one row an inducing point: ``kernel``, which the decision sees, and what each view
        says, as ``near_scores``: the factors :math:`\exp(-r_v d_v^2)` whose product is a Gaussian
        kernel, or the terms :math:`r_v\, x_v'y_v` of a linear one. If the decision is linear, also
        the ``contribution`` for the predicted class and ``runner_up_contribution``, the largest
        difference of the two first, and a last row :data:`INTERCEPT`.
    landmarks : DataFrame or None
        The scores with the landmarks of a lifted decision, the largest ``transformed`` first.
    view_decisions : dict of str to pair of float
        What each view of a linear lift adds to two linear decisions.
    sequence, strand : bytes, str or None
        The residues that were scored; ``+`` or ``-`` if both were aligned.
    """

    id: str
    labels: tuple[str, str]
    probabilities: tuple[float, float]
    decisions: tuple[float, float]
    rejected: bool
    why: str
    several: Mapping[str, float] | None
    node: tuple[str, int, float] | None
    evidence: pd.DataFrame
    kind: str
    table: pd.DataFrame
    landmarks: pd.DataFrame | None
    view_decisions: Mapping[str, tuple[float, float]]
    sequence: bytes | None
    strand: str | None
    cascade: CascadeExplanation | None

    @property
    def linear(self) -> bool:
        """Whether the decisions are sums over the landmarks, or over training records."""
        return self.kind == LinearDecision.kind


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is told by its name
def explain(
    model: Model, path: Path, id: str, shown: int = 10, options: Options = DEFAULTS
) -> Explanation:
    """Explain the decision for the first object of a file that has this id.

    There are ``shown`` members of each class that speak for the answer, at most.

    Raises
    ------
    InputError
        If the file cannot be read or does not fit the model, no object has this id, or it cannot
        be classified.
    """
    batch, place = _found(model, path, id, options)
    classifier = model.classifier
    summed = classifier
    if isinstance(classifier.decision, LinearDecision):  # a sum, until temperatures of forks
        summed = replace(classifier, forks=None)
    decisions = summed.decision_function(batch)[0]
    if not np.isfinite(decisions / classifier.temperature).all():
        raise InputError(f"{place}: the model's decision for it is not finite.")
    decided = classifier.decided(batch)
    answer = classifier.answer(decided)
    probabilities, several = answer.probabilities[0], classifier.several
    (first,), (second,) = (codes.tolist() for codes in likeliest_two(answer.probabilities))
    labels, nodes, cascade = classifier.classes, answered_nodes(model, answer), None
    table, landmarks, views = _contributions(model, batch, (first, second))
    if batch.ask is not None and classifier.cascade is not None:
        tables = _CascadeTables(model, decided, answer, (first, second))
        cascade = tables.explanation(first_alignments(model, batch))
    had = [] if several is None or answer.rejected[0] else several.ranked(probabilities)
    return Explanation(
        id=id,
        labels=(labels[first], labels[second]),
        probabilities=(float(probabilities[first]), float(probabilities[second])),
        decisions=(float(decisions[first]), float(decisions[second])),
        rejected=bool(answer.rejected[0]),
        why="" if batch.ask is None else _reason(model, batch, answer, options.threads),
        several=None if several is None else {labels[c]: float(probabilities[c]) for c in had},
        node=None if not nodes else tuple(nodes[name][0] for name in LEVEL_COLUMNS),
        evidence=Witnesses(model).evidence(batch, answer, shown, options.threads).table,
        kind=classifier.decision.kind,
        table=table,
        landmarks=landmarks,
        view_decisions=views,
        sequence=None if batch.sequences is None else batch.sequences[0],
        strand=None if batch.strands is None else str(batch.strands[0]),
        cascade=cascade,
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
        return replace(one, ids=[id], scored=_ONE, ask=ask), batch.place(number)
    raise InputError(f"{shown_name(path)}: none of its {plural(seen, 'record')} has the id {id!r}.")


_WHY = {
    "unsure": "it is unsure between classes",
    "unknown": "it is stranger than the true members of the classes",
    "no relative": "its best alignments are no better than those of a sequence read backwards",
}


def _reason(model: Model, batch: Batch, answer: Answers, threads: int) -> str:
    """Return why one object is rejected, its p-value and its best alignment, in a line."""
    told = nearest_records(model, batch, answer, threads)
    parts = [_WHY[reason]] if (reason := str(answer.reason[0])) else []
    if not np.isnan(p := float(answer.p_value[0])):
        parts.append(f"{100 * p:.2g} % of true members are as strange")
    if answer.rejected[0] and told["nearest_record"][0]:
        record, evalue = told["nearest_record"][0], told["record_evalue"][0]
        parts.append(f"its best alignment is with {record}, E-value {evalue:.2g}")
    return "; ".join(parts)


def _contributions(
    model: Model, batch: Batch, pair: tuple[int, int]
) -> tuple[pd.DataFrame, pd.DataFrame | None, dict[str, tuple[float, float]]]:
    """Return the tables of the landmarks or inducing points, and what views add; of one object."""
    classifier, (first, second) = model.classifier, pair
    decision, lift = classifier.decision, classifier.lift
    columns = {"landmark": model.landmark_ids, "class": model.landmark_labels}
    columns["score"] = batch.scores[0]
    if model.scheme is not None:
        columns["normalised"] = normalised_scores(model, batch.scores, batch.self_scores)[0]
    transformed = classifier.landmark_rows(batch)
    table, landmarks = pd.DataFrame({**columns, "transformed": transformed[0]}), None
    seen, near = "transformed", {}
    if lift is not None:
        landmarks, seen = table.sort_values(seen, ascending=False, kind="stable"), "kernel"
        near = {
            view: combined(
                lift.form, {view: rate}, lambda v: lift.part(v, transformed, batch.objects)
            )[0]
            for view, rate in lift.rates.items()
        }
        of_views = {f"near_{view}": values for view, values in near.items()}
        kernel = lift.columns(transformed, batch.objects)[0]
        columns = {"record": model.inducing_ids, "class": model.inducing_labels, "kernel": kernel}
        table = pd.DataFrame({**columns, **of_views})
    if not isinstance(decision, LinearDecision):
        sorted_table = table.sort_values(seen, ascending=False, kind="stable")
        return sorted_table.reset_index(drop=True), landmarks, {}
    weights, intercept = decision.weights, decision.intercept
    table["contribution"] = table[seen] * weights[:, first]
    table["runner_up_contribution"] = table[seen] * weights[:, second]
    difference = (table["contribution"] - table["runner_up_contribution"]).abs()
    table = table.loc[difference.sort_values(ascending=False, kind="stable").index]
    last: dict[str, list[object]] = {table.columns[0]: [INTERCEPT], "class": [""]}
    last["contribution"] = [float(intercept[first])]
    last["runner_up_contribution"] = [float(intercept[second])]
    views = {
        view: (float(own @ weights[:, first]), float(own @ weights[:, second]))
        for view, own in near.items()
        if lift is not None and lift.form == "linear" and decision.kind == LinearDecision.kind
    }
    return pd.concat([table, pd.DataFrame(last)], ignore_index=True), landmarks, views


_LEVELS = [
    *("stage", "asked", "alignments", "label", "largest"),
    *("probability", "runner_up_probability"),
]


class _CascadeTables:
    """The tables of a cascade's explanation for one object; nothing is aligned again."""

    def __init__(
        self, model: Model, query: Decided, answer: Answers, pair: tuple[int, int]
    ) -> None:
        cascade = model.classifier.cascade
        assert cascade is not None, "a model without a cascade"
        self.model, self.cascade, self.records = model, cascade, cascade.records
        self.answer, self.pair = answer, pair
        self.query = replace(query, ask=cached(query, cascade.records))
        self.scores = cascade.scores(self.query)

    def explanation(self, before: int) -> CascadeExplanation:
        """Return all tables; ``before`` are the alignments before any record is asked."""
        cascade, (one, other) = self.cascade, self.pair
        levels, rows, terms, tables = (Level(FIRST, 0), *cascade.levels), [], [], {}
        said, features = None, self.query.decisions[:, :, None]
        answers = cascade.level_answers(self.scores, cascade.threshold)
        for level, weights, now in zip(levels, cascade.weights, answers, strict=True):
            asked = said is None or bool(now.reached[0])
            if said is not None and asked:
                features, *_ = cascade.features(level, self.scores, _ONE, said.probabilities)
                if level.stage == NEAREST:
                    tables["records"] = self._nearest(level.asks)
                else:
                    tables |= self._machines(said.probabilities)
            stage, said, p = STAGES[level.stage], now, now.probabilities[0]
            (label,) = self._names(p[None].argmax(axis=1))
            alignments = before + int(now.alignments[0])
            rows.append((stage, level.asks, alignments, label, p.max(), p[one], p[other]))
            if asked:
                value, against = features[0, one], features[0, other]
                columns: dict[str, object] = {"stage": stage, "asked": level.asks}
                columns |= {"feature": FEATURES[level.stage], "weight": weights, "value": value}
                columns |= {"runner_up_value": against, "contribution": weights * (value - against)}
                terms.append(pd.DataFrame(columns))
            if p.max() >= cascade.threshold:
                break
        return CascadeExplanation(
            cascade.threshold,
            cascade.temperature,
            before + int(self.answer.alignments[0]),
            pd.DataFrame(rows, columns=_LEVELS),
            pd.concat(terms, ignore_index=True),
            **tables,
        )

    def _nearest(self, q: int) -> pd.DataFrame:
        near = self.scores.ranked(_ONE, q)[0]
        table = self._of_records(near)
        table.insert(0, "rank", np.arange(1, len(near) + 1))
        table["evalue"] = self.cascade.evidence.evalues(
            table["score"].to_numpy(), self.query.lengths[0], self.records.lengths[near]
        )
        table["evidence"] = self.scores.evidence(_ONE, near[None])[0]
        return table.dropna(axis="columns", how="all")

    def _machines(self, before: FloatArray) -> dict[str, pd.DataFrame]:
        """Return the tables ``machines`` and, if the machine of the pair voted, ``members``."""
        machines, voted, tables = self.cascade.machines, [], {}
        assert machines is not None, "a level of pairs without machines"
        ends = machines.ends(self.records.classes)
        contests = machines.contests(before, self.cascade.likeliest)[0]
        for pair in contests[contests >= 0].tolist():
            places = machines.members(self.records.classes, pair)
            similar = self.scores.similarities(_ONE, places)
            decision = float(machines.decide(pair, ends, similar, self.query.rows)[0])
            low, high = machines.pairs[pair].tolist()
            names = self._names(machines.pairs[pair])
            voted.append((*names, decision, float(np.tanh(decision))))
            if {low, high} != set(self.pair):
                continue
            sign = 1.0 if low == self.pair[0] else -1.0
            weights = machines.member_weights[ends[pair] : ends[pair + 1]]
            landmarks = float(self.query.rows[0] @ machines.landmark_weights[pair])
            table = self._of_records(places)
            table["transformed"] = similar[0]
            table["contribution"] = sign * weights * similar[0]
            rest = [sign * landmarks, sign * float(machines.intercepts[pair])]
            last = {"record": [LANDMARKS, INTERCEPT], "class": "", "contribution": rest}
            order = table.sort_values("contribution", key=abs, ascending=False, kind="stable")
            tables["members"] = pd.concat([order, pd.DataFrame(last)], ignore_index=True)
        tables["machines"] = pd.DataFrame(voted, columns=["class", "against", "decision", "vote"])
        return tables

    def _of_records(self, places: IntArray) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "record": [self.model.record_ids[place] for place in places.tolist()],
                "class": self._names(self.records.classes[places]),
                "score": self.scores.scores(_ONE, places[None])[0],
            }
        )

    def _names(self, codes: IntArray) -> list[str]:
        return [self.model.classifier.classes[code] for code in codes.tolist()]
