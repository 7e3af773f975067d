"""Over folds, selectors and both kinds of scores, no pair is aligned twice, and all are counted."""

from pathlib import Path

import numpy as np
import pytest

from kreinflow.alignment.engine import align_pairs
from kreinflow.alignment.store import ScoreStore
from kreinflow.costs import alignment_account
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import LandmarkStage, candidate_rectangles, list_candidates
from kreinflow.scores import open_scores, read_scheme, transforms_of
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import ALL, partition_of
from kreinflow.sequences.sources.registry import make_source

SOURCE = {"type": "simulated", "families": 3, "sequences": 90, "min_class_size": 2}
SCORING = {"matrix": "BLOSUM62", "gap_open": 11, "gap_extend": 1, "mode": "local"}


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize(
    ("candidates", "sketch", "blocks"), [(8, 0, 1), (8, 6, 3), (None, 6, 2), (8, None, 2)]
)
def test_no_pair_is_aligned_twice_and_the_account_is_right(tmp_path, candidates, sketch, blocks):
    source = make_source(SOURCE)
    dataset = source.load(source.alphabet(SCORING), 1)
    scheme = read_scheme(dataset, SCORING, ".")
    folds = assign_folds({"method": "stratified", "k": 3, "repeats": 2}, dataset, 1, Path("."))
    partition = partition_of(folds, dataset)
    log = []

    def counting(packed, left, right, scheme, threads):
        residues = [
            packed.letters[a:b].tobytes()
            for a, b in zip(packed.offsets[:-1], packed.offsets[1:], strict=True)
        ]
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            log.append(tuple(sorted((residues[i], residues[j]))))
        return align_pairs(packed, left, right, scheme, threads)

    def fill(rectangles):
        for block in range(blocks):  # each block in a store of its own, as in jobs of their own
            store = ScoreStore(tmp_path, scheme, dataset.sequences, dataset.digests, counting)
            store.fill(rectangles, block, blocks)

    chosen = list_candidates(dataset, partition, 1, candidates, sketch)
    fill(candidate_rectangles(dataset, chosen))

    scores = open_scores(dataset, scheme, tmp_path)
    transforms = transforms_of(["log"], {}, scheme)
    union = set()
    for name in [*partition.names, ALL]:
        stage = LandmarkStage(dataset, scores, transforms, 1, partition.training(name), name)
        for method in sorted(set(SELECTORS) - {"all", "given"}):
            if SELECTORS[method].needs == "sketch" and sketch == 0:
                continue
            settings = {"method": method, "budget": 9, "candidates": candidates, "sketch": sketch}
            table = stage.select(make_selector(settings))
            assert len(table) == 9
            union.update(table["row"].tolist())
    rows = np.array(sorted(union))
    fill([(np.arange(len(dataset.digests)), rows)])

    assert len(log) == len(set(log))
    account = alignment_account(dataset, scheme, chosen, rows)
    own = [pair for pair in log if pair[0] == pair[1]]
    assert len(own) == account["self_scores"] == len(dataset.digests)
    assert len(log) - len(own) == account["aligned"] <= account["full_matrix"]
    assert (account["aligned"] == account["full_matrix"]) == (sketch is None)
