"""What is found where data are read: settings of the source, and what to say of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kreinflow.base.wording import abridged, plural
from kreinflow.commands.proposing.labels import Candidate, separator_of_levels
from kreinflow.commands.proposing.tables import LabelsTable
from kreinflow.commands.proposing.writing import Noted, scalar


@dataclass
class SourceFound:
    """A source that reads the data, and what was found on the way.

    Parameters
    ----------
    settings : dict
        The part ``source`` of the config, with notes.
    levels : Noted or None
        The part ``levels``.
    found : list of str
        What to tell, a sentence each.
    advice : list of str
        What looks like a mistake, a sentence or two each.
    more : list of str
        Comments beside the folds.
    """

    settings: dict[str, Any]
    levels: Noted | None = None
    found: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    more: list[str] = field(default_factory=list)


def labels_of_table(
    table: LabelsTable, name: str, records: int, source: SourceFound
) -> dict[str, Any]:
    """Return the settings of the labels in a table, and tell what it has.

    Parameters
    ----------
    table : LabelsTable
    name : str
        As the user gave it.
    records : int
        Of the data.
    source : SourceFound
        What is told goes there.
    """
    chosen, *further = table.candidates
    note = f"{table.matched:,} of its {table.lines:,} lines are of a record"
    settings: dict[str, Any] = {"table": name, "id_column": Noted(table.id_column, note)}
    source.found.append(f"ids: the column {table.id_column!r} of {name}, {note}.")
    where = f"the column {chosen.name!r} of {name}"
    about, several = tell_of_labels(chosen, further, where, source)
    settings |= {"label_column": Noted(chosen.name, about), **several}
    if chosen.is_doubtful():
        source.advice.append(guessed(where, chosen))
    if above := next((one for one in further if chosen.is_below(one)), None):
        letters = "".join([*chosen.sizes, *above.sizes])
        sign = next((sign for sign in "/>|:" if sign not in letters), "::")
        settings["more"] = Noted(
            None,
            f"Each class has one {above.name!r}. For answers at that level too, where it is not "
            f"sure of the class: label_column: {scalar([above.name, chosen.name])}, and beside the "
            f"source levels: {{separator: {scalar(sign)}}}.",
        )
    _tell_of_folds([*further, *table.others], records, source)
    return settings


def _tell_of_folds(columns: Sequence[Candidate], records: int, source: SourceFound) -> None:
    """Say how to make folds of columns that look like it."""
    for one in columns:
        if one.is_of_folds() and len(one.sizes) > 1:
            source.more.append(
                f"The column {one.name!r} looks like folds of your own. To test on these: "
                "{method: table, table: TABLE} with the columns id and fold."
            )
        elif one.is_of_groups() and 1 < len(one.sizes) < records == len(one.texts):
            source.more.append(
                f"To test on records of another {one.name!r} ({len(one.sizes)} of them) than was "
                f"learned from: {{method: grouped, column: {scalar(one.name)}}}."
            )


def tell_of_labels(
    chosen: Candidate, further: Sequence[Candidate], where: str, source: SourceFound
) -> tuple[str, dict[str, Any]]:
    """Tell of the labels that were chosen, and of others that could be.

    Returns
    -------
    str
        What stands beside them.
    dict
        Settings beside them.
    """
    sizes = sorted(chosen.sizes.values())
    if chosen.separator is not None:
        about = f"{plural(len(sizes), 'label')}, several a record"
    else:
        span = f"{sizes[0]:,} to {sizes[-1]:,}" if sizes[0] < sizes[-1] else f"{sizes[0]:,}"
        about = f"{plural(len(sizes), 'class', 'classes')} of {span} records"
        levels = separator_of_levels(list(chosen.sizes))
        if levels is not None:
            source.levels = Noted(
                {"separator": levels}, "labels are paths: answered as far down as is sure"
            )
            source.found.append(f"labels are paths, with {levels!r} between their levels.")
    if further:
        others = abridged([one.described for one in further], 6)
        source.found.append(f"labels: {where}, {about}. Others could be: {others}.")
        about += f"; others could be {others}"
    else:
        source.found.append(f"labels: {where}, {about}.")
    if missing := chosen.missing():
        count = sum(chosen.sizes[text] for text in missing)
        source.advice.append(
            f"{plural(count, 'record has', 'records have')} a label that may say that there is "
            f"none: {', '.join(map(repr, missing))}. It is a class as any other. If it is none, "
            "leave the field empty (FASTA) or the row out (a matrix, vectors)."
        )
    return about, _several(chosen, source)


def guessed(where: str, chosen: Candidate) -> str:
    """Return what to say where labels may be something else."""
    texts = abridged([*chosen.sizes], 3)
    return (
        f"The labels are a guess: {where}, such as {texts}. If they are others, give a table that "
        "has them with --labels, or name its column in the config."
    )


def _several(chosen: Candidate, source: SourceFound) -> dict[str, Any]:
    separator = chosen.separator
    if separator is None:
        return {}
    several = [
        ", ".join(map(repr, dict.fromkeys(own)))
        for own in chosen.texts.values()
        if len(set(own)) > 1 or separator in own[0]
    ]
    source.advice.append(
        f"{plural(len(several), 'record has', 'records have')} several labels, such as "
        f"{several[0]}. If that is one label, remove 'multiple' and 'separator' from the config. "
        "If a line is wrong, remove it from the table."
    )
    note = "each label is learned against the records that lack it"
    return {"multiple": Noted("all", note), "separator": separator}
