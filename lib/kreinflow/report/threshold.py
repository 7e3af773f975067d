"""The reject threshold of the final model, as the page tells it."""

from dataclasses import dataclass

from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED


@dataclass(frozen=True)
class Threshold:
    """The threshold of the final model.

    If overwhelming ``hits`` count, it is one of sureness, see
    :class:`~kreinflow.answering.relatives.Relatives`.
    """

    own: float
    hits: bool
    promised: float | None = None  # share of what is accepted that is wrong at most

    @property
    def nothing(self) -> bool:
        """Whether no prediction is accepted."""
        return self.own >= NOTHING_ACCEPTED

    @property
    def probability(self) -> float:
        """What a prediction without an overwhelming hit needs."""
        # Sureness is half the probability, and half more with such a hit.
        return 2 * self.own if self.hits else self.own
