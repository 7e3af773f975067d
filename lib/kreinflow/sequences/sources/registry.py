"""The sources of data that the config can name. A new one is its own file and its line here."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kreinflow.base.settings import by_name
from kreinflow.sequences.sources.drawn import GeneratedSource, SimulatedSource
from kreinflow.sequences.sources.fasta import FastaSource
from kreinflow.sequences.sources.flat_file import FlatFileSource
from kreinflow.sequences.sources.measured import (
    MatrixSource,
    ObjectsSource,
    PairsSource,
    VectorsSource,
)
from kreinflow.sequences.sources.source import Source

SOURCES: dict[str, type[Source]] = by_name(
    FastaSource,
    FlatFileSource,
    MatrixSource,
    SimulatedSource,
    VectorsSource,
    ObjectsSource,
    PairsSource,
    GeneratedSource,
)
"""By the type in the config."""


def make_source(
    settings: Mapping[str, Any], data_folder: Path = Path(), separator: str | None = None
) -> Source:
    """Return the source of a data set's ``source``; see :class:`Source`."""
    return SOURCES[settings["type"]](settings, data_folder, separator)
