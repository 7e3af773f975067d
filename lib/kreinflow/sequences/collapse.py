"""From the records of a source to a data set: identical ones once, small classes dropped."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.files.provenance import file_sha256
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.labels import SEPARATOR, refuse_lookalikes
from kreinflow.sequences.payload import Payload
from kreinflow.sequences.roll_up import common_ancestor, rolled_up

SMALL = "small class"
"""Why records of classes smaller than min_class_size are dropped."""

EXAMPLES = 20
"""Ids that are listed for each reason why records were dropped."""

Drops = defaultdict[str, list[str]]


def examples(ids: Sequence[str]) -> dict[str, Any]:
    """Return how many ids there are, and the first of them."""
    return {"count": len(ids), "examples": list(ids[:EXAMPLES])}


def shown_examples(found: Mapping[str, Any]) -> str:
    """Return five of the :func:`examples` as text, and how many more ids there are."""
    shown, more = ", ".join(found["examples"][:5]), found["count"] - 5
    return f"{shown} and {more} more" if more > 0 else shown


@dataclass
class SourceRecords:
    """The records that a source read, clean and labelled, each with a row of the payload.

    Several ``labels`` of a record are joined, see :mod:`kreinflow.sequences.labels`. ``read``
    counts the dropped ones too; ``drops`` are ids that were dropped by request, by reason;
    ``substitutions`` residues that were rewritten, by kind; ``organisms`` NCBI's number and name by
    id, where they are known; ``unlabelled`` id and residues of those to be classified;
    ``statistics`` what the source adds to those of all.
    """

    ids: Sequence[str]
    labels: Sequence[str]
    payload: Payload
    read: int
    files: Sequence[Path] = ()
    drops: Drops = field(default_factory=lambda: defaultdict(list))
    substitutions: Counter[str] = field(default_factory=Counter)
    organisms: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    unlabelled: tuple[tuple[str, bytes], ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)


def collapse(
    records: SourceRecords,
    conflicting: str,
    min_class_size: int,
    unknown: Sequence[str],
    separator: str | None = None,
    kept: Collection[str] = (),
) -> Dataset:
    """Return the data set of some records: each distinct object once.

    What is dropped is added to their ``drops``: objects that two classes have (unless ``refuse``
    refuses these ``conflicting`` ones), and classes of fewer distinct objects than
    ``min_class_size``. An object that a class to be held out (``unknown``) shares with another one
    stays in the other alone. An InputError says that labels look alike, or one class is left.

    With the ``separator`` of labels that are paths, records of small classes are those of a node
    above, see :func:`~kreinflow.sequences.roll_up.rolled_up`, and an object of several classes is
    of their lowest common ancestor. What would be at the root is dropped. Classes that are ``kept``
    stay, however small. The statistics also have ``common_ancestor``, the ids of such objects.
    """
    refuse_lookalikes(records.labels)
    ids, drops = records.ids, records.drops
    labels, shared = list(records.labels), []
    contents, what = records.payload.contents(ids), records.payload.what
    if conflicting == "refuse":
        _refuse_conflicts(records, contents)
    own: dict[bytes, set[str]] = {}
    for label, content in zip(labels, contents, strict=True):
        own.setdefault(content, set()).add(label)
    places = []
    for i, (label, content) in enumerate(zip(records.labels, contents, strict=True)):
        of_known = own[content].difference(unknown)
        several = len(of_known or own[content]) > 1
        if label in unknown and of_known:
            drops[f"unknown, identical to a {what} of a known class"].append(ids[i])
        elif several and separator and (node := common_ancestor(of_known, separator)):
            labels[i] = node
            shared.append(ids[i])
            places.append(i)
        elif several:
            drops[f"identical {what}s with different labels"].append(ids[i])
        else:
            places.append(i)
    names = records.payload.digests(contents)
    if separator is not None:
        up = [i for i in places if labels[i] not in unknown]
        given = [labels[i] for i in up], [names[i] for i in up]
        for i, node in zip(up, rolled_up(*given, separator, min_class_size, kept), strict=True):
            labels[i] = node
    sizes = Counter(label for label, _ in {(labels[i], names[i]) for i in places})
    may_be = sizes.keys() if separator is None else {"", *unknown}  # "" is the root
    small = {label for label in may_be if not label or sizes[label] < min_class_size}
    dropped = [i for i in places if labels[i] in small]
    drops[SMALL] += [ids[i] for i in dropped]
    places = [i for i in places if labels[i] not in small]
    labels = [labels[i] for i in places]
    classes = tuple(sorted(set(labels)))
    lost = {records.labels[i] for i in dropped}
    _refuse_one_class(classes, lost, "as smaller than min_class_size", drops)
    dataset = _dataset(records, contents, names, places, labels, classes)
    more = {} if separator is None else {"common_ancestor": examples(shared)}
    return dataset.with_statistics(**more)


def collapse_several(records: SourceRecords, conflicting: str, min_class_size: int) -> Dataset:
    """Return the data set of records that may have several labels: each distinct object once.

    An object has the labels of all its records. Its class in ``labels`` is the one that fewest
    objects have, the first of them on a tie.

    The labels of ``records`` are joined. A label that fewer distinct objects than
    ``min_class_size`` have, or lack, is removed from its records. A record that has no label then
    is dropped. The statistics also have ``several`` (True), ``labels_per_record`` (how many records
    have one, two and so on) and ``labels_removed``; ``class_sizes`` count a record for each label.
    An InputError is as of :func:`collapse`.
    """
    contents = records.payload.contents(records.ids)
    names = records.payload.digests(contents)
    if conflicting == "refuse":
        _refuse_conflicts(records, contents)
    own: dict[bytes, frozenset[str]] = {}
    for content, text in zip(contents, records.labels, strict=True):
        own[content] = own.get(content, frozenset()) | {*text.split(SEPARATOR)}
    name_of = dict(zip(contents, names, strict=True))
    alike: dict[str, frozenset[str]] = {}  # rows of a matrix may be alike, and count as one
    for content, labels in own.items():
        alike[name_of[content]] = alike.get(name_of[content], frozenset()) | labels
    sizes = Counter(label for labels in alike.values() for label in labels)
    refuse_lookalikes(sorted(sizes))
    removed: set[str] = set()
    while True:
        objects = len({name_of[content] for content in own})
        few = {name for name, n in sizes.items() if min(n, objects - n) < min_class_size} - removed
        if not few:
            break
        removed |= few
        own = {content: left for content, labels in own.items() if (left := labels - removed)}
    places = [i for i, content in enumerate(contents) if content in own]
    records.drops["no label left"] += [
        id for id, content in zip(records.ids, contents, strict=True) if content not in own
    ]
    classes = tuple(sorted(sizes.keys() - removed))
    rule = "as too few records have or lack them"
    _refuse_one_class(classes, removed, rule, records.drops)
    rarest = [min(own[contents[i]], key=lambda label: (sizes[label], label)) for i in places]
    dataset = _dataset(records, contents, names, places, rarest, classes)
    code = {label: i for i, label in enumerate(classes)}
    memberships = np.zeros((len(places), len(classes)), dtype=np.bool_)
    for record, i in enumerate(places):
        memberships[record, [code[label] for label in own[contents[i]]]] = True
    counts = np.bincount(memberships.sum(axis=1))
    return replace(dataset, memberships=memberships).with_statistics(
        class_sizes=dict(zip(classes, memberships.sum(axis=0).tolist(), strict=True)),
        several=True,
        labels_per_record={str(n): int(counts[n]) for n in np.flatnonzero(counts)},
        labels_removed=examples(sorted(removed)),
    )


def _dataset(
    records: SourceRecords,
    contents: Sequence[bytes],
    names: Sequence[str],
    places: Sequence[int],
    labels: Sequence[str],
    classes: tuple[str, ...],
) -> Dataset:
    code = {label: i for i, label in enumerate(classes)}
    row_of: dict[bytes, int] = {}
    rows = np.array([row_of.setdefault(contents[i], len(row_of)) for i in places], dtype=np.int64)
    first = np.unique(rows, return_index=True)[1]
    payload = records.payload.take([places[record] for record in first])
    return Dataset(
        ids=tuple(records.ids[i] for i in places),
        labels=np.array([code[label] for label in labels], dtype=np.intp),
        classes=classes,
        rows=rows,
        digests=tuple(names[places[record]] for record in first),
        payload=payload,
        statistics={
            "records_read": records.read,
            "records_kept": len(places),
            "distinct": len(payload),
            "dropped": {why: examples(ids) for why, ids in records.drops.items() if ids},
            "substitutions": dict(sorted(records.substitutions.items())),
            "class_sizes": dict(sorted(Counter(labels).items())),
            "lengths": payload.length_quantiles(),
            "asymmetry": None,
            "files": {_shown(path, records.files): file_sha256(path) for path in records.files},
        },
        dropped=tuple(chain.from_iterable(records.drops.values())),
    )


def _refuse_conflicts(records: SourceRecords, contents: Sequence[bytes]) -> None:
    first: dict[bytes, int] = {}
    for i, content in enumerate(contents):
        one, labels = first.setdefault(content, i), records.labels
        if labels[one] != labels[i]:
            raise InputError(
                f"{records.ids[one]!r} and {records.ids[i]!r} are the same {records.payload.what} "
                f"with the labels {labels[one]!r} and {labels[i]!r}. Correct one, or take it out; "
                "in a config 'conflicting_labels: drop' does that."
            )


def _refuse_one_class(classes: Sequence[str], small: set[str], rule: str, drops: Drops) -> None:
    if len(classes) >= 2:
        return
    why = [f"{len(ids)} {reason}" for reason, ids in drops.items() if ids]
    if small:
        why = [f"{rule}: {abridged(sorted(small))}"]
    dropped = f"; dropped {', '.join(why)}" if why else ""
    left = plural(len(classes), "class", "classes")
    raise InputError(
        f"the data have {left} left ({', '.join(classes) or 'none'}{dropped}). "
        "At least two are needed."
    )


def _shown(path: Path, others: Sequence[Path]) -> str:
    """Return the name of a file, with its folder if another one has the same name."""
    single = sum(other.name == path.name for other in others) == 1
    return path.name if single else f"{path.parent.name}/{path.name}"
