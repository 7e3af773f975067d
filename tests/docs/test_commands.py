"""Every block of code on the pages is run or checked, in the order of the page, or says why not.

A comment before a block, which readers do not see, says what is done with it:

    <!-- file: NAME -->         it is written to this file
    <!-- run by: TEST -->       that test, which names the page, runs or checks it
    <!-- not run: REASON -->    nobody runs it

Other blocks of bash and Python are run in something like a clone, and YAML is checked against the
schema of the config. The two commands of the README that are marked for CI stay as they are:
`.ci/run` runs one of them. Processes have the imports done. docs/guide.md is run first, and the
others in its folder; all tests of what is left there are in this file, so that one process runs it
once.
"""

import html
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import jsonschema
import pandas as pd
import pytest
import yaml

from kreinflow.classify.classification import COLUMNS, LABELS_COLUMNS, LEVEL_COLUMNS, PROMISES
from kreinflow.classify.evidence import EVIDENCE_COLUMNS
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.schema import schema
from kreinflow.files.arrays import read_arrays
from warm.server import warm_python
from workflow.conftest import Workflow, read

ROOT = Path(__file__).parents[2]
PAGES = {path.name: path for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
FOR_CI = ("run command", "test command")

PARTS = (
    *("Snakefile", "config.yaml", "envs", "lib", "profiles", "report", "rules", "schemas"),
    "scripts",
)
BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>[^\n]+) -->\n)?^(?P<indent> *)```(?P<language>bash|python|yaml)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block of code: ``mark`` is what its comment says, ``argument`` what follows the colon."""

    language: str
    text: str
    mark: str
    argument: str


def cells(text: str) -> str:
    """Return the first cells of the tables in a text, which hold names."""
    return " ".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE))


def read_blocks(page: Path) -> list[Block]:
    """Return the blocks of a page."""
    found = []
    for match in BLOCK.finditer(page.read_text()):
        mark, _, argument = (match["mark"] or "").partition(": ")
        found.append(Block(match["language"], dedent(match["text"]), mark, argument))
    return found


BLOCKS = {name: read_blocks(path) for name, path in PAGES.items()}


@pytest.fixture(scope="module")
def run_page(tmp_path_factory):
    """A function that runs a page, once, after docs/guide.md, and returns the folder."""
    folder = tmp_path_factory.mktemp("clone")
    for part in PARTS:
        (folder / part).symlink_to(ROOT / part)
    programs = [str(Path(python).parent) for python in (warm_python(), sys.executable)]
    path = os.pathsep.join([*programs, os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "lib")}
    done = set()

    def run(name):
        if name in done:
            return folder
        done.add(name)
        if name != "guide.md":
            run("guide.md")
        for block in BLOCKS[name]:
            if block.mark == "file":
                (folder / block.argument).write_text(block.text)
            if block.mark or block.language == "yaml":
                continue
            shell = ["bash", "-euo", "pipefail", "-c"]
            finished = subprocess.run(
                [*(shell if block.language == "bash" else [warm_python(), "-c"]), block.text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert finished.returncode == 0, block.text + finished.stdout + finished.stderr
            assert "Traceback" not in finished.stderr, block.text + finished.stderr
        return folder

    return run


@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks])
def test_commands_run_or_say_why_not(run_page, name):
    run_page(name)
    for block in BLOCKS[name]:
        if block.mark == "run by":
            assert name in (ROOT / block.argument).read_text(), block
        elif block.mark == "not run":
            assert len(block.argument.split()) >= 3, block
        else:
            assert block.mark in ("", "file", *FOR_CI), block


@pytest.mark.parametrize("name", PAGES)
def test_configs_meet_the_schema(name):
    whole = {"datasets": {"demo": {"source": {"type": "simulated"}}}}
    for block in BLOCKS[name]:
        if block.language == "yaml" and block.mark in ("", "file"):
            content = yaml.safe_load(block.text)
            jsonschema.validate(whole | content, schema())
            if block.mark == "file":
                complete_configuration(content)


def test_the_commands_for_ci_are_where_they_are_looked_for():
    marks = [block.mark for block in BLOCKS["README.md"]]
    assert [mark for mark in marks if mark in FOR_CI] == list(FOR_CI)
    assert "<!-- test command -->" in (ROOT / ".ci" / "run").read_text()


# What docs/guide.md leaves behind.


def test_a_report_with_the_choice_and_a_model_that_classifies(run_page):
    folder = run_page("guide.md")
    page = (folder / "results-mine" / "report.html").read_text()
    start = page.index('id="data-1-automatic"')
    section = page[start : page.index("</table>", start)]
    names = re.findall(r'<th scope="row">(.*?)</th>', section)
    models = pd.read_csv(folder / "results-mine/mine/evaluation/models.tsv", sep="\t")
    final = models[models["repeat"] < 0].set_index("recipe")
    assert sorted(names) == sorted(final.index), "those that went on after the race"
    assert final["inner_accuracy"].max() == final.loc[names[0], "inner_accuracy"]
    classified = pd.read_csv(folder / "classified.tsv", sep="\t")
    truth = classified["id"].str.split("_").str[0]
    assert len(classified) == 21
    assert (classified["label"] == truth).mean() > 0.7


def test_the_config_that_the_page_shows_is_what_init_writes(run_page):
    folder = run_page("guide.md")
    shown = next(block.text for block in BLOCKS["guide.md"] if block.language == "yaml")
    written = (folder / "kreinflow.yaml").read_text()
    assert written[written.index("results:") :] == shown


def test_the_configuration_that_the_report_prints_repeats_the_run(run_page):
    page = (run_page("guide.md") / "results-mine" / "report.html").read_text()
    printed = yaml.safe_load(html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]))
    assert printed == complete_configuration(printed)
    assert printed["auto"] == {"alignments": 300_000_000}


def test_the_guide_names_the_columns_of_what_its_commands_write(run_page):
    folder = run_page("guide.md")

    def table(name):
        return pd.read_csv(folder / f"{name}.tsv", sep="\t")

    predictions, evidence, contributions = map(table, ("predictions", "evidence", "contributions"))
    assert tuple(predictions.columns) == COLUMNS
    assert tuple(table("sets").columns) == (*COLUMNS[:-1], *PROMISES[:2], "problem")
    assert tuple(table("accepted").columns) == (*COLUMNS[:-1], *PROMISES[2:], "problem")
    assert tuple(evidence.columns) == EVIDENCE_COLUMNS
    named = set(re.findall(r"`(\w+)`", PAGES["guide.md"].read_text()))
    written = {*COLUMNS, *LABELS_COLUMNS, *LEVEL_COLUMNS, *PROMISES, *EVIDENCE_COLUMNS}
    assert written | {*contributions.columns, *table("changes").columns} <= named
    for name in ("again", "answers"):
        assert (folder / f"{name}.tsv").read_text() == (folder / "predictions.tsv").read_text()
    assert set(evidence["query"]) == set(predictions["id"])
    first = evidence[evidence["of"] == "predicted"].groupby("query")["label"].first()
    assert first[predictions["id"]].tolist() == predictions["label"].tolist()
    assert (folder / "landmarks.fasta").read_text().startswith(">")


# The race of `auto`, in the run of docs/guide.md.


@pytest.fixture(scope="module")
def raced(run_page, tmp_path_factory):
    """The run, in a folder of its own, and its results."""
    clone, folder = run_page("guide.md"), tmp_path_factory.mktemp("race")
    for name in ("results-mine", ".snakemake"):
        shutil.copytree(clone / name, folder / name)
    for name in ("proteins.fasta", "labels.tsv"):
        shutil.copy2(clone / name, folder / name)
    shutil.copy(clone / "mine.yaml", folder / "config.yaml")
    return Workflow(folder, None, root=clone)


def went_on(results):
    race = read(results / "race.tsv")
    return race["recipe"].tolist(), race.loc[race["goes_on"] == "yes", "recipe"].tolist()


def test_recipes_that_are_behind_have_models_of_the_first_part_alone_and_are_not_the_best(raced):
    results = raced.folder / "results-mine" / "mine"
    every, kept = went_on(results)
    assert 0 < len(kept) < len(every)
    models = read(results / "evaluation" / "models.tsv")
    by_part = models.groupby(["repeat", "fold"])["recipe"].apply(list)
    assert sorted(by_part[0, 0]) == sorted(every)
    assert sorted(by_part[0, 1]) == sorted(by_part[-1, -1]) == sorted(kept)
    predictions = read(results / "evaluation" / "predictions.tsv.gz")
    assert {*predictions.loc[predictions["fold"] == 1, "recipe"]} == {*kept, "inner choice"}
    for path in results.glob("predictions/*/r0f1.tsv.gz"):
        assert set(read(path)["recipe"]) <= set(kept)
    compared = read(results / "evaluation" / "comparison.tsv").set_index("recipe")
    assert set(compared.index) == {*every, "inner choice"}
    out = compared.loc[sorted(set(every) - set(kept))]
    assert not out["best"].any()
    assert not out["indistinguishable"].any()
    page = (results.parent / "report.html").read_text()
    assert "measured on 1 of 2 folds" in page
    assert f"those that were not behind there ({len(kept)}) in 2 more" in " ".join(page.split())


def test_a_lost_race_is_run_again_and_the_recipe_that_is_named_as_final_goes_on(raced):
    assert raced.jobs() == {}
    results = raced.folder / "results-mine" / "mine"
    before = (results / "race.tsv").read_bytes()
    (results / "race.tsv").unlink()
    raced.run("--", "results-mine/mine/race.tsv")
    assert (results / "race.tsv").read_bytes() == before
    named = "many-log-sf-lsm"
    assert named not in went_on(results)[1], "it goes on anyway"
    with (raced.folder / "config.yaml").open("a") as config:
        config.write(f"    final: {named}\n")
    raced.run("--", "results-mine/mine/race.tsv")
    assert named in went_on(results)[1]
    jobs = raced.jobs()
    assert (jobs["train_models_2"], jobs["choose_final_model"]) == (1, 1)  # of two parts


# docs/files.md names every file of a run.

PLACES = {"DATASET": r"[^/]+", "SELECTOR": r"[^/]+", "METHOD": r"[^/]+", "NAME": r"[^/]+"}
PLACES |= {"BLOCK": r"\d+", "FOLD": r"(r\d+f\d+|all)"}
SCORES = r"[^/]+/scores/[0-9a-f]{16}/block_\d+_of_\d+/(\.lock|segment_\d{6}\.safetensors)"


def pattern(name):
    return re.sub(r"[A-Z]{4,}", lambda match: PLACES[match[0]], re.escape(name))


def test_every_file_is_named(run_page):
    results = run_page("guide.md") / "results-mine"
    text = PAGES["files.md"].read_text()
    names = re.findall(r"`([\w./-]+)`", text)
    known = [pattern(name) for name in names if "." in name] + [SCORES]
    files = [p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file()]
    assert len(files) > 50
    for file in files:
        assert any(re.fullmatch(name, file) for name in known), file


def test_segments_have_the_arrays_that_are_named(run_page):
    text = PAGES["files.md"].read_text()
    named = set(re.findall(r"`(\w+)`", text[text.index("### The score store") :]))
    for path in (run_page("guide.md") / "results-mine").glob("mine/scores/*/*/segment_*"):
        header, arrays = read_arrays(path, "kreinflow scores 2")
        assert {*header, *arrays} <= named
