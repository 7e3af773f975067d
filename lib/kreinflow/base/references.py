"""References that learners, selectors and the report cite."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    """One entry of the list of references."""

    text: str

    @property
    def link(self) -> str:
        """The address of the DOI, or an empty text."""
        doi = re.search(r"doi:(\S+)$", self.text)
        return f"https://doi.org/{doi[1]}" if doi else ""


_LINES = (Path(__file__).parent / "references.tsv").read_text(encoding="utf-8").splitlines()
REFERENCES = {key: Reference(text) for key, text in (line.split("\t") for line in _LINES)}
"""By key, in the order of the list that the page prints."""
