"""The parts that a model may have above its first stage, and what each of them has to say.

A new part is a class here in ``answering``, a line in ``PARTS`` of
:mod:`kreinflow.answering.classifier`, and what learns it: a file in ``fitting`` with a line in
``PART_FITS`` of :mod:`kreinflow.fitting.training`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Self

import pandas as pd

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import Answers, Decided
from kreinflow.files.state import State, Value

TRANSFORM = Value(ScoreTransform.from_dict, ScoreTransform.to_dict)  #: a score transform in a file


class Subject(NamedTuple):
    """One object whose answer is explained, and the names of what is told of it."""

    query: Decided  # it aligns no pair twice, if it can ask
    answers: Answers
    pair: tuple[int, int]  # the codes of the predicted class and of the runner-up
    classes: Sequence[str]
    record_ids: Sequence[str]
    alignments: int  # before any record is asked


class Section(NamedTuple):
    """Lines of an explanation, and a table below them, which is shown ``whole`` or some rows."""

    lines: Sequence[str] = ()
    table: pd.DataFrame | None = None
    whole: bool = False


class Told(NamedTuple):
    """What a part tells of an answer: lines that stand by it, and sections, by their names."""

    lines: Sequence[str] = ()
    sections: Mapping[str, Section] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class ModelPart(State):
    """A part of a model; it does nothing but what its methods are overridden with."""

    needs: ClassVar[str] = ""  # "records" or "classes", if its own state in a file is not enough
    records: Records | None = field(default=None, kw_only=True)  # training records that it asks

    def with_records(self, records: Records) -> Self:
        """Return the part with other records in the place of its own, if it has any."""
        return self if self.records is None else replace(self, records=records)

    def most_asked(self, n_classes: int) -> int:
        """Return the records that an object asks at most."""
        return 0

    def answer(self, query: Decided, before: Answers) -> Answers:
        """Return better answers than those of the parts before, each by its object alone.

        ``query``: it can ask, if any part of the model has records.
        """
        return before

    def explained(self, it: Subject) -> Told:
        """Return what ``kreinflow explain`` tells of its part in an answer."""
        return Told()

    def inspected(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``kreinflow inspect`` tells of it; ``about`` is of the classifier."""
        return {}
