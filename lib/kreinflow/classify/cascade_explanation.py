"""Which training records carried the answer of a cascade for one object."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from kreinflow.answering.cascade import (
    FIRST,
    NEAREST,
    PAIRS,
    STAGES,
    Answers,
    Cascade,
    Level,
    LevelAnswers,
)
from kreinflow.answering.query import Decided
from kreinflow.answering.record_scores import (
    SMALLEST,
    cached,
    nearest_features,
    pair_features,
)
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.wording import plural
from kreinflow.classify.model_file import Model

FEATURES = {
    FIRST: ("decision",),
    NEAREST: ("decision", "best_evidence", "mean_evidence", "share"),
    PAIRS: ("log_probability", "votes"),
}
"""What the conditional logit of each stage looks at."""

LANDMARKS, INTERCEPT = "(landmarks)", "(intercept)"
"""What stands for a record in the last rows of the table of a machine."""

_ONE = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CascadeExplanation:
    r"""What each level of a cascade said of an object, and of which records it said so.

    A level is a conditional logit, so its log odds of two classes a and b are a sum:

    .. math:: \log(p_a / p_b) = \sum_k w_k (x_{ak} - x_{bk}) .

    a is the predicted class of the answer and b the runner-up, at all levels.

    Attributes
    ----------
    threshold : float
        The object goes up while its largest probability is below it.
    temperature : float
        The log odds of the answer are those of the last level divided by it.
    alignments : int
        Those with the landmarks and with itself among them, as ``classify`` counts them.
    levels : DataFrame
        One row a level that the object came to: ``stage``, ``asked`` (the nearest records that are
        asked by then), ``alignments`` so far, ``label`` and ``largest`` (the likeliest class there
        and its probability), ``probability`` and ``runner_up_probability`` (of a and b). Where
        nobody could be asked, ``alignments`` and probabilities are those of the row before.
    terms : DataFrame
        One row a feature of a level that asked: ``stage``, ``asked``, ``feature``, ``weight``,
        ``value`` (of a), ``runner_up_value`` and ``contribution``.
    records : DataFrame or None
        Of the last level ``nearest``: ``rank`` by the distance in the space of the index from 1,
        ``record``, ``class``, ``score`` as aligned, ``evalue`` if there is one, ``evidence``.
    machines : DataFrame or None
        Those that voted at the level ``pairs``: ``class``, ``against``, ``decision`` (above 0 for
        ``class``) and ``vote``, its tanh.
    members : DataFrame or None
        Of the machine between a and b, if it voted: ``record``, ``class``, ``score``,
        ``transformed`` and ``contribution``, above 0 for a, the largest first. All landmarks
        together and the intercept have the last two rows. The sum is the decision for a.
    """

    threshold: float
    temperature: float
    alignments: int
    levels: pd.DataFrame
    terms: pd.DataFrame
    records: pd.DataFrame | None
    machines: pd.DataFrame | None
    members: pd.DataFrame | None


def explain_cascade(
    model: Model, query: Decided, answer: Answers, before: int
) -> CascadeExplanation:
    """Explain the answer of a cascade for one object.

    Parameters
    ----------
    model : Model
        With a cascade, and the residues of its records.
    query : Decided
        Of one object. Nothing is aligned again that its cache has.
    answer : Answers
        For the object.
    before : int
        Its alignments before any record is asked.
    """
    cascade = model.classifier.cascade
    assert cascade is not None, "nobody was asked"
    query = replace(query, ask=cached(query, cascade.records))
    scores = cascade.scores(query)
    levels = (Level(FIRST, 0), *cascade.levels)
    came = list(_came(cascade.level_answers(scores, cascade.threshold), cascade.threshold))
    own = _Object(model, cascade, query, *_likeliest(answer.probabilities[0]))
    terms, records, machines, members = [own.terms(levels[0], query.decisions[:, :, None], 0)], *_NO
    for number, said in enumerate(came[1:], start=1):
        level = levels[number]
        if not said.reached[0]:
            continue
        if level.stage == NEAREST:
            features, records = own.nearest(level.asks)
        else:
            features, machines, members = own.pairs(came[number - 1].probabilities)
        terms.append(own.terms(level, features, number))
    return CascadeExplanation(
        cascade.threshold,
        cascade.temperature,
        before + int(answer.alignments[0]),
        own.levels(levels, came, before),
        pd.concat(terms, ignore_index=True),
        records,
        machines,
        members,
    )


_NO: tuple[pd.DataFrame | None, pd.DataFrame | None, pd.DataFrame | None] = (None, None, None)


def _came(said: list[LevelAnswers], threshold: float) -> Iterator[LevelAnswers]:
    """Yield what is said at the levels that the object came to."""
    for level in said:
        yield level
        if level.probabilities.max() >= threshold:
            return


def _likeliest(probabilities: FloatArray) -> tuple[int, int]:
    first, second = np.argsort(-probabilities, kind="stable")[:2].tolist()
    return first, second


@dataclass(frozen=True, eq=False)
class _Object:
    """An object in front of a cascade, and the codes of its two likeliest classes."""

    model: Model
    cascade: Cascade
    query: Decided
    first: int
    second: int

    def levels(
        self, levels: tuple[Level, ...], came: list[LevelAnswers], before: int
    ) -> pd.DataFrame:
        """See :attr:`CascadeExplanation.levels`."""
        p = np.concatenate([said.probabilities for said in came])
        return pd.DataFrame(
            {
                "stage": [STAGES[level.stage] for level in levels[: len(came)]],
                "asked": [level.asks for level in levels[: len(came)]],
                "alignments": [before + int(said.alignments[0]) for said in came],
                "label": self._names(p.argmax(axis=1)),
                "largest": p.max(axis=1),
                "probability": p[:, self.first],
                "runner_up_probability": p[:, self.second],
            }
        )

    def terms(self, level: Level, features: FloatArray, number: int) -> pd.DataFrame:
        """Return the terms of the log odds at a level; features are (1, n_classes, n_weights)."""
        weights = self.cascade.weights[number]
        one, other = features[0, self.first], features[0, self.second]
        return pd.DataFrame(
            {
                "stage": STAGES[level.stage],
                "asked": level.asks,
                "feature": FEATURES[level.stage],
                "weight": weights,
                "value": one,
                "runner_up_value": other,
                "contribution": weights * (one - other),
            }
        )

    def nearest(self, q: int) -> tuple[FloatArray, pd.DataFrame]:
        """Return what the q nearest records say: the features, and their table."""
        records, query = self.cascade.records, self.query
        most = max(self.cascade.steps)
        near = records.index.nearest(query.rows, query.objects, most)[0, :q]
        scores = self._scores(near)
        evidence = self.cascade.evidence.evidence(
            scores,
            query.self_scores,
            records.self_scores[near],
            query.lengths,
            records.lengths[near],
        )
        classes = records.classes[near]
        table = {
            "rank": np.arange(1, len(near) + 1),
            "record": self._ids(near),
            "class": self._names(classes),
            "score": scores,
            "evalue": self.cascade.evidence.evalues(
                scores, self.query.lengths[0], self.cascade.records.lengths[near]
            ),
            "evidence": evidence,
        }
        features = nearest_features(query.decisions, classes[None], evidence[None])
        return features, pd.DataFrame(table).dropna(axis="columns", how="all")

    def pairs(
        self, before: FloatArray
    ) -> tuple[FloatArray, pd.DataFrame | None, pd.DataFrame | None]:
        """Return what the machines say: the features, their votes, and the members of one."""
        cascade, machines = self.cascade, self.cascade.machines
        assert machines is not None, "a level of pairs without machines"
        records, query, votes = cascade.records, self.query, np.zeros_like(before)
        ends, voted, members = machines.ends(records.classes), [], None
        contests = machines.contests(before, cascade.likeliest)[0]
        for pair in contests[contests >= 0].tolist():
            low, high = machines.pairs[pair].tolist()
            places = machines.members(records.classes, pair)
            scores = self._scores(places)
            similar = cascade.transform.apply(
                scores[None],
                query.self_scores,
                records.self_scores[places],
                query.lengths,
                records.lengths[places],
            )
            decision = float(machines.decide(pair, ends, similar, query.rows)[0])
            votes[0, low] += np.tanh(decision)
            votes[0, high] -= np.tanh(decision)
            one, other = self._names(np.array([low, high]))
            voted.append((one, other, decision, float(np.tanh(decision))))
            if {low, high} == {self.first, self.second}:
                sign = 1.0 if low == self.first else -1.0
                weights = machines.member_weights[ends[pair] : ends[pair + 1]]
                landmarks = float(query.rows[0] @ machines.landmark_weights[pair])
                members = self._members(
                    places,
                    scores,
                    similar[0],
                    sign * weights * similar[0],
                    [sign * landmarks, sign * float(machines.intercepts[pair])],
                )
        table = pd.DataFrame(voted, columns=["class", "against", "decision", "vote"])
        return pair_features(before, votes), table, members

    def _members(
        self,
        places: IntArray,
        scores: FloatArray,
        similar: FloatArray,
        contributions: FloatArray,
        rest: list[float],
    ) -> pd.DataFrame:
        """See :attr:`CascadeExplanation.members`."""
        table = pd.DataFrame(
            {
                "record": self._ids(places),
                "class": self._names(self.cascade.records.classes[places]),
                "score": scores,
                "transformed": similar,
                "contribution": contributions,
            }
        ).sort_values("contribution", key=abs, ascending=False, kind="stable")
        last = {"record": [LANDMARKS, INTERCEPT], "class": "", "contribution": rest}
        return pd.concat([table, pd.DataFrame(last)], ignore_index=True)

    def _scores(self, places: IntArray) -> FloatArray:
        assert self.query.ask is not None
        return np.asarray(self.query.ask(_ONE, places[None])[0])

    def _ids(self, places: IntArray) -> list[str]:
        return [self.model.record_ids[place] for place in places.tolist()]

    def _names(self, codes: IntArray) -> list[str]:
        return [self.model.classifier.classes[code] for code in codes.tolist()]


def cascade_text(found: CascadeExplanation, labels: tuple[str, str], shown: int) -> list[str]:
    """Return the lines of an explanation, with the first ``shown`` records of each table.

    Parameters
    ----------
    found : CascadeExplanation
    labels : (str, str)
        The predicted class and the runner-up.
    shown : int
    """
    one, other = labels
    last = found.levels.iloc[-1]
    out = [
        f"stages: the object goes up while its largest probability is below {found.threshold:.6g}",
        _shown(found.levels),
        "",
        f"why {one} and not {other}: the terms of the log odds at each level",
        _shown(found.terms),
    ]
    names = found.terms["stage"].combine(found.terms["asked"], _stage)
    for name, total in found.terms.groupby(names, sort=False)["contribution"].sum().items():
        out.append(f"log odds at the stage {name}: {total:.6g}")
    of_both = last[["probability", "runner_up_probability"]].to_numpy(np.float64)
    odds = float(-np.diff(np.log(np.maximum(of_both, SMALLEST)))[0])
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
            out += ["", title, *_first(table, shown)]
    if found.machines is not None and found.members is None:
        out += ["", f"no machine tells {one} from {other}"]
    return out


def answered_by(found: CascadeExplanation) -> str:
    """Return which stage answered, and what it cost."""
    level = found.terms.iloc[-1]
    name = _stage(level["stage"], level["asked"])
    return f"answered by the stage {name}, with {plural(found.alignments, 'alignment')} in all"


def _stage(stage: str, asked: int) -> str:
    return f"{stage} {asked}" if stage == STAGES[NEAREST] else stage


def _first(table: pd.DataFrame, shown: int) -> list[str]:
    """Return the first rows of a table; the rows that stand for no record are always there."""
    rest = table.iloc[:, 0].isin([LANDMARKS, INTERCEPT])
    rows, last = table[~rest], table[rest]
    out = [_shown(pd.concat([rows.head(shown), last]) if len(last) else rows.head(shown))]
    return out + ([f"... and {len(rows) - shown} more"] if len(rows) > shown else [])


def _shown(table: pd.DataFrame) -> str:
    return table.to_string(index=False, float_format=lambda value: f"{value:.6g}", na_rep="")
