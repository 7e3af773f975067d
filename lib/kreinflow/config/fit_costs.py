"""What a job asks for, and what its parts cost: kernels, factors, fits of learners, decisions.

Constants were measured on two kinds of processors, in seconds of one thread: ``python
benchmarks/asked.py`` holds them against ``benchmarks/scale.tsv``. Behind them stands what they are
counted by: n records, m landmarks. What has no rows is of one thread, as BLAS has.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kreinflow.learners.learner import Learner

# What jobs ask for: so many times the seconds that are expected, and a start on a cluster; the
# libraries, the two Snakemakes around a job of a cluster, and a half more.
SPARE, START_MINUTES, BASE_MB = 3.0, 5, 1000
LEAST_ROWS_MB = 64

FACTOR_ENTRY, FACTOR_PRODUCT, FACTOR_CUBE = 1e-7, 1.2e-10, 7.5e-10  # n m, n m^2, m^3
FIT_ENTRY, FIT_PRODUCT, FIT_SQUARE, FIT_CUBE = 3e-8, 6.2e-11, 5e-9, 5e-11
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


def kernel_seconds(kernel: Mapping[str, Any], size: float) -> float:
    """Return the seconds of one score of vectors with ``size`` features, or letters of strings."""
    if kernel["name"] == "edit_distance":
        return 1e-6 + 3e-11 * size**2
    if kernel["name"] == "dynamic_time_warping":
        window = kernel.get("window")
        return 1e-5 + 4.4e-9 * size * (size if window is None else min(size, 2 * window))
    return 2e-9 * size


def square_mb(m: float, squares: int = 16) -> float:
    """Return megabytes of the m x m matrices that a learning job holds: some 16 of them."""
    return squares * 8 * m**2 / 1e6


def factor(n: float, m: float) -> Cost:
    """Return the cost of a Krein factor and its eigenpairs."""
    return Cost(FACTOR_CUBE * m**3, FACTOR_ENTRY * n * m + FACTOR_PRODUCT * n * m**2)


def fit(learner: Learner, n: float, m: float, classes: int) -> Cost:
    """Return the cost of one fit of all hyper-parameters of a learner."""
    method, settings, choices = learner.method, learner.settings, len(learner.choices())
    if method == "nearest_landmark":
        return Cost()
    own_covariances = method == "ikqd" or settings.get("scatter") == "balanced"
    cube = FIT_CUBE + (CLASS_CUBE * classes if own_covariances else 0.0)
    serial = FIT_SQUARE * classes * m**2 + cube * m**3 + WORK.get(method, 0.0) * n * m * classes
    serial += SVC_PAIR * n**2 if method == "svc" else 0.0
    serial /= 8 if method == "sf_lsm" else 1  # no eigenvalues to find
    cost = Cost(choices * serial, FIT_ENTRY * n * m + FIT_PRODUCT * n * m**2)
    if method == "ny_pcvm":
        steps, full = (classes * min(most, settings["max_iter"]) for most in (STEPS, FULL_STEPS))
        rows = steps * (STEP_ROW * n + STEP_ENTRY * n * m)
        cost += Cost(steps * STEP_CLASS, rows + full * STEP_CUBE * m**3)
    # More basis functions than landmarks are tried.
    return (4 if settings.get("basis") == "all" else 1) * cost


def decisions(n: float, m: float, classes: int) -> Cost:
    """Return the cost of the decisions for some rows."""
    return Cost(shared=SCORE * n * m + classes * (DECISION * n + DECISION_ENTRY * n * m))
