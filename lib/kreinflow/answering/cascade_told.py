r"""What a cascade tells of an answer: what each level said, and of which records; and of itself.

A level is a conditional logit, so its log odds of two classes a and b are a sum:

.. math:: \log(p_a / p_b) = \sum_k w_k (x_{ak} - x_{bk}) .

a is the predicted class of the answer and b the runner-up, at all levels.
"""

from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.cascade import FEATURES, SMALLEST, Cascade, Level, LevelScores
from kreinflow.answering.parts import Section, Subject, Told
from kreinflow.answering.query_and_answers import FIRST, NEAREST, REASONS, STAGES
from kreinflow.base.numerics import FloatArray
from kreinflow.base.wording import plural

_ONE = np.zeros(1, dtype=np.int64)


def terms(cascade: Cascade, it: Subject) -> Told:
    """Return the sections of the levels that an object came to; nothing is aligned again.

    ``levels`` has a row for each, with the likeliest class there and its probability (``label``,
    ``largest``) and those of a and b. Where no record could be asked, numbers are those of the row
    before. ``terms`` has a row for each feature of a level that asked. ``records`` are those of the
    last level ``nearest``, and the landmarks. ``machines`` are those that voted, with their
    ``decision`` (above 0 for ``class``) and ``vote``, its tanh.
    """
    one, other = it.pair
    a, b = it.classes[one], it.classes[other]
    scores = cascade.scores(it.query)
    alone = it.answers.reason[0] == REASONS[3]  # these were not asked for
    answers = cascade.level_answers(scores, cascade.threshold, not alone)
    rows, of_levels, odds, found = [], [], [], {}
    before, features = None, scores.first(_ONE)
    for level, weights, now in zip(
        (Level(FIRST, 0), *cascade.levels), cascade.weights, answers, strict=True
    ):
        asked = before is None or bool(now.reached[0])
        if before is not None and asked:
            features, *_ = cascade.features(level, scores, _ONE, before)
            if level.stage == NEAREST:
                found["records"] = _nearest(cascade, it, scores, level.asks)
            else:
                found["machines"] = _machines(cascade, it, scores, before)
        stage, before = STAGES[level.stage], now.probabilities
        p, alignments = before[0], it.alignments + int(now.alignments[0])
        label = it.classes[int(p.argmax())]
        rows.append((stage, level.asks, alignments, label, p.max(), p[one], p[other]))
        if asked:
            columns: dict[str, object] = {"stage": stage, "asked": level.asks}
            columns |= {"feature": FEATURES[level.stage], "weight": weights}
            columns |= {"value": features[0, one], "runner_up_value": features[0, other]}
            contribution = weights * (features[0, one] - features[0, other])
            of_levels.append(pd.DataFrame({**columns, "contribution": contribution}))
            last = f"{stage} {level.asks}" if level.stage == NEAREST else stage
            odds.append(f"log odds at the stage {last}: {contribution.sum():.6g}")
        if p.max() >= cascade.threshold or alone:
            break
    names = ["stage", "asked", "alignments", "label", "largest"]
    levels = pd.DataFrame(rows, columns=[*names, "probability", "runner_up_probability"])
    total = float(np.log(max(p[one], SMALLEST)) - np.log(max(p[other], SMALLEST)))
    t = cascade.temperature
    odds.append(f"log odds of the answer: {total:.6g} / {t:.6g} (temperature) = {total / t:.6g}")
    rising = f"while its largest probability is below {cascade.threshold:.6g}"
    why = f"why {a} and not {b}: the terms of the log odds at each level"
    sections = {
        "levels": Section([f"stages: the object goes up {rising}"], levels, whole=True),
        "terms": Section([why], pd.concat(of_levels, ignore_index=True), whole=True),
        "odds": Section(odds),
    }
    unit = "score" if cascade.records.seeds is None else "alignment"
    cost = plural(it.alignments + int(it.answers.alignments[0]), unit)
    return Told([f"answered by the stage {last}, with {cost} in all"], sections | found)


def _nearest(cascade: Cascade, it: Subject, scores: LevelScores, q: int) -> Section:
    near, around = scores.ranked(_ONE, q)[0], scores.around(_ONE, q)[0]
    near = np.append(near, around[(around >= 0) & ~np.isin(around, near)])
    table = pd.DataFrame(
        {
            "rank": np.arange(1, len(near) + 1),
            "record": [it.record_ids[place] for place in near.tolist()],
            "class": [it.classes[code] for code in cascade.records.classes[near].tolist()],
            "score": scores.scores(_ONE, near[None])[0],
        }
    )
    title = "nearest records that were asked, then the other landmarks"
    both = it.query.lengths[0], cascade.records.lengths[near]
    table["evalue"] = cascade.evidence.evalues(table["score"].to_numpy(), *both)
    table["evidence"] = scores.evidence(_ONE, near[None])[0]
    return Section([title], table.dropna(axis="columns", how="all"))


def _machines(cascade: Cascade, it: Subject, scores: LevelScores, before: FloatArray) -> Section:
    machines, classes, voted = cascade.machines, cascade.records.classes, []
    assert machines is not None, "a level of pairs without machines"
    ends, contests = machines.ends(classes), machines.contests(before, cascade.likeliest)[0]
    for pair in contests[contests >= 0].tolist():
        similar = scores.similarities(_ONE, machines.members(classes, pair))
        decision = float(machines.decide(pair, ends, similar, it.query.rows)[0])
        low, high = machines.pairs[pair].tolist()
        voted.append((it.classes[low], it.classes[high], decision, float(np.tanh(decision))))
    columns = ["class", "against", "decision", "vote"]
    return Section(["machines that voted"], pd.DataFrame(voted, columns=columns))


def description(cascade: Cascade) -> dict[str, Any]:
    """Return the levels above the first stage, when objects go up, and what is aligned there."""
    levels = [(STAGES[FIRST], FIRST)] + [
        (f"{STAGES[stage]} {asks if stage == NEAREST else f'of {cascade.likeliest}'}", stage)
        for stage, asks in cascade.levels
    ]
    residues = cascade.records.index.objects.sequences
    where = "apart" if cascade.records.seeds else "none"
    arrays = cascade.to_parts()[1] | cascade.records.to_parts()[1]
    return {
        "asked_for": dict(cascade.about) or None,
        "levels": [name for name, _ in levels[1:]],
        "weights": {
            name: dict(zip(FEATURES[stage], own.tolist(), strict=True))
            for (name, stage), own in zip(levels, cascade.weights, strict=True)
        },
        "threshold": cascade.threshold,
        "temperature": cascade.temperature,
        "reject_threshold": cascade.reject_threshold,
        "evidence": cascade.evidence.to_dict(),
        "machines": 0 if cascade.machines is None else len(cascade.machines.pairs),
        "records": len(cascade.records),
        "residues": where if residues is None else sum(map(len, residues)),
        "bytes": sum(array.nbytes for array in arrays.values()),
    }
