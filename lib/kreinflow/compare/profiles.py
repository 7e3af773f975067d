"""One profile hidden Markov model a class, as Pfam has them."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kreinflow.compare.competitor import (
    LARGEST_E_VALUE,
    Competitor,
    Records,
    package_version,
    size_of,
)


class ProfileHmm(Competitor):
    """HMMER's profiles (pyhmmer) of FAMSA's alignments (pyfamsa), with the defaults of both.

    A query has the class of the profile that gives it the highest bit score, of equals the first
    class. E-values are those of a scan: the database is the profiles, not the queries.
    """

    name = "profile_hmm"
    proteins_only = True  # so is FAMSA

    @classmethod
    def version(cls) -> str:
        """Return the versions of both packages."""
        return f"{package_version('pyhmmer')}, {package_version('pyfamsa')}"

    def load(self) -> None:
        """Import both packages."""
        for name in ("pyfamsa", "pyhmmer.easel", "pyhmmer.hmmer", "pyhmmer.plan7"):
            import_module(name)

    def fit(self, train: Records, folder: Path, threads: int) -> None:
        """Align the sequences of each class, and make its profile."""
        # By name, for these packages are no part of any environment of the workflow.
        easel, plan7 = import_module("pyhmmer.easel"), import_module("pyhmmer.plan7")
        famsa = import_module("pyfamsa")
        self._threads = threads
        self._alphabet = easel.Alphabet.amino()
        background = plan7.Background(self._alphabet)
        self._profiles: list[Any] = []
        self._classes = sorted(set(train.labels))
        self._path = folder / "profiles.hmm"
        with self._path.open("wb") as file:
            for number, label in enumerate(self._classes):
                own = [
                    sequence
                    for sequence, other in zip(train.sequences, train.labels, strict=True)
                    if other == label
                ]
                aligned = own
                if len(own) > 1:
                    # Its refinement gives other alignments in other runs, with one thread too.
                    aligner = famsa.Aligner(threads=threads, refine=False)
                    given = [famsa.Sequence(b"s%d" % i, s) for i, s in enumerate(own)]
                    aligned = [row.sequence for row in aligner.align(given)]
                rows = [
                    easel.TextSequence(name=b"s%d" % i, sequence=row.decode())
                    for i, row in enumerate(aligned)
                ]
                alignment = easel.TextMSA(name=b"c%d" % number, sequences=rows)
                builder = plan7.Builder(self._alphabet)
                profile, _, _ = builder.build_msa(alignment.digitize(self._alphabet), background)
                profile.write(file)
                self._profiles.append(profile)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Search the queries with each profile."""
        easel, hmmer = import_module("pyhmmer.easel"), import_module("pyhmmer.hmmer")
        block = easel.TextSequenceBlock(
            [
                easel.TextSequence(name=b"s%d" % i, sequence=query.decode())
                for i, query in enumerate(queries)
            ]
        ).digitize(self._alphabet)
        best: list[tuple[float, int] | None] = [None] * len(queries)
        found = hmmer.hmmsearch(
            self._profiles,
            block,
            cpus=self._threads,
            E=LARGEST_E_VALUE,
            Z=len(self._profiles),
        )
        for number, hits in enumerate(found):
            for hit in hits.reported:
                name = hit.name.decode() if isinstance(hit.name, bytes) else str(hit.name)
                query = int(name.removeprefix("s"))
                known = best[query]
                if known is None or (-hit.score, number) < known:
                    best[query] = (-hit.score, number)
        return [None if hit is None else self._classes[hit[1]] for hit in best]

    def model_bytes(self) -> int:
        """Return the size of the file of profiles."""
        return size_of([self._path])

    def alignments_per_query(self) -> float:
        """Return the number of profiles; HMMER's filters spare most of these alignments."""
        return float(len(self._profiles))
