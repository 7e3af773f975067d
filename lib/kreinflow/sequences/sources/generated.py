"""Data that a generator draws, for examples and experiments."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kreinflow.base.settings import SettingsSchema
from kreinflow.kernels.generators import GENERATORS, generate
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.objects import refuse_unfit
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE
from kreinflow.sequences.sources.vectors import ComparedSource


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

    def load(self, alphabet: str | None, seed: int, unknown: Sequence[str] = ()) -> Dataset:
        generator = self.settings["generator"]
        vectors, labels = generate(generator, seed)
        refuse_unfit(f"generator {generator['name']}", self.kernel, vectors)
        ids = [str(i) for i in range(1, len(labels) + 1)]
        records = SourceRecords(ids, labels, self._payload(vectors), len(ids))
        return self._collapse(records, unknown)

    def _objects_text(self) -> str:
        generator = self.settings["generator"]
        return GENERATORS[generator["name"]](generator).describe()
