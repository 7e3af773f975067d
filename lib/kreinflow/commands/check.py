"""``kreinflow check``: all that the workflow checks before its first alignment."""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kreinflow.sequences.dataset import Dataset
    from kreinflow.sequences.partition import Partition

HELP = "check a configuration and its input, run nothing"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    parser.add_argument("--data", metavar="DIR", help="in place of the key 'data' of the config")


def run(options: argparse.Namespace) -> None:
    """Check everything, and print a line for each data set."""
    from kreinflow.competitors.kinds import twins_of
    from kreinflow.configuration import load_configuration
    from kreinflow.preflight import check_files

    config = load_configuration(options.config)
    twins_of(config["datasets"])  # refuses names that the comparison needs
    data = Path(options.data if options.data is not None else config["data"])
    check_files(config, data)
    for name in config["datasets"]:
        _check_one(config, name, data)


def _check_one(config: Mapping[str, Any], name: str, data: Path) -> None:
    from kreinflow.plan import DatasetPlan
    from kreinflow.preflight import check_dataset
    from kreinflow.scores import evidence_of, read_scheme, transforms_of
    from kreinflow.sequences.folds import assign_folds
    from kreinflow.sequences.partition import partition_of
    from kreinflow.sequences.record_vectors import shared_vectors, with_vectors
    from kreinflow.sequences.sources.registry import make_source
    from kreinflow.sequences.unknown import without_unknown

    plan, part = DatasetPlan(config, name), config["datasets"][name]
    source = make_source(part["source"], data, plan.separator)
    whole = source.load(source.alphabet(part["scoring"]), config["seed"], part["unknown"])
    if part["vectors"] is not None:
        whole = with_vectors(whole, data / part["vectors"])
        print(f"kreinflow: {name}: {shared_vectors(whole)}.", file=sys.stderr)
    dataset = without_unknown(whole, part["unknown"])
    partition = partition_of(
        assign_folds(part["folds"], dataset, config["seed"], data, part["source"]), dataset
    )
    scheme = read_scheme(dataset, part["scoring"], data)
    transforms = transforms_of(plan.transforms, config["transforms"], scheme)
    check_dataset(dataset, partition, plan.selectors, scheme, transforms, data, whole)
    _tell(name, whole, dataset, partition, len(part["recipes"]))
    if config["unknown"] is not None:
        told = evidence_of(config["transforms"], scheme) is not None
        print(f"{name}: unknown: {_cost_of_unknown(dataset, partition, told, part['levels'])}")


def _cost_of_unknown(
    dataset: "Dataset", partition: "Partition", told: bool, levels: Mapping[str, Any] | None
) -> str:
    """Return what telling unknown objects costs; nobody knows before how many landmarks there are.

    The fold that tests most is told.
    """
    if not told:
        return "nothing is tested, as there are no E-values: they are of local alignments"
    from kreinflow.models.relating import STRANGERS
    from kreinflow.relating_costs import calibration_pairs, rule_pairs

    n = len(dataset.ids)
    tested = max((partition.testing(fold).sum() / n for fold in partition.names), default=0.0)
    statistics = {"class_sizes": Counter(dataset.classes[code] for code in dataset.labels)}
    pairs = calibration_pairs(statistics, tested, levels) + rule_pairs(0)
    return (
        f"at most {pairs:,.0f} more alignments for each recipe and fold, and {2 * STRANGERS} for "
        "each landmark"
    )


def _asymmetry(share: float) -> str:
    """Return what to say of the largest difference of two directions, a share of all entries."""
    if share == 0:
        return (
            "the matrix is symmetric, though its kind is asymmetric. With 'kind: similarity' there "
            "are more selectors, corrections and learners."
        )
    return (
        f"the two directions of a pair differ by up to {100 * share:.3g} % of the largest entry. "
        "Each object (row) is compared with the landmarks (columns), and so is a new one."
    )


def _labels_per_record(dataset: "Dataset") -> str:
    if dataset.memberships is None:
        return ""
    return f"{dataset.memberships.sum(axis=1).mean():.2f} labels a record, "


def _tell(
    name: str, whole: "Dataset", dataset: "Dataset", partition: "Partition", recipes: int
) -> None:
    """Print what looks like a mistake, and that the data set is ready."""
    from kreinflow.sequences.files import counted
    from kreinflow.sequences.labels import differ_in_case
    from kreinflow.sequences.strands import strand_advice

    for first, second in differ_in_case(whole.classes):
        print(
            f"kreinflow: {name}: the classes {first!r} and {second!r} differ in upper and "
            "lower case only. Correct the labels if they are the same.",
            file=sys.stderr,
        )
    if dataset.kind == "asymmetric":
        print(f"kreinflow: {name}: {_asymmetry(dataset.statistics['asymmetry'])}", file=sys.stderr)
    if advice := strand_advice(dataset.statistics.get("other_strand")):
        print(f"kreinflow: {name}: {advice}", file=sys.stderr)
    drops = {reason: entry["count"] for reason, entry in dataset.statistics["dropped"].items()}
    why = ", ".join(f"{count} {reason}" for reason, count in drops.items())
    held, unlabelled = len(whole.ids) - len(dataset.ids), len(dataset.unlabelled)
    print(
        f"{name}: {len(dataset.ids)} records ({sum(drops.values())} dropped"
        f"{f': {why}' if why else ''}"
        f"{f', {held} held out as unknown' if held else ''}"
        f"{f', {unlabelled} to be classified' if unlabelled else ''}), "
        f"{len(dataset.digests)} distinct, {len(dataset.classes)} classes, "
        f"{_labels_per_record(dataset)}"
        f"{counted(len(partition.names), 'fold')}, {counted(recipes, 'recipe')}: ready to run"
    )
