"""Best hits: a query has the class of the training sequence that a search tool ranks first."""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from kreinflow.compare.competitor import (
    LARGEST_E_VALUE,
    Competitor,
    LabelledSequences,
    write_fasta,
)
from kreinflow.compare.methods import UnavailableError, run_program


class BestHit(Competitor):
    """A search tool with a database of the training sequences.

    The hit of the highest bit score counts; of equals that of the lowest E-value, then the
    sequence that stands first in the data.
    """

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._labels = list(train.labels)
        self._folder, self._threads = folder, str(threads)
        write_fasta(folder / "train.fasta", train.sequences)
        run_program(folder, *self.commands()[0])
        made = (path for path in folder.glob("db*") if path.is_file())
        self.model_bytes = sum(path.stat().st_size for path in made)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        write_fasta(self._folder / "query.fasta", queries)
        run_program(self._folder, *self.commands()[1])
        hits = best_hits(self._folder / "hits.tsv", len(queries), len(self._labels))
        return [None if hit is None else self._labels[hit] for hit in hits]

    @abstractmethod
    def commands(self) -> tuple[list[str], list[str]]:
        """Return what makes ``db*`` of ``train.fasta``, and ``hits.tsv`` of ``query.fasta``."""


def best_hits(path: Path, queries: int, targets: int) -> list[int | None]:
    """Return the target of the best hit of each query, None without one; else UnavailableError.

    The table has no head: query, target, E-value, bit score, named as by
    :func:`~kreinflow.compare.competitor.write_fasta`.
    """
    best: list[tuple[float, float, int] | None] = [None] * queries
    try:
        for line in path.read_text().splitlines():
            query, target, e_value, bits = line.split("\t")
            q, t = int(query.removeprefix("s")), int(target.removeprefix("s"))
            if not (0 <= q < queries and 0 <= t < targets):
                raise ValueError(f"{query} or {target} is unknown")
            hit = (-float(bits), float(e_value), t)
            known = best[q]
            if known is None or hit < known:
                best[q] = hit
    except (OSError, ValueError) as error:
        raise UnavailableError(f"its table of hits cannot be read ({error})") from error
    return [None if hit is None else hit[2] for hit in best]


class Blast(BestHit):
    """NCBI BLAST+: blastp, or blastn for nucleotides."""

    name = "blast"

    def commands(self) -> tuple[list[str], list[str]]:
        kind, program = "nucl", ["blastn", "-task", "blastn"]
        if self.molecule == "protein":
            kind, program = "prot", ["blastp"]
        files = ["-query", "query.fasta", "-db", "db", "-out", "hits.tsv"]
        columns = ["-outfmt", "6 qseqid sseqid evalue bitscore"]
        options = ["-evalue", str(LARGEST_E_VALUE), "-num_threads", self._threads]
        build = ["makeblastdb", "-in", "train.fasta", "-dbtype", kind, "-out", "db"]
        return build, [*program, *files, *columns, *options]


class Diamond(BestHit):
    """DIAMOND blastp in its most sensitive mode."""

    name = "diamond"
    proteins_only = True

    def commands(self) -> tuple[list[str], list[str]]:
        build = "diamond makedb --in train.fasta --db db.dmnd --quiet"
        search = (
            "diamond blastp --ultra-sensitive --quiet --query query.fasta --db db.dmnd "
            f"--out hits.tsv --outfmt 6 qseqid sseqid evalue bitscore --evalue {LARGEST_E_VALUE}"
        )
        threads = ["--threads", self._threads]
        return [*build.split(), *threads], [*search.split(), *threads]


class MMseqs2(BestHit):
    """MMseqs2 search at its highest documented sensitivity."""

    name = "mmseqs2"
    proteins_only = True

    def commands(self) -> tuple[list[str], list[str]]:
        search = (
            f"mmseqs easy-search query.fasta db hits.tsv tmp -v 1 -s 7.5 -e {LARGEST_E_VALUE} "
            f"--threads {self._threads} --format-output query,target,evalue,bits"
        )
        return ["mmseqs", "createdb", "train.fasta", "db", "-v", "1"], search.split()
