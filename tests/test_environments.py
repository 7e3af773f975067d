"""The lock, the environments and the package's own ranges agree."""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from jinja2 import StrictUndefined, Template
from packaging.requirements import Requirement

from kreinflow import __version__
from kreinflow.files import provenance

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONDA_NAMES = {
    "parasail-python": "parasail",
    "matplotlib-base": "matplotlib",
    "snakemake-minimal": "snakemake",
}
CLOUDS = ("kubernetes", "googlebatch", "aws-batch")
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
    project = PYPROJECT["project"]
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
    (plugin,) = optional["cluster"]
    for name in ("profiles/slurm/config.yaml", "docs/cluster.md"):
        assert f"pip install {plugin}\n" in (ROOT / name).read_text(), name
    for name in CLOUDS:
        text = (ROOT / "profiles" / name / "config.yaml").read_text()
        command = re.search("^#   (pip install .*)$", text, re.MULTILINE)[1]
        assert f"{command}\n" in (ROOT / "docs" / "cluster.md").read_text(), name
    text = (ROOT / "requirements.lock").read_text()
    assert text.count("==") <= text.count("--hash=sha256:")
    assert not re.search(r"^-", text, re.MULTILINE), "the lock names options of its maker"


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
    image, *later = [rest for step, rest in steps if step == "FROM"]
    for path in ENVIRONMENTS:
        python = packages(path)["python"].removeprefix("=")
        base = rf"docker\.io/library/python:{python}\.\d+-slim-bookworm AS packages"
        assert re.fullmatch(base, image)
    assert later == ["packages AS wheel", "packages"]
    assert [rest for step, rest in steps if step in ("RUN", "COPY")] == [
        "requirements.lock .",
        "pip install --require-hashes -r requirements.lock",
        ". /source",
        # Nothing beside the lock: neither for the package nor for its building.
        "pip wheel --no-deps --no-build-isolation --wheel-dir /wheel /source",
        "--from=wheel /wheel /wheel",
        "pip install --no-deps /wheel/*.whl",
    ]


def test_the_profiles_for_clouds_differ_in_what_a_cloud_asks_for_alone():
    """One job has all rules but the download and all stages, in the image of this version."""
    read = {
        name: yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text())
        for name in ("default", *CLOUDS)
    }
    rules = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    names = {*re.findall(r"^rule (\w+):$|^use rule \w+ as (\w+) with:$", rules, re.MULTILINE)}
    snakefile = (ROOT / "Snakefile").read_text()
    stages = re.findall(r'^    "(\w+)":', snakefile[snakefile.index("TARGETS = {") :], re.MULTILINE)
    for name in CLOUDS:
        profile = read[name]
        assert profile["container-image"] == f"kreinflow/kreinflow:{__version__}"
        assert profile["groups"] == read[CLOUDS[0]]["groups"]
        assert read["default"].items() <= profile.items()
        grouped = dict(line.split("=") for line in profile["groups"])
        assert {*map("".join, names), *stages} - {"download"} <= set(grouped)
        assert set(grouped.values()) == {"run"}


def test_the_recipe_for_bioconda_is_the_package_of_this_version():
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    rendered = Template(text, undefined=StrictUndefined).render(
        PYTHON="python",
        environ=dict.fromkeys(["KREINFLOW_ARCHIVES", "KREINFLOW_HOME", "KREINFLOW_SHA256"], "x"),
        pin_subpackage=lambda name, **_: name,
    )
    recipe = yaml.safe_load(rendered)

    def asked(part):
        """What a part of the requirements asks for, with the names of PyPI."""
        entries = (entry.partition(" ") for entry in recipe["requirements"][part])
        return {CONDA_NAMES.get(name, name): version for name, _, version in entries}

    def ranges(texts):
        found = [Requirement(text) for text in texts]
        return {requirement.name: str(requirement.specifier) for requirement in found}

    project = PYPROJECT["project"]
    python = {"python": project["requires-python"]}
    assert asked("run") == ranges(project["dependencies"]) | python
    assert asked("host") == ranges(PYPROJECT["build-system"]["requires"]) | python | {"pip": ""}
    assert recipe["package"] == {"name": project["name"], "version": project["version"]}
    assert recipe["source"]["url"].endswith(f"/kreinflow-{project['version']}.tar.gz")
    (entry,) = recipe["build"]["entry_points"]
    assert dict([entry.split(" = ")]) == project["scripts"]
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["about"]["license"] == project["license"]


def test_the_version_is_the_same_wherever_it_is_written():
    names = ("Containerfile", "CITATION.cff", "rules/common.smk")
    container, citation, rules = ((ROOT / name).read_text() for name in names)
    written = [
        *re.findall(r"kreinflow:(\S+)", container),
        *re.findall(r'image\.version="(.+?)"', container),
        *re.findall(r"(?m)^version: (.+)", citation),
        *re.findall(r'(?m)^VERSION = "(.+?)"', rules),
        PYPROJECT["project"]["version"],
    ]
    assert written == 5 * [__version__]
