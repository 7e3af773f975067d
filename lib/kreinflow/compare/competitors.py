"""The competitors, one small class each, in the order of their tables."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import LinearSVC

from kreinflow.alignment.backends import backend_named, checked
from kreinflow.alignment.engine import pack
from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.wording import shortened
from kreinflow.compare.competitor import Competitor, LabelledSequences, write_fasta
from kreinflow.compare.methods import INNER_FOLDS, LEARNER, LIFT, WORDS, run_program
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.sequences.payload import digest
from kreinflow.views.objects import Viewed

LARGEST_E_VALUE = 10  # hits of a larger one are none, for all tools: the default of BLAST


class BestHit(Competitor):
    """A search tool with a database of the training sequences.

    The hit of the highest bit score counts; of equals that of the lowest E-value, then the
    sequence that stands first in the data.

    ``database`` is the command that makes ``db*`` of ``train.fasta``, ``search`` that which makes
    ``hits.tsv`` of ``query.fasta``. In them {0} is the number of threads, and what follows is of
    the molecule.
    """

    database: ClassVar[str]
    search: ClassVar[str]
    of_molecule: ClassVar[Mapping[str, tuple[str, ...]]] = {"protein": ()}

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._labels, self._folder, self._threads = list(train.labels), folder, threads
        write_fasta(folder / "train.fasta", train.sequences)
        self._run(self.database)
        made = (path for path in folder.glob("db*") if path.is_file())
        self.model_bytes = sum(path.stat().st_size for path in made)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        write_fasta(self._folder / "query.fasta", queries)
        self._run(self.search)
        hits = best_hits(self._folder / "hits.tsv")
        return [self._labels[hits[i]] if i in hits else None for i in range(len(queries))]

    def _run(self, command: str) -> None:
        of_kind = self.of_molecule[self.molecule]
        run_program(self._folder, *shlex.split(command.format(self._threads, *of_kind)))


def best_hits(path: Path) -> dict[int, int]:
    """Return the target of the best hit of each query that has one.

    The table has no head: query, target, E-value, bit score, named as by
    :func:`~kreinflow.compare.competitor.write_fasta`. Raises InputError if it is none.
    """
    best: dict[int, tuple[float, float, int]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            query, target, e_value, bits = line.split("\t")
            q = int(query.removeprefix("s"))
            hit = (-float(bits), float(e_value), int(target.removeprefix("s")))
        except ValueError:
            raise InputError(
                f"{path}: line {number} is not a query, a target, an E-value and a bit score, but "
                f"{shortened(line)!r}. Another version of the search tool may write other tables: "
                "install it as docs/compare.md says."
            ) from None
        best[q] = min(best.get(q, hit), hit)
    return {q: target for q, (_, _, target) in best.items()}


class Blast(BestHit):
    """NCBI BLAST+: blastp, or blastn for nucleotides."""

    name = "blast"
    of_molecule: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "protein": ("prot", "blastp"),
        "nucleotide": ("nucl", "blastn -task blastn"),
    }
    database = "makeblastdb -in train.fasta -dbtype {1} -out db"
    search = (
        f"{{2}} -query query.fasta -db db -out hits.tsv -evalue {LARGEST_E_VALUE} "
        "-num_threads {0} -outfmt '6 qseqid sseqid evalue bitscore'"
    )


class Diamond(BestHit):
    """DIAMOND blastp in its most sensitive mode."""

    name = "diamond"
    proteins_only = True
    database = "diamond makedb --in train.fasta --db db.dmnd --quiet --threads {0}"
    search = (
        "diamond blastp --ultra-sensitive --query query.fasta --db db.dmnd --out hits.tsv --outfmt "
        f"6 qseqid sseqid evalue bitscore --evalue {LARGEST_E_VALUE} --quiet --threads {{0}}"
    )


class MMseqs2(BestHit):
    """MMseqs2 search at its highest documented sensitivity."""

    name = "mmseqs2"
    proteins_only = True
    database = "mmseqs createdb train.fasta db -v 1"
    search = (
        f"mmseqs easy-search query.fasta db hits.tsv tmp -v 1 -s 7.5 -e {LARGEST_E_VALUE} "
        "--threads {0} --format-output query,target,evalue,bits"
    )


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
        best: dict[str, tuple[float, int]] = {}
        for number, hits in enumerate(self._hmmer.hmmsearch(self._profiles, block, **options)):
            for hit in hits.reported:
                name = hit.name.decode() if isinstance(hit.name, bytes) else str(hit.name)
                found = (-hit.score, number)
                best[name] = min(best.get(name, found), found)
        known = (best.get(f"s{i}") for i in range(len(queries)))
        return [None if hit is None else self._classes[hit[1]] for hit in known]


class KmerSvm(Competitor):
    """scikit-learn's LinearSVC, C = 1, on counts of words scaled to unit length.

    Words have 3 residues, or 6 nucleotides (spectrum kernel: Leslie, Eskin & Noble 2002).
    """

    name = "kmer_svm"
    alignments_per_query = 0.0

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        k = 3 if self.molecule == "protein" else 6
        words = CountVectorizer(
            analyzer="char", ngram_range=(k, k), lowercase=False, dtype=np.float64
        )
        machine = LinearSVC(C=1.0, random_state=0)
        self.pipeline = make_pipeline(words, Normalizer(), machine)
        self.pipeline.fit([s.decode() for s in train.sequences], list(train.labels))
        letters = sum(map(len, words.vocabulary_))
        self.model_bytes = machine.coef_.nbytes + machine.intercept_.nbytes + letters

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        return list(map(str, self.pipeline.predict([query.decode() for query in queries])))


LENGTHS = {"protein": (1, 2, 3), "nucleotide": (1, 2, 3, 4)}
SEED = 1


class WordsAlone(Competitor):
    """The lift of a recipe with the view "words", and nothing else: no scores, no alignments.

    The kernel is a Gaussian of the features of :class:`~kreinflow.views.objects.Words`, at most
    4,000 sequences are its inducing points, and SF-LSM with equal weights of the classes learns
    from its columns. Width and ridge are chosen on inner folds of the training sequences.
    """

    name = WORDS
    alignments_per_query = 0.0

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        classes, codes = np.unique(train.labels, return_inverse=True)
        n, none = len(codes), np.empty(0, dtype=np.int64)
        digests = [digest(sequence) for sequence in train.sequences]
        part = TrainingPart(np.arange(n), codes, np.array(digests), tuple(classes.tolist()))
        landmarks = Landmarks(np.empty((n, 0)), np.ones(n), np.ones(n), none, none, "similarity")
        views = {"words": LENGTHS[self.molecule]}
        recipe = {"name": WORDS, "views": views, "lift": LIFT, "rank": "misfit"}
        settings = Settings(WORDS, SEED, INNER_FOLDS, RejectRule(0.05))
        source = LiftSource(Viewed(train.sequences), digests, self.scheme.matrix.alphabet)
        learning = training(landmarks, part, settings, source)
        kernel = landmark_kernel(landmarks, part, make_transform("raw"))
        self._classifier = learning.train(recipe, LEARNER, None, kernel).classifier
        arrays = self._classifier.to_parts()[1].values()
        self.model_bytes = sum(array.nbytes for array in arrays)

    def probabilities(self, queries: Sequence[bytes]) -> FloatArray:
        """Return the probability of each class, in the order of their names."""
        n = len(queries)
        query = Query(np.empty((n, 0)), np.ones(n), np.ones(n), Viewed(queries))
        return self._classifier.predict_proba(query)

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        most = self.probabilities(queries).argmax(axis=1)
        return [self._classifier.classes[code] for code in most.tolist()]


_PAIRS = 1 << 22  # of a call of the engine


class SmithWaterman(Competitor):
    """The class of the training sequence with the highest Smith-Waterman score.

    Matrix and gaps are those of the run; of equals the first counts. Scores are aligned anew and
    kept nowhere: the run's score store neither gives nor takes any, and its counts stay its own.
    """

    name = "smith_waterman"

    def load(self) -> None:
        some = np.zeros(64, dtype=np.int64)  # fewer would not need all of it
        scheme = replace(self.scheme, mode="local")
        backend_named("auto")(pack([b"A" * 200], scheme), some, some)

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._train, self._threads = train, threads
        self.model_bytes = sum(map(len, train.sequences))
        self.alignments_per_query = float(len(train.sequences))

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        align = checked(backend_named("auto"), share=0.02)
        scheme = replace(self.scheme, mode="local")
        n = len(self._train.sequences)
        height = max(1, _PAIRS // n)
        found: list[str | None] = []
        for start in range(0, len(queries), height):
            some = queries[start : start + height]
            packed = pack([*some, *self._train.sequences], scheme, self._threads)
            columns = np.arange(len(some), len(some) + n)
            scores = align(packed, np.arange(len(some)), columns)
            found += [self._train.labels[place] for place in scores.argmax(axis=1)]
        return found


COMPETITORS: dict[str, type[Competitor]] = {
    competitor.name: competitor
    for competitor in (Blast, Diamond, MMseqs2, ProfileHmm, KmerSvm, WordsAlone, SmithWaterman)
}
"""By their names, in the order of :data:`kreinflow.compare.methods.METHODS`."""
