"""The run's own row: a fold's classifier gives the labels that `classify` gives."""

import numpy as np

from kreinflow.classify.classification import classify_file
from kreinflow.competitors.competitor import Records
from kreinflow.competitors.ours import Ours
from small_inputs import lifted_model


def test_a_model_that_looks_at_vectors_gets_those_of_its_queries(tmp_path):
    model, dataset = lifted_model(tmp_path, inducing=20, changed=0.6)
    labels = [dataset.classes[code] for code in dataset.labels]
    vectors = dict(zip(dataset.sequences, dataset.vectors, strict=True))
    ours = Ours(model, 5.0, vectors)
    ours.fit(Records(dataset.sequences, labels), tmp_path, 1)
    order = np.random.default_rng(1).permutation(len(dataset.sequences))
    found = ours.predict([dataset.sequences[row] for row in order])
    table = classify_file(model, tmp_path / "x.fasta", vectors=tmp_path / "v.tsv")
    assert found == table["label"][order].tolist()
    assert len(set(found)) == 3
