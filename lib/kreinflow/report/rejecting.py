"""Which predictions the final model rejects as unsure, in words."""

from collections.abc import Mapping
from typing import Any

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED

SURENESS = "reject_threshold_of_sureness"
"""In what a model tells of unknown objects: the threshold that stands in place of that of the
probability, if overwhelming hits count; see :class:`~kreinflow.answering.relatives.Relatives`."""


class Threshold:
    """The threshold of the final model.

    Parameters
    ----------
    final : mapping
        The row of the final model in the table of models.
    about : mapping or None
        What the model tells of unknown objects.
    """

    def __init__(self, final: Mapping[str, Any], about: Mapping[str, Any] | None) -> None:
        sureness = (about or {}).get(SURENESS)
        self.hits = sureness is not None
        own = float(final["reject_threshold"] if sureness is None else sureness)
        self.nothing = own >= NOTHING_ACCEPTED
        # Sureness is half the probability, and half more with an overwhelming hit.
        self.probability = 2 * own if self.hits else own

    def rejects(self) -> str:
        """Return which predictions are rejected."""
        if self.nothing:
            return "all predictions"
        if self.probability > 1:
            text = "predictions that no overwhelming hit speaks for"
            return f"{text}, and others with a probability below {self.probability - 1:.4g}"
        text = f"predictions with a probability below {self.probability:.4g}"
        return f"{text}, unless an overwhelming hit speaks for them" if self.hits else text

    def told(self) -> str:
        """Return what is asked for, as a sentence."""
        if self.probability > 1:
            return "The final model asks for an overwhelming hit."
        also = ", or an overwhelming hit" if self.hits else ""
        return f"Threshold of the final model: {self.probability:.4g}{also}."
