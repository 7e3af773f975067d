"""The table by identity to the best hit, by a loop over the records."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from evaluation.test_best_hit import made_up, of_a_loop
from kreinflow.answering.query_and_answers import REASONS
from kreinflow.evaluation.identity import (
    EDGES,
    IDENTITY_COLUMNS,
    IN_SETS,
    SHARES,
    identity_table,
)


def with_reasons(predictions):
    rng = np.random.default_rng(5)
    held = {name: rng.integers(2, size=len(predictions)) for name in IN_SETS}
    reasons = rng.choice(REASONS, len(predictions), p=[0.4, 0.2, 0.2, 0.2])
    return predictions.assign(reason=reasons, **held)


@pytest.mark.parametrize("lost", [False, True])
def test_it_is_what_a_loop_finds(lost):
    """The hits are those of the recipe that compared the most; of some no identity is known."""
    predictions, groups = made_up(asks=(0.7, 0.5, 20), all=(0.6, 0.8, 60))
    predictions = with_reasons(predictions)
    if lost:
        predictions["hit_identity"] = predictions["hit_identity"].mask(predictions["id"] < "s3")
    known = predictions["recipe"] == "all"
    predictions.loc[predictions.index[known][: len(EDGES)], "hit_identity"] = EDGES
    identities = predictions[known].set_index(["repeat", "id"])["hit_identity"]
    table = identity_table(predictions)
    assert tuple(table) == IDENTITY_COLUMNS
    for recipe, rows in table.groupby("recipe"):
        part = predictions[predictions["recipe"] == recipe]
        right, hits, *_ = of_a_loop(predictions, groups, recipe, "all")
        bins = {edges: [] for edges in pairwise(EDGES)}
        for line, ours, theirs in zip(part.to_dict("records"), right, hits, strict=True):
            identity, reason = identities[line["repeat"], line["id"]], line["reason"]
            for (low, high), own in bins.items():
                if low <= identity < high or identity == high == 1:
                    told = [reason == why for why in REASONS] + [line[name] for name in IN_SETS]
                    own.append((identity, ours, theirs, *told))
        assert sum(map(len, bins.values())) == rows["records"].sum()
        assert rows["records"].sum() == identities.notna().sum()
        for row in rows.to_dict("records"):
            own = bins.pop((row["low"], row["high"]))
            assert row["records"] == len(own)
            shares = [row[name] for name in ("identity", *SHARES, *IN_SETS)]
            np.testing.assert_allclose(shares, np.mean(own, axis=0))
        assert not any(bins.values()), "bins without records have no row"
    unknown = identity_table(predictions.drop(columns="beyond").assign(held_90=pd.NA))
    assert unknown[["beyond", "held_90"]].isna().all(axis=None)
    assert unknown["held_95"].equals(table["held_95"])


def test_without_hits_or_sequences_there_are_no_rows():
    for recipes, identity in (({"good": (0.9, 0, 0)}, 0.5), ({"all": (0.9, 0.8, 60)}, "")):
        predictions = with_reasons(made_up(**recipes)[0]).assign(hit_identity=identity)
        table = identity_table(predictions)
        assert table.empty
        assert tuple(table) == IDENTITY_COLUMNS
