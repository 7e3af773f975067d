"""What is aligned over folds, selectors, more data and more landmarks: no pair twice.

A backend that writes down each pair stands in for parasail's, and so for self-scores.
"""

import numpy as np
import pytest

from kreinflow.alignment import scorer
from kreinflow.alignment.scorer import Aligner
from kreinflow.alignment.store import ScoreStore
from kreinflow.base.errors import InputError
from kreinflow.config.preflight import check_given
from kreinflow.landmarks.alignment_count import alignment_account
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import (
    LandmarkStage,
    candidate_rectangles,
    given_landmarks,
    list_candidates,
)
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import ALL, partition_of
from kreinflow.sequences.scores import open_scores, read_scheme, transforms_of
from kreinflow.sequences.sources.registry import make_source
from sequence_pairs import Counting, rectangle
from small_inputs import families, fasta_source, write_fasta

SCORING = {"matrix": "BLOSUM62", "gap_open": 11, "gap_extend": 1, "mode": "local"}


class Study:
    """One folder with a score store, filled as the rules of the workflow fill it."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.monkeypatch = folder, monkeypatch

    def read(self, records):
        write_fasta(self.folder / "x.fasta", records)
        return self.take(fasta_source(), repeats=1)

    def take(self, source, repeats):
        made = make_source(source, self.folder)
        self.dataset = made.load(made.alphabet(SCORING), 1)
        self.scheme = read_scheme(self.dataset, SCORING, self.folder)
        settings = {"method": "stratified", "k": 3, "repeats": repeats}
        self.partition = partition_of(assign_folds(settings, self.dataset, 1, ""), self.dataset)
        return self

    def _fill(self, rectangles, blocks):
        aligner = Aligner.of(self.scheme, self.dataset.sequences, self.log)
        for block in range(blocks):  # each block in a store of its own, as in jobs of their own
            store = ScoreStore(self.folder / "scores", aligner, self.dataset.digests)
            store.fill(rectangles, block, blocks)

    def run(self, *selectors, blocks=2):
        """Align for all folds of these selectors; return the pairs aligned now, and the union."""
        self.log, self.candidates = Counting(), None
        self.monkeypatch.setattr(scorer, "self_scores", self.log.self_scores)
        asked = [s for s in selectors if "candidates" in s]
        if asked:
            most = [s["candidates"] for s in asked]
            sketch = asked[0].get("sketch", 0)
            self.candidates = list_candidates(
                self.dataset, self.partition, 1, None if None in most else max(most), sketch
            )
            self._fill(candidate_rectangles(self.dataset, self.candidates), blocks)
        scores = open_scores(self.dataset, self.scheme, self.folder / "scores")
        transforms = transforms_of(["log"], {}, self.scheme)
        union = set()
        for name in [*self.partition.names, ALL]:
            training = self.partition.training(name)
            stage = LandmarkStage(self.dataset, scores, transforms, 1, training, name)
            for settings in selectors:
                given = given_landmarks(self.dataset, settings, self.folder)
                table = stage.select(make_selector(settings), given=given)
                assert len(table) == settings.get("budget", len(table))
                union.update(table["row"].tolist())
        self.union = np.array(sorted(union))
        self._fill([(np.arange(len(self.dataset.digests)), self.union)], blocks)
        assert max(self.log.pairs.values(), default=1) == 1, "no pair is aligned twice"
        return set(self.log.pairs), {self.dataset.sequences[row] for row in self.union}


@pytest.fixture
def study(tmp_path, monkeypatch):
    return Study(tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize(
    ("candidates", "sketch", "blocks"), [(8, 0, 1), (8, 6, 3), (None, 6, 2), (8, None, 2)]
)
def test_no_pair_is_aligned_twice_and_the_account_is_right(study, candidates, sketch, blocks):
    source = {"type": "simulated", "families": 3, "sequences": 90, "min_class_size": 2}
    study.take(source, repeats=2)
    methods = [
        method
        for method in sorted(set(SELECTORS) - {"all", "given"})
        if SELECTORS[method].needs != "sketch" or sketch != 0
    ]
    settings = {"budget": 9, "candidates": candidates, "sketch": sketch}
    study.run(*({"method": method, **settings} for method in methods), blocks=blocks)
    account = alignment_account(study.dataset, study.scheme, study.candidates, study.union)
    assert study.log.alone == account["self_scores"] == len(study.dataset.digests)
    assert study.log.others == account["aligned"] <= account["full_matrix"]
    assert (account["aligned"] == account["full_matrix"]) == (sketch is None)


RECORDS = families(41, each=16)


def test_with_landmarks_kept_n_added_sequences_cost_n_times_m_alignments(study):
    _, union = study.read(RECORDS).run({"method": "meb", "candidates": 5, "epsilon": 0.1})
    place = {sequence: row for row, sequence in enumerate(study.dataset.sequences)}
    rows = [place[sequence] for sequence in union]
    ids = [study.dataset.ids[list(study.dataset.rows).index(row)] for row in rows]
    lines = ["id,class", *(f"{i},x" for i in ids), f"{ids[0]},x"]  # one of them twice
    (study.folder / "kept.csv").write_text("\n".join(lines))
    kept = {"method": "given", "table": "kept.csv"}
    assert len(given_landmarks(study.dataset, kept, study.folder)) == len(union)
    assert study.run(kept) == (set(), union)

    added = [(f"new{i}", label, text) for i, label, text in families(42, each=7)]
    twins = [("twin", RECORDS[0][1], RECORDS[0][2])]  # not distinct: costs nothing
    # added in front, so that all rows have new numbers
    more, landmarks = study.read([*added, *twins, *RECORDS]).run(kept)
    assert landmarks == union
    new = {text.encode() for _, _, text in added}
    # With themselves too, for the transforms.
    assert more == {tuple(sorted((a, b))) for a in new for b in union} | {(a, a) for a in new}
    sequences, everyone = study.dataset.sequences, np.arange(len(study.dataset.digests))
    found = open_scores(study.dataset, study.scheme, study.folder / "scores")
    expected = rectangle(sequences, everyone, study.union, study.scheme)
    assert np.array_equal(found.rectangle(everyone, study.union), expected)


def test_unknown_ids_and_too_few_landmarks_are_named(study):
    study.read(RECORDS)
    path = study.folder / "kept.tsv"
    path.write_text("id\na1\nother\nb2\nanother\n")
    with pytest.raises(InputError, match="kept.tsv: 2 of 4 ids are not in .*: other, another. Tak"):
        given_landmarks(study.dataset, {"table": "kept.tsv"}, study.folder)
    path.write_text("id\na1\nb2\n")
    settings = {"kept": {"method": "given", "table": "kept.tsv"}}
    message = "selectors.kept.table: fold r0f. trains on [01] of the 2 landmarks. Name more"
    with pytest.raises(InputError, match=message):
        check_given(study.dataset, study.partition, settings, study.folder)
    path.write_text("id\n" + "".join(f"a{i}\n" for i in range(16)))
    check_given(study.dataset, study.partition, settings, study.folder)
    with pytest.raises(InputError, match="no such file"):
        given_landmarks(study.dataset, {"table": "nowhere.tsv"}, study.folder)
