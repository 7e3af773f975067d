"""What a new object costs: processor seconds of one thread, core hours for a million of them.

Constants are as measured (``python benchmarks/jobs.py``).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kreinflow.answering.relatives import MORE
from kreinflow.fitting.cascade_choice import NEAREST_AT_MOST

if TYPE_CHECKING:
    from kreinflow.config.costs import RunCosts

TOLD = 1.4e-5  # an object beside its alignments: it is read, decided on and written
PAIR, CELL = 3e-8, 2.8e-11  # an alignment, and a product of its lengths (benchmarks/results.md)
PARASAIL_RESIDUE, PARASAIL_CELL = 3.5e-8, 6e-11  # by parasail: short sequences are slow
ASKED, ASKED_CELL = 7e-6, 8e-11  # beside its alignment, a pair is chosen, and traced back
SEARCHED = 4.5e-8  # a record among which the nearest are searched for (docs/scale.md)
INDUCED, INDUCED_SCORE, INDUCED_CELL = 4e-8, 3.5e-11, 4e-13  # a point of a lift


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
        t = t_0 + A (t_1 + c_1 l o) + K (t_2 + c_2 l o) + R t_3 + p (t_4 + t_5 (A - K) + c_3 l o)

    R counts with the share of the sequences that ask.
    """
    cells = length * others
    induced = INDUCED + INDUCED_SCORE * (alignments - asked) + INDUCED_CELL * cells
    return (
        TOLD
        + alignments * pair_seconds(length, others, by_parasail)
        + asked * (ASKED + ASKED_CELL * cells)
        + searched * SEARCHED
        + inducing * induced
    )


def recipe_seconds(
    recipe: Mapping[str, Any],
    alignments: float,
    landmarks: float,
    records: float,
    length: float,
    by_parasail: bool = False,
    asking: float = 0.5,
) -> float:
    """Return the :func:`query_seconds` of a model of a recipe.

    Alignments beyond the landmarks, and the sequence with itself, a cascade or the search for
    relatives asks for, of the share ``asking`` of the sequences.
    """
    lift = recipe.get("lift")
    asked = max(0.0, alignments - landmarks - 1)
    return query_seconds(
        alignments,
        length,
        length,
        asked=asked,
        searched=asking * records if asked else 0.0,
        inducing=min(lift["inducing"], records) if lift else 0,
        by_parasail=by_parasail,
    )


def million_hours(seconds: float) -> float:
    """Return the core hours of a million new sequences that take so many seconds each."""
    return 1e6 * seconds / 3600


class QueryCost(NamedTuple):
    """What a recipe takes for a new sequence.

    ``alignments`` are with all landmarks and itself; of a cascade with a stated mean, that mean.
    At most ``more`` are added where a cascade with a stated loss is unsure, or it may be unknown.
    The core hours of a million sequences are without any of these, and if each takes the most.
    """

    recipe: str
    alignments: float
    more: float
    hours: float
    most_hours: float


def queries(run: "RunCosts") -> list[QueryCost]:
    """Return what new sequences take, of the named final recipe or of all; none without any."""
    final = run.plan.settings["final"]
    recipes = [recipe for recipe in run.plan.recipes() if final in (None, recipe["name"])]
    return [_query(run, recipe) for recipe in recipes] if run.length else []


def _query(run: "RunCosts", recipe: Mapping[str, Any]) -> QueryCost:
    first, cascade = run.landmarks(recipe["selector"]) + 1.0, recipe["cascade"]
    mean = first if not cascade else max(first, cascade.get("alignments") or first)
    more = min(NEAREST_AT_MOST, run.n) if cascade and "alignments" not in cascade else 0.0
    if run.has_evalues:  # landmarks are known already
        more = max(more, min(float(MORE), run.n - first + 1))
    sizes = first - 1, run.n, run.length, run.by_parasail
    least = recipe_seconds(recipe, mean, *sizes)
    most = recipe_seconds(recipe, mean + more, *sizes, asking=1.0)
    return QueryCost(recipe["name"], mean, more, million_hours(least), million_hours(most))
