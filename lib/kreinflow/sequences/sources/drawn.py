"""Data that are drawn: vectors of a generator, and simulated protein families."""

from collections.abc import Iterator
from typing import ClassVar

from kreinflow.base.settings import SettingsSchema, whole_number
from kreinflow.kernels.generators import GENERATORS, generate
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.matrix_files import refuse_unfit
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.simulation import simulate_families
from kreinflow.sequences.sources.measured import ComparedSource
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE, Source


class GeneratedSource(ComparedSource):
    """Vectors of a generator: the same for the same settings and seed."""

    type = "generated"
    noun = "generated data"
    settings_schema: ClassVar[SettingsSchema] = {
        "generator": {"$ref": "#/$defs/generator"},
        "kernel": {"$ref": "#/$defs/kernel"},
        **MIN_CLASS_SIZE,
    }

    def faults(self) -> Iterator[tuple[str, str]]:
        if self.kernel.strings:
            yield "kernel", f"{self.kernel.name} compares strings, generators make vectors."

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        generator = self.settings["generator"]
        vectors, labels = generate(generator, seed)
        refuse_unfit(f"generator {generator['name']}", self.kernel, vectors)
        ids = [str(i) for i in range(1, len(labels) + 1)]
        return SourceRecords(ids, labels, self._payload(vectors), len(ids))

    def _objects_text(self) -> str:
        generator = self.settings["generator"]
        return GENERATORS[generator["name"]](generator).describe()


class SimulatedSource(Source):
    """Families that evolve from random ancestors; see :mod:`kreinflow.sequences.simulation`."""

    type = "simulated"
    aligned = True
    settings_schema: ClassVar[SettingsSchema] = {
        "families": whole_number("protein families, the classes", 1000, 8, 2),
        "sequences": whole_number("sequences of all families together", 1000000, 900, 20),
        **MIN_CLASS_SIZE,
    }

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        simulated = simulate_families(self.settings["families"], self.settings["sequences"], seed)
        ids, labels, residues = zip(*simulated, strict=True)
        return SourceRecords(ids, labels, Sequences(residues), len(ids))

    def describe(self) -> str:
        return (
            "Protein families were simulated from random ancestors under the LG model [@le2008] "
            "with insertions, deletions and unrelated flanks."
        )
