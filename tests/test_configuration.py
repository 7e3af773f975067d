"""The configuration: the shipped files are valid, and each kind of mistake is named."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kreinflow.configuration import complete_configuration, load_configuration
from kreinflow.errors import InputError
from kreinflow.kernels.generators import GENERATORS
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.learners.registry import LEARNERS
from kreinflow.schema import schema
from small_inputs import configuration

ROOT = Path(__file__).parents[1]


@pytest.fixture
def content():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.mark.parametrize(
    "path", [ROOT / "config.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
)
def test_shipped_configurations_are_valid(path):
    config = load_configuration(path)
    assert config["datasets"]


def test_schema_is_a_schema_and_closed():
    Draft202012Validator.check_schema(schema())

    def closed(part):
        if isinstance(part, dict):
            if part.get("type") == "object" and "properties" in part and "allOf" not in part:
                assert part.get("additionalProperties") is False, part
            for inner in part.values():
                closed(inner)
        elif isinstance(part, list):
            for inner in part:
                closed(inner)

    closed(schema())


def test_every_key_of_the_schema_stands_in_the_commented_config():
    text = (ROOT / "config.yaml").read_text()

    def keys(part):
        if isinstance(part, dict):
            yield from part.get("properties", {})
            for inner in part.values():
                yield from keys(inner)
        elif isinstance(part, list):
            for inner in part:
                yield from keys(inner)

    for key in set(keys(schema())):
        assert re.search(rf"\b{re.escape(key)}:", text), f"{key} is not explained in config.yaml"


def test_every_method_of_the_registries_stands_in_the_commented_config():
    text = (ROOT / "config.yaml").read_text()
    for name in [*LEARNERS, *SELECTORS, *KERNELS, *GENERATORS]:
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w+])", text), name


def test_learners_that_are_commented_out_are_valid_without_the_comment_sign(content):
    text = (ROOT / "config.yaml").read_text()
    block = text[text.index("\nlearners:") : text.index("# The comparison:")]
    content["learners"] = yaml.safe_load(re.sub(r"(?m)^  # ", "  ", block))["learners"]
    assert len(content["learners"]) > 10
    complete_configuration(content)


def test_defaults_written_in_config_are_those_of_the_schema(content):
    explicit = complete_configuration(content)
    bare = copy.deepcopy(content)
    for key in (
        "seed",
        "data",
        "results",
        "alignment",
        "inner_folds",
        "reject_error",
        "transforms",
    ):
        bare.pop(key)
    bare["datasets"]["demo"] = {"source": {"type": "simulated"}}
    bare["selectors"]["meb"] = {"method": "meb", "candidates": 30}
    bare["selectors"]["kmeans"] = {"method": "kmeans++", "candidates": 30, "budget": "meb"}
    bare["learners"]["ikfd"] = {"method": "ny_ikfd"}
    bare["learners"]["pcvm"] = {"method": "ny_pcvm"}
    assert complete_configuration(bare) == explicit


def test_a_coverage_replaces_the_error(content):
    content.pop("reject_error")
    config = complete_configuration(content | {"reject_coverage": 0.95})
    assert (config["reject_error"], config["reject_coverage"]) == (None, 0.95)
    assert complete_configuration(config) == config  # as the report prints it
    config = complete_configuration(content)
    assert (config["reject_error"], config["reject_coverage"]) == (0.01, None)
    assert complete_configuration(config) == config


def test_the_name_of_the_unlabelled_is_taken(content):
    content["datasets"]["demo"]["source"] = FASTA
    content["classify"] = {"unlabelled": {"dataset": "demo", "input": "x"}}
    complete_configuration(content)
    content["datasets"]["demo"]["source"] = FASTA | {"unmatched": "classify"}
    with pytest.raises(
        InputError, match=r"classify\.unlabelled: is the name of the data set's own"
    ):
        complete_configuration(content)


def _set(path, value):
    def change(content):
        place = content
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value

    return change


FASTA = {"type": "fasta", "fasta": "x.fasta", "labels": {"table": "x.tsv"}}

VECTORS = {"type": "vectors", "vectors": "x.csv", "labels": {"lines": "y.txt"}}
BALL = {"type": "generated", "generator": {"name": "ball"}}


def _source(source):
    return _set(["datasets", "demo", "source"], source)


MISTAKES = [
    (_source(VECTORS), "the key 'kernel' is missing"),
    (_source(VECTORS | {"kernel": {"name": "gausian"}}), "is none of .* did you mean 'gaussian'?"),
    (_source(VECTORS | {"kernel": {"width": 1}}), "source.kernel: the key 'name' is missing"),
    (
        _source(VECTORS | {"kernel": {"name": "gaussian", "widht": 1}}),
        "source.kernel: unknown key 'widht'; did you mean 'width'?",
    ),
    (
        _source(VECTORS | {"kernel": {"name": "gaussian", "width": 0}}),
        "source.kernel.width: 0 is not more than 0",
    ),
    (
        _source(VECTORS | {"kernel": {"name": "pseudo_euclidean"}}),
        "source.kernel: the key 'positive' is missing",
    ),
    (
        _source(VECTORS | {"kernel": {"name": "linear"}, "labels": {}}),
        "exactly one of table, lines",
    ),
    (
        _source(VECTORS | {"kernel": {"name": "linear"}}),
        "recipe 'ikfd-meb' has 'transform: log', .* For vectors give",
    ),
    (_source(BALL | {"kernel": {"name": "edit_distance"}}), "edit_distance compares strings, gene"),
    (
        _source(BALL | {"kernel": {"name": "ball"}}),
        "For generated data give recipes and their selectors 'transform: raw'",
    ),
    (
        _source(BALL | {"kernel": {"name": "ball"}, "generator": {"name": "bal"}}),
        "'bal' is none of .* did you mean 'ball'?",
    ),
    (
        _source(BALL | {"kernel": {"name": "ball"}, "generator": {"name": "ball", "objects": 1}}),
        "source.generator.objects: 1 is not at least 4",
    ),
    (
        _set(["learners", "svc"], {"method": "cvm"}),
        "recipes, 'svc-meb': cvm cannot learn from negative eigenvalues, which correction 'none'",
    ),
    (_set(["sead"], 3), "top level: unknown key 'sead'; did you mean 'seed'?"),
    (
        _set(["datasets", "demo", "source", "familes"], 3),
        "datasets.demo.source: unknown key 'familes'; did you mean 'families'?",
    ),
    (_set(["recipes", 0, "transform"], "lgo"), "'lgo' is none of .* did you mean 'log'?"),
    (_set(["recipes", 0, "selector"], "mbe"), "selector 'mbe' is not defined; did you mean 'meb'"),
    (_set(["recipes", 0, "learner"], "ikdf"), "learner 'ikdf' is not defined; did you mean 'ikfd'"),
    (_set(["recipes", 1, "name"], "ikfd-meb"), "the name stands twice"),
    (_set(["datasets", "demo", "folds", "k"], 1), "datasets.demo.folds.k: 1 is not at least 2"),
    (_set(["datasets", "demo", "folds", "method"], "table"), "method table needs the path"),
    (_set(["datasets", "demo", "recipes"], ["ikfd"]), "recipe 'ikfd' is not defined"),
    (_set(["datasets", "demo", "final"], "pcvm"), "recipe 'pcvm' is not defined"),
    (_set(["datasets", "demo", "scoring"], {"gap_open": 1, "gap_extend": 2}), "gap_open must be"),
    (_set(["alignment", "backend"], "opal"), "did you mean 'pyopal'?"),
    (_set(["learners", "pcvm", "ridge"], 1), "learners.pcvm: unknown key 'ridge'"),
    (
        _set(["learners", "ikfd", "ridge"], "outer"),
        "learners.ikfd.ridge: 'outer' is not a number or inner",
    ),
    (_set(["selectors", "uniform", "budget"], "kmeans"), "no selector with a number of its own"),
    (_set(["selectors", "uniform"], {"method": "uniform"}), "the key 'budget' is missing"),
    (_set(["selectors", "uniform", "budget"], {"rnak": 3}), "'rnak'; did you mean 'rank'"),
    (_set(["selectors", "uniform", "budget"], {"rank": 0}), "selectors.uniform.budget.rank: 0 is"),
    (_set(["selectors", "uniform", "budget"], {}), "selectors.uniform.budget: {} is empty"),
    (_set(["selectors", "uniform", "budget"], {"share": 1.5}), "budget.share: 1.5 is not at most"),
    (_set(["recipes"], "atuo"), "recipes: 'atuo' is not a list or auto"),
    (_set(["recipes"], "auto"), "selectors and learners cannot be given beside auto"),
    (_set(["auto"], {}), "selectors, learners and recipes cannot be given beside auto"),
    (_set(["auto"], {"alignmnts": 3}), "auto: unknown key 'alignmnts'; did you mean 'alignments'"),
    (_set(["selectors", "meb", "sketch"], 9), "selectors.meb: unknown key 'sketch'"),
    (_set(["selectors", "meb", "method"], "leverge"), "did you mean 'leverage'"),
    (_set(["datasets", "demo", "source"], {"type": "fasta"}), "the key 'fasta' is missing"),
    (_set(["datasets", "demo", "source"], FASTA | {"labels": {}}), "exactly one of table, pattern"),
    (
        _set(["datasets", "demo", "source"], FASTA | {"labels": {"table": "a", "pattern": "b"}}),
        "exactly one of table, pattern",
    ),
    (
        _set(
            ["datasets", "demo", "source"],
            {"type": "matrix", "matrix": "x.npy", "labels": {"lines": "y"}},
        ),
        "For a matrix give recipes and their selectors 'transform: raw'",
    ),
    (_set(["classify"], {"a": {"dataset": "dmeo", "input": "x"}}), "did you mean 'demo'"),
    (
        _set(["classify"], {"a": {"dataset": "demo", "input": "x", "strand": "both"}}),
        r"classify\.a\.strand: the objects of 'demo' are no nucleotides",
    ),
    (_set(["datasets"], {}), "datasets:"),
    (
        _set(["datasets"], {"../up": {"source": {"type": "simulated"}}}),
        "'../up' is no name: use letters",
    ),
    (
        _set(["datasets"], {"x" * 101: {"source": {"type": "simulated"}}}),
        "x' is no name: .*at most 100",
    ),
    (
        _set(["datasets", "demo", "source"], {"typ": "simulated"}),
        "the key 'type' is missing. Is 'typ' meant to be it",
    ),
    (
        _set(
            ["datasets", "demo", "source"],
            {"type": "fasta", "fasta": "a", "labels": {"table": "t.tsv", "label_column": "id"}},
        ),
        "labels.label_column: 'id' is the column of the ids",
    ),
    (_set(["results"], "r{x}"), "results: 'r{x}' has a brace or a control character"),
    (_set(["results"], "a\nb"), r"results: 'a\\nb' has a brace or a control character"),
    (
        _set(
            ["datasets", "demo", "source"],
            {"type": "fasta", "fasta": ["a", "b{1}"], "labels": {"pattern": "x{2}(y)"}},
        ),
        r"datasets\.demo\.source\.fasta\.1: 'b.1.' has a brace",
    ),
    (_set(["learners", "svc"], "linear_svc"), "learners.svc: 'linear_svc' is not a set of keys"),
    (_set(["learners", "svc", "method"], "epcvm"), "did you mean 'ny_epcvm'?"),
    (_set(["learners", "svc"], {"method": "sf_lsm", "ridge": "1e-3"}), "the number is 1.0e-3"),
    (_set(["learners", "svc"], {"method": "sf_lsm", "ridge": "1e3"}), r"the number is 1\.0e\+3"),
    (_set(["reject_error"], float("nan")), "reject_error: nan is not a finite number"),
    (_set(["reject_coverage"], 0.9), "reject_error and reject_coverage are two ways to choose one"),
    (_set(["reject_error"], None), "reject_error: give a number, or reject_coverage instead"),
    (_set(["reject_coverage"], 1.5), "reject_coverage: 1.5 is not at most 1"),
    (_set(["datasets", "demo", "recipes"], []), "demo.recipes: \\[\\] is empty"),
    (_set(["datasets", "demo", "final"], "pcvm"), "datasets.demo.final: recipe 'pcvm' is not"),
]


@pytest.mark.parametrize(("change", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_mistakes_are_named(content, change, message):
    change(content)
    with pytest.raises(InputError, match=message) as caught:
        complete_configuration(content, "my.yaml")
    assert str(caught.value).startswith("my.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nseed: 2\n", "key 'seed' stands twice"),
        ("datasets:\n  3: {a: 1}\n  '3': {a: 2}\n", r"key '3' stands twice \(line 3\)"),
        ("2020-01-01: x\n", r"not YAML: key 2020-01-01 is no text \(line 1\)"),
        ("seed: 2020-13-45\n", "not YAML: month must be in"),
        (f"seed: {'9' * 5000}\n", "not YAML: Exceeds the limit"),
        ("seed: [1\n", "not YAML"),
        ("", "holds no keys"),
        ("- 1\n", "holds no keys"),
        ("a: !!python/object/apply:os.system ['true']\n", "not YAML"),
    ],
)
def test_files_that_are_no_configuration(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_configuration(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.yaml: cannot be read"):
        load_configuration(tmp_path / "nothing.yaml")


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (
            ("datasets", "demo", "folds", "k"),
            5.0,
            "datasets.demo.folds.k: 5.0 is not a whole number",
        ),
        (
            ("selectors", "uniform", "budget"),
            7.0,
            "selectors.uniform.budget: 7.0 is not a whole number, text or a set of keys",
        ),
        (("recipes", 0, "rank"), 2.5, "rank 2.5 is neither a whole number nor a share"),
        (("recipes", 0, "rank"), 5.0, "rank 5.0 is neither a whole number nor a share"),
        (("transforms", "evalue", "K"), 0.1, "give both lambda and K, or neither"),
    ],
)
def test_numbers_that_no_job_could_use_are_refused(content, place, value, message):
    *path, last = place
    part = content
    for step in path:
        part = part[step]
    part[last] = value
    with pytest.raises(InputError, match=re.escape(message)):
        complete_configuration(content)


def test_modes_that_the_alignment_backend_cannot_do_are_refused(content):
    content["datasets"]["demo"]["scoring"] = {"mode": "semiglobal"}
    with pytest.raises(InputError, match="semiglobal alignments can score below 0.* mode local"):
        complete_configuration(content)
    for owner in (*content["selectors"].values(), *content["recipes"]):
        if owner.get("method") != "uniform":
            owner["transform"] = "normalised"
    complete_configuration(content)
    content["alignment"]["backend"] = "pyopal"
    with pytest.raises(InputError, match="demo.scoring.mode: .* pyopal cannot make semiglobal al"):
        complete_configuration(content)
    content["datasets"]["demo"]["scoring"] = {"mode": "local"}
    assert complete_configuration(content)["alignment"]["backend"] == "pyopal"


def test_defaults_of_a_kernel_and_a_generator_are_filled_in(content):
    content["datasets"]["demo"] = {
        "source": {
            "type": "generated",
            "generator": {"name": "bananas", "objects": 60},
            "kernel": {"name": "elm"},
        }
    }
    for part in (*content["recipes"], *content["selectors"].values()):
        part.pop("transform", None)
    for part in (*content["recipes"], content["selectors"]["meb"], content["selectors"]["kmeans"]):
        part["transform"] = "raw"
    source = complete_configuration(content)["datasets"]["demo"]["source"]
    assert source == {
        "type": "generated",
        "generator": {"name": "bananas", "objects": 60, "overlap": 0.25},
        "kernel": {"name": "elm", "deviation": 1e10},
        "min_class_size": 2,
    }
    content["datasets"]["demo"]["folds"] = {"method": "grouped"}
    with pytest.raises(InputError, match="generated data: no sequences to group by identity"):
        complete_configuration(content)


@pytest.mark.parametrize("rank", [1, 1.0, 0.5, 30, "misfit"])
def test_ranks_keep_their_type(content, rank):
    content["recipes"][0]["rank"] = rank
    found = complete_configuration(content)["recipes"][0]["rank"]
    assert (type(found), found) == (type(rank), rank)


@pytest.mark.parametrize("key", ["selectors", "learners", "recipes"])
def test_a_comparison_is_given_whole_or_left_out(content, key):
    del content[key]
    with pytest.raises(InputError, match=f"'{key}' is missing. Give selectors, learners and rec"):
        complete_configuration(content)


MATRIX = {"type": "matrix", "matrix": "x.npy", "labels": {"lines": "y.txt"}}


@pytest.mark.parametrize(
    "content",
    [
        {"datasets": {"mine": {"source": FASTA}}},
        {"datasets": {"mine": {"source": FASTA}}, "recipes": "auto", "auto": {"alignments": 9}},
        {"datasets": {"mine": {"source": MATRIX}}},
        {"datasets": {"mine": {"source": BALL | {"kernel": {"name": "ball"}}}}},
        {
            "datasets": {
                "mine": {"source": FASTA, "scoring": {"mode": "global"}},
                "other": {"source": FASTA},
                "matrix": {"source": MATRIX},
            }
        },
    ],
)
def test_data_alone_are_a_configuration(content):
    config = complete_configuration(content)
    recipes = {recipe["name"]: recipe for recipe in config["recipes"]}
    assert len(recipes) == len(config["recipes"])
    for key, dataset in config["datasets"].items():
        own = [recipes[name] for name in dataset["recipes"]]
        assert 8 <= len(own) <= 14, key
        assert len({recipe["selector"] for recipe in own}) == 3
        assert dataset["final"] is None
    used = {name for dataset in config["datasets"].values() for name in dataset["recipes"]}
    assert used == set(recipes)
    assert config["inner_folds"] == 5
    assert complete_configuration({**content, "inner_folds": 3})["inner_folds"] == 3
    # What the report prints of it is a configuration too, and the same one.
    assert complete_configuration(config) == config
    changed = copy.deepcopy(config)
    changed["recipes"][0]["correction"] = "flip"
    with pytest.raises(InputError, match="cannot be given beside auto"):
        complete_configuration(changed)


def test_the_alignments_of_an_automatic_choice_are_those_of_its_landmarks():
    bare = {"datasets": {"mine": {"source": FASTA}}, "auto": {"alignments": 1_000_000}}
    selectors = complete_configuration(bare)["selectors"]
    paid = [selector["budget"]["alignments"] for selector in selectors.values()]
    assert sum(paid) == 900_000


@pytest.mark.parametrize(
    ("download", "message"),
    [
        ({"url": "ftp://x/y", "md5": "0" * 32}, "download.url: 'ftp://x/y' is no http:// or"),
        ({"url": "http://x/y"}, "source.download: give exactly one of sha256 and md5"),
        (
            {"url": "http://x/y", "md5": "0" * 32, "sha256": "0" * 64},
            "source.download: give exactly one of sha256 and md5",
        ),
        ({"url": "http://x/y", "sha256": "12"}, "download.sha256: '12' is not 64 hexadecimal"),
        ({"md5": "0" * 32}, "source.download: the key 'url' is missing"),
    ],
)
def test_what_a_download_needs(download, message):
    source = {"type": "swissprot", "swissprot": "x.dat", "labels": {"from": "prosite"}}
    config = configuration(source | {"download": download})
    with pytest.raises(InputError, match=re.escape(message)):
        complete_configuration(config)


def test_nucleotides_have_scores_of_their_own():
    source = {"type": "fasta", "fasta": "x.fna", "molecule": "nucleotide"}
    source["labels"] = {"from_file_names": True}

    def scoring(**given):
        dataset = {"source": source, "scoring": given} if given else {"source": source}
        completed = complete_configuration({"datasets": {"mine": dataset}})
        assert complete_configuration(completed) == completed
        return completed["datasets"]["mine"]["scoring"]

    plain = {"matrix": "nuc44", "gap_open": 16, "gap_extend": 4, "mode": "local"}
    assert scoring() == plain
    assert scoring(mode="semiglobal", gap_open=10) == {
        **plain,
        "mode": "semiglobal",
        "gap_open": 10,
    }
    for matrix in ("nuc44", "dnafull", "mine.txt"):
        assert scoring(matrix=matrix) == {**plain, "matrix": matrix}
    assert scoring(gap_open=2) == {**plain, "gap_open": 2, "gap_extend": 2}
    with pytest.raises(InputError, match="BLOSUM62 compares amino acids, the molecule is nucleo"):
        scoring(matrix="BLOSUM62")


def test_a_flat_file_has_its_defaults_and_downloads_nothing():
    source = {"type": "swissprot", "swissprot": "x.dat", "labels": {"from": "ec", "levels": 3}}
    complete = complete_configuration(configuration(source))["datasets"]["mine"]["source"]
    assert complete["download"] is None
    assert complete["labels"] == {"from": "ec", "levels": 3, "multiple": "drop", "classes": None}
    with pytest.raises(InputError, match="labels.from: 'prosit' is none of .*mean 'prosite'"):
        complete_configuration(configuration(source | {"labels": {"from": "prosit"}}))
    with pytest.raises(InputError, match="source.labels: the key 'from' is missing"):
        complete_configuration(configuration(source | {"labels": {}}))


def test_a_column_of_groups_is_for_grouped_folds():
    source = {"type": "simulated"}
    with pytest.raises(InputError, match="folds.column: only the method grouped takes a column"):
        complete_configuration(configuration(source, folds={"column": "species"}))
