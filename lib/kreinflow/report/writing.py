"""The page and the files beside it: made by a run, and again from what it left."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kreinflow.config.plan import DatasetPlan
from kreinflow.files.atomic import write_bytes
from kreinflow.files.provenance import package_versions
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from kreinflow.report.crate import render_crate
from kreinflow.report.names import CONFIG, CRATE, PAGE, TEXT, WORKFLOW
from kreinflow.report.page import render_report, render_text
from kreinflow.report.reading import read_dataset_report


def write_report(folder: Path, config: Mapping[str, Any], again: bool = False) -> None:
    """Write the page, its text, the config and the RO-Crate, from the results of a run.

    Nothing is written before all of it is made.

    Parameters
    ----------
    folder : Path
        The results, which may have been moved.
    config : mapping
        As :func:`~kreinflow.config.configuration.complete_configuration` returns it.
    again : bool
        Whether the run is over, and may be of another version: its Snakefile stays.

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
    written = {
        PAGE: render_report(datasets, config, versions).encode(),
        TEXT: render_text(datasets, config).encode(),
        CONFIG: yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True).encode(),
    }
    if not (again and (folder / WORKFLOW).exists()):
        written[WORKFLOW] = (WORKFLOW_FOLDER / "Snakefile").read_bytes()
    crate = render_crate(folder, datasets, config, versions, written, again)
    for name, content in {**written, CRATE: crate.encode()}.items():
        write_bytes(folder / name, content)
