"""What the parts of jobs cost, as measured in seconds of one thread, and what a job asks for.

``python benchmarks/asked.py`` holds fits against ``benchmarks/scale.tsv``, ``python
benchmarks/jobs.py`` measures queries. Behind constants stands what they are counted by: n records,
m landmarks. What has no rows is of one thread, as BLAS has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kreinflow.kernels import registry
from kreinflow.learners.learner import Learner

# What jobs ask for: so many times the seconds that are expected, and a start on a cluster; the
# libraries, the two Snakemakes around a job of a cluster, and a half more.
SPARE, START_MINUTES, BASE_MB = 3.0, 5, 1000
LEAST_ROWS_MB = 64

PAIR, CELL = 3e-8, 2.8e-11  # an alignment, and a product of its lengths (benchmarks/results.md)
PARASAIL_RESIDUE, PARASAIL_CELL = 3.5e-8, 6e-11  # by parasail: short sequences are slow

# Of a query, beside its alignments: it is read, decided on and written; a pair that is asked for
# is chosen and traced back; records are searched for the nearest, and by seeds, which all queries
# are and half of them search; points of a lift are compared.
TOLD, ASKED, ASKED_CELL, SEARCHED, SEEDED = 1.4e-5, 7e-6, 8e-11, 4.5e-8, 2.2e-12
OWN_SCORE = 1e-3  # of the user's code
INDUCED, INDUCED_SCORE, INDUCED_CELL = 4e-8, 3.5e-11, 4e-13

FACTOR_ENTRY, FACTOR_PRODUCT, FACTOR_CUBE = 1e-7, 1.2e-10, 7.5e-10  # n m, n m^2, m^3
FIT_ENTRY, FIT_PRODUCT, FIT_SQUARE, FIT_CUBE = 3e-8, 6.2e-11, 5e-9, 5e-11
LEAST_SQUARES = 6e-11  # m^2 for each class, of SF-LSM
CLASS_CUBE = 6e-11  # m^3, where each class has a covariance of its own
STEP_ROW, STEP_ENTRY, STEP_CLASS, STEP_CUBE = 4e-8, 2.8e-10, 5e-4, 8e-12  # a step of Ny-PCVM
STEPS, FULL_STEPS = 100, 20  # of Ny-PCVM: most functions are pruned in the first 20
WORK: Mapping[str, float] = {
    "ny_epcvm": 1e-6,
    "krein_sh_svm": 3e-8,
    "cvm": 1.2e-8,
    "dissimilarity_space": 1.2e-8,
    "linear_svc": 7e-8,
}
"""n m, for each class and choice, of learners that go over the rows many times in one thread."""
SVC_PAIR = 1.5e-7  # n^2, for each choice of SVC
SCORE, DECISION, DECISION_ENTRY = 5e-9, 2.5e-8, 1.3e-10  # n m; n and n m for each class


@dataclass(frozen=True)
class Cost:
    """What a job takes: seconds of one thread, seconds that threads share, megabytes of its data.

    A sum is one thing after the other, which use the same memory.

    Examples
    --------
    >>> cost = 2 * Cost(serial=300.0, mb=10) + Cost(shared=2400.0, mb=15)
    >>> cost.on(4), cost.minutes(4), cost.minutes(4, attempt=2, most=90), cost.megabytes(2)
    (1200.0, 65, 90, 2030)
    """

    serial: float = 0.0
    shared: float = 0.0
    mb: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        mb = max(self.mb, other.mb)
        return Cost(self.serial + other.serial, self.shared + other.shared, mb)

    def __rmul__(self, times: float) -> "Cost":
        return Cost(times * self.serial, times * self.shared, self.mb)

    def on(self, threads: int) -> float:
        """Return the seconds with some threads."""
        return self.serial + self.shared / threads

    def minutes(self, threads: int = 1, attempt: int = 1, most: float | None = None) -> int:
        """Return the run time that an attempt asks for, at most ``most``."""
        asked = attempt * (START_MINUTES + SPARE * self.on(threads) / 60)
        return max(1, int(asked if most is None else min(asked, most)))

    def megabytes(self, attempt: int = 1) -> int:
        """Return the memory that an attempt asks for."""
        return int(attempt * (BASE_MB + self.mb))


def pair_seconds(length: float, others: float, by_parasail: bool = False) -> float:
    """Return the seconds of aligning two sequences of so many residues."""
    if by_parasail:
        return length * PARASAIL_RESIDUE + PARASAIL_CELL * length * others
    return PAIR + CELL * length * others


def query_seconds(
    alignments: float,
    length: float,
    others: float,
    *,
    asked: float = 0.0,
    searched: float = 0.0,
    inducing: float = 0.0,
    by_parasail: bool = False,
) -> float:
    r"""Return the processor seconds of a new sequence.

    With A alignments of a sequence of l residues with others of o, of which K are asked for,
    R records searched, and p points of a lift:

    .. math::
        t = t_0 + A (t_1 + c_1 l o) + K (t_2 + c_2 l o) + R (t_3 + c_4 l o)
            + p (t_4 + t_5 (A - K) + c_3 l o)

    R counts with the share of the sequences that ask.
    """
    cells = length * others
    induced = INDUCED + INDUCED_SCORE * (alignments - asked) + INDUCED_CELL * cells
    return (
        TOLD
        + alignments * pair_seconds(length, others, by_parasail)
        + asked * (ASKED + ASKED_CELL * cells)
        + searched * (SEARCHED + SEEDED * cells)
        + inducing * induced
    )


def recipe_seconds(
    recipe: Mapping[str, Any],
    alignments: float,
    asked: float,
    records: float,
    length: float,
    by_parasail: bool = False,
) -> float:
    """Return the :func:`query_seconds` of a model of a recipe.

    A half of the sequences ask for alignments with records, ``asked`` on the mean of all.
    """
    searched, lift = records / 2 if asked else 0.0, recipe.get("lift")
    inducing = min(lift["inducing"], records) if lift else 0
    more = {"asked": asked, "searched": searched, "inducing": inducing}
    return query_seconds(alignments, length, length, **more, by_parasail=by_parasail)


def million_hours(seconds: float) -> float:
    """Return the core hours of a million new sequences that take so many seconds each."""
    return 1e6 * seconds / 3600


def kernel_seconds(kernel: Mapping[str, Any], size: float) -> float:
    """Return the seconds of one score of vectors with ``size`` features, or letters of strings.

    That of the user's own score is a guess, for what asks a cluster for time.
    """
    if kernel["name"] in registry.ASKED:
        return OWN_SCORE
    if kernel["name"] == "edit_distance":
        return 1e-6 + 3e-11 * size**2
    if kernel["name"] == "dynamic_time_warping":
        return 1e-5 + 4.4e-9 * size * min(size, 2 * (kernel.get("window") or size))
    return 2e-9 * size


def square_mb(m: float, squares: int = 16) -> float:
    """Return megabytes of the m x m matrices that a learning job holds: some 16 of them."""
    return squares * 8 * m**2 / 1e6


def factor(n: float, m: float) -> Cost:
    """Return the cost of a Krein factor and its eigenpairs."""
    return Cost(FACTOR_CUBE * m**3, FACTOR_ENTRY * n * m + FACTOR_PRODUCT * n * m**2)


def fit(learner: Learner, n: float, m: float, classes: int) -> Cost:
    """Return the cost of one fit of all hyper-parameters of a learner."""
    method, settings, choices = learner.method, learner.settings, len(learner.choices(int(m)))
    if method == "nearest_landmark":
        return Cost()
    if method == "ny_pcvm":
        steps, full = (classes * min(most, settings["max_iter"]) for most in (STEPS, FULL_STEPS))
        rows = steps * (STEP_ROW * n + STEP_ENTRY * n * m)
        # More basis functions than landmarks are tried.
        times = 4 if settings.get("basis") == "all" else 1
        return times * Cost(steps * STEP_CLASS, rows + full * STEP_CUBE * m**3)
    own_covariances = method == "ikqd" or settings.get("scatter") == "balanced"
    cube = FIT_CUBE + (CLASS_CUBE * classes if own_covariances else 0.0)
    rows = Cost(shared=FIT_ENTRY * n * m + FIT_PRODUCT * n * m**2)
    if method == "sf_lsm":  # no eigenvalues to find
        return rows + Cost(choices * (LEAST_SQUARES * classes * m**2 + FIT_CUBE / 6 * m**3))
    serial = FIT_SQUARE * classes * m**2 + cube * m**3 + WORK.get(method, 0.0) * n * m * classes
    serial += SVC_PAIR * n**2 if method == "svc" else 0.0
    return rows + Cost(choices * serial)


def decisions(n: float, m: float, classes: int) -> Cost:
    """Return the cost of the decisions for some rows."""
    return Cost(shared=SCORE * n * m + classes * (DECISION * n + DECISION_ENTRY * n * m))
