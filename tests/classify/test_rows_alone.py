"""A contract of all models: a row depends on its object alone, and on its better strand."""

import numpy as np
import pandas as pd
import pytest

from answering.cascades import cascade_model, related_model, with_cascade
from chimeras import chimeras, model_of_several
from kreinflow.alignment.backends import backend_named
from kreinflow.base.errors import InputError
from kreinflow.classify import new_objects
from kreinflow.classify.classification import COLUMNS, classify_batches, classify_file
from kreinflow.classify.new_objects import Options
from small_inputs import (
    DNA,
    configuration,
    families,
    fasta_source,
    lifted_model,
    model_of,
    trained_model,
    turned,
    write_fasta,
)

NEW = families(7, each=12, changed=0.6)
BAD = [("bad", "a", "M1"), ("poor", "a", "XX")]
MODELS = {
    "log": lambda folder: (model_of(folder, transform="log", seed=5)[0], [*NEW, *BAD]),
    "raw": lambda folder: (model_of(folder, transform="raw", seed=5)[0], [*NEW, *BAD]),
    "lifted": lambda folder: (lifted_model(folder, inducing=20)[0], families(4)),
    "several": lambda folder: (
        model_of_several(folder).model,
        [(f"r{i}", "x", residues) for i, residues in enumerate(chimeras()[0])],
    ),
    "cascade": lambda folder: (cascade_model(folder)[0], NEW),
    "relatives": lambda folder: (related_model(folder)[0], NEW),
}


def assert_same(one, other):
    """The same values: pandas calls a column of texts otherwise if a piece has none."""
    pd.testing.assert_frame_equal(one, other, check_dtype=False, check_exact=True)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("name", MODELS)
def test_batches_order_threads_and_backends_do_not_matter(tmp_path, monkeypatch, name):
    """Neither to the table nor to the evidence; and each record has its own fault."""
    model, records = MODELS[name](tmp_path)
    vectors = tmp_path / "v.tsv" if model.classifier.looks_at_vectors else None

    def told(some, **options):
        path, evidence, faults = write_fasta(tmp_path / "new.fasta", some), [], []
        given = {"vectors": vectors, "on_evidence": evidence.append, "on_fault": faults.append}
        pieces = list(classify_batches(model, path, Options(**given, **options)))
        whole = (
            pd.concat(part, ignore_index=True) for part in (pieces, [e.table for e in evidence])
        )
        return *whole, sum(e.alignments for e in evidence), len(pieces), len(faults)

    table, evidence, alignments, n, faults = told(records)
    assert n == 1
    assert faults == (table["problem"] != "").sum() == {"log": 2, "raw": 1}.get(name, 0)
    if name == "raw":  # it does not have to divide by the self-score of XX, which is 0
        assert np.isnan(table.set_index("id").loc["poor", "landmark_score"])
    expected = table, evidence
    for changes, options in (
        ({"_RECORDS": 7}, {"threads": 3}),
        ({"_LETTERS": 100}, {"backend": backend_named("parasail")}),
    ):
        with monkeypatch.context() as patch:
            patch.setattr("kreinflow.answering.classifier.MOST_PAIRS", 300)
            for constant, value in changes.items():
                patch.setattr(new_objects, constant, value)
            *again, as_many, pieces, _ = told(records, **options)
        assert pieces >= 5
        assert as_many == alignments
        for one, other in zip(again, expected, strict=True):
            assert_same(one, other)
    order = np.random.default_rng(0).permutation(len(records))
    shuffled, *_ = told([records[i] for i in order])
    reordered = table.iloc[order].reset_index(drop=True)
    assert_same(shuffled, reordered)
    for place in (0, len(records) // 2):
        alone, own, *_ = told([records[place]])
        assert_same(alone, table.iloc[[place]].reset_index(drop=True))
        same = evidence[evidence["query"] == records[place][0]].reset_index(drop=True)
        assert_same(own, same)
    if faults:
        with pytest.raises(InputError, match=r"new\.fasta, record \d+ \(line \d+\), "):
            classify_file(model, write_fasta(tmp_path / "new.fasta", records))


@pytest.mark.parametrize("kind", ["plain", "cascade", "lifted"])
def test_the_better_strand_is_scored_asked_and_counted_in_words(tmp_path, kind):
    records = families(5, letters=DNA, changed=0.2 if kind == "plain" else 0.5)
    write_fasta(tmp_path / "x.fasta", records)
    lift = {"views": {"words": [1, 2, 3]}, "lift": {"kernel": "gaussian", "inducing": 20}}
    config = configuration(
        fasta_source(molecule="nucleotide"),
        scoring={"matrix": "dnafull", "gap_open": 10},
        recipe=lift if kind == "lifted" else None,
    )
    model, dataset, _ = trained_model(config, tmp_path)
    if kind == "cascade":
        model = with_cascade(model, dataset, threshold=2.0, evidence="normalised")
    mixed = [r if n % 3 else turned(r) for n, r in enumerate(records)]
    new = write_fasta(tmp_path / "new.fasta", mixed)
    evidence, of_given = [], []
    asked = Options(strand="both", on_evidence=evidence.append)
    table = classify_file(model, new, asked)
    assert tuple(table.columns) == (*COLUMNS[:-1], "strand", "problem")
    assert table.pop("strand").tolist() == ["+" if n % 3 else "-" for n in range(len(records))]
    plain = classify_file(model, tmp_path / "x.fasta", Options(on_evidence=of_given.append))
    given = classify_file(model, new)
    more = table.pop("alignments") - plain.pop("alignments")
    assert (more == len(model.landmark_ids) + 1).all()
    pd.testing.assert_frame_equal(table, plain, check_exact=True)
    members = evidence[0].table
    ids = [id for i, (id, *_) in enumerate(records) if i % 3 == 0]
    assert (members.pop("strand") == np.where(members["query"].isin(ids), "-", "+")).all()
    assert_same(members, of_given[0].table)  # with the positions of the strand that was scored
    # Without being asked to turn it, the other strand is a stranger.
    assert (given["landmark_score"] < plain["landmark_score"]).sum() == 10
    assert not given["probability"].equals(plain["probability"])
