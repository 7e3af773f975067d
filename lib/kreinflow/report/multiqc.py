"""What MultiQC shows of a run: columns of its general statistics, a row for each data set."""

import json
from collections.abc import Sequence

from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import numbers
from kreinflow.report.words import asked_on_outer_folds

_SHARE = {"min": 0, "max": 100, "suffix": "%", "format": "{:,.1f}", "scale": "RdYlGn"}
_COUNT = {"min": 0, "format": "{:,.0f}", "scale": "Blues"}
HEADERS = {
    "accuracy": {"title": "Accuracy", "description": "on the outer folds", **_SHARE},
    "macro_f1": {"title": "Macro F1", "description": "on the outer folds", **_SHARE},
    "accepted": {"title": "Accepted", "description": "of records of the outer folds", **_SHARE},
    "records": {"title": "Records", "description": "that were learned from", **_COUNT},
    "classes": {"title": "Classes", "description": "of these", **_COUNT},
    "landmarks": {"title": "Landmarks", "description": "of the final model", **_COUNT},
    "asked": {"title": "Scores", "description": "that a query takes, on the mean", **_COUNT},
}
"""The columns, by their names in the file."""


def render_multiqc(datasets: Sequence[DatasetResults]) -> str:
    """Return a file of MultiQC's custom content, as JSON; what is not known has no cell."""
    rows = {}
    for data in datasets:
        tables = {"accuracy": "summary", "macro_f1": "summary", "accepted": "accepted"}
        shares = {
            name: 100 * float(numbers(data.own(table)[f"{name}_mean"])[0])
            for name, table in tables.items()
        }
        counts = {
            "records": float(data.statistics["records_kept"]),
            "classes": float(len(data.statistics["class_sizes"])),
            "landmarks": float(data.final["landmarks"]),
            "asked": asked_on_outer_folds(data) or float(data.final["alignments_per_query"]),
        }
        rows[data.name] = {k: value for k, value in (shares | counts).items() if value == value}
    content = {"id": "kreinflow", "plot_type": "generalstats", "headers": HEADERS, "data": rows}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
