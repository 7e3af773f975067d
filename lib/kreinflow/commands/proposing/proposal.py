"""A proposed config: what was found in the data, and the keys that follow from it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.commands.proposing.fasta import look_at_fasta
from kreinflow.commands.proposing.folds import IDENTITY, FoldsFound, Groups, propose_folds
from kreinflow.commands.proposing.measured import are_numbers, look_at_numbers
from kreinflow.commands.proposing.source import SourceFound
from kreinflow.commands.proposing.tables import find_sequences
from kreinflow.commands.proposing.writing import Noted, yaml_text
from kreinflow.config.configuration import complete_configuration
from kreinflow.config.paths import TAKEN
from kreinflow.config.plan import DatasetPlan
from kreinflow.files.text_files import name_endings
from kreinflow.sequences.dataset import Dataset

SEED = 1
"""The default of the config."""

RELATED, FEWEST = 0.5, 20
"""Identity of the relatives that a proposal counts, and of how many sequences at least."""


@dataclass(frozen=True)
class Proposal:
    """A config for data, with notes and complete; what was found, and what looks wrong."""

    name: str
    content: dict[str, Any]
    config: dict[str, Any]
    groups: Groups
    found: list[str]
    advice: list[str]

    @property
    def folds(self) -> str:
        """How many folds are proposed, and why."""
        count, why = self.content["datasets"][self.name]["folds"]["k"]
        return f"{plural(count, 'fold')}: {why}."


def propose(inputs: Sequence[str], labels: str | None) -> Proposal:
    """Look at data and propose a config for them.

    Inputs are a FASTA file, several, or a folder of them; or one file: a table with a column of
    sequences, a matrix, or vectors. Without a table or text of ``labels`` they are in the headers,
    or in other columns, or the files are classes.
    """
    if len(inputs) > 1 and (tables := [path for path in inputs if are_numbers(path)]):
        raise InputError(
            f"{tables[0]}: is no FASTA file, by its name. If it has the labels, give it behind "
            "--labels."
        )
    table = find_sequences(inputs[0]) if len(inputs) == 1 else None
    if table is not None and labels is not None:
        raise InputError(
            f"{inputs[0]}: has sequences in a column, and its labels are looked for in the others. "
            "Leave out --labels, and give the labels a column there."
        )
    if len(inputs) == 1 and table is None and are_numbers(inputs[0]):
        source = look_at_numbers(inputs[0], labels)
    else:
        source = look_at_fasta(inputs, labels, table)
    name = dataset_name(inputs[0]) if len(inputs) == 1 else "mine"
    found = propose_folds(lambda least: _load(source, least), SEED)
    settings: dict[str, Any] = source.settings
    if found.min_class_size > 2:
        few = plural(len(found.left_out), "class is", "classes are")
        why = f"{few} smaller, and left out: {abridged(list(found.left_out), 8)}"
        settings = settings | {"min_class_size": Noted(found.min_class_size, why)}
        source.advice.append(
            f"{few} too small for {found.settings['k']} folds and left out: "
            f"{abridged(list(found.left_out))}. Give more records of them, or lower "
            "'min_class_size' and 'folds.k'."
        )
    part = _part(source, settings) | {"folds": _folds(found, source)}
    content = {
        "results": Noted(f"results-{name}", "everything is written there"),
        "datasets": {name: part},
    }
    if source.levels and "multiple" not in settings["labels"]:
        why = "what is unknown at a level, such as a new genus, is answered above it"
        content["unknown"] = Noted({"false_alarms": 0.01}, why)
    config = complete(content)
    return Proposal(name, content, config, found.groups, source.found, source.advice)


def dataset_name(path: str) -> str:
    """Return a name for the data set of a file or folder.

    Examples
    --------
    >>> dataset_name("data/My proteins (2).fasta.gz"), dataset_name("蛋白.fa"), dataset_name(".")
    ('My_proteins_2', 'mine', 'mine')
    """
    stem, _ = name_endings(Path(path))
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", stem)[:60].strip("_.+-")
    return "mine" if not name or name.casefold() in TAKEN else name


def _part(source: SourceFound, settings: dict[str, Any]) -> dict[str, Any]:
    return {"source": settings, **({"levels": source.levels} if source.levels else {})}


def _load(source: SourceFound, least: int) -> Dataset:
    part = _part(source, source.settings | {"min_class_size": least})
    plan = DatasetPlan(complete({"datasets": {"mine": part}}), "mine")
    plan.source.check()
    return plan.source.load(plan.source.alphabet(plan.settings["scoring"]), SEED)


def complete(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config, whose values may be noted, with all defaults."""
    return complete_configuration(yaml.safe_load(yaml_text(content)), "the proposed config")


def _folds(found: FoldsFound, source: SourceFound) -> Mapping[str, Any]:
    grouped = found.settings["method"] == "grouped"
    note = ""
    if found.alike is not None:
        share = f"{found.alike:,} of {found.distinct:,} distinct sequences"
        note = f"{share} are near-identical to another (identity {IDENTITY:g} or more)"
        source.found.append(f"{note}.")
        if found.alike and not grouped:
            source.advice.append(
                "Near-identical sequences may be in different folds, which flatters all figures: "
                "some class has too few groups of them to keep them together."
            )
            note += ", but classes have too few groups of them: figures are flattered"
        elif grouped:
            note += ": these share a fold"
    if len(near := found.nearest) >= FEWEST:
        related, far = float(np.mean(near >= RELATED)), f"'identity: {RELATED:g}' in 'folds'"
        source.found.append(
            f"Of {plural(len(near), 'sequence')} {100 * related:.0f} % have a relative of "
            f"{100 * RELATED:g} % identity or more that is not near-identical (the nearest, in the "
            f"median: {100 * np.median(near):.0f} %)."
            + (f" Figures are for such sequences; {far} tells of new families." * (related > 0.5))
        )
    what = plural(found.fewest, "group" if grouped else "different record")
    why = f"the smallest class, {found.smallest}, has {what}"
    if found.fewest < found.settings["k"]:
        why += ": it is in no more folds than that, and always learned if it has one"
    notes = {"method": note, "k": why}
    return {key: Noted(value, notes.get(key, "")) for key, value in found.settings.items()}
