"""The competitors by name, in the order of :data:`kreinflow.compare.methods.METHODS`."""

from kreinflow.compare.competitor import Competitor
from kreinflow.compare.kmers import KmerSvm
from kreinflow.compare.nearest import SmithWaterman
from kreinflow.compare.profiles import ProfileHmm
from kreinflow.compare.search_tools import Blast, Diamond, MMseqs2
from kreinflow.compare.words import WordsAlone

COMPETITORS: dict[str, type[Competitor]] = {
    competitor.name: competitor
    for competitor in (Blast, Diamond, MMseqs2, ProfileHmm, KmerSvm, WordsAlone, SmithWaterman)
}
