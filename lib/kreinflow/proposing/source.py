"""What is found where data are read: settings of the source, and what to say of them."""

from dataclasses import dataclass, field
from typing import Any

from kreinflow.proposing.writing import Noted


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
