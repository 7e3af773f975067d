"""The folder of the workflow: the root of a clone, or inside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_INSTALLED, _CLONE = _PACKAGE / "workflow", _PACKAGE.parents[1]

WORKFLOW_FOLDER = _INSTALLED if _INSTALLED.is_dir() else _CLONE
"""The folder with ``Snakefile``, ``config.yaml``, ``schemas``, ``profiles`` and ``examples``."""
