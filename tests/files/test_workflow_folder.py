import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kreinflow import __version__
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER

ROOT = Path(__file__).parents[2]
SHIPPED = ("config.yaml", "envs", "examples/pfam_kin", "profiles", "report", "rules", "schemas")


def build(kind, folder, root=ROOT):
    """Build the sdist or the wheel of a clone, or of an unpacked archive, into a folder."""
    code = "import sys, hatchling.build as b; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, kind, str(folder)], cwd=root, check=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build("wheel", tmp_path_factory.mktemp("wheel"))


def test_in_a_clone_the_workflow_is_at_its_root():
    assert ROOT == WORKFLOW_FOLDER


def test_the_wheel_has_each_file_of_the_workflow_inside_the_package(wheel):
    with zipfile.ZipFile(wheel) as packed:
        roots = {name.split("/")[0] for name in packed.namelist()}
        assert roots == {"kreinflow", f"kreinflow-{__version__}.dist-info"}
        for part in ("Snakefile", "scripts", *SHIPPED):
            files = [ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*.*")
            for file in files:
                if "__pycache__" not in file.parts and file.is_file():
                    inside = f"kreinflow/workflow/{file.relative_to(ROOT)}"
                    assert packed.read(inside) == file.read_bytes()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    """The sdist, unpacked where there is no git."""
    sdist = build("sdist", tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["tar", "-xzf", sdist, "-C", folder], check=True)
    return folder / f"kreinflow-{__version__}"


def test_the_sdist_has_what_a_clone_has_and_no_results_or_caches(unpacked):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = {
        path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()
    }
    assert files == {*listed.stdout.splitlines(), "PKG-INFO"}


def test_the_sdist_builds_the_wheel_of_the_clone(unpacked, wheel, tmp_path):
    (unpacked / "results").mkdir()  # left behind by a run there
    (unpacked / "results" / "report.html").touch()
    assert build("wheel", tmp_path, unpacked).read_bytes() == wheel.read_bytes()
