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
        own = data.own("summary"), data.own("accepted")
        means = own[0]["accuracy_mean"], own[0]["macro_f1_mean"], own[1]["accepted_mean"]
        shares = [100 * float(numbers(mean)[0]) for mean in means]
        asked = asked_on_outer_folds(data) or float(data.final["alignments_per_query"])
        kept, classes = data.statistics["records_kept"], len(data.statistics["class_sizes"])
        counts = kept, classes, int(data.final["landmarks"]), asked
        found = dict(zip(HEADERS, (*shares, *counts), strict=True))
        rows[data.name] = {name: value for name, value in found.items() if value == value}
    content = {"id": "kreinflow", "plot_type": "generalstats", "headers": HEADERS, "data": rows}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
