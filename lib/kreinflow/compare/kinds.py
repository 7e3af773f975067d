"""The kinds of folds of the comparison, and the data sets once more for those that lack."""

from collections.abc import Mapping
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.sequences.sources.registry import make_source

RANDOM = "random"
HOMOLOGY = "homology-aware"
OWN_TABLE = "own table"


def kind_of_folds(folds: Mapping[str, Any]) -> str:
    """Return what the comparison calls the folds of a data set's configuration."""
    names = {"stratified": RANDOM, HOMOLOGY: HOMOLOGY, "table": OWN_TABLE}
    if folds["method"] in names:
        return names[folds["method"]]
    if folds["column"] is not None:
        return f"grouped by {folds['column']}"
    return f"grouped at {folds['identity']:.0%} identity"


def twins_of(datasets: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, for each data set of sequences, itself once more with each kind of folds it lacks.

    Keys are the names of the data sets, then of the twins, which end in ``+`` and the kind. The
    competitors give one label, so data sets whose records may have several are left out. An
    InputError if a data set has the name of another's twin.
    """
    found = {}
    for name, part in datasets.items():
        source = make_source(part["source"])
        if not source.aligned or source.several:
            continue
        folds = {**part["folds"], "column": None, "table": None}
        found[name] = {
            f"{name}+{kind}": {**part, "folds": folds | {"method": method}}
            for kind, method in ((RANDOM, "stratified"), (HOMOLOGY, HOMOLOGY))
            if kind != kind_of_folds(part["folds"])
        }
        for twin in found[name]:
            if taken := next((n for n in datasets if n.casefold() == twin.casefold()), None):
                raise InputError(
                    f"datasets: {taken!r} is the name that the comparison gives to {name!r} with "
                    "other folds. Choose another name."
                )
    return found
