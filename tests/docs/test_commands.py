"""Every block of code on the pages is run or checked, in the order of the page, or says why not.

A comment before a block, which readers do not see, says what is done with it:

    <!-- file: NAME -->         it is written to this file
    <!-- run by: TEST -->       that test, which names the page, runs or checks it
    <!-- not run: REASON -->    nobody runs it

Other blocks of bash and Python are run in something like a clone, and YAML is checked against the
schema of the config. The two commands of the README that are marked for CI stay as they are:
`.ci/run` runs one of them. docs/own-fasta.md is run first, and the others in its folder; all tests
of what is left there are in this file, so that one process runs it once.
"""

import html
import os
import re
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
from kreinflow.files.artifacts import read_arrays

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


def prepare_classify(folder: Path) -> None:
    """Put there what the page says is there: a model, sequences, and what it is to learn."""
    for name in ("model.safetensors", "model.learned.safetensors"):
        (folder / name).write_bytes((folder / "results-mine/mine" / name).read_bytes())
    text = (folder / "new.fasta").read_text()
    ids = re.findall("^>(.*)", text, re.MULTILINE)
    (folder / "more.fasta").write_text(text)
    lines = [f"{id}\t{id.split('_')[0]}\n" for id in ids]
    (folder / "more.tsv").write_text("id\tfamily\n" + "".join(lines))
    _, rest = text.split("\n", 1)
    (folder / "new.fasta").write_text(f">query\n{rest}")


def prepare_uniprot_scale(folder: Path) -> None:
    """Put there what the page says is there."""
    (folder / "uniprot.fasta").write_text((folder / "new.fasta").read_text())


BLOCKS = {name: read_blocks(path) for name, path in PAGES.items()}
PREPARED = {"classify.md": prepare_classify, "uniprot-scale.md": prepare_uniprot_scale}


@pytest.fixture(scope="module")
def run_page(tmp_path_factory):
    """A function that runs a page, once, after docs/own-fasta.md, and returns the folder."""
    folder = tmp_path_factory.mktemp("clone")
    for part in PARTS:
        (folder / part).symlink_to(ROOT / part)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "lib")}
    done = set()

    def run(name):
        if name in done:
            return folder
        done.add(name)
        if name != "own-fasta.md":
            run("own-fasta.md")
        PREPARED.get(name, lambda _: None)(folder)
        for block in BLOCKS[name]:
            if block.mark == "file":
                (folder / block.argument).write_text(block.text)
            if block.mark or block.language == "yaml":
                continue
            shell = ["bash", "-euo", "pipefail", "-c"]
            finished = subprocess.run(
                [*(shell if block.language == "bash" else [sys.executable, "-c"]), block.text],
                cwd=folder,
                env=environment,
                capture_output=True,
                text=True,
            )
            assert finished.returncode == 0, block.text + finished.stdout + finished.stderr
            assert "Traceback" not in finished.stderr, block.text + finished.stderr
        return folder

    return run


@pytest.mark.parametrize("name", PAGES)
def test_commands_run(run_page, name):
    run_page(name)


@pytest.mark.parametrize("name", PAGES)
def test_what_is_not_run_here_says_why(name):
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


# What docs/own-fasta.md leaves behind.


def test_a_report_with_the_choice_and_a_model_that_classifies(run_page):
    folder = run_page("own-fasta.md")
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
    folder = run_page("own-fasta.md")
    shown = next(block.text for block in BLOCKS["own-fasta.md"] if block.language == "yaml")
    written = (folder / "kreinflow.yaml").read_text()
    assert written[written.index("results:") :] == shown


def test_the_configuration_that_the_report_prints_repeats_the_run(run_page):
    page = (run_page("own-fasta.md") / "results-mine" / "report.html").read_text()
    printed = yaml.safe_load(html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)[1]))
    assert printed == complete_configuration(printed)
    assert printed["auto"] == {"alignments": 300_000_000}


# docs/classify.md names the columns of what its commands write.


def test_the_tables_name_the_columns(run_page):
    folder = run_page("classify.md")
    predictions = pd.read_csv(folder / "predictions.tsv", sep="\t")
    assert predictions["id"].iloc[0] == "query"
    assert tuple(predictions.columns) == COLUMNS
    text = PAGES["classify.md"].read_text()
    named = set(re.findall(r"`(\w+)`", cells(text)))
    contributions = pd.read_csv(folder / "contributions.tsv", sep="\t")
    lifted = {"record", "kernel", "near_scores", "near_words", "near_vectors"}
    plain = {"landmark", "score", "normalised", "transformed"}
    sets, accepted = (
        tuple(pd.read_csv(folder / f"{name}.tsv", sep="\t").columns)
        for name in ("sets", "accepted")
    )
    assert sets == (*COLUMNS[:-1], *PROMISES[:2], "problem")
    assert accepted == (*COLUMNS[:-1], *PROMISES[2:], "problem")
    own = {*COLUMNS, *LABELS_COLUMNS, *LEVEL_COLUMNS, *PROMISES, "strand"}
    changes = pd.read_csv(folder / "changes.tsv", sep="\t")
    assert set(changes["added"]) == {"yes", "no"}
    of_members = {*EVIDENCE_COLUMNS, *contributions.columns, *lifted, *plain}
    assert named == {*own, *of_members, *changes.columns}
    evidence = pd.read_csv(folder / "evidence.tsv", sep="\t")
    assert tuple(evidence.columns) == EVIDENCE_COLUMNS
    assert (folder / "answers.tsv").read_text() == (folder / "predictions.tsv").read_text()
    assert set(evidence["query"]) == set(predictions["id"])
    assert set(evidence["kind"]) == {"landmark", "record"}
    first = evidence[evidence["of"] == "predicted"].groupby("query")["label"].first()
    assert first[predictions["id"]].tolist() == predictions["label"].tolist()
    assert (folder / "landmarks.fasta").read_text().startswith(">")


# docs/files.md names every file of a run, and the columns of every table in their order.

PLACES = {
    "DATASET": r"[^/]+",
    "SELECTOR": r"[^/]+",
    "METHOD": r"[^/]+",
    "BLOCK": r"\d+",
    "FOLD": r"(r\d+f\d+|all)",
    "NAME": r"[^/]+",
}
SCORES = r"[^/]+/scores/[0-9a-f]{16}/block_\d+_of_\d+/(\.lock|segment_\d{6}\.safetensors)"


def pattern(name):
    return re.sub(r"[A-Z]{4,}", lambda match: PLACES[match[0]], re.escape(name))


@pytest.fixture(scope="module")
def text():
    return PAGES["files.md"].read_text()


@pytest.fixture(scope="module")
def tables(text):
    """The columns of each table that has a heading of its own."""
    found = {}
    for name, section in re.findall(
        r"^### `(\S+\.tsv(?:\.gz)?)`\n(.*?)(?=^##|\Z)", text, re.M | re.S
    ):
        found[name] = re.findall(r"`(\w+)`", cells(section))
    assert len(found) > 15
    return found


@pytest.fixture(scope="module")
def results(run_page):
    """Those of the page, and the factors of a recipe that learns from one: `auto` has none."""
    folder = run_page("own-fasta.md")
    config = yaml.safe_load((folder / "mine.yaml").read_text())
    config["datasets"] = {"factored": config["datasets"]["mine"]}
    config |= {
        "selectors": {"uniform": {"method": "uniform", "budget": 20}},
        "learners": {"ikfd": {"method": "ny_ikfd"}},
        "recipes": [{"name": "ikfd", "selector": "uniform", "learner": "ikfd"}],
    }
    (folder / "factored.yaml").write_text(yaml.safe_dump(config))
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(
        ["snakemake", "factor", "--cores", "2", "--quiet", "--configfile", "factored.yaml"],
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONPATH": str(folder / "lib")},
        check=True,
    )
    return folder / "results-mine"


def test_every_file_is_named(text, results):
    headings = " ".join(re.findall(r"^### (.*)", text, re.MULTILINE))
    names = re.findall(r"`([\w./-]+)`", f"{cells(text)} {headings}")
    known = [pattern(name) for name in names if "." in name] + [SCORES]
    files = [p.relative_to(results).as_posix() for p in results.rglob("*") if p.is_file()]
    assert len(files) > 50
    for file in files:
        assert any(re.fullmatch(name, file) for name in known), file


def test_tables_have_the_columns_that_are_named(tables, results):
    for name, columns in tables.items():
        found = [
            path
            for path in results.rglob("*")
            if re.fullmatch(pattern(name), path.relative_to(results).as_posix())
        ]
        assert found, name
        for path in found:
            header = list(pd.read_csv(path, sep="\t", nrows=0).columns)
            shown = ["p_CLASS" if c.startswith("p_fam") else c for c in header]
            assert list(dict.fromkeys(shown)) == columns, path


def test_arrays_have_the_names_and_types_that_are_named(text, results):
    """The arrays of a segment, of a factor file and of the model."""

    def section(heading):
        return re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", text, re.M | re.S)[1]

    for heading, glob, kind in (
        ("The score store, `DATASET/scores/`", "mine/scores/*/*/segment_*", "kreinflow scores 2"),
        (
            "`DATASET/factors/SELECTOR/FOLD.safetensors`",
            "factored/factors/*/*.safetensors",
            "kreinflow factors 1",
        ),
        ("`DATASET/model.safetensors`", "mine/model.safetensors", "kreinflow model 2"),
        (
            "`DATASET/model.learned.safetensors`",
            "mine/model.learned.safetensors",
            "kreinflow learned 1",
        ),
    ):
        named = set(re.findall(r"`([\w/]+)`", section(heading)))
        assert kind in section(heading)
        for path in results.glob(glob):
            header, arrays = read_arrays(path, kind)
            for name in {*header, *(re.sub(r"^\d+/", "0/", array) for array in arrays)}:
                shown = re.sub(r"^0/\w+/", "0/CORRECTION/", name)
                assert shown in named, (path, name)
