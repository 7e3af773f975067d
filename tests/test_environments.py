"""The lock, the environments and the package's own ranges agree."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
CONDA_NAMES = {"parasail-python": "parasail", "matplotlib-base": "matplotlib"}
ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))


def locked(name="requirements.lock"):
    return dict(re.findall(r"^([a-z0-9_.-]+)==([^ ;\\]+)", (ROOT / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_environments_pin_what_the_lock_pins(path):
    lock = locked()
    content = yaml.safe_load(path.read_text())
    assert content["channels"] == ["conda-forge", "bioconda", "nodefaults"]
    for entry in content["dependencies"]:
        name, version = entry.split(" ", 1)
        if name == "python":
            assert version == "=3.11"
            continue
        assert version == f"=={lock[CONDA_NAMES.get(name, name)]}", entry


def test_the_lock_meets_the_ranges_and_has_hashes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lock = locked()
    for text in [*project["dependencies"], *project["optional-dependencies"]["build"]]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(lock[requirement.name]), text
    tested = locked("requirements-test.lock")
    for text in project["optional-dependencies"]["test"]:
        requirement = Requirement(text)
        assert requirement.specifier.contains(tested[requirement.name]), text
    assert {name: tested[name] for name in lock} == lock
    text = (ROOT / "requirements.lock").read_text()
    assert text.count("==") <= text.count("--hash=sha256:")
    assert not re.search(r"^-", text, re.MULTILINE), "the lock names options of its maker"


def imported_packages(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_environments_hold_what_their_scripts_import():
    """Each third-party module that a rule's script reaches is in the environment of the rule."""
    import sys

    from kreinflow import provenance

    names = {"Bio": "biopython", "yaml": "pyyaml", "sklearn": "scikit-learn"}
    names["llvmlite"] = "numba"  # which pins its version
    names["scoring_matrices"] = "scoring-matrices"
    rules = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
    pairs = re.findall(
        r'conda:\s+"\.\./envs/(\w+)\.yaml"(?:(?!^rule ).)*?script:\s+"\.\./scripts/(\w+\.py)"',
        rules,
        re.MULTILINE | re.DOTALL,
    )
    assert len(pairs) == len(re.findall(r"^ +script:", rules, re.MULTILINE)) >= 10
    for environment, script in pairs:
        content = yaml.safe_load((ROOT / "envs" / f"{environment}.yaml").read_text())
        present = {
            CONDA_NAMES.get(e.split(" ")[0], e.split(" ")[0]) for e in content["dependencies"]
        }
        waiting, seen = [ROOT / "scripts" / script], set()
        while waiting:
            path = waiting.pop()
            if path in seen or path.suffix != ".py":
                continue
            seen.add(path)
            waiting.extend(provenance._imported(path))
            for module in imported_packages(path):
                if module in sys.stdlib_module_names or module == "kreinflow":
                    continue
                name = names.get(module, module)
                assert name in present, f"{environment}: {name}, which {path.name} imports"
