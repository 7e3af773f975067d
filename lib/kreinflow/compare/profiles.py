"""One profile hidden Markov model a class, as Pfam has them."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kreinflow.compare.competitor import LARGEST_E_VALUE, Competitor, LabelledSequences


class ProfileHmm(Competitor):
    """HMMER's profiles (pyhmmer) of FAMSA's alignments (pyfamsa), with the defaults of both.

    A query has the class of the profile that gives it the highest bit score, of equals the first
    class. E-values are those of a scan: the database is the profiles, not the queries.
    """

    name = "profile_hmm"
    proteins_only = True  # so is FAMSA

    def load(self) -> None:
        names = ("pyfamsa", "pyhmmer.easel", "pyhmmer.hmmer", "pyhmmer.plan7")
        self._famsa, self._easel, self._hmmer, self._plan7 = map(import_module, names)

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._threads = threads
        self._alphabet = self._easel.Alphabet.amino()
        background = self._plan7.Background(self._alphabet)
        self._profiles: list[Any] = []
        self._classes = sorted(set(train.labels))
        path = folder / "profiles.hmm"
        pairs = list(zip(train.sequences, train.labels, strict=True))
        with path.open("wb") as file:
            for number, label in enumerate(self._classes):
                rows = [sequence for sequence, other in pairs if other == label]
                if len(rows) > 1:
                    # Its refinement gives other alignments in other runs, with one thread too.
                    aligner = self._famsa.Aligner(threads=threads, refine=False)
                    given = [self._famsa.Sequence(b"s%d" % i, s) for i, s in enumerate(rows)]
                    rows = [row.sequence for row in aligner.align(given)]
                alignment = self._easel.TextMSA(name=b"c%d" % number, sequences=self._texts(rows))
                digital = alignment.digitize(self._alphabet)
                profile, _, _ = self._plan7.Builder(self._alphabet).build_msa(digital, background)
                profile.write(file)
                self._profiles.append(profile)
        self.model_bytes = path.stat().st_size
        self.alignments_per_query = float(len(self._profiles))

    def _texts(self, sequences: Sequence[bytes]) -> list[Any]:
        return [
            self._easel.TextSequence(name=b"s%d" % i, sequence=sequence.decode())
            for i, sequence in enumerate(sequences)
        ]

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        block = self._easel.TextSequenceBlock(self._texts(queries)).digitize(self._alphabet)
        options = {"cpus": self._threads, "E": LARGEST_E_VALUE, "Z": len(self._profiles)}
        best: list[tuple[float, int] | None] = [None] * len(queries)
        for number, hits in enumerate(self._hmmer.hmmsearch(self._profiles, block, **options)):
            for hit in hits.reported:
                name = hit.name.decode() if isinstance(hit.name, bytes) else str(hit.name)
                query = int(name.removeprefix("s"))
                known = best[query]
                if known is None or (-hit.score, number) < known:
                    best[query] = (-hit.score, number)
        return [None if hit is None else self._classes[hit[1]] for hit in best]
