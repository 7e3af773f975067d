"""Longer texts of the report, from ``texts.yaml``; and the figures that it has."""

from pathlib import Path
from typing import Any

import yaml

TEXTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_bytes())
"""Captions of figures, warnings, files that the crate names, and words for settings."""

CAPTIONS: dict[str, str] = TEXTS["captions"]  # of the figures of a data set, by their names
SEVERAL_CAPTIONS = CAPTIONS | TEXTS["several"]  # where records may have several labels
FIGURES = tuple(name for name in CAPTIONS if name not in ("unknown", "levels"))  # of all data sets
