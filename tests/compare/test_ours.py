"""The run's own row: a fold's classifier gives the labels that `classify` gives."""

import numpy as np

from answering.cascades import cascade_model
from kreinflow.classify.classification import classify_file
from kreinflow.classify.new_objects import Options
from kreinflow.compare.competitor import LabelledSequences
from kreinflow.compare.ours import Ours
from small_inputs import families, lifted_model, write_fasta


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
