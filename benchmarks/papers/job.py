"""One job of the Snakefile: an experiment, a figure, or the page."""

from pathlib import Path

from kreinflow.files.atomic import write_text
from kreinflow.files.console import Console, logged
from kreinflow.files.provenance import package_versions
from kreinflow.files.tables import read_table, write_table
from papers.experiments import load_experiments
from papers.figures import PLOTS
from papers.page import render_page
from papers.run import run_experiment
from papers.style import save_png
from papers.tables import compare, read_published


def run(console: Console) -> None:
    params = snakemake.params
    lines = run_experiment(**params.measured, data_folder=Path(params.data), seed=params.seed)
    console.say("\n" + lines.groupby("recipe", sort=False)["accuracy"].mean().to_string())
    write_table(snakemake.output[0], lines)


def draw(console: Console) -> None:
    plot = PLOTS[snakemake.wildcards.figure]
    table = plot.measure(snakemake.params.seed, Path(snakemake.params.data))
    write_table(snakemake.output.table, table)
    save_png(plot.draw(table), snakemake.output.image)
    console.say(f"{len(table)} rows")


def write_page(console: Console) -> None:
    files, text = snakemake.input, ["recipe", "hyper_parameters", "failure"]
    results = {Path(path).stem: read_table(path, text, text) for path in files.experiments}
    table = compare(read_published(), load_experiments(), results)
    write_table(snakemake.output.table, table)
    images = {Path(path).stem: Path(path).read_bytes() for path in files.figures}
    write_text(snakemake.output.page, render_page(table, images, package_versions()))
    console.say(f"{table['our_accuracy'].notna().sum()} rows")


with logged(snakemake.log[0]) as opened:
    {"run_experiment": run, "draw_figure": draw, "write_page": write_page}[snakemake.rule](opened)
