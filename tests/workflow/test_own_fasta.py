"""The example of docs/own-fasta.md: its commands run as they stand on the page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-fasta.md").read_text()


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A copy of what the workflow is made of, in which the commands have run."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("rules", "scripts", "schemas", "lib", "report", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "mine.yaml").write_text(blocks("yaml")[0])
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(folder / "lib")}
    for block in blocks("bash"):
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_commands_leave_a_report_with_the_choice_and_a_model_that_classifies(clone):
    page = (clone / "results-mine" / "report.html").read_text()
    start = page.index('id="data-1-automatic"')
    section = page[start : page.index('id="data-1-input"', start)]
    names = re.findall(r'<th scope="row">(.*?)</th>', section)
    models = pd.read_csv(clone / "results-mine/mine/evaluation/models.tsv", sep="\t")
    assert sorted(names) == sorted(models["recipe"].unique())
    final = models[models["repeat"] < 0].set_index("recipe")
    assert final["inner_accuracy"].max() == final.loc[names[0], "inner_accuracy"]
    classified = pd.read_csv(clone / "classified.tsv", sep="\t")
    truth = classified["id"].str.split("_").str[0]
    assert len(classified) == 21
    assert (classified["label"] == truth).mean() > 0.7


def test_the_configuration_that_the_report_prints_repeats_the_run(clone):
    import html

    from kreinflow.configuration import complete_configuration

    page = (clone / "results-mine" / "report.html").read_text()
    printed = yaml.safe_load(html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]))
    assert printed == complete_configuration(printed)
    assert printed["auto"] == {"alignments": 300_000_000}
