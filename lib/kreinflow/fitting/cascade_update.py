"""Records that join a cascade: it may ask them at once, and its levels stay as they are."""

from dataclasses import replace

import numpy as np

from kreinflow.answering.cascade import Cascade, PairMachines
from kreinflow.answering.query_and_answers import FIRST, NEAREST
from kreinflow.answering.record_scores import Records
from kreinflow.base.numerics import IntArray


def with_more_records(cascade: Cascade, records: Records, codes: IntArray, scale: float) -> Cascade:
    r"""Return a cascade that asks more records; those that it asks so far come first.

    Levels, thresholds, machines and weights stay. Two things follow the first stage, which was
    trained again. The weight of its decision f is multiplied by ``scale``, its temperature before
    in units of that now: so :math:`w f` keeps its unit. And a machine gives new members of its
    classes, and new landmarks, the weight 0. No machine votes for a class that is new. ``codes``
    has the code that each class has now; their order is the same.

    Raises ValueError if the first records or landmarks are others.
    """
    n, m = len(cascade.records), len(cascade.records.landmarks)
    if not (
        np.array_equal(records.rows[:n], cascade.records.rows)
        and np.array_equal(records.classes[:n], codes[cascade.records.classes])
        and np.array_equal(records.landmarks[:m], cascade.records.landmarks)
    ):
        raise ValueError("the records of the cascade do not come first.")
    # The weights of the levels, that of the first stage's decision scaled.
    stages = [FIRST, *(level.stage for level in cascade.levels)]
    weights = tuple(
        own * np.where(np.arange(len(own)) == 0, scale, 1.0) if stage in (FIRST, NEAREST) else own
        for stage, own in zip(stages, cascade.weights, strict=True)
    )
    machines = cascade.machines and _machines(cascade.machines, records, n, codes)
    return replace(cascade, records=records, weights=weights, machines=machines)


def _machines(machines: PairMachines, records: Records, n: int, codes: IntArray) -> PairMachines:
    """Return machines whose classes have members behind the first n records."""
    pairs = codes[machines.pairs]
    more = len(records.landmarks) - machines.pair_landmark_weights.shape[1]
    weights, start = [], 0
    for pair in pairs:
        members = np.flatnonzero(np.isin(records.classes, pair))
        known = int((members < n).sum())
        weights.append(machines.pair_member_weights[start : start + known])
        weights.append(np.zeros(len(members) - known))
        start += known
    return PairMachines(
        pairs,
        np.concatenate(weights),
        np.pad(machines.pair_landmark_weights, ((0, 0), (0, more))),
        machines.pair_intercepts,
    )
