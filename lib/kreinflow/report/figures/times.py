"""Where the time went."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.report.figures import BLUE, canvas, drawing_style, name_rows, rows_height
from kreinflow.report.times import times_by_stage


@drawing_style()
def times_figure(times: pd.DataFrame) -> Figure:
    """Draw where the time went: that of each stage, summed over its jobs.

    Parameters
    ----------
    times : DataFrame
        With the columns of :mod:`kreinflow.report.times`.
    """
    table = times_by_stage(times)
    figure = canvas(rows_height(len(table) * 1.5, 1.8))
    axes = figure.subplots()
    at = np.arange(len(table))
    axes.barh(at, table["seconds"], height=0.66, color=BLUE)
    for i, row in enumerate(table.to_dict("records")):
        jobs = f"{row['jobs']} job{'s' if row['jobs'] != 1 else ''}"
        text = f" {row['share']:.0%}: {row['seconds']:,.1f} s, {jobs}"
        axes.text(row["seconds"], i, text, va="center", fontsize=8)
    name_rows(axes, table["stage"].tolist())
    axes.set_xlim(0, max(float(table["seconds"].max()) * 1.4, 1e-3))
    axes.set_xlabel("seconds, summed over jobs (jobs may run side by side)")
    return figure
