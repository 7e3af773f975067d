"""The page and the files beside it: made by a run, and again from what it left."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kreinflow.artifacts import write_text
from kreinflow.plan import DatasetPlan
from kreinflow.provenance import package_versions
from kreinflow.report.crate import write_crate
from kreinflow.report.names import CONFIG, PAGE, TEXT
from kreinflow.report.page import render_report, render_text
from kreinflow.report.reading import read_dataset_report


def write_report(folder: Path, config: Mapping[str, Any]) -> None:
    """Write the page, its text, the config and the RO-Crate, from the results of a run.

    Parameters
    ----------
    folder : Path
        The results, which may have been moved.
    config : mapping
        As :func:`~kreinflow.configuration.complete_configuration` returns it.

    Raises
    ------
    InputError
        If a file of the results is damaged or not there, or one that names the folds.
    """
    here = {**config, "results": str(folder)}
    datasets = []
    for name, settings in config["datasets"].items():
        plan = DatasetPlan(here, name)
        blocks = [path for stage in ("class_scores", "columns") for path in plan.blocks(stage)]
        factors = plan.of_folds("factors", "tsv")
        datasets.append(read_dataset_report(folder / name, name, settings, blocks, factors))
    versions = package_versions()
    write_text(folder / PAGE, render_report(datasets, config, versions))
    write_text(folder / TEXT, render_text(datasets, config))
    write_text(folder / CONFIG, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
    write_crate(folder, datasets, config, versions)
