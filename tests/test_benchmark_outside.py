"""The data of packages as benchmarks/outside.py reads them, from a folder that is made up."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kreinflow.compare.kmers import KmerSvm
from kreinflow.compare.words import WordsAlone

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def outside():
    spec = importlib.util.spec_from_file_location("outside", BENCHMARKS / "outside.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:  # it imports its neighbours
        patch.syspath_prepend(str(BENCHMARKS))
        before = set(sys.modules)
        spec.loader.exec_module(module)
        yield module
        neighbours = {"aligned_folds", "auto", "cascades", "inducing", "kinds"}
        for name in (neighbours & set(sys.modules)) - before:
            del sys.modules[name]


def peptides(count, letters, seed):
    random = np.random.default_rng(seed)
    return ["".join(random.choice(list(letters), 20)) for _ in range(count)]


@pytest.fixture
def packages(tmp_path):
    """Tables as those of modlamp and tcrdist3, with a repeated and a contradictory line."""
    data = tmp_path / "modlamp" / "data"
    data.mkdir(parents=True)
    first, second = peptides(40, "KRLAIGWF", 1), peptides(60, "DESTNQPV", 2)
    lines = [f"{s}, 1" for s in first] + [f"{s}, 0" for s in second]
    lines += [f"{first[0]}, 1", f"{first[1]}, 0"]
    for name in ("AMPvsUniProt.csv", "ACP_CancPPD_vs_Random.csv"):
        (data / name).write_text("\n".join(["102,1,Other,Active", *lines]) + "\n")
    covid = tmp_path / "tcrdist" / "data" / "covid19"
    covid.mkdir(parents=True)
    for number, size in ((1, 120), (2, 99), (3, 100), (4, 1001)):
        cdr3 = [f"CASS{s}F" for s in peptides(size, "ACDEFGHIKLMNPQRSTVWY", number)]
        rows = [f'{i},{s},"AB,CD"' for i, s in enumerate([*cdr3, cdr3[0]])]
        text = "\n".join(["index,cdr3_b_aa,epitope", *rows]) + "\n"
        (covid / f"mira_epitope_{number}_9_AB_CD.tcrdist3.csv").write_text(text)
        (covid / f"mira_epitope_{number}_9_AB_CD.tcrdist3.radius.csv").write_text("x\n1\n")
    return tmp_path


def test_labels_have_the_names_of_the_first_line_and_each_sequence_is_there_once(outside, packages):
    pairs = outside.load("amp", packages)
    assert Counter(label for _, label in pairs) == {"Active": 39, "Other": 60}
    assert len(dict(pairs)) == len(pairs)
    contradictory = peptides(40, "KRLAIGWF", 1)[1]
    assert contradictory not in dict(pairs)
    assert all(set(s) <= set("KRLAIGWF") for s, label in pairs if label == "Active")


def test_epitopes_with_100_to_1000_receptors_are_classes(outside, packages):
    sizes = Counter(label for _, label in outside.load("mira", packages))
    assert sizes == {"1_9_AB_CD": 120, "3_9_AB_CD": 100}


def test_what_is_not_there_is_told(outside, packages, tmp_path):
    with pytest.raises(SystemExit, match=r"AMPvsUniProt.csv is not there"):
        outside.load("amp", tmp_path / "nowhere")
    with pytest.raises(SystemExit, match="nothing of mira"):
        outside.load("mira", tmp_path / "nowhere")


def test_methods_learn_from_four_fifths_and_are_asked_for_the_rest(outside, packages, monkeypatch):
    pairs = outside.load("amp", packages)
    monkeypatch.setitem(outside.KINDS, "amp", lambda random: pairs)
    dataset, scheme = outside.sequences_of("amp")
    partition, fold = outside.split(dataset)
    tested = dataset.labels[partition.testing(fold)]
    sizes = Counter(np.array(dataset.classes)[tested].tolist())
    assert sizes["Other"] == 12
    assert sizes["Active"] in (7, 8)
    config = {**outside.one_recipe(20, True)}
    rows = {
        "k-mers": outside.by_words(KmerSvm, dataset, scheme),
        "words": outside.by_words(WordsAlone, dataset, scheme),
        "nearest": outside.by_nearest(dataset, scheme),
        "ours": outside.by_recipes(config, dataset, scheme),
    }
    # The classes share no letter: whoever looks tells them apart.
    for name in ("words", "nearest", "ours"):
        assert rows[name]["accuracy"] == rows[name]["auc"] == 1, name
    assert rows["k-mers"]["auc"] > 0.9
    assert rows["nearest"]["alignments"] == 99 - len(tested)
    assert rows["ours"]["alignments"] == 21
    assert rows["words"]["alignments"] == 0


def test_the_second_class_has_the_large_values(outside):
    found = outside.measured(["a", "b", "b"], ["a", "b", "a"], np.array([0.1, 0.9, 0.2]))
    assert found["auc"] == 1
    assert found["accuracy"] == pytest.approx(2 / 3)
    three = outside.measured(["a", "b", "c"], ["a", "b", "c"], np.array([1.0, 2.0, 3.0]))
    assert np.isnan(three["auc"])


def test_each_recipe_of_a_config_is_a_row(outside, packages, tmp_path, monkeypatch):
    """Its transform need not be that of its selector."""
    pairs = outside.load("acp", packages)
    monkeypatch.setitem(outside.KINDS, "acp", lambda random: pairs)
    config = tmp_path / "recipes.yaml"
    config.write_text(
        "selectors: {some: {method: kmeans++, transform: log, budget: 10}}\n"
        "learners: {nearest: {method: nearest_landmark}}\n"
        "recipes:\n"
        "- {name: one, transform: normalised, selector: some, learner: nearest}\n"
        "- {name: two, transform: sqrt, selector: some, learner: nearest}\n"
    )
    rows = outside.methods(config)
    assert list(rows) == ["one", "two"]
    dataset, scheme = outside.sequences_of("acp")
    assert {row(dataset, scheme)["chosen"] for row in rows.values()} == {"one", "two"}
