"""The competitors by name. Nothing slow is imported: the rules ask for the names."""

from kreinflow.competitors.best_hit import Blast, Diamond, MMseqs2
from kreinflow.competitors.competitor import Competitor, UnavailableError
from kreinflow.competitors.kmers import KmerSvm
from kreinflow.competitors.nearest import SmithWaterman
from kreinflow.competitors.profiles import ProfileHmm
from kreinflow.competitors.words import WordsAlone

COMPETITORS: dict[str, type[Competitor]] = {
    competitor.name: competitor
    for competitor in (Blast, Diamond, MMseqs2, ProfileHmm, KmerSvm, WordsAlone, SmithWaterman)
}
"""In the order of :data:`kreinflow.competitors.methods.METHODS`."""


def version_or_reason(name: str) -> str:
    """Return the version of a competitor, or why it cannot run: a job's parameter.

    So a tool that is installed later makes the jobs of its rows run again, and no others.
    """
    try:
        return COMPETITORS[name].version()
    except UnavailableError as reason:
        return f"not available: {reason}"
