"""What a run costs: pairs to align, seconds and megabytes, and what jobs ask a cluster for.

``statistics`` are those of a data set's ``summary.json``. Seconds are as measured on two kinds of
processors, and keep apart what threads share (:class:`Seconds`); ``python benchmarks/asked.py``
holds all of them against ``benchmarks/scale.tsv``, and what a run asked for against what it took.

Rules ask here, and no script of a job does: a new figure is no reason to run a job again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kreinflow.learners.learner import Learner

Statistics = Mapping[str, Any]

# --- what jobs ask for -------------------------------------------------------------------------

SPARE = 3.0
"""Jobs ask for so many times the seconds that are expected."""

START_MINUTES = 5
"""And for these minutes more: on a cluster two Snakemakes start before the job, in 5 to 9 s, and
libraries are read from a file system that others use too."""

BASE_MB = 850
"""Memory of a job beside its data: 110 to 230 MB for the libraries that it imports (the smallest
jobs of a run), and on a cluster 2 x 165 MB for the Snakemakes around it. Then a half more."""

LEAST_ROWS_MB = 64
"""What a learning job has for its rows at least."""

RECORD_BYTES = 1000
"""Of a record and its sequence, with two for each residue: 840 of 150 residues (``columns`` in
scale.tsv, 1,000,000 sequences)."""

PAIR_BYTES = 100
"""Of a pair that is aligned, until ``alignment.memory_mb`` is reached: 50 to 80 (``align`` in
scale.tsv)."""

LOOKED_AT_BYTES = 40
"""Of a score that a selector looks at: 19 (``landmarks`` in scale.tsv) to 30 (pfam30)."""

GROUPED_BYTES = 25_000
"""Of a sequence whose words are looked up: 8,500 of 150 residues, 17,000 of 400; a half more."""

TABLED_BYTES = 150
"""Of a probability that becomes the text of a table: 94 where one table of them is written."""

# --- seconds of one thread. What threads share was measured on two of them, and counts twice -----

ALIGNED_PAIR, ALIGNED_CELL = 3e-8, 4e-11
"""Of a pair by the backend auto, and of a product of its lengths: what 32 lanes make, and a quarter
more for the work around it. 64 lanes make more (benchmarks/results.md)."""

PARASAIL_RESIDUE, PARASAIL_CELL = 3.5e-8, 6e-11
"""Of a pair by parasail: lengths of 75 to 3,000, with a quarter more. Columns are dearer than
cells, so short sequences are slow."""

READ_MB = 0.3
"""Of a megabyte of the user's files: .13 s for FASTA (``read`` in scale.tsv), packed more."""

RECORD = 4e-6
"""Of a record, for a job that reads the data set and makes a table of it (folds of 20,000)."""

GROUPED_SEQUENCE = 5e-4
"""Of a sequence in clusters of near-identical ones: 2e-4 s for 20,000, of lengths 150 and 400."""

FEATURE = 2e-9
"""Of a feature of two vectors that a kernel compares: .9e-9 s (pseudo_euclidean) to 3e-9 s
(spectral_information_divergence), of 100 and 1,000 features."""

WARPING, WARPED = 1e-5, 4.4e-9
"""Of a pair of time series, and of each pair of their points: 150 and 500 of them."""

EDITING, EDITED = 1e-6, 3e-11
"""Of a pair of strings, and of each pair of their letters: 200 to 2,000 of them."""

GATHERED = 5e-8
"""Of a score that is gathered into the columns (``columns`` in scale.tsv: 2e-8 to 5e-8 s)."""

LOOKED_AT = 1e-7
"""Of a score that a selector looks at: 4e-8 s for enclosing balls (``landmarks`` in scale.tsv),
with its way out of the store 2e-7 s (pfam30). Most selectors by a sketch are between: 2e-8 to 1e-7
s for 10,000 rows, a sketch of 200 and 300 landmarks."""

CLUSTERED = 3e-6
"""Of a score of the sketch where columns are clustered: 2.3e-6 s at the same size, and at 5,000."""

FACTOR_ENTRY, FACTOR_PRODUCT, FACTOR_CUBE = 1e-7, 1.2e-10, 7.5e-10
"""Of the n m entries of a factor, its n m^2 products and its m^3 (``factor`` in scale.tsv). Here as
below, what has no rows is of one thread, as BLAS has."""

FIT_ENTRY, FIT_PRODUCT, FIT_SQUARE, FIT_CUBE = 3e-8, 6.2e-11, 5e-9, 5e-11
"""The same of a fit from the moments of the rows (``ny_ikfd`` in scale.tsv). Of the cubes a choice
of hyper-parameters has one, of the squares m^2 one for each class."""

CLASS_CUBE = 6e-11
"""Of m^3 for each class and choice, where each class has a covariance of its own, in one thread."""

STEP_ROW, STEP_ENTRY, STEP_CLASS, STEP_CUBE = 4e-8, 2.8e-10, 5e-4, 8e-12
"""A step of Ny-PCVM for each class: of the n rows, the n m entries, the class (in one thread) and
its m^3 (``ny_pcvm`` in scale.tsv)."""

STEPS, FULL_STEPS = 100, 20
"""Steps that Ny-PCVM takes, if ``max_iter`` allows so many: 22 to 100 in most of our runs. In the
first 20 (scale.tsv has no more) most functions are pruned, so later ones have no m^3."""

WORK: Mapping[str, float] = {
    "ny_epcvm": 1e-6,
    "krein_sh_svm": 3e-8,
    "cvm": 1.2e-8,
    "dissimilarity_space": 1.2e-8,
    "linear_svc": 7e-8,
}
"""Of the n m entries for each class and choice, in learners that go over the rows many times in one
thread (``method`` in scale.tsv)."""

SVC_PAIR = 1.5e-7
"""Of the n^2 pairs of rows for each choice of SVC, in one thread (``method`` in scale.tsv)."""

SCORE, DECISION, DECISION_ENTRY = 5e-9, 2.5e-8, 1.3e-10
"""Of the n m scores that are transformed, and for each class of the n decisions and their n m
entries (``predict`` in scale.tsv)."""

TABLED = 3e-6
"""Of a probability that is written to a packed table, with all digits (1,380,000 of them)."""

EVALUATED_MB = 0.7
"""Of a megabyte of packed predictions, some 100,000 probabilities, that are measured and written
once more: .5 s for 46 classes. In memory it is 18 MB."""

UNPACKED = 4
"""Megabytes of text in one that is packed: 2 for proteins, 4 for nucleotides."""

NUMBER_BYTES = 6
"""Of a number in a file of vectors: 2 to 20 in text, 8 in numpy's files."""

VECTORS_MB = 3
"""Memory of a megabyte of a text table of vectors, measured at 2 (8,000 x 1,024, 5 digits)."""

CLASSIFIED_MB = 0.5
"""Of a megabyte of new objects, beside their scores: to read them, and to write the table. .4 s for
vectors of two features, less for all others."""

MAPPED = 1000
"""Landmarks of the landmark map and of its factor, at most."""

SHOWN_MB = 1.0
"""Of a megabyte of tables that are drawn or shown."""


@dataclass(frozen=True)
class Seconds:
    """What a job is expected to take in one thread.

    Attributes
    ----------
    serial : float
        Of what has one thread whatever is allowed.
    shared : float
        Of what threads share.

    Examples
    --------
    >>> (2 * Seconds(serial=3.0) + Seconds(shared=8.0)).on(4)
    8.0
    """

    serial: float = 0.0
    shared: float = 0.0

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.serial + other.serial, self.shared + other.shared)

    def __rmul__(self, times: float) -> "Seconds":
        return Seconds(times * self.serial, times * self.shared)

    def on(self, threads: int) -> float:
        """Return the seconds of a job that has some threads."""
        return self.serial + self.shared / threads


def minutes(seconds: Seconds, threads: int = 1, attempt: int = 1, most: float | None = None) -> int:
    """Return the run time to ask for.

    Parameters
    ----------
    seconds : Seconds
    threads : int
    attempt : int
        The second asks for twice as much, the third for three times.
    most : float, optional
        Minutes that no attempt goes beyond.

    Examples
    --------
    >>> minutes(Seconds()), minutes(Seconds(600), threads=2), minutes(Seconds(0, 600), threads=2)
    (5, 35, 20)
    >>> minutes(Seconds(600), attempt=2, most=60)
    60
    """
    asked = attempt * (START_MINUTES + SPARE * seconds.on(threads) / 60)
    return max(1, int(asked if most is None else min(asked, most)))


# --- pairs -------------------------------------------------------------------------------------


def class_pairs(statistics: Statistics, candidates: Iterable[str]) -> int:
    """Return the pairs of the class scores: members x candidates, and all x the sketch.

    ``candidates`` has the class of each candidate; a row of the sketch has none.
    """
    sizes, everything = statistics["class_sizes"], statistics["distinct"]
    return sum(sizes.get(name, everything) for name in candidates)


def column_pairs(statistics: Statistics, landmarks: int) -> int:
    """Return the pairs of all objects with the landmarks, of which many may be the same one."""
    objects: int = statistics["distinct"]
    return objects * min(landmarks, objects)


def unknown_pairs(statistics: Statistics, landmarks: int) -> int:
    """Return the pairs of the records held out as unknown with the landmarks."""
    return int(sum(statistics["unknown"].values())) * landmarks


def _all_pairs_of_classes(statistics: Statistics) -> float:
    return sum(int(size) ** 2 for size in statistics["class_sizes"].values()) / 2


# --- seconds -----------------------------------------------------------------------------------


def records(statistics: Statistics) -> int:
    """Return the number of records of a data set."""
    # A record with several labels is in the size of each.
    counted = statistics.get("labels_per_record") or statistics["class_sizes"]
    return int(sum(counted.values()))


def alignment_seconds(statistics: Statistics, pairs: float, by_parasail: bool = False) -> Seconds:
    """Return the seconds of the alignment of pairs of mean length; 0 where nothing is aligned.

    Parameters
    ----------
    statistics : mapping
    pairs : float
    by_parasail : bool
        See :func:`~kreinflow.alignment.scoring.by_parasail`.
    """
    length = float(statistics["lengths"].get("mean", 0))
    return Seconds(shared=pairs * _pair_seconds(length, by_parasail) if length else 0.0)


def _pair_seconds(length: float, by_parasail: bool) -> float:
    if by_parasail:
        return length * (PARASAIL_RESIDUE + PARASAIL_CELL * length)
    return ALIGNED_PAIR + ALIGNED_CELL * length * length


def kernel_seconds(kernel: Mapping[str, Any], size: float) -> float:
    """Return the seconds of one score that a kernel computes, in one thread.

    Parameters
    ----------
    kernel : mapping
        As in the config.
    size : float
        Features of a vector, letters of a string.
    """
    if kernel["name"] == "edit_distance":
        return EDITING + EDITED * size**2
    if kernel["name"] == "dynamic_time_warping":
        window = kernel.get("window")
        return WARPING + WARPED * size * (size if window is None else min(size, 2 * window))
    return FEATURE * size


def dataset_seconds(statistics: Statistics) -> Seconds:
    """Return the seconds of a job that reads the data set and makes a table of it."""
    return Seconds(RECORD * records(statistics))


def grouping_seconds(statistics: Statistics) -> Seconds:
    """Return the seconds that clusters of near-identical sequences take."""
    return dataset_seconds(statistics) + Seconds(GROUPED_SEQUENCE * int(statistics["distinct"]))


def clustering_seconds(statistics: Statistics) -> Seconds:
    """Return the seconds of clusters of relatives: all pairs of a class, some aligned thrice."""
    pairs = _all_pairs_of_classes(statistics)
    return grouping_seconds(statistics) + 3 * alignment_seconds(statistics, pairs, True)


def gathering_seconds(statistics: Statistics, landmarks: int, of_score: float = 0) -> Seconds:
    """Return the seconds of gathering the columns of the landmarks.

    ``of_score`` is what a score takes that a kernel computes, :func:`kernel_seconds`.
    """
    pairs = column_pairs(statistics, landmarks)
    return dataset_seconds(statistics) + Seconds((GATHERED + of_score) * pairs)


def selection_seconds(
    statistics: Statistics, pairs: float, method: str, of_score: float = 0
) -> Seconds:
    """Return the seconds of choosing the landmarks of a fold from the scores of some pairs.

    ``method`` is that of the selector; ``of_score`` as for :func:`gathering_seconds`.
    """
    of_score += CLUSTERED if method == "kmeans" else LOOKED_AT
    return dataset_seconds(statistics) + Seconds(of_score * pairs)


def factor_seconds(rows: int, landmarks: int) -> Seconds:
    """Return the seconds of one Krein factor and its eigenpairs."""
    n, m = rows, landmarks
    return Seconds(FACTOR_CUBE * m**3, FACTOR_ENTRY * n * m + FACTOR_PRODUCT * n * m**2)


def fit_seconds(learner: Learner, rows: int, landmarks: int, classes: int) -> Seconds:
    """Return the seconds of one fit of all choices of a learner."""
    n, m, method, settings = rows, landmarks, learner.method, learner.settings
    choices = len(learner.choices())
    if method == "nearest_landmark":
        return Seconds()
    shared = FIT_ENTRY * n * m + FIT_PRODUCT * n * m**2
    serial = choices * (FIT_SQUARE * classes * m**2 + FIT_CUBE * m**3)
    if method == "ikqd" or settings.get("scatter") == "balanced":
        serial += CLASS_CUBE * choices * classes * m**3
    if method == "ny_pcvm":
        steps = classes * min(STEPS, settings["max_iter"])
        shared += steps * (STEP_ROW * n + STEP_ENTRY * n * m)
        serial += steps * STEP_CLASS
        shared += classes * min(FULL_STEPS, settings["max_iter"]) * STEP_CUBE * m**3
    if method == "svc":
        serial += SVC_PAIR * choices * n**2
    serial += WORK.get(method, 0.0) * choices * n * m * classes
    # More basis functions than landmarks are tried.
    return (4 if settings.get("basis") == "all" else 1) * Seconds(serial, shared)


def fit_of_all(statistics: Statistics, learner: Learner, rows: int, landmarks: int) -> Seconds:
    """Return those of all classes; of records with several labels each label has a fit."""
    classes = len(statistics["class_sizes"])
    if statistics.get("several"):
        return classes * fit_seconds(learner, rows, landmarks, 2)
    return fit_seconds(learner, rows, landmarks, classes)


def decision_seconds(rows: int, landmarks: int, classes: int) -> Seconds:
    """Return the seconds of the decisions for some rows."""
    n, m = rows, landmarks
    return Seconds(shared=SCORE * n * m + classes * (DECISION * n + DECISION_ENTRY * n * m))


def training_seconds(
    statistics: Statistics,
    landmarks: int,
    learners: Sequence[Learner],
    inner_folds: int,
    tested: float,
) -> Seconds:
    """Return the seconds of the training of all recipes of a selector on one fold.

    Parameters
    ----------
    statistics : mapping
    landmarks : int
        Of this selector and fold.
    learners : sequence of Learner
        Those of recipes without a lift; see :mod:`kreinflow.config.lift_costs` for the others.
    inner_folds : int
        Each has a factor and fits of its own, beside those of the fold. If memory is scarce,
        recipes do not share these factors.
    tested : float
        The share of the records whose probabilities are written.
    """
    n, m, classes = records(statistics), landmarks, len(statistics["class_sizes"])
    seconds = dataset_seconds(statistics) + Seconds(TABLED * tested * n * classes * len(learners))
    for learner in learners:
        kernel = factor_seconds(n, m) if learner.needs_factor else Seconds(shared=SCORE * n * m)
        seconds += inner_folds * kernel
        seconds += (inner_folds + 1) * fit_of_all(statistics, learner, n, m)
        seconds += (len(learner.choices()) + 1) * decision_seconds(n, m, classes)
    return seconds


def classification_seconds(
    text_mb: float, landmarks: float, residues: float, by_parasail: bool = False
) -> Seconds:
    """Return the seconds of classifying new sequences.

    Parameters
    ----------
    text_mb : float
        Megabytes of them, unpacked; twice if both strands are aligned.
    landmarks : float
        Alignments of one of them, in the mean.
    residues : float
        Of all that it is aligned with.
    by_parasail : bool
        See :func:`alignment_seconds`.
    """
    length = max(1.0, residues / max(1, landmarks))
    pairs = 1e6 * text_mb / length * landmarks  # new sequences are as long as landmarks
    return Seconds(CLASSIFIED_MB * text_mb, pairs * _pair_seconds(length, by_parasail))


def comparison_seconds(
    text_mb: float, landmarks: int, size: float, kernel: Mapping[str, Any]
) -> Seconds:
    """Return the seconds of classifying new vectors or strings; see :func:`kernel_seconds`."""
    letters = 1 if kernel["name"] == "edit_distance" else NUMBER_BYTES
    pairs = 1e6 * text_mb / (letters * max(1, size)) * landmarks
    return Seconds(CLASSIFIED_MB * text_mb + (SCORE + kernel_seconds(kernel, size)) * pairs)


def competitor_seconds(statistics: Statistics, tested: float) -> Seconds:
    """Return the seconds of a competitor on a fold: thrice all tested with all others, as BLAST.

    A search for best hits by BLAST takes that, one by alignment alone a third (docs/compare.md).
    """
    pairs = tested * (1 - tested) * records(statistics) ** 2
    return dataset_seconds(statistics) + 3 * alignment_seconds(statistics, pairs, True)


def map_seconds(statistics: Statistics, landmarks: int) -> Seconds:
    """Return the seconds of the landmark map, with the factor of its landmarks."""
    factor = factor_seconds(records(statistics), min(landmarks, MAPPED))
    return dataset_seconds(statistics) + factor


# --- megabytes ---------------------------------------------------------------------------------


def dataset_mb(statistics: Statistics) -> float:
    """Return megabytes for the records and sequences of a data set, in memory."""
    length = float(statistics["lengths"].get("mean", 0))
    return records(statistics) * (RECORD_BYTES + 2 * length) / 1e6


def scores_mb(pairs: float, most_mb: float) -> float:
    """Return megabytes for the scores of a job that aligns or gathers: no more than it may hold."""
    return min(PAIR_BYTES * pairs / 1e6, most_mb)


def grouping_mb(statistics: Statistics) -> float:
    """Return megabytes for the words by which near-identical sequences are found."""
    return GROUPED_BYTES * int(statistics["distinct"]) / 1e6


def selection_mb(statistics: Statistics, pairs: float) -> float:
    """Return the memory to ask for where landmarks are chosen from the scores of some pairs."""
    return BASE_MB + dataset_mb(statistics) + LOOKED_AT_BYTES * pairs / 1e6


def square_mb(landmarks: int) -> float:
    """Return megabytes for the m x m matrices that a job holds beside its tiles: some 16 of them.

    A factor with its eigenpairs and corrections is three or four, for each transform and rank;
    what finds its eigenvalues needs some six more for the while.

    Examples
    --------
    >>> square_mb(1000), square_mb(4000)
    (128.0, 2048.0)
    """
    return 16 * 8 * landmarks**2 / 1e6


def learning_mb(
    statistics: Statistics,
    landmarks: int,
    tiled_mb: float | None,
    learners: Sequence[Learner] = (),
    tested: float = 0,
) -> float:
    """Return the memory to ask for where something is learned.

    Parameters
    ----------
    statistics : mapping
    landmarks : int
        Six matrices of float64 have a row for each record and a column for each of them, at most;
        matrices of landmarks with landmarks come on top.
    tiled_mb : float or None
        What these rows take at most if they are read by tiles; None if all are held.
    learners, tested
        See :func:`training_seconds`. Decisions of all choices of hyper-parameters are held for all
        records and classes, and some arrays of that shape more.
    """
    rows = 6 * 8 * records(statistics) * landmarks / 1e6
    if tiled_mb is not None:
        rows = min(rows, tiled_mb)
    rows = max(rows, LEAST_ROWS_MB)
    cells = records(statistics) * len(statistics["class_sizes"])
    held = max((8 * (len(learner.choices()) + 4) for learner in learners), default=0)
    by_class = cells * (held + TABLED_BYTES * tested * len(learners)) / 1e6
    return BASE_MB + dataset_mb(statistics) + rows + square_mb(landmarks) + by_class


def rows_mb(given_mb: float, landmarks: int, most_mb: float) -> float:
    """Return what rows may take where jobs are given less memory than :func:`learning_mb` returns.

    Parameters
    ----------
    given_mb : float
    landmarks : int
    most_mb : float
        ``learning.memory_mb``, which they may take anyhow.
    """
    return max(min(given_mb - BASE_MB - square_mb(landmarks), most_mb), LEAST_ROWS_MB)
