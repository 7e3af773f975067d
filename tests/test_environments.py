"""The lock, the environments and the package's own ranges agree."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from kreinflow import provenance

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"parasail-python": "parasail", "matplotlib-base": "matplotlib"}
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))


def locked(name="requirements.lock"):
    return dict(re.findall(r"^([a-z0-9_.-]+)==([^ ;\\]+)", (ROOT / name).read_text(), re.MULTILINE))


def packages(path):
    """The packages of an environment and what is asked of their versions."""
    entries = (e.split(" ", 1) for e in yaml.safe_load(path.read_text())["dependencies"])
    return {CONDA_NAMES.get(name, name): version for name, version in entries}


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_environments_pin_what_the_lock_pins(path):
    lock = locked()
    channels = yaml.safe_load(path.read_text())["channels"]
    assert channels == ["conda-forge", "bioconda", "nodefaults"]
    for name, version in packages(path).items():
        assert version == ("=3.11" if name == "python" else f"=={lock[name]}"), name


def test_the_lock_meets_the_ranges_and_has_hashes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = locked()
    for text in [*project["dependencies"], *project["optional-dependencies"]["build"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(lock[requirement.name]), text
    tested = locked("requirements-test.lock")
    optional = project["optional-dependencies"]
    for text in [*optional["test"], *optional["cluster"], *optional["docs"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(tested[requirement.name]), text
    assert {name: tested[name] for name in lock} == lock
    text = (ROOT / "requirements.lock").read_text()
    assert text.count("==") <= text.count("--hash=sha256:")
    assert not re.search(r"^-", text, re.MULTILINE), "the lock names options of its maker"


def test_what_a_cluster_needs_has_one_version_wherever_it_is_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (plugin,) = project["optional-dependencies"]["cluster"]
    for name in ("profiles/slurm/config.yaml", "docs/cluster.md"):
        assert f"pip install {plugin}\n" in (ROOT / name).read_text(), name


@cache  # scripts share most modules
def imported_packages(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_environments_hold_what_their_scripts_import_and_no_more():
    """The packages of an environment are those that its rules' scripts reach, by whatever way."""
    names = {"Bio": "biopython", "yaml": "pyyaml", "sklearn": "scikit-learn"}
    names["llvmlite"] = "numba"  # which pins its version
    rules = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    pairs = re.findall(
        r'conda:\s+"\.\./envs/(\w+)\.yaml"(?:(?!^rule ).)*?script:\s+"\.\./scripts/(\w+\.py)"',
        rules,
        re.MULTILINE | re.DOTALL,
    )
    assert len(pairs) == len(re.findall(r"^ +script:", rules, re.MULTILINE)) >= 10
    reached = {path.stem: {"python"} for path in ENVIRONMENTS}
    for environment, script in pairs:
        waiting, seen = [ROOT / "scripts" / script], set()
        while waiting:
            path = waiting.pop()
            if path in seen or path.suffix != ".py":
                continue
            seen.add(path)
            waiting.extend(provenance._read(path)[1])
            for module in imported_packages(path):
                if module in sys.stdlib_module_names or module == "kreinflow":
                    continue
                reached[environment].add(names.get(module, module))
    for path in ENVIRONMENTS:
        assert set(packages(path)) == reached[path.stem], path.name


def test_the_container_has_the_python_of_the_environments_and_the_packages_of_the_lock():
    lines = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    steps = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    (image,) = [rest for step, rest in steps if step == "FROM"]
    for path in ENVIRONMENTS:
        python = packages(path)["python"].removeprefix("=")
        assert re.fullmatch(rf"docker\.io/library/python:{python}\.\d+-slim-bookworm", image)
    lock, package = (rest for step, rest in steps if step == "RUN")
    assert lock == "pip install --require-hashes -r requirements.lock"
    # Nothing beside the lock: neither for the package nor for its building.
    assert package == "pip install --no-deps --no-build-isolation -e ."
    copied = [rest for step, rest in steps if step == "COPY"]
    assert copied == ["requirements.lock .", ". ."]
