"""Writes the page, and what the results are as an RO-Crate."""

from pathlib import Path

from kreinflow.artifacts import write_text
from kreinflow.console import logged
from kreinflow.provenance import package_versions
from kreinflow.report.crate import write_crate
from kreinflow.report.page import render_report
from kreinflow.report.reading import read_dataset_report

with logged(snakemake.log[0]) as console:
    config, versions = snakemake.params.config, package_versions()
    results = Path(snakemake.output.page).parent
    datasets = [
        read_dataset_report(
            results / name,
            name,
            part,
            [path for path in snakemake.input.aligned if Path(path).parents[1].name == name],
            [path for path in snakemake.input.factors if Path(path).parents[2].name == name],
        )
        for name, part in config["datasets"].items()
    ]
    page = render_report(datasets, config, versions)
    write_text(snakemake.output.page, page)
    write_crate(results, datasets, config, versions)
    console.say(f"{len(page.encode()) / 1e6:.2f} MB")
