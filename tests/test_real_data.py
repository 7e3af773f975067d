"""The published figure on protein213; it runs where KREINFLOW_DATA names the folder of the data."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from kreinflow.configuration import load_configuration
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.landmarks.registry import make_selector
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.learners.fisher import NystroemFisher
from kreinflow.models.factors import make_factors
from kreinflow.scores import open_scores, transforms_of
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.sources.registry import make_source

ROOT = Path(__file__).parents[1]


@pytest.mark.realdata
def test_ny_ikfd_on_protein213_reaches_the_paper():
    if "KREINFLOW_DATA" not in os.environ:
        pytest.skip("KREINFLOW_DATA does not name the folder of protein213")
    folder = Path(os.environ["KREINFLOW_DATA"])
    config = load_configuration(ROOT / "examples" / "protein213.yaml")
    settings, recipe = config["datasets"]["protein213"], config["recipes"][0]
    dataset = make_source(settings["source"], folder).load(None, config["seed"])
    partition = partition_of(
        assign_folds(settings["folds"], dataset, config["seed"], folder), dataset
    )
    scores = open_scores(dataset, None, folder)
    transforms = transforms_of(["raw"], {}, None)
    everyone, own = np.arange(len(dataset.digests)), scores.self_scores()
    balls = make_selector({"method": "meb", "transform": "raw", "candidates": None})
    accuracies = []
    for name in partition.names:
        training, tested = partition.training(name), partition.testing(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # misfits of so few landmarks
            stage = LandmarkStage(dataset, scores, transforms, 1, training, name)
            table = stage.select(balls)
            assert len(table) <= 30
            rows = table["row"].to_numpy(np.int64)
            landmarks = Landmarks(
                scores.rectangle(everyone, rows),
                own,
                dataset.lengths.astype(np.float64),
                rows,
                np.array([dataset.classes.index(label) for label in table["class"]]),
                dataset.kind,
            )
            part = TrainingPart(
                dataset.rows[training],
                dataset.labels[training],
                dataset.rows[training],
                dataset.classes,
            )
            (entry,) = make_factors(landmarks, part, transforms, [recipe])
        embedding = entry.corrected["none"]
        Z = embedding.transform(landmark_kernel(landmarks, part, transforms["raw"]).C)
        fisher = NystroemFisher().fit(Z, embedding.signs, part.labels, len(dataset.classes))
        new = embedding.transform(landmarks.scores[dataset.rows[tested]])
        accuracies.append(
            np.mean(fisher.decision_function(new).argmax(axis=1) == dataset.labels[tested])
        )
    assert len(accuracies) == 100
    assert np.mean(accuracies) >= 0.967
