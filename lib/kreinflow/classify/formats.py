"""Answers and evidence in formats that other programs read: QIIME 2's taxonomy, BLAST's table."""

import pandas as pd

from kreinflow.base.errors import InputError
from kreinflow.classify.evidence import Evidence, Witnesses
from kreinflow.classify.model_file import Model

FORMATS = ("tsv", "qiime", "blast6")
"""Our own table; Feature ID, Taxon, Confidence; the evidence as BLAST's ``-outfmt 6``."""

UNASSIGNED = "Unassigned"
"""QIIME 2's word for a record without a taxon."""


def refuse_format(model: Model, name: str) -> None:
    """Refuse, by an InputError, a format that cannot have what a model says."""
    if name == "qiime" and model.classifier.several is not None:
        why = "a record has one taxon, and the model may give it several labels. Leave it out."
        raise InputError(f"--format qiime: {why}")
    if name == "blast6" and Witnesses(model).weighing is None:
        why = "it has E-values, and scores of the model have none. Leave it out."
        raise InputError(f"--format blast6: {why}")


def taxonomy(model: Model, table: pd.DataFrame) -> pd.DataFrame:
    """Return the answers of a batch as Feature ID, Taxon and Confidence.

    With levels the taxon is the deepest node that is sure, its levels joined by a semicolon
    and a space, else the label if it is not rejected. Of a record that is :data:`UNASSIGNED` the
    confidence is empty.
    """
    if (levels := model.classifier.levels) is not None:
        parts = table["node"].str.split(levels.separator, regex=False)
        taxon, confidence = parts.str.join("; "), table["node_probability"]
    else:
        taxon, confidence = table["label"].where(table["reject"] == "no", ""), table["probability"]
    known = taxon != ""
    cells = table["id"], taxon.where(known, UNASSIGNED), confidence.where(known)
    return pd.DataFrame(dict(zip(("Feature ID", "Taxon", "Confidence"), cells, strict=True)))


def blast6(found: Evidence) -> str:
    """Return evidence as the lines of BLAST's ``-outfmt 6``, the best member of each object first.

    What has no alignment is left out. Of an object that was turned positions are those of the
    object as it was given, and those of the member run backwards, as in BLAST; of one that was
    translated they are nucleotides, which run backwards themselves.
    """
    table = found.table.assign(row=found.rows, length=found.lengths.astype(int))
    table = table[(table["columns"] != "") & (table["identity"] != "")]
    table = table.sort_values(["row", "evalue", "score"], ascending=[True, True, False])
    lines = []
    for own in table.to_dict("records"):
        begin, end = own["query_start"], own["query_end"]
        there = own["member_start"], own["member_end"]
        if own.get("strand") == "-":
            begin, end, there = own["length"] + 1 - end, own["length"] + 1 - begin, there[::-1]
        if "frame" in own:  # positions of nucleotides
            shift = int(own["frame"][1])
            begin, end = 3 * begin + shift - 3, 3 * end + shift - 1
            if own["frame"][0] == "-":
                begin, end = own["length"] + 1 - begin, own["length"] + 1 - end
        counts = (own[name] for name in ("columns", "mismatches", "gap_opens"))
        cells = (own["query"], own["member"], f"{100 * own['identity']:.3f}", *counts)
        cells += (begin, end, *there, f"{own['evalue']:.3g}", f"{own['bits']:.1f}")
        lines.append("\t".join(map(str, cells)) + "\n")
    return "".join(lines)
