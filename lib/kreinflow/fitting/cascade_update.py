"""Records that join a model that asks: it may ask them at once, and its parts stay as they are."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kreinflow.answering.cascade import Cascade, PairMachines
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import FIRST, NEAREST
from kreinflow.base.numerics import IntArray
from kreinflow.fitting.first_stage import FirstStage
from kreinflow.fitting.fit_unknown import LARGEST_INDEX, spread


def asking_as_before(
    first: FirstStage,
    recipe: Mapping[str, Any],
    classifier: LandmarkClassifier,
    before: LandmarkClassifier,
) -> LandmarkClassifier:
    """Return a model that was trained anew, with what asks records as it was before.

    What rests on the answers of a cascade stays, as do thresholds and p-values of relatives, and
    the closeness of what was held out: with more records objects are closer. All records join those
    that are asked.
    """
    part, landmarks = first.data.part, first.data.landmarks
    n = most = len(part.rows)
    if before.cascade is None:
        most = LARGEST_INDEX // len(landmarks.rows)
    records = first.records(landmarks, first.kernel, spread(n, most))
    assert before.records is not None, "a model that asks nothing"
    records = replace(records, seeds=before.records.seeds)  # which the weights are of
    codes = np.array([part.classes.index(label) for label in before.classes])
    classifier = replace(classifier, about={**classifier.about, "recipe": dict(recipe)})
    if before.relatives is not None:
        # A cascade keeps its thresholds. That of a first stage is found anew.
        sure = before.relatives.sure_threshold if before.cascade else None
        paths = None if classifier.levels is None else classifier.levels.paths
        relatives = replace(before.relatives, records=records, sure_threshold=sure, paths=paths)
        classifier = classifier.with_parts(relatives=relatives)
    if before.cascade is None:
        if classifier.calibration is None or before.calibration is None:
            return classifier
        own = replace(classifier.calibration, near=before.calibration.near)
        return classifier.with_parts(calibration=own)
    calibration, levels = before.calibration, before.levels
    about = {**classifier.about, "promise": before.about.get("promise")}
    classifier = replace(classifier, about=about)
    scale = before.temperature / first.classifier.temperature
    return classifier.with_parts(
        cascade=with_more_records(before.cascade, records, codes, scale),
        calibration=calibration and calibration.of_more_classes(codes, len(part.classes)),
        levels=levels and levels.of_more_classes(part.classes),
    )


def with_more_records(cascade: Cascade, records: Records, codes: IntArray, scale: float) -> Cascade:
    r"""Return a cascade that asks more records; those that it asks so far come first.

    Levels, thresholds, machines and weights stay. Two things follow the first stage, which was
    trained again. The weight of its decision f is multiplied by ``scale``, its temperature before
    in units of that now: so :math:`w f` keeps its unit. And a machine gives new members of its
    classes, and new landmarks, the weight 0. ``codes``: what each class has now, in the same order.
    """
    n = len(cascade.records)
    assert np.array_equal(records.rows[:n], cascade.records.rows), "other records come first"
    stages = [FIRST, *(level.stage for level in cascade.levels)]
    weights = tuple(
        np.append(scale * own[:1], own[1:]) if stage in (FIRST, NEAREST) else own
        for stage, own in zip(stages, cascade.weights, strict=True)
    )
    machines = cascade.machines and _machines(cascade.machines, records, n, codes)
    return replace(cascade, records=records, weights=weights, machines=machines)


def _machines(machines: PairMachines, records: Records, n: int, codes: IntArray) -> PairMachines:
    """Return machines whose classes have members behind the first n records."""
    pairs = codes[machines.pairs]
    more = len(records.landmarks) - machines.pair_landmark_weights.shape[1]
    members = [np.flatnonzero(np.isin(records.classes, pair)) for pair in pairs]
    known = np.concatenate(members) < n
    weights = np.zeros(len(known))
    weights[known] = machines.pair_member_weights
    return PairMachines(
        pairs,
        weights,
        np.pad(machines.pair_landmark_weights, ((0, 0), (0, more))),
        machines.pair_intercepts,
    )
