"""Simulated protein families."""

from collections.abc import Sequence
from typing import ClassVar

from kreinflow.base.settings import SettingsSchema
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.simulation import simulate_families
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE, Source, number


class SimulatedSource(Source):
    """Families that evolve from random ancestors; see :mod:`kreinflow.sequences.simulation`."""

    type = "simulated"
    aligned = True
    settings_schema: ClassVar[SettingsSchema] = {
        "families": number("protein families, the classes", 2, 1000, 8),
        "sequences": number("sequences of all families together", 20, 1000000, 900),
        **MIN_CLASS_SIZE,
    }

    def load(self, alphabet: str | None, seed: int, unknown: Sequence[str] = ()) -> Dataset:
        simulated = simulate_families(self.settings["families"], self.settings["sequences"], seed)
        records = SourceRecords(
            [s.id for s in simulated],
            [s.label for s in simulated],
            Sequences(tuple(s.residues for s in simulated)),
            len(simulated),
        )
        return self._collapse(records, unknown)

    def describe(self) -> str:
        return (
            "Protein families were simulated from random ancestors under the LG model [@le2008] "
            "with insertions, deletions and unrelated flanks."
        )
