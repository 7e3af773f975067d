"""Names and paths of a configuration: what would become another file is refused by name."""

import re
from pathlib import Path

import pytest

from kreinflow.base.errors import InputError
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.paths import TAKEN, check_files
from small_inputs import configuration

ROOT = Path(__file__).parents[2]
SIMULATED = {"type": "simulated"}
FAULTS = ["o<results>t", "a{x}", "a}", *(f"a{sign}b" for sign in "\n\x7f\u2028\u202e\u200b\ufeff")]
FAULTS += [
    "a ",
    " a",
    "a /",
    "a\u00a0",
    "~/a",
    "$HOME/a",
    "/a/$USER/b",
    "https://x.org/a",
    "s3://a/b",
]
FINE = ["a b", "./a", "a//b/", "../a", "a<b", "a~", "a$b", "x:y", "ä'\"*?[a]#%&;|`\\", "-a"]
FINE += ["می\u200cرود", "ශ\u0dca\u200dරී", "Flug\u00adhafen"]


def with_path(place, path):
    """A config with a path in one of the places that have one."""
    labels = {"table": "l.tsv"}
    source = {"type": "fasta", "fasta": ["b.fasta", "c.fasta"], "labels": labels}
    config = configuration(source, "log") | {"classify": {"new": {"dataset": "mine", "input": "n"}}}
    config["datasets"]["mine"]["folds"] = {"method": "table", "table": "f.tsv"}
    config["datasets"]["mine"]["scoring"] = {"matrix": "m.txt"}
    *way, last = place.split(".")
    part = config
    for key in way:
        part = part[int(key) if key.isdigit() else key]
    part[int(last) if last.isdigit() else last] = path
    return config


SOURCE = "datasets.mine.source"
PLACES = ["results", "data", f"{SOURCE}.fasta", f"{SOURCE}.fasta.1", f"{SOURCE}.labels.table"]
PLACES += ["datasets.mine.folds.table", "datasets.mine.scoring.matrix", "classify.new.input"]


@pytest.mark.parametrize("place", PLACES)
def test_paths_that_something_takes_otherwise(place):
    for path in FAULTS if place == "results" else FAULTS[::4]:
        with pytest.raises(InputError, match=rf"my\.yaml: {place}: '") as caught:
            complete_configuration(with_path(place, path), "my.yaml")
        assert "\n" not in str(caught.value)
    for path in FINE if place == "data" else FINE[::4]:
        complete_configuration(with_path(place, path), "my.yaml")


def test_settings_that_are_no_paths_may_have_such_signs():
    source = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": r"x{2}(?P<y>.) "}}
    complete_configuration(configuration(source))


def named(**names):
    """A config with the given names."""
    config = configuration(SIMULATED)
    for key, added in names.items():
        config[key] = config.get(key, {}) | added
    return config


def test_names_of_what_else_is_in_the_results_are_taken():
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    found = set(re.findall(r"\{RESULTS\}/([A-Za-z0-9][\w.-]*)", rules))
    assert found == set(TAKEN)
    for name in (*TAKEN, "Report.html", "LOGS"):
        with pytest.raises(InputError, match=f"datasets: '{name}' is the name of something else"):
            complete_configuration(named(datasets={name: {"source": SIMULATED}}))
    complete_configuration(named(datasets={"report": {"source": SIMULATED}}))
    with pytest.raises(InputError, match="'Mine' is the name of something else"):
        complete_configuration(named(datasets={"Mine": {"source": SIMULATED}}))


@pytest.mark.parametrize("name", ["a/b", "..", ".a", "a b", "ä", "", "x" * 101])
def test_what_is_no_name(name):
    for key, part in (("datasets", {"source": SIMULATED}), ("classify", {"dataset": "mine"})):
        with pytest.raises(InputError, match="is no name: use letters, digits and"):
            complete_configuration(named(**{key: {name: part}}))


def test_results_that_cannot_be_made_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    config = {"datasets": {}, "classify": {}, "selectors": {}}
    check_files(config | {"results": str(tmp_path / "new" / "folder")}, tmp_path)
    for name in ("file", "file/results"):
        with pytest.raises(InputError, match="file: is a file where a folder is expected"):
            check_files(config | {"results": str(tmp_path / name)}, tmp_path)
    mine = complete_configuration(configuration(SIMULATED))
    check_files(mine | {"results": str(tmp_path)}, tmp_path)
    (tmp_path / "mine").write_text("of the user's own")
    with pytest.raises(InputError, match="mine: is a file where a folder is expected"):
        check_files(mine | {"results": str(tmp_path)}, tmp_path)
