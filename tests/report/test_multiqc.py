"""The file for MultiQC: as its custom content is read, with the figures of the tables."""

import json

import pytest

from kreinflow.report.multiqc import render_multiqc
from report.made_up import dataset_report

CONTENT = {"id", "plot_type", "headers", "data"}
HEADER = {"title", "description", "min", "max", "suffix", "format", "scale"}
"""Keys of MultiQC's custom content and of a column, https://docs.seqera.io/multiqc/custom_content."""


@pytest.mark.parametrize("several", [False, True])
def test_a_row_for_each_data_set(tables, tables_of_several, several):
    data = dataset_report(tables_of_several if several else tables)
    content = json.loads(render_multiqc([data]))
    assert set(content) == CONTENT
    assert content["plot_type"] == "generalstats"
    assert all(set(column) <= HEADER for column in content["headers"].values())
    ((name, row),) = content["data"].items()
    assert name == data.name
    assert set(row) == set(content["headers"])
    own = data.own("summary").iloc[0]
    assert row["accuracy"] == pytest.approx(100 * float(own["accuracy_mean"]))
    assert row["macro_f1"] == pytest.approx(100 * float(own["macro_f1_mean"]))
    accepted = float(data.own("accepted").iloc[0]["accepted_mean"])
    assert row["accepted"] == pytest.approx(100 * accepted)
    assert row["classes"] == len(data.statistics["class_sizes"])
    assert row["records"] == data.statistics["records_kept"]
