"""``kreinflow check``: what it says of an input, and that it refuses what the workflow would."""

import re
import time

import numpy as np
import pytest
import yaml

from kreinflow.commands.check import ENOUGH, seconds_of_pair
from kreinflow.kernels.function import FunctionKernel
from kreinflow.sequences.asking import Asking
from small_inputs import (
    BY_HEADER,
    DNA,
    configuration,
    families,
    fasta_source,
    turned,
    write_fasta,
    write_labels,
)

GOOD = families(1)


@pytest.fixture
def checked(tmp_path):
    """A function that gives a config to a command, which writes nothing: what it returns."""

    def check(command, config):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"data": str(tmp_path), "reject_error": 0.1, **config}))
        before = sorted(tmp_path.rglob("*"))
        said = command("check", path)
        assert sorted(tmp_path.rglob("*")) == before
        return said

    return check


@pytest.mark.parametrize("labels", [BY_HEADER, {"table": "y.tsv"}])
def test_a_line_for_each_data_set(run, checked, tmp_path, labels):
    write_fasta(tmp_path / "x.fasta", GOOD)
    write_labels(tmp_path / "y.tsv", GOOD)
    code, out, err = checked(run, configuration(fasta_source(labels=labels)))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == (
        "mine: 30 records (0 dropped), 30 distinct, 3 classes, 2 folds, 1 recipe: ready to run"
    )


def test_it_tells_what_the_run_and_a_query_will_take(run, checked, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = configuration(fasta_source(), transform="normalised")
    config["selectors"]["meb"] = {"method": "uniform", "budget": 12}
    _, out, _ = checked(run, config)
    _, of_run, of_query = out.splitlines()
    # Parts of 15, 15 and 30 records: 12 and .48 x 12 landmarks, with 30 records, each pair once.
    assert re.fullmatch(
        r"mine: about 370 pairs to align, 1 minute on \d+ cores?, \d+ MB of memory for the "
        r"largest job",
        of_run,
    )
    assert re.fullmatch(
        rf"mine: a new sequence takes about 13 alignments \({config['recipes'][0]['name']}\), "
        r"and up to 18 more where it is unsure or may be unknown",
        of_query,
    )


def test_a_comparison_of_several_recipes_has_a_range(run, checked, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = {"datasets": {"mine": {"source": fasta_source(), "folds": {"k": 2}}}}
    _, out, _ = checked(run, config)
    assert (
        "mine: where the recipe with the fewest landmarks is hardly ever wrong, no other is" in out
    )
    _, accurate, _ = checked(run, config | {"prefer": "accuracy"})
    assert "hardly ever wrong" not in accurate
    assert re.search(
        r"\nmine: a new sequence takes about 4 to 31 alignments, by the recipe, and up to 30 more "
        r"where it is unsure or may be unknown\n$",
        out,
    )


def test_unknown_objects_are_told_by_local_alignments_alone(run, checked, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = configuration(
        fasta_source(), transform="normalised", scoring={"mode": "global"}, unknown={}
    )
    code, _, err = checked(run, config)
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("kreinflow: mine: unknown: nothing is tested, as there are no E-values")


@pytest.mark.parametrize(("error", "few"), [(0.073, True), (0.074, False)])  # 1 - 0.1 ** (1 / 30)
def test_records_that_are_too_few_to_accept_any_prediction(run, checked, tmp_path, error, few):
    write_fasta(tmp_path / "x.fasta", GOOD)
    code, out, err = checked(run, configuration(fasta_source()) | {"reject_error": error})
    assert code == 0
    assert "ready to run" in out
    assert (
        err.startswith("kreinflow: mine: 30 records are few, even if none is predicted wrong: ")
        == few
    )
    assert ("It takes at least 31 records on the inner folds" in err) == few


def test_what_is_left_out_is_counted(run, checked, tmp_path):
    records = [
        *GOOD,
        *families(2, classes="d", each=3),
        ("long", "a", "M" * 500),
        ("odd", "a", "MK1V" * 10),
        ("new", "", "MKV" * 20),
    ]
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", records[:-1])
    drop = {"too_long": "drop", "illegal_residues": "drop", "max_length": 400}
    config = configuration(fasta_source(labels={"table": "y.tsv"}, unmatched="classify", **drop))
    config["datasets"]["mine"]["unknown"] = ["d"]
    code, out, _ = checked(run, config)
    assert code == 0
    why = "2 dropped: 1 too long, 1 illegal residues, 3 held out as unknown, 1 to be classified"
    assert f"30 records ({why}), 30 distinct" in out


def test_what_looks_like_a_mistake_is_told(run, checked, tmp_path):
    records = families(3, letters=DNA, changed=0.02)
    renamed = [(id, "A", s) for id, _, s in records[2:4]]
    write_fasta(tmp_path / "x.fasta", [*map(turned, records[:2]), *renamed, *records[4:]])
    code, _, said = checked(run, configuration(fasta_source(molecule="nucleotide")))
    assert code == 0
    assert f"2 records were turned to the strand of those like them: {records[0][0]}, " in said
    assert "kreinflow: mine: the classes 'A' and 'a' differ in upper and lower case only" in said


def test_folds_that_lose_a_class_are_told(run, checked, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    lines = ["id\tfold"]
    for number, (id, label, _) in enumerate(GOOD):
        lines.append(f"{id}\t{int(number % 10 < 8) if label == 'a' else number % 2}")
    (tmp_path / "folds.tsv").write_text("\n".join(lines))
    config = configuration(fasta_source())
    config["datasets"]["mine"]["folds"] = {"method": "table", "table": "folds.tsv"}
    code, _, said = checked(run, config)
    assert code == 0
    assert "kreinflow: mine: Some folds leave a class few of its records to learn" in said
    assert "from: 2 of 10 a (r0f1). " in said


def test_the_data_folder_on_the_command_line(run, refused, tmp_path):
    write_fasta(tmp_path / "elsewhere" / "x.fasta", GOOD)
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(configuration(fasta_source())))
    assert run("check", tmp_path / "c.yaml", "--data", tmp_path / "elsewhere")[0] == 0
    message = refused("check", tmp_path / "c.yaml", "--data", tmp_path)
    assert f"{tmp_path}/x.fasta: no such file" in message


UNIFORM = {"method": "uniform"}
OTHER = {
    "selectors": {
        "meb": UNIFORM | {"budget": "other"},
        "other": {"method": "meb", "transform": "log"},
    },
    "transform": "normalised",
    "scoring": {"mode": "global", "gap_open": 11},
}


@pytest.mark.parametrize(
    ("more", "changes", "message"),
    [
        (families(2, "d", each=2), {"folds": {"k": 3}}, "'d' has 2"),
        ([("e", "a", "XXX")], {}, "e: its 3 residues score 0 with themselves"),
        (
            [],
            {"selectors": {"meb": UNIFORM | {"budget": 16}}},
            "selectors.meb.budget: 16 landmarks are more than the 15",
        ),
        (
            [],
            {"selectors": {"meb": UNIFORM | {"budget": {"alignments": 224}}}},
            "224 pay for 2 landmarks in each of 3 training parts of 30 distinct sequences, fewer "
            "than the 3 classes. Give at least 225, or",
        ),
        (
            [],
            {"selectors": {"meb": {"method": "given", "table": "l.tsv"}}},
            "of the 2 landmarks. Name more of them",
        ),
        ([], OTHER, "the transform log of selector 'other' cannot take"),
        ([], {"results": "x.fasta"}, "x.fasta: is a file where a folder is expected"),
    ],
)
def test_what_the_workflow_would_refuse(refused, checked, tmp_path, more, changes, message):
    write_fasta(tmp_path / "x.fasta", [*GOOD, *more])
    (tmp_path / "l.tsv").write_text("id\na0\nb0\n")
    source = fasta_source(labels={"pattern": "family=([^;]*);"})
    results = str(tmp_path / changes.get("results", "results"))
    assert message in checked(refused, configuration(source, **changes | {"results": results}))


@pytest.mark.parametrize(("first", "pair"), [(1.2 * ENOUGH, 0.0), (0.0, 0.8 * ENOUGH)])
def test_the_first_call_of_a_score_is_no_part_of_what_a_pair_takes(first, pair):
    calls = []

    def slow(a, b):
        time.sleep(pair * len(a) * len(b) + (0 if calls else first))
        calls.append(len(a) * len(b))
        return np.multiply.outer(a, b)

    X = np.random.default_rng(1).normal(size=40)
    asking = Asking(X, FunctionKernel({"function": "own:f"}, slow), [f"o{i}" for i in range(40)])
    found = seconds_of_pair(asking)
    assert asking.asked == sum(calls)
    assert found < 0.1 * ENOUGH if first else 0.9 * pair < found < 1.5 * pair
