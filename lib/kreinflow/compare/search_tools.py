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
        """Make the database."""
        self._labels = list(train.labels)
        self._folder, self._threads = folder, str(threads)
        write_fasta(folder / "train.fasta", train.sequences)
        run_program(folder, *self._build())

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Search the database with all queries at once."""
        write_fasta(self._folder / "query.fasta", queries)
        run_program(self._folder, *self._search())
        hits = best_hits(self._folder / "hits.tsv", len(queries), len(self._labels))
        return [None if hit is None else self._labels[hit] for hit in hits]

    def model_bytes(self) -> int:
        """Return the size of the database."""
        return sum(path.stat().st_size for path in self._folder.glob("db*") if path.is_file())

    @abstractmethod
    def _build(self) -> list[str]:
        """Return the command that makes the database ``db*`` from ``train.fasta``."""

    @abstractmethod
    def _search(self) -> list[str]:
        """Return the command that writes ``hits.tsv``: query, target, E-value and bit score."""


def best_hits(path: Path, queries: int, targets: int) -> list[int | None]:
    """Return the target of the best hit of each query; None without a hit.

    The table has no head: query, target, E-value, bit score, named as by
    :func:`~kreinflow.compare.competitor.write_fasta`.

    Raises
    ------
    UnavailableError
        If the table is none of these.
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

    def _build(self) -> list[str]:
        kind = "prot" if self.molecule == "protein" else "nucl"
        return ["makeblastdb", "-in", "train.fasta", "-dbtype", kind, "-out", "db"]

    def _search(self) -> list[str]:
        protein = self.molecule == "protein"
        return [
            *(("blastp",) if protein else ("blastn", "-task", "blastn")),
            *("-query", "query.fasta", "-db", "db", "-out", "hits.tsv"),
            *("-outfmt", "6 qseqid sseqid evalue bitscore"),
            *("-evalue", str(LARGEST_E_VALUE), "-num_threads", self._threads),
        ]


class Diamond(BestHit):
    """DIAMOND blastp in its most sensitive mode."""

    name = "diamond"
    proteins_only = True

    def _build(self) -> list[str]:
        command = ["diamond", "makedb", "--in", "train.fasta", "--db", "db.dmnd"]
        return [*command, "--threads", self._threads, "--quiet"]

    def _search(self) -> list[str]:
        return [
            *("diamond", "blastp", "--ultra-sensitive", "--quiet"),
            *("--query", "query.fasta", "--db", "db.dmnd", "--out", "hits.tsv"),
            *("--outfmt", "6", "qseqid", "sseqid", "evalue", "bitscore"),
            *("--evalue", str(LARGEST_E_VALUE), "--threads", self._threads),
        ]


class MMseqs2(BestHit):
    """MMseqs2 search at its highest documented sensitivity."""

    name = "mmseqs2"
    proteins_only = True

    def _build(self) -> list[str]:
        return ["mmseqs", "createdb", "train.fasta", "db", "-v", "1"]

    def _search(self) -> list[str]:
        return [
            *("mmseqs", "easy-search", "query.fasta", "db", "hits.tsv", "tmp", "-v", "1"),
            *("-s", "7.5", "-e", str(LARGEST_E_VALUE), "--threads", self._threads),
            *("--format-output", "query,target,evalue,bits"),
        ]
