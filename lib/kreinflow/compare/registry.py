"""The competitors by name. Nothing slow is imported: the rules ask for the names."""

from kreinflow.compare.best_hit import Blast, Diamond, MMseqs2
from kreinflow.compare.competitor import Competitor, UnavailableError
from kreinflow.compare.kmers import KmerSvm
from kreinflow.compare.nearest import SmithWaterman
from kreinflow.compare.profiles import ProfileHmm
from kreinflow.compare.words import WordsAlone

COMPETITORS: dict[str, type[Competitor]] = {
    competitor.name: competitor
    for competitor in (Blast, Diamond, MMseqs2, ProfileHmm, KmerSvm, WordsAlone, SmithWaterman)
}
"""In the order of :data:`kreinflow.compare.methods.METHODS`."""


def version_or_reason(name: str) -> str:
    """Return the version of a competitor, or why it cannot run: a job's parameter.

    So a tool that is installed later makes the jobs of its rows run again, and no others.
    """
    try:
        return COMPETITORS[name].version()
    except UnavailableError as reason:
        return f"not available: {reason}"
