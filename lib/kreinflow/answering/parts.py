"""The parts that a model may have above its first stage, and what each of them has to say.

A new part is a class here in ``answering``, a line in ``PARTS`` of
:mod:`kreinflow.answering.classifier`, and what learns it: a file in ``fitting`` with a line in
``PART_FITS`` of :mod:`kreinflow.fitting.training`.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from kreinflow.answering.query_and_answers import Answers, Decided
from kreinflow.answering.record_scores import Records
from kreinflow.files.state import State


@dataclass(frozen=True, eq=False)
class ModelPart(State):
    """A part of a model; it does nothing but what its methods are overridden with.

    Attributes
    ----------
    needs : str
        What it is read from a file with, beside its own state: "records", "classes" or nothing.
    records : Records or None
        The training records that it asks.
    """

    needs: ClassVar[str] = ""
    records: Records | None = field(default=None, kw_only=True)

    def with_records(self, records: Records) -> Self:
        """Return the part with other records in the place of its own, if it has any."""
        return self if self.records is None else replace(self, records=records)

    def most_asked(self, n_classes: int) -> int:
        """Return the records that an object asks at most."""
        return 0

    def answer(self, query: Decided, before: Answers) -> Answers:
        """Return better answers than those of the parts before.

        What is said of an object depends on the object alone.

        ``query``: it can ask, if any part of the model has records.
        """
        return before

    def inspected(self) -> dict[str, object]:
        """Return what ``kreinflow inspect`` tells of it besides, by names."""
        return {}
