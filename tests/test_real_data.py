"""The published figure on protein213; it runs where KREINFLOW_DATA names the folder of the data."""

import os
from pathlib import Path

import pytest

from kreinflow.config.configuration import load_configuration
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.sources.registry import make_source
from papers.cross_validation import cross_validate

ROOT = Path(__file__).parents[1]


@pytest.mark.realdata
@pytest.mark.filterwarnings("ignore::UserWarning")  # misfits of so few landmarks
def test_ny_ikfd_on_protein213_reaches_the_paper():
    if "KREINFLOW_DATA" not in os.environ:
        pytest.skip("KREINFLOW_DATA does not name the folder of protein213")
    folder = Path(os.environ["KREINFLOW_DATA"])
    config = load_configuration(ROOT / "examples" / "protein213.yaml")
    settings = config["datasets"]["protein213"]
    dataset = make_source(settings["source"], folder).load(None, config["seed"])
    folds = assign_folds(settings["folds"], dataset, config["seed"], folder)
    found = cross_validate(dataset, partition_of(folds, dataset), config)
    assert (found["failure"] == "").sum() == 100
    assert (found["landmarks"] <= 30).all()
    assert found["accuracy"].mean() >= 0.967
