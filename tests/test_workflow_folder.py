import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kreinflow import __version__
from kreinflow.workflow_folder import WORKFLOW_FOLDER

ROOT = Path(__file__).parents[1]
SHIPPED = ("config.yaml", "envs", "examples/pfam_kin", "profiles", "report", "rules", "schemas")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=ROOT, check=True)
    (path,) = folder.glob("*.whl")
    return path


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
