"""What a process does without is not imported: it would take longer than the rest of many a job."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
IMPORT = re.compile(r"^(?:from \S+ import (?:\([^)]*\)|[^\n(]*)|import [^\n]*)$", re.MULTILINE)
OTHERS = {"compare_competitor", "compare", "figures"}
"""These draw, train or look for near-identical sequences."""


def imports(*paths):
    """The imports at the top of rules or scripts."""
    return "\n".join(line for path in paths for line in IMPORT.findall((ROOT / path).read_text()))


SCRIPTS = sorted(
    f"scripts/{path.name}" for path in (ROOT / "scripts").glob("*.py") if path.stem not in OTHERS
)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        (
            "from kreinflow.commands.main import main",
            "numpy pandas scipy yaml",
        ),
        # A start of Snakemake that finds nothing to do.
        (
            imports("rules/common.smk", "rules/resources.smk"),
            "kreinflow.answering kreinflow.fitting pandas numba sklearn matplotlib scipy.linalg "
            "scipy.sparse scipy.special",
        ),
        (imports(*SCRIPTS), "numba sklearn matplotlib"),
    ],
    ids=["help", "start", "scripts"],
)
def test_what_is_slow_to_import_is_imported_late(code, absent):
    asked = (
        f"{code}\nimport sys\nprint(*(name for name in {absent.split()} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
