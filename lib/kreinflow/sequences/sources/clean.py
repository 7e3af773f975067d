"""Records of sequences as a source reads them: each cleaned and checked, and each id once."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema, one_of, whole_number
from kreinflow.files.text_files import refuse_control
from kreinflow.sequences.collapse import Drops, SourceRecords
from kreinflow.sequences.fasta import LONGEST
from kreinflow.sequences.payload import Sequences

ILLEGAL_RESIDUES: SettingsSchema = {
    "illegal_residues": one_of(
        "refuse",
        "drop",
        about="what to do with a record that has a residue unknown to the substitution matrix",
    )
}
LENGTH_LIMIT: SettingsSchema = {
    "max_length": whole_number("residues of the longest sequence allowed", LONGEST, 40000),
    "too_long": one_of("refuse", "drop", about="what to do with longer ones"),
}


class CleanRecords:
    """Records of sequences as they are read, one after the other.

    The settings have the keys of :data:`ILLEGAL_RESIDUES` and :data:`LENGTH_LIMIT`. ``places`` has
    each id that was read, for messages; ``kept`` the residues of those that are not dropped; for
    ``organisms`` and ``substitutions`` see :class:`~kreinflow.sequences.collapse.SourceRecords`.
    """

    def __init__(self, settings: Mapping[str, Any], alphabet: str | None, molecule: str) -> None:
        self._settings = settings
        self._alphabet = ResidueAlphabet(alphabet or "", molecule)
        self.places: dict[str, str] = {}
        self.kept: dict[str, bytes] = {}
        self.organisms: dict[str, tuple[str, str]] = {}
        self.drops: Drops = defaultdict(list)
        self.substitutions = Counter[str]()

    def note(self, id: str, place: str) -> None:
        """Note where a record stands, and refuse an id that stood before."""
        if id in self.places:
            raise InputError(
                f"{place}: id {id!r} stands twice, first in {self.places[id]}. Rename or remove "
                "one of them."
            )
        self.places[id] = place

    def add(self, id: str, residues: bytes, organism: tuple[str, str] | None) -> None:
        """Keep a record that was noted, with its residues clean; or drop it, or refuse it."""
        found, longest = self._alphabet.clean(residues), self._settings["max_length"]
        illegal, fault = self._alphabet.illegal(found), ""
        if not found:
            raise InputError(
                f"{self.places[id]}, {id}: has no residues but stops or gaps. Remove the record."
            )
        if len(found) > longest:
            key = "too_long"
            fault = f"has {len(found)} residues, more than max_length = {longest}. Raise it"
        elif illegal:
            key = "illegal_residues"
            fault = (
                f"residue {illegal[0]} is {illegal[1]!r}, which the substitution matrix does not "
                "know. Correct the sequence"
            )
        if fault and self._settings[key] == "refuse":
            raise InputError(f"{self.places[id]}, {id}: {fault}, or set '{key}: drop'.")
        if fault:
            self.drops[key.replace("_", " ")].append(id)
            return
        self.kept[id] = found
        self.substitutions += self._alphabet.substitutions(residues)
        if organism and organism[0]:
            self.organisms[id] = organism

    def labelled(self, labels: Mapping[str, str], files: Sequence[Path]) -> SourceRecords:
        """Return the kept records that have a label, read from some files."""
        ids = [id for id in self.kept if id in labels]
        refuse_control("label", (labels[id] for id in ids), (self.places[id] for id in ids))
        organisms = {id: self.organisms[id] for id in ids if id in self.organisms}
        return SourceRecords(
            ids,
            [labels[id] for id in ids],
            Sequences(tuple(self.kept[id] for id in ids)),
            len(self.places),
            files,
            self.drops,
            self.substitutions,
            organisms,
        )
