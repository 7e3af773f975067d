"""The configuration: the shipped files are valid, and each kind of mistake is named."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration, load_configuration
from kreinflow.config.cross_references import LOSS
from kreinflow.config.schema import schema
from kreinflow.kernels.generators import GENERATORS
from kreinflow.kernels.registry import KERNELS
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.learners.registry import LEARNERS
from small_inputs import configuration

ROOT = Path(__file__).parents[2]


@pytest.fixture
def content():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.mark.parametrize(
    "path", [ROOT / "config.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
)
def test_shipped_configurations_are_valid(path):
    config = load_configuration(path)
    assert config["datasets"]


def parts(part):
    """All sets of keys in a part of the schema."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from parts(inner)


def test_schema_is_a_schema_and_closed():
    Draft202012Validator.check_schema(schema())
    for part in parts(schema()):
        if part.get("type") == "object" and "properties" in part and "allOf" not in part:
            assert part.get("additionalProperties") is False, part


def test_every_key_and_method_stands_in_the_commented_config():
    text = (ROOT / "config.yaml").read_text()
    for key in {key for part in parts(schema()) for key in part.get("properties", {})}:
        assert re.search(rf"\b{re.escape(key)}:", text), f"{key} is not explained in config.yaml"
    for name in [*LEARNERS, *SELECTORS, *KERNELS, *GENERATORS]:
        assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w+])", text), name


def commented_out(first, last):
    """A block of config.yaml without the signs of comments."""
    text = (ROOT / "config.yaml").read_text()
    return yaml.safe_load(re.sub(r"(?m)^  # ", "  ", text[text.index(first) : text.index(last)]))


def test_learners_and_recipes_that_are_commented_out_are_valid(content):
    complete_configuration(content | commented_out("\nlearners:", "# The comparison:"))
    content |= commented_out("\nrecipes:", "# New objects")
    recipes = {part["name"]: part for part in complete_configuration(content)["recipes"]}
    names = "ikfd-meb", "cascade-40", "sum-meb", "cascade-meb"
    plain, product, summed, asking = (recipes[name] for name in names)
    assert plain["lift"] is plain["cascade"] is None
    assert not any(plain["views"].values())
    assert summed["lift"] == product["lift"] | {"kernel": "linear"}
    assert summed["views"] == product["views"]
    recipe = schema()["$defs"]["recipe"]["properties"]
    assert product["lift"] == {
        key: part["default"] for key, part in recipe["lift"]["properties"].items()
    }
    assert asking["cascade"] == {"loss": LOSS, "records": "model"}


def test_defaults_written_in_config_are_those_of_the_schema(content):
    explicit = complete_configuration(content)
    bare = copy.deepcopy(content)
    for key in ("seed", "data", "results", "alignment", "inner_folds", "transforms"):
        bare.pop(key)
    for key in ("reject_error", "reject_confidence"):
        bare.pop(key)
    demo = content["datasets"]["demo"]
    bare["datasets"]["demo"] = {key: demo[key] for key in ("source", "unknown", "final")}
    bare["selectors"]["meb"] = {"method": "meb", "candidates": 30}
    bare["selectors"]["kmeans"] = {"method": "kmeans++", "candidates": 30, "budget": 24}
    bare["learners"]["ikfd"] = {"method": "ny_ikfd"}
    bare["learners"]["pcvm"] = {"method": "ny_pcvm"}
    bare["learners"]["sf-lsm"] = {"method": "sf_lsm"}
    bare["learners"]["krein-svm"] = {"method": "svc"}
    asking = [part for part in bare["recipes"] if "cascade" in part]
    assert [part["name"] for part in asking] == ["cascade-40", "cascade-60"]
    for part in asking:
        part["views"] = {"words": [1, 2, 3]}
        part["lift"] = {"kernel": "gaussian"}
        part["cascade"].pop("records")
    bare["classify"]["new"] = {key: bare["classify"]["new"][key] for key in ("dataset", "input")}
    assert complete_configuration(bare) == explicit


REJECT_KEYS = ("error", "confidence", "coverage")


def test_a_coverage_replaces_the_error_and_its_confidence(content):
    content.pop("reject_error")
    content.pop("reject_confidence")
    config = complete_configuration(content | {"reject_coverage": 0.95})
    assert [config[f"reject_{key}"] for key in REJECT_KEYS] == [None, None, 0.95]
    assert complete_configuration(config) == config  # as the report prints it
    config = complete_configuration(content)
    assert [config[f"reject_{key}"] for key in REJECT_KEYS] == [0.05, 0.9, None]
    assert complete_configuration(config) == config


@pytest.mark.parametrize("name", ["unlabelled", "Unlabelled"])  # one file to some disks
def test_the_name_of_the_unlabelled_is_taken(content, name):
    content["datasets"]["demo"]["source"] = FASTA
    content["classify"] = {name: {"dataset": "demo", "input": "x"}}
    complete_configuration(content)
    content["datasets"]["demo"]["source"] = FASTA | {"unmatched": "classify"}
    with pytest.raises(InputError, match=rf"classify\.{name}: is the name of the data set's own"):
        complete_configuration(content)


def test_views_need_what_they_are_made_of(content):
    content["recipes"] = content["recipes"][:1]
    content["recipes"][0]["views"] = {"vectors": True}
    content["datasets"]["demo"] |= {"vectors": "v.tsv", "final": None}
    content["classify"] = {}
    complete_configuration(content)
    content["classify"] = {"a": {"dataset": "demo", "input": "x.fasta"}}
    with pytest.raises(InputError, match=r"classify\.a: recipes .* have a view of vectors. Give"):
        complete_configuration(content)
    content["classify"]["a"]["vectors"] = "w.tsv"
    complete_configuration(content)
    content["classify"] = {}
    content["recipes"][0] |= {"views": {"words": [1]}, "transform": "raw"}
    content["selectors"] = {"meb": {"method": "meb", "transform": "raw"}}
    content["datasets"]["demo"]["source"] = MATRIX
    with pytest.raises(InputError, match="'ikfd-meb' has a view of words, but only sequences have"):
        complete_configuration(content)


SOURCE = "datasets.demo.source"
FASTA = {"type": "fasta", "fasta": "x.fasta", "labels": {"table": "x.tsv"}}
FLAT_FILE = {"type": "swissprot", "swissprot": "x.dat", "labels": {"from": "prosite"}}
MATRIX = {"type": "matrix", "matrix": "x.npy", "labels": {"lines": "y.txt"}}
VECTORS = {"type": "vectors", "vectors": "x.csv", "labels": {"lines": "y.txt"}}
LINEAR = VECTORS | {"kernel": {"name": "linear"}}
BALL = {"type": "generated", "generator": {"name": "ball"}, "kernel": {"name": "ball"}}
MD5 = {"md5": "0" * 32}


def gaussian(**more):
    return VECTORS | {"kernel": {"name": "gaussian", **more}}


def table(column, **more):
    return FASTA | {"labels": {"table": "t.tsv", "label_column": column, **more}}


def balls(**more):
    return BALL | {"generator": {"name": "ball", **more}}


def downloaded(**download):
    return FLAT_FILE | {"download": download}


def request(**more):
    return {"a": {"dataset": "demo", "input": "x", **more}}


MISTAKES = [
    (SOURCE, VECTORS, "the key 'kernel' is missing"),
    (SOURCE, gaussian(widht=1), "source.kernel: unknown key 'widht'; did you mean 'width'?"),
    (SOURCE, BALL | {"kernel": {"name": "edit_distance"}}, "edit_distance compares strings, gene"),
    (SOURCE, {"typ": "simulated"}, "the key 'type' is missing. Is 'typ' meant to be it"),
    (SOURCE, FASTA | {"labels": {}}, "exactly one of table, pattern"),
    (SOURCE, table("id"), "labels.label_column: 'id' is the column of the ids"),
    ("datasets.demo.levels", True, "levels: True is not a set of keys or null"),
    (SOURCE, FASTA | {"fasta": ["a", "b{1}"]}, r"demo\.source\.fasta\.1: 'b.1.' has"),
    (SOURCE, downloaded(url="ftp://x/y", **MD5), "download.url: 'ftp://x/y' is no http:// or"),
    (SOURCE, downloaded(url="http://x"), "source.download: give exactly one of sha256 and md5"),
    ("datasets", {}, "datasets:"),
    ("datasets", {"../up": {"source": {"type": "simulated"}}}, "'../up' is no name: use letters"),
    ("datasets.demo.folds.k", 5.0, "datasets.demo.folds.k: 5.0 is not a whole number"),
    ("datasets.demo.folds.method", "table", "method table needs the path"),
    ("datasets.demo.folds.column", "species", "folds.column: only the method grouped takes a col"),
    ("datasets.demo.final", "pcvm", "datasets.demo.final: recipe 'pcvm' is not defined"),
    ("datasets.demo.scoring", {"gap_open": 1, "gap_extend": 2}, "gap_open must be"),
    ("sead", 3, "top level: unknown key 'sead'; did you mean 'seed'?"),
    ("alignment.backend", "pyopal", "alignment.backend: 'pyopal' is none of auto, parasail"),
    ("recipes", "auto", "selectors and learners cannot be given beside auto"),
    ("recipes.0.selector", "mbe", "selector 'mbe' is not defined; did you mean 'meb'"),
    ("recipes.0.rank", 2.5, "rank 2.5 is neither a whole number nor a share"),
    ("recipes.1.name", "ikfd-meb", "the name stands twice"),
    ("transforms.evalue.K", 0.1, "give both lambda and K, or neither"),
    ("selectors.kmeans.budget", "kmeans", "no selector with a number of its own"),
    ("learners.ikfd.ridge", -1e-9, "learners.ikfd.ridge: -1e-09 is not at least 0"),
    ("learners.ikfd", {"method": "cvm"}, "'ikfd-meb': cvm cannot learn from negative eigenval"),
    ("learners.nearest", {"method": "sf_lsm", "ridge": "1e-3"}, "the number is 1.0e-3"),
    ("classify", {"a": {"dataset": "dmeo", "input": "x"}}, "did you mean 'demo'"),
    ("classify", request(strand="both"), r"a\.strand: the objects of 'demo' are no nucleotides"),
    ("classify", request(vectors="v.tsv"), r"a\.vectors: the data set 'demo' has no vectors, so"),
    ("recipes.0.views", {"vectors": True}, "recipe 'ikfd-meb' has a view of vectors, but the data"),
    ("datasets.demo.vectors", "~/v.tsv", r"demo\.vectors: '~/v.tsv' has"),
    ("results", "r{x}", "results: 'r{x}' has"),
    ("reject_error", None, "reject_error: give a number, or reject_coverage instead"),
    ("reject_coverage", 0.9, "reject_error and reject_coverage are two ways to choose one"),
]


@pytest.mark.parametrize(
    ("path", "value", "message"), MISTAKES, ids=[f"{p}: {m}" for p, _, m in MISTAKES]
)
def test_mistakes_are_named(content, path, value, message):
    *place, last = path.split(".")
    part = content
    for key in place:
        part = part[int(key) if key.isdigit() else key]
    part[last] = value
    with pytest.raises(InputError, match=message) as caught:
        complete_configuration(content, "my.yaml")
    assert str(caught.value).startswith("my.yaml: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed: 1\nseed: 2\n", "key 'seed' stands twice"),
        ("datasets:\n  3: {a: 1}\n  '3': {a: 2}\n", r"key '3' stands twice \(line 3\)"),
        ("2020-01-01: x\n", "c.yaml: keys must be str, .* not datetime.date"),
        ("seed: 2020-13-45\n", "not YAML: month must be in"),
        (f"seed: {'9' * 5000}\n", "not YAML: Exceeds the limit"),
        ("seed: [1\n", "not YAML"),
        ("", "holds no keys"),
        ("- 1\n", "holds no keys"),
        ("a: &x [*x]\n", "c.yaml: a part holds itself, or is nested"),
        ("a: " + "[" * 1500, "c.yaml: a part holds itself, or is nested too deeply"),
        ("a: !!python/object/apply:os.system ['true']\n", "not YAML"),
    ],
)
def test_files_that_are_no_configuration(tmp_path, text, message):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_configuration(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (LINEAR, "recipe 'ikfd-meb' has 'transform: log', .* For vectors give"),
        (BALL, "For generated data give recipes and their selectors 'transform: raw'"),
        (MATRIX, "For a matrix give recipes and their selectors 'transform: raw'"),
    ],
)
def test_scores_that_are_no_alignments_stay_as_they_are(content, source, message):
    content["datasets"]["demo"] |= {"source": source, "final": None}
    content["recipes"] = content["recipes"][:1]
    with pytest.raises(InputError, match=message):
        complete_configuration(content)


def test_transforms_that_cannot_take_scores_below_0_are_refused(content):
    content["datasets"]["demo"]["scoring"] = {"mode": "semiglobal"}
    with pytest.raises(InputError, match="semiglobal alignments can score below 0.* mode local"):
        complete_configuration(content)
    for owner in (*content["selectors"].values(), *content["recipes"]):
        if owner.get("method") != "all":
            owner["transform"] = "normalised"
    complete_configuration(content)


def test_defaults_of_a_kernel_and_a_generator_are_filled_in():
    given = BALL | {"generator": {"name": "bananas", "objects": 60}, "kernel": {"name": "elm"}}
    complete = complete_configuration(configuration(given, "raw"))
    assert complete["datasets"]["mine"]["source"] == {
        "type": "generated",
        "generator": {"name": "bananas", "objects": 60, "overlap": 0.25},
        "kernel": {"name": "elm", "deviation": 1e10},
        "min_class_size": 2,
    }


@pytest.mark.parametrize("key", ["selectors", "learners", "recipes"])
def test_a_comparison_is_given_whole_or_left_out(content, key):
    del content[key]
    with pytest.raises(InputError, match=f"'{key}' is missing. Give selectors, learners and rec"):
        complete_configuration(content)


@pytest.mark.parametrize(
    "content",
    [
        {"datasets": {"mine": {"source": FASTA}}},
        {"datasets": {"mine": {"source": FASTA}}, "recipes": "auto", "auto": {"alignments": 9}},
        {"datasets": {"mine": {"source": MATRIX}}},
        {"datasets": {"mine": {"source": BALL}}},
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
        assert 7 <= len(own) <= 14, key
        asking = [recipe for recipe in own if recipe["cascade"]]
        assert len({recipe["selector"] for recipe in own}) == (4 if asking else 3)
        assert dataset["final"] is None
    used = {name for dataset in config["datasets"].values() for name in dataset["recipes"]}
    assert used == set(recipes)
    assert config["prefer"] == "cheap"
    assert complete_configuration({**content, "prefer": "accuracy"})["prefer"] == "accuracy"
    assert complete_configuration(config) == config, "the one that the report prints"
    assert config["inner_folds"] == 5
    assert complete_configuration({**content, "inner_folds": 3})["inner_folds"] == 3
    changed = copy.deepcopy(config)
    changed["recipes"][0]["correction"] = "flip"
    with pytest.raises(InputError, match="cannot be given beside auto"):
        complete_configuration(changed)


def directed(selector=None, learner=None, correction="none", kind="asymmetric"):
    """A config of an asymmetric matrix with one recipe."""
    recipe = {"name": "it", "transform": "raw", "selector": "s", "learner": "l"}
    return {
        "datasets": {"mine": {"source": MATRIX | {"kind": kind}}},
        "selectors": {"s": selector or {"method": "uniform", "budget": 9}},
        "learners": {"l": learner or {"method": "ny_epcvm"}},
        "recipes": [recipe | {"correction": correction}],
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"selector": {"method": "meb", "transform": "raw"}}, "selector meb .*all, given, uniform"),
        (
            {"selector": {"method": "leverage", "transform": "raw", "budget": 9}},
            "selector leverage needs a symmetric kernel",
        ),
        ({"correction": "flip"}, "correction 'flip' .* Use none or landmark_basis"),
        ({"correction": "landmark_mds"}, "correction 'landmark_mds' needs a symmetric kernel"),
        *(
            ({"learner": {"method": name}, "correction": "none"}, f"learner {name} needs .*ny_pcvm")
            for name in ("krein_lsm", "krein_vc_lsm", "krein_sh_svm")
        ),
    ],
)
def test_what_needs_a_symmetric_kernel_is_refused_by_name(changes, message):
    with pytest.raises(InputError, match=f"datasets.mine.recipes: recipe 'it': .*{message}"):
        complete_configuration(directed(**changes))
    complete_configuration(directed(**changes, kind="similarity"))


def test_nucleotides_have_scores_of_their_own():
    def scoring(**given):
        source = FASTA | {"molecule": "nucleotide"}
        content = {"datasets": {"mine": {"source": source, "scoring": given}}}
        completed = complete_configuration(content)
        assert complete_configuration(completed) == completed
        return completed["datasets"]["mine"]["scoring"]

    plain = {"matrix": "nuc44", "gap_open": 16, "gap_extend": 4, "mode": "local"}
    assert scoring() == plain
    given = {"mode": "semiglobal", "gap_open": 10}
    assert scoring(**given) == plain | given
    for matrix in ("nuc44", "dnafull", "mine.txt"):
        assert scoring(matrix=matrix) == plain | {"matrix": matrix}
    with pytest.raises(InputError, match="BLOSUM62 compares amino acids, the molecule is nucleo"):
        scoring(matrix="BLOSUM62")


def test_levels_have_their_defaults():
    def completed(levels, **labels):
        content = configuration(FLAT_FILE | {"labels": {"from": "ec", **labels}})
        content["datasets"]["mine"]["levels"] = levels
        return complete_configuration(content)["datasets"]["mine"]["levels"]

    assert completed(None) is None
    assert completed({}) == {
        "separator": ".",
        "back_off": 0.95,
        "learn": "inner",
        "small": "parent",
    }
    with pytest.raises(InputError, match="labels.from: the levels of EC numbers have the separat"):
        completed({"separator": ";"})
    with pytest.raises(InputError, match="labels.from: labels from pfam have no levels. Take ec"):
        completed({}, **{"from": "pfam"})
