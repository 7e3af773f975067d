"""What the crate says of a run, on results that are made up."""

import base64
import json
import re
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.plan import DatasetPlan
from kreinflow.report.crate import PAGES, PRODUCTS, PROFILES, _products, render_crate
from kreinflow.report.names import CONFIG, CRATE, WORKFLOW
from small_inputs import configuration

ENDED = "2026-01-02T03:04:05+00:00"
VERSIONS = {"python": "3.11.9", "kreinflow": "1.0", "numpy": "2.0", "snakemake": "9.27"}
VERSIONS["parasail"] = "not installed"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def settings(data):
    """Two data sets of sequences: one with new objects and classes held out, one downloaded."""
    source = {"type": "fasta", "fasta": "mine.fasta", "labels": {"table": "mine.tsv"}}
    download = {"url": "https://example.org/sprot.dat", "release": "2025_01", "sha256": "ab" * 32}
    other = {"type": "swissprot", "swissprot": "sprot.dat", "labels": {"from": "prosite"}}
    new = {"dataset": "mine", "input": "new.fasta"}
    config = configuration(source, data=str(data), classify={"later": new})
    config["datasets"]["mine"]["unknown"] = ["odd"]
    config["datasets"]["a+b"] = {"source": other | {"download": download}, "folds": {"k": 2}}
    config["datasets"]["mine"]["folds"] = {"method": "table", "table": "folds.tsv"}
    return complete_configuration(config, "config.yaml")


@pytest.fixture
def run(tmp_path):
    """A function that renders the crate of a run, and its parts."""
    data, results = tmp_path / "somebody" / "data", tmp_path / "results"
    results.mkdir()
    data.mkdir(parents=True)
    for name in ("mine.fasta", "mine.tsv", "new.fasta", "sprot.dat"):
        (data / name).write_text(f"the file {name}")
    (data / "folds.tsv").write_text("id\tfold\na\t0\nb\t1\n")
    config, datasets = settings(data), []
    for name in config["datasets"]:
        plan = DatasetPlan(config | {"results": str(results)}, name)
        for file in _products(plan):
            (results / name / file).parent.mkdir(parents=True, exist_ok=True)
            (results / name / file).write_text(f"{name} {file}")
        lines = [("dataset", "", 1.5, "1.0", ENDED), ("classify", "later", 2.0, "1.0", "")]
        lines.append(("evaluation", "", 9.0, "1.0", ENDED))
        times = pd.DataFrame(lines, columns=["stage", "job", "seconds", "kreinflow", "ended"])
        read = {p.name: sha256(p.read_bytes()).hexdigest() for p in plan.source.files()}
        made = {"statistics": {"files": read}, "times": times, "plan": plan}
        datasets.append(SimpleNamespace(name=name, folder=results / name, **made))
    for name in (*PAGES, CONFIG, WORKFLOW):
        (results / name).write_text("home of somebody" if name == CONFIG else name)
    made = SimpleNamespace(data=data, results=results, datasets=datasets, config=config)
    made.render = lambda versions=VERSIONS: render_crate(results, datasets, versions)
    return made


def graph(text):
    """The entities by their ids, of which each stands once and each that is named is there."""
    entities = json.loads(text)["@graph"]
    by_id = {entity["@id"]: entity for entity in entities}
    assert len(by_id) == len(entities)
    named = {id for id in re.findall(r'"@id": "([^"]+)"', text) if not id.startswith("http")}
    assert named <= set(by_id)
    return by_id


def ids(entity, key):
    values = entity.get(key, [])
    return [value["@id"] for value in (values if isinstance(values, list) else [values])]


def of_content(path):
    digest = base64.urlsafe_b64encode(sha256(path.read_bytes()).digest()).decode()
    return f"ni:///sha-256;{digest.rstrip('=')}"


def test_results_are_named_by_their_paths_with_size_and_checksum(run):
    known = graph(run.render())
    made = ids(known["#run"], "result")
    assert len(made) > 30
    assert {*made} | {WORKFLOW, CONFIG} == {
        str(path.relative_to(run.results)).replace("+", "%2B")
        for path in run.results.rglob("*")
        if path.is_file()
    }
    assert "mine/unknown/summary.tsv" in made  # only one of the data sets has classes held out
    assert "a%2Bb/unknown/summary.tsv" not in made
    for name in (*made, WORKFLOW, CONFIG):
        content = (run.results / name.replace("%2B", "+")).read_bytes()
        assert known[name]["sha256"] == sha256(content).hexdigest()
        assert known[name]["contentSize"] == str(len(content))
        assert known[name]["description"]


def test_files_of_the_user_are_named_by_their_content_and_not_by_their_place(run):
    files = run.datasets[0].statistics["files"]
    files["mine.tsv"] = files["mine.fasta"]  # of the same content: the two are one
    text = run.render()
    known = graph(text)
    given = {known[id]["name"]: known[id] for id in ids(known["#run"], "object")}
    names = {"mine.fasta", "sprot.dat"}
    assert set(given) == {CONFIG, *names}
    for name in names:
        assert given[name]["@id"] == of_content(run.data / name)
    assert given["sprot.dat"]["url"] == "https://example.org/sprot.dat"
    assert given["sprot.dat"]["version"] == "2025_01"
    assert "somebody" not in text  # config.yaml alone says what the user wrote


def test_made_again_it_says_what_the_run_noted_alone(run):
    for data in run.datasets:
        data.times["kreinflow"] = "0.9"
    run.datasets[1].times.loc[2, "kreinflow"] = ""
    known = graph(run.render(versions={}))
    assert known["#run"]["name"] == "kreinflow 0.9"
    assert known[WORKFLOW]["version"] == "0.9"
    assert not known[WORKFLOW].get("softwareRequirements")


def test_the_run_has_its_times_its_versions_and_what_it_made(run):
    known = graph(run.render())
    assert known["#run"]["startTime"] == "2026-01-02T03:03:56+00:00"  # of the longest job
    assert ids(known["#run"], "instrument") == [WORKFLOW]
    assert ids(known["./"], "mentions") == ["#run"]
    made = ids(known["#run"], "result")
    assert {f"mine/{name}" for name in PRODUCTS["dataset"]} < set(made)
    assert "mine/classified/later.tsv" in made
    assert set(ids(known[WORKFLOW], "softwareRequirements")) == {
        *("pkg:generic/python@3.11.9", "pkg:pypi/numpy@2.0", "pkg:pypi/snakemake@9.27")
    }
    assert known[WORKFLOW]["version"] == "1.0"
    assert set(PROFILES) <= set(ids(known["./"], "conformsTo"))


def test_it_is_the_same_again_but_for_the_time(run):
    now = r'"(endTime|datePublished)": "(?!2026-01-02)[^"]+"'
    first = re.sub(now, "", run.render())
    assert first == re.sub(now, "", run.render())
    for data in run.datasets:
        data.times["ended"] = ""
    assert "startTime" not in run.render()
    times = run.datasets[0].times
    times["seconds"], times["ended"] = "", ENDED  # too short to be measured
    assert graph(run.render())["#run"]["startTime"] == ENDED


def test_what_is_missing_or_no_time_is_said(run):
    run.datasets[1].times["ended"] = "yesterday"
    with pytest.raises(InputError, match=r"a\+b/times\.tsv: 'yesterday' is no time\. Delete the"):
        run.render()
    (run.results / "mine" / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"mine/model\.safetensors: cannot be read \(No such"):
        run.render()


def test_the_page_of_the_docs_has_what_a_crate_names():
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    files = {f"DATASET/{name}" for made in PRODUCTS.values() for name in made}
    assert {name for name in files | {*PAGES} if f"`{name}`" not in page} == set()


def test_the_validator_of_the_profiles_finds_nothing(run, monkeypatch):
    """All that they require: the last profile holds the others, and RO-Crate 1.1."""
    services = pytest.importorskip("rocrate_validator.services", reason="roc-validator is not here")
    from rocrate import vocabs
    from rocrate_validator.models import Severity
    from rocrate_validator.utils.http import HttpRequester

    # The validator would fetch this from the network. rocrate ships it in a later version.
    terms = dict(vocabs.RO_CRATE["@context"])
    for name in ("ComputationalWorkflow", "FormalParameter"):
        terms[name] = f"https://bioschemas.org/{name}"
    answer = json.dumps({"@context": terms})

    def get(self, url, **more):
        assert url == CONTEXT
        return SimpleNamespace(
            status_code=200,
            headers={"Content-Type": "application/ld+json"},
            text=answer,
            json=lambda: json.loads(answer),
        )

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)

    def faults():
        asked = services.ValidationSettings(
            rocrate_uri=str(run.results),
            profile_identifier="workflow-run-crate",
            requirement_severity=Severity.REQUIRED,
        )
        return [issue.message for issue in services.validate(asked).get_issues()]

    crate = run.results / CRATE
    crate.write_text(run.render())
    assert faults() == []
    crate.write_text(run.render().replace('"mainEntity"', '"about"'))
    assert any("Main Workflow" in fault for fault in faults())
