"""``kreinflow check``: all that the workflow checks before its first alignment."""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.wording import plural
from kreinflow.commands.progress import in_short
from kreinflow.compare.kinds import twins_of
from kreinflow.config.configuration import load_configuration
from kreinflow.config.costs import RunCosts
from kreinflow.config.part_costs import kernel_seconds
from kreinflow.config.paths import check_files
from kreinflow.config.plan import DatasetPlan
from kreinflow.config.preflight import check_dataset
from kreinflow.fitting.reject_threshold import RejectRule, records_needed
from kreinflow.kernels.registry import ASKED
from kreinflow.landmarks.stage import given_landmarks
from kreinflow.sequences.asking import Asking
from kreinflow.sequences.collapse import shown_examples
from kreinflow.sequences.dataset import Dataset, without_unknown
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.labels import differ_in_case
from kreinflow.sequences.partition import NEVER_TESTED, Partition, lost_classes, partition_of
from kreinflow.sequences.payload import Compared
from kreinflow.sequences.record_vectors import shared_vectors, with_vectors
from kreinflow.sequences.scores import evidence_of, read_scheme, scorer_of, transforms_of
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.strands import strand_advice

ENOUGH = 0.5  # seconds of a call of the user's score, to tell how long a pair takes

NO_TEST = (
    "unknown: nothing is tested, as there are no E-values: they are of local alignments. Leave "
    "'unknown' out."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("config", metavar="CONFIG", help="YAML file, as config.yaml")
    parser.add_argument("--data", metavar="DIR", help="in place of the key 'data' of the config")


def run(options: argparse.Namespace) -> None:
    """Check everything, and print a line for each data set."""
    config = load_configuration(options.config)
    twins_of(config["datasets"])  # refuses names that the comparison needs
    data = Path(options.data if options.data is not None else config["data"])
    check_files(config, data)
    for name in config["datasets"]:
        one = checked(config, name, data)
        for advice in one.advice():
            print(f"kreinflow: {name}: {advice}", file=sys.stderr)
        for line in (one.ready(), *one.costs(os.cpu_count() or 1)):
            print(f"{name}: {line}")


@dataclass(frozen=True, eq=False)
class Checked:
    """A data set that passed all checks: ``whole``, and without what is held out as unknown."""

    plan: DatasetPlan
    whole: Dataset
    dataset: Dataset
    partition: Partition
    data: Path
    has_evidence: bool

    def ready(self) -> str:
        """Return what the data set has, in one line."""
        whole, dataset = self.whole, self.dataset
        drops = {reason: entry["count"] for reason, entry in dataset.statistics["dropped"].items()}
        held, unlabelled = len(whole.ids) - len(dataset.ids), len(dataset.unlabelled)
        why = ", ".join(f"{count} {reason}" for reason, count in drops.items())
        beside = [f"{sum(drops.values())} dropped{f': {why}' if why else ''}"]
        beside += [f"{held} held out as unknown"] if held else []
        beside += [f"{unlabelled} to be classified"] if unlabelled else []
        parts = [f"{len(dataset.ids)} records ({', '.join(beside)})"]
        parts += [f"{len(dataset.digests)} distinct", f"{len(dataset.classes)} classes"]
        if levels := dataset.statistics.get("levels"):
            learned, up = levels["learned"], dataset.statistics["rolled_up"]["count"]
            at = f"{', '.join(f'{n:,}' for n in learned)} learned at level 1 to {len(learned)}"
            parts.append(f"{at} ({up:,} above their label)")
        if dataset.memberships is not None:
            parts.append(f"{dataset.memberships.sum(axis=1).mean():.2f} labels a record")
        never = int((self.partition.folds == NEVER_TESTED).all(axis=0).sum())
        untested = f" ({plural(never, 'record')} always learned)" if never else ""
        parts.append(plural(len(self.partition.names), "fold") + untested)
        parts.append(plural(len(self.plan.settings["recipes"]), "recipe"))
        return f"{', '.join(parts)}: ready to run"

    def advice(self) -> list[str]:
        """Return what looks like a mistake, a sentence or two each."""
        whole, dataset = self.whole, self.dataset
        said = [] if whole.vectors is None else [f"{shared_vectors(whole)}."]
        said += [
            f"the classes {first!r} and {second!r} differ in upper and lower case only. Correct "
            "the labels if they are the same."
            for first, second in differ_in_case(whole.classes)
        ]
        said.append(strand_advice(dataset.statistics.get("other_strand")))
        if alone := dataset.statistics.get("without_line"):
            said.append(f"{alone} have labels and no line with a score: all theirs are 'missing'.")
        said.append(lost_classes(dataset, self.partition))
        said.append(_accepts_nothing(dataset, self.plan.config))
        said += _conflicts(dataset.statistics)
        if self.plan.config["unknown"] is not None and not self.has_evidence:
            said.append(NO_TEST)
        return [advice for advice in said if advice]

    def run_costs(self) -> RunCosts:
        """Return what a run is expected to cost."""
        plan, payload = self.plan, self.dataset.payload
        tables = {
            name: given_landmarks(self.dataset, own, self.data)
            for name, own in plan.selectors.items()
        }
        given = {name: len(rows) for name, rows in tables.items() if rows is not None}
        of_score = 0.0
        if self.asking is not None:
            of_score = seconds_of_pair(self.asking)
        elif isinstance(payload, Compared):
            size = sum(map(len, payload.objects)) / len(self.dataset.rows)
            of_score = kernel_seconds(payload.kernel_settings, size)
        return RunCosts(plan, self.dataset.statistics, given, of_score)

    @cached_property
    def asking(self) -> Asking | None:
        """What asks the user's own score, if code of theirs is run for it."""
        if (asked := self.plan.source.asked) is None or asked["name"] not in ASKED:
            return None
        scorer = scorer_of(self.dataset, None, asked=asked, data=self.data)
        return scorer if isinstance(scorer, Asking) else None

    def costs(self, cores: int) -> list[str]:
        """Return what a run on so many cores and a new sequence are expected to take."""
        run = self.run_costs()
        own = self.plan.source.asked is not None
        aligned = f"{in_short(run.pairs)} pairs to {'ask for' if own else 'align'}, "
        if own and (more := run.pairs - run.landmark_pairs) >= 1:
            aligned += f"{in_short(more)} of them by cascades or 'unknown', "
        aligned = aligned if run.pairs else ""
        said = [
            f"about {aligned}{_time(run.minutes(cores))} on {plural(cores, 'core')}, "
            f"{_size(run.memory_mb)} of memory for the largest job"
        ]
        if self.plan.stops:
            said.append(
                "where the recipe with the fewest landmarks is hardly ever wrong, no other is "
                "fitted, and a run takes a part of that"
            )
        if self.asking is not None:
            kernel, an_hour = self.asking.kernel, 3600 / max(run.of_asked, 1e-9)
            said.append(
                f"the {kernel.what} {kernel.named} takes {run.of_asked:.2g} s for a pair in a "
                f"sample of calls: {in_short(an_hour)} pairs an hour, so they take "
                f"{_time(run.pairs / an_hour * 60)} on one core. A selector with budget: "
                "{alignments: N} asks for N with landmarks at most"
            )
        if found := run.queries():
            least, *_, most = sorted(alignments for alignments, _ in found.values()) * 2
            counts = f"{least:,.0f} to {most:,.0f}" if least < most else f"{least:,.0f}"
            which = f" ({', '.join(found)})" if len(found) == 1 else ", by the recipe"
            more = max(more for _, more in found.values())
            unsure = f", and up to {more:,.0f} more where it is unsure or may be unknown"
            object, unit = ("object", "scores") if own else ("sequence", "alignments")
            said.append(
                f"a new {object} takes about {counts} {unit}{which}{unsure if more else ''}"
            )
        return said


def checked(
    config: Mapping[str, Any], name: str, data: Path, groups: NDArray[np.int64] | None = None
) -> Checked:
    """Do all checks of a data set; ``groups`` are those of its records for folds, if given."""
    plan, part = DatasetPlan(config, name), config["datasets"][name]
    source = make_source(part["source"], data, plan.separator)
    alphabet = source.alphabet(part["scoring"])
    whole = source.load(alphabet, config["seed"], part["unknown"], plan.small)
    if part["vectors"] is not None:
        whole = with_vectors(whole, data / part["vectors"])
    dataset = without_unknown(whole, part["unknown"])
    folds = assign_folds(part["folds"], dataset, config["seed"], data, part["source"], groups)
    partition = partition_of(folds, dataset)
    scheme = read_scheme(dataset, part["scoring"], data)
    transforms = transforms_of(plan.transforms, config["transforms"], scheme)
    check_dataset(dataset, partition, plan.selectors, scheme, transforms, data, whole)
    scheme_tells = evidence_of(config["transforms"], scheme) is not None
    told = source.asked_of_records is not None or scheme_tells
    return Checked(plan, whole, dataset, partition, data, told)


def seconds_of_pair(asking: Asking) -> float:
    """Return the seconds of a pair, by calls that double until one takes half a second.

    The first call of all, which may load or compile something, does not count.
    """
    objects, size = len(asking.objects), 1
    most = min(objects // 2, asking.kernel.settings["batch"])
    asking.score(np.arange(1), np.arange(objects - 1, objects), np.ones((1, 1), dtype=bool))
    while True:
        rows, columns = np.arange(size), np.arange(objects - size, objects)
        begin, before = time.perf_counter(), asking.asked
        asking.score(rows, columns, np.ones((size, size), dtype=bool))
        if (seconds := time.perf_counter() - begin) >= ENOUGH or 2 * size > most:
            return seconds / (asking.asked - before)  # with those that were asked for again
        size *= 2


def _time(minutes: float) -> str:
    if minutes > 90:
        return f"{in_short(minutes / 60)} hours"
    return "1 minute" if minutes < 1.5 else f"{minutes:.0f} minutes"


def _size(megabytes: float) -> str:
    large = megabytes >= 1000
    return f"{in_short(megabytes / 1000)} GB" if large else f"{in_short(megabytes)} MB"


def _accepts_nothing(dataset: Dataset, config: Mapping[str, Any]) -> str:
    if dataset.memberships is not None:  # each label has a threshold of its own
        return ""
    n, rule = len(dataset.ids), RejectRule.of_config(config)
    if rule.error is None or n >= records_needed(rule.error, rule.confidence):
        return ""
    none_wrong = rule.promise(np.eye(len(dataset.classes))[dataset.labels], dataset.labels)
    said = rule.unkept(none_wrong.threshold, none_wrong.error)
    return f"{n} records are few, even if none is predicted wrong: {said}."


def _conflicts(statistics: Mapping[str, Any]) -> list[str]:
    said = [
        f"{entry['count']} records are dropped as {reason}: {shown_examples(entry)}. Correct the "
        "labels, or leave the wrong ones out."
        for reason, entry in statistics["dropped"].items()
        if "different labels" in reason
    ]
    shared = statistics.get("common_ancestor")
    if shared and shared["count"]:
        said.append(
            f"{shared['count']} records are identical to others with another label, and learned at "
            f"the lowest node above both: {shown_examples(shared)}."
        )
    return said
