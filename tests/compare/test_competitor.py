"""Each competitor learns simulated families; tools that are not installed are skipped."""

import os
import stat
import sys

import numpy as np
import pandas as pd
import parasail
import pytest

from answering.cascades import cascade_model
from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.classify.classification import classify_file
from kreinflow.classify.new_objects import Options
from kreinflow.compare.competitor import (
    FOLD_COLUMNS,
    TESTS_NOTHING,
    ComparedFold,
    Competitor,
    LabelledSequences,
    quality,
    run_competitor,
)
from kreinflow.compare.competitors import COMPETITORS, Blast, WordsAlone, best_hits
from kreinflow.compare.methods import COMPETITORS as NAMES
from kreinflow.compare.methods import (
    OURS,
    UnavailableError,
    package_version,
    program_version,
    run_program,
    version_or_reason,
)
from kreinflow.compare.ours import Ours, TrainedFold, run_ours, training_alignments
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.simulation import simulate_families
from kreinflow.sequences.sources.registry import make_source
from sequence_pairs import too_large
from small_inputs import families, lifted_model, write_fasta

SCHEME = ScoringScheme(load_substitution_matrix("BLOSUM62"))


@pytest.fixture(scope="module")
def simulated():
    """Training records of four families, and queries: some with each ninth residue lost."""
    drawn = simulate_families(4, 40, seed=5)
    sequences = [s.residues for s in drawn]
    labels = [s.label for s in drawn]
    queries = [
        bytes(letter for place, letter in enumerate(sequence, start=1) if place % 9)
        for sequence in sequences[::2]
    ]
    return LabelledSequences(sequences, labels), queries, labels[::2]


def made(name, folder, simulated, threads=1):
    competitor = COMPETITORS[name](SCHEME, "protein")
    if (version := version_or_reason(name)).startswith("not available"):
        pytest.skip(version)
    folder.mkdir(exist_ok=True)
    competitor.load()
    competitor.fit(simulated[0], folder, threads)
    return competitor


def test_each_has_a_name_for_people_in_the_order_of_the_tables():
    assert list(NAMES) == list(COMPETITORS)


@pytest.mark.parametrize("name", COMPETITORS)
def test_families_are_learned_whatever_the_threads_and_the_batch(name, tmp_path, simulated):
    _, queries, labels = simulated
    one = made(name, tmp_path / "one", simulated)
    found = one.predict(queries)
    assert np.mean([a == b for a, b in zip(found, labels, strict=True)]) >= 0.9
    assert one.model_bytes > 0
    two = made(name, tmp_path / "two", simulated, threads=2)
    assert two.predict(queries) == found
    assert two.predict(queries[:3]) == found[:3]


@pytest.mark.parametrize("name", ["blast", "diamond", "mmseqs2", "profile_hmm"])
def test_what_is_like_nothing_else_has_no_class(name, tmp_path, simulated):
    competitor = made(name, tmp_path, simulated)
    assert competitor.predict([b"PGPGPGPG", simulated[1][0]])[0] is None


def test_the_nearest_neighbour_has_the_highest_score_of_parasail(tmp_path, simulated):
    train, queries, _ = simulated
    competitor = made("smith_waterman", tmp_path, simulated)
    assert competitor.alignments_per_query == len(train.sequences)
    for query, label in zip(queries[:5], competitor.predict(queries[:5]), strict=True):
        scores = [
            parasail.sw_striped_32(query.decode(), other.decode(), 11, 1, parasail.blosum62).score
            for other in train.sequences
        ]
        assert label == train.labels[int(np.argmax(scores))]


def test_scores_of_the_nearest_neighbour_are_held_against_parasail(
    tmp_path, simulated, monkeypatch
):
    competitor = made("smith_waterman", tmp_path, simulated)
    monkeypatch.setattr("kreinflow.compare.competitors.backend_named", lambda name: too_large)
    with pytest.raises(KreinflowError, match=r"score \d+, by parasail \d+. This is a fault"):
        competitor.predict(simulated[1][:2])


def test_profiles_are_the_same_each_time(tmp_path):
    """FAMSA's refinement aligns these families otherwise in one of some five runs."""
    pytest.importorskip("pyhmmer")
    pytest.importorskip("pyfamsa")
    import random

    letters, families = "ACDEFGHIKLMNPQRSTVWY", []
    for seed, size, length in ((8, 3, 60), (85, 4, 40), (104, 3, 60), (110, 5, 80)):
        drawn = random.Random(seed)
        first = drawn.choices(letters, k=length)
        for _ in range(size):
            kept = (
                drawn.choice(letters) if drawn.random() < 0.6 else c
                for c in first
                if drawn.random() < 0.85
            )
            families.append((str(seed), "".join(kept).encode()))
    labels, sequences = zip(*families, strict=True)
    files = set()
    for run in range(20):
        folder = tmp_path / str(run)
        folder.mkdir()
        competitor = COMPETITORS["profile_hmm"](SCHEME, "protein")
        competitor.load()
        competitor.fit(LabelledSequences(sequences, labels), folder, 1)
        lines = (folder / "profiles.hmm").read_text().splitlines()
        files.add("\n".join(line for line in lines if not line.startswith("DATE")))
    assert len(files) == 1


def put_program(folder, name, text):
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def fake_blast(tmp_path, monkeypatch):
    """Programs in place of BLAST's; the second writes the table of hits that it is told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    text = "import sys\nif '-out' in sys.argv: open('db.psq', 'w').write('12345')\n"
    put_program(folder, "makeblastdb", text)
    put_program(
        folder,
        "blastp",
        "import os, sys\n"
        "assert os.environ['BLAST_USAGE_REPORT'] == 'false'\n"
        "if '-version' in sys.argv:\n    print('blastp: 9.9.9+\\nmore')\n"
        "else:\n    open('hits.tsv', 'w').write(os.environ['FAKE_HITS'])\n",
    )
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_the_highest_bit_score_is_the_best_hit(fake_blast, tmp_path, monkeypatch):
    hits = "s0 s2 1e-5 40.5,s0 s1 1e-9 61.2,s2 s2 0.1 20,s2 s0 0.01 20,s3 s2 1 18,s3 s1 1 18"
    monkeypatch.setenv("FAKE_HITS", hits.replace(" ", "\t").replace(",", "\n"))
    blast = Blast(SCHEME, "protein")
    assert version_or_reason("blast") == "BLAST+ 9.9.9+"
    database = tmp_path / "database"
    database.mkdir()
    blast.fit(LabelledSequences([b"AAA", b"CCC", b"DDD"], ["a", "c", "d"]), database, 1)
    assert (database / "train.fasta").read_text() == ">s0\nAAA\n>s1\nCCC\n>s2\nDDD\n"
    assert blast.predict([b"A", b"C", b"D", b"E"]) == ["c", None, "a", "c"]
    assert blast.model_bytes == 5


def test_a_missing_or_failing_program_is_told(tmp_path, monkeypatch):
    put_program(tmp_path, "breaks", "import sys\nsys.exit('first\\nno space left\\n')")
    with pytest.raises(UnavailableError, match="ended with code 1: no space left"):
        run_program(tmp_path, str(tmp_path / "breaks"))
    with pytest.raises(UnavailableError, match="package no-such-package is not installed"):
        package_version("no-such-package")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="nowhere is not on PATH"):
        program_version("nowhere")
    assert version_or_reason("blast") == "not available: makeblastdb is not on PATH"
    assert version_or_reason("smith_waterman").startswith("parasail ")


class Constant(Competitor):
    """Says the same of all but the shortest query, of which it says nothing."""

    name = "smith_waterman"
    proteins_only = True

    def fit(self, train, folder, threads):
        self.label, self.train, self.model_bytes = train.labels[0], train, 7

    def predict(self, queries):
        self.queries = queries
        shortest = min(map(len, queries))
        return [None if len(query) == shortest else self.label for query in queries]


@pytest.fixture(scope="module")
def dataset():
    source = {"type": "simulated", "families": 3, "sequences": 30}
    return make_source(source).load(SCHEME.matrix.alphabet, 1)


@pytest.fixture(scope="module")
def fold(dataset):
    """The folds by number; the third tests nothing."""
    folds = np.arange(len(dataset.ids)) % 2
    table = pd.DataFrame({"id": dataset.ids, "group": dataset.rows, "repeat": 0, "fold": folds})
    partition = partition_of(table, dataset)
    return lambda number: ComparedFold(dataset, partition, f"r0f{number}")


def test_unassigned_is_wrong_and_no_class():
    found = quality(["a", "a", "b", "b"], ["a", "", "b", "a"])
    assert found["accuracy"] == 0.5
    assert found["unassigned"] == 0.25
    # a: precision 1/2, recall 1/2; b: precision 1, recall 1/2
    assert found["macro_f1"] == pytest.approx((0.5 + 2 / 3) / 2)


def test_a_fold_learns_from_its_training_part_alone(fold, tmp_path, monkeypatch):
    competitor, dataset, partition = Constant(SCHEME, "protein"), fold(1).dataset, fold(1).partition
    ticks = iter([10.0, 12.0, 15.0])
    monkeypatch.setattr("kreinflow.compare.competitor.perf_counter", lambda: next(ticks))
    figures, predictions = run_competitor(competitor, fold(1), tmp_path, 1)
    tested = {dataset.sequences[row] for row in dataset.rows[partition.testing("r0f1")]}
    assert set(competitor.queries) == tested
    assert tested.isdisjoint(competitor.train.sequences)
    assert len({*tested, *competitor.train.sequences}) == len(dataset.sequences)
    known = dict(zip(dataset.sequences, dataset.row_labels, strict=True))
    assert [known[s] for s in competitor.train.sequences] == list(competitor.train.labels)
    assert list(figures) == list(FOLD_COLUMNS)
    assert figures["train_seconds"] == 2
    assert figures["query_seconds"] == 3000 / len(tested)
    assert figures["records"] == len(predictions) == partition.testing("r0f1").sum()
    right = predictions["true"] == predictions["predicted"]
    assert figures["accuracy"] == right.mean()


class Missing(Constant):
    name = "blast"


class Broken(Constant):
    def predict(self, queries):
        raise UnavailableError("it ended with code 1: no")


@pytest.mark.parametrize(
    ("kind", "molecule", "reason"),
    [
        (Missing, "protein", "makeblastdb is not on PATH"),
        (Broken, "protein", "it ended with code 1: no"),
        (Constant, "nucleotide", "for proteins only"),
    ],
)
def test_what_cannot_run_is_a_row_with_its_reason(
    fold, tmp_path, kind, molecule, reason, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    figures, predictions = run_competitor(kind(SCHEME, molecule), fold(0), tmp_path, 1)
    assert figures["reason"] == reason
    assert np.isnan(figures["accuracy"])
    assert predictions.empty


def test_a_fold_that_tests_nothing_is_a_row_with_that_reason(fold, tmp_path):
    # `count_folds` knows how many folds are wanted, not which clusters there are.
    competitor = run_competitor(Constant(SCHEME, "protein"), fold(2), tmp_path, 1)
    ours = run_ours(Ours(None), fold(2), TrainedFold({}, {}, 0, 1.0), tmp_path, 1)
    for method, (figures, predictions) in {Constant.name: competitor, OURS: ours}.items():
        assert list(figures) == list(FOLD_COLUMNS)
        assert (figures["method"], figures["fold"], figures["records"]) == (method, 2, 0)
        assert figures["reason"] == TESTS_NOTHING
        assert np.isnan(figures["accuracy"])
        assert predictions.empty


def test_alignments_of_the_training_part_are_counted(dataset, fold):
    training = fold(0).partition.training("r0f0")
    n, sizes = int(training.sum()), np.bincount(dataset.labels[training])

    def count(**selector):
        return training_alignments(fold(0), selector, 4)

    assert count() == 4 * n
    assert count(candidates=None) == 4 * n + (sizes**2).sum()
    assert count(candidates=2) == 4 * n + 2 * n
    assert count(sketch=3) == 4 * n + 3 * n


def test_a_model_that_looks_at_vectors_gets_those_of_its_queries(tmp_path):
    model, dataset = lifted_model(tmp_path, inducing=20, changed=0.6)
    labels = [dataset.classes[code] for code in dataset.labels]
    vectors = dict(zip(dataset.sequences, dataset.vectors, strict=True))
    ours = Ours(model, vectors)
    ours.fit(LabelledSequences(dataset.sequences, labels), tmp_path, 1)
    order = np.random.default_rng(1).permutation(len(dataset.sequences))
    found = ours.predict([dataset.sequences[row] for row in order])
    table = classify_file(model, tmp_path / "x.fasta", Options(vectors=tmp_path / "v.tsv"))
    assert found == table["label"][order].tolist()
    assert len(set(found)) == 3
    assert ours.alignments_per_query == len(model.landmark_ids) + 1


def test_the_alignments_are_those_of_the_queries(tmp_path):
    model, dataset = cascade_model(tmp_path)
    labels = [dataset.classes[code] for code in dataset.labels]
    ours = Ours(model)
    ours.fit(LabelledSequences(dataset.sequences, labels), tmp_path, 1)
    new = families(7, each=20, changed=0.6)
    found = ours.predict([residues.encode() for *_, residues in new])
    table = classify_file(model, write_fasta(tmp_path / "new.fasta", new))
    assert found == table["label"].tolist()
    assert ours.alignments_per_query == np.mean(table["alignments"].tolist())
    assert len(set(table["stage"])) > 1
    assert ours.model_bytes == (tmp_path / "model.safetensors").stat().st_size


def test_labels_that_say_nothing_are_not_learned(tmp_path):
    """The inner folds choose; noise must not come out of them as more than chance."""
    drawn = simulate_families(5, 120, seed=2)
    sequences, labels = [s.residues for s in drawn], [s.label for s in drawn]
    queries, labels, known = sequences[1::2], labels[1::2], labels[::2]
    random = np.random.default_rng(3)
    right = []
    for _ in range(3):
        shuffled = random.permutation(known).tolist()
        competitor = WordsAlone(SCHEME, "protein")
        competitor.fit(LabelledSequences(sequences[::2], shuffled), tmp_path, 1)
        found = competitor.predict(queries)
        right += [a == b for a, b in zip(found, labels, strict=True)]
    assert np.mean(right) < 0.2 + 4 * np.sqrt(0.2 * 0.8 / len(queries))


def test_a_table_of_hits_that_cannot_be_read_is_refused_with_its_line(tmp_path):
    hits = tmp_path / "hits.tsv"
    hits.write_text("s0\ts3\t1e-9\t50\ns0\ts2\t1e-9\t60\n")
    assert best_hits(hits) == {0: 2}
    hits.write_text("s0\ts3\t1e-9\t50\n# a comment\n")
    with pytest.raises(InputError, match=r"hits\.tsv: line 2 is not a query, a target, .*comment"):
        best_hits(hits)
