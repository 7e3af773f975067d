"""Simulated data: protein families that evolve from random ancestors.

Substitutions follow the LG model along random trees; insertions and deletions have geometric
lengths; unrelated flanks surround the related part; families come in superfamilies, whose
ancestors are related, so that classes overlap.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.base.random_streams import stream

Residues = NDArray[np.intp]

LETTERS = "ARNDCQEGHILKMFPSTWYV"
SUPERFAMILY = 4  # families that share a superfamily
LENGTHS = (80, 150)  # shortest and longest core of a superfamily's ancestor, residues
BETWEEN = 0.8  # substitutions a site from a superfamily's ancestor to each of its families'
WITHIN = 1.6  # substitutions a site from a family's ancestor to each of its sequences
STEPS = 8  # parts of that way; sequences part company between them
INDELS = 0.02  # insertions, and as many deletions, for each substitution
INDEL_LENGTH = 3.0  # mean residues of one of them
FLANK = 8.0  # mean residues of an unrelated flank, one at each end
SHORTEST = 20  # a deletion that would leave fewer residues does not happen


class SimulatedSequence(NamedTuple):
    """One simulated sequence."""

    id: str
    label: str
    residues: bytes


@cache
def lg_model() -> tuple[FloatArray, FloatArray]:
    r"""Return the rates Q (20, 20) and the equilibrium frequencies (20,) of the LG model.

    .. math:: q_{ij} = r_{ij} \pi_j \ (i \ne j), \qquad -\sum_i \pi_i q_{ii} = 1

    Rates are in expected substitutions a site, letters in the order of :data:`LETTERS`.

    References
    ----------
    Le & Gascuel (2008), Mol. Biol. Evol. 25:1307-1320, doi 10.1093/molbev/msn067.
    """
    lines = (Path(__file__).parent / "lg.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    frequencies = np.array([float(row[1]) for row in rows])
    frequencies /= frequencies.sum()
    Q = np.zeros((20, 20))
    for i, row in enumerate(rows):
        Q[i, :i] = Q[:i, i] = [float(field) for field in row[2:]]
    Q *= frequencies
    np.fill_diagonal(Q, -Q.sum(axis=1))
    Q /= -(frequencies @ np.diag(Q))
    return Q, frequencies


def transition_probabilities(time: float) -> FloatArray:
    """Return :math:`P(t) = e^{Qt}` of the LG model, by the eigenvectors of its symmetric form.

    ``P[a, b]`` is the probability that a residue a is b after a time in expected substitutions a
    site.
    """
    Q, frequencies = lg_model()
    root = np.sqrt(frequencies)
    S = Q * root[:, None] / root
    with single_threaded():
        values, vectors = np.linalg.eigh((S + S.T) / 2)
        P: FloatArray = (vectors * np.exp(values * time)) @ vectors.T / root[:, None] * root
    return P


def family_sizes(families: int, sequences: int) -> NDArray[np.intp]:
    """Return unequal sizes, in proportion to 1/sqrt(rank), that sum to ``sequences``.

    Examples
    --------
    >>> family_sizes(4, 100).tolist()
    [36, 25, 21, 18]
    """
    shares = 1 / np.sqrt(np.arange(1, families + 1))
    exact = sequences * shares / shares.sum()
    sizes: NDArray[np.intp] = np.floor(exact).astype(np.intp)
    sizes[np.argsort(sizes - exact, kind="stable")[: sequences - sizes.sum()]] += 1
    return sizes


def simulate_families(families: int, sequences: int, seed: int) -> list[SimulatedSequence]:
    """Simulate protein families, one after the other, with so many ``sequences`` of all together.

    Each family and each sequence has random numbers of its own: with more families or sequences the
    others stay what they were.
    """
    simulated = []
    for family, size in enumerate(family_sizes(families, sequences)):
        label = f"family{family + 1:02d}"
        for number, residues in enumerate(_family(family, int(size), seed), start=1):
            text = "".join(LETTERS[i] for i in residues).encode()
            simulated.append(SimulatedSequence(f"{label}_{number:04d}", label, text))
    return simulated


def _family(family: int, size: int, seed: int) -> list[Residues]:
    random = stream(seed, "simulation", "superfamily", family // SUPERFAMILY)
    ancestor = _random_residues(int(random.integers(*LENGTHS, endpoint=True)), random)
    random = stream(seed, "simulation", "family", family)
    root = _evolve(ancestor, BETWEEN, random)
    lineages: list[list[Residues]] = []
    flanked = []
    for number in range(size):
        random = stream(seed, "simulation", "family", family, "sequence", number)
        lineage = [root]
        if lineages:  # share the way of an earlier sequence up to some step
            earlier, shared = int(random.integers(number)), int(random.integers(1, STEPS + 1))
            lineage = lineages[earlier][:shared]
        while len(lineage) <= STEPS:
            lineage.append(_evolve(lineage[-1], WITHIN / STEPS, random))
        lineages.append(lineage)
        left, right = (_random_residues(int(n), random) for n in random.geometric(1 / FLANK, 2) - 1)
        flanked.append(np.concatenate([left, lineage[-1], right]))
    return flanked


def _random_residues(length: int, random: np.random.Generator) -> Residues:
    cumulative = np.cumsum(lg_model()[1])
    return _inverse(cumulative, random.random(length))


def _inverse(cumulative: FloatArray, uniform: FloatArray) -> Residues:
    found: Residues = (cumulative[..., :-1] <= uniform[:, None]).sum(axis=1)
    return found


@cache
def _cumulative(time: float) -> FloatArray:
    return np.cumsum(transition_probabilities(time), axis=1)


def _evolve(residues: Residues, time: float, random: np.random.Generator) -> Residues:
    residues = _inverse(_cumulative(time)[residues], random.random(len(residues)))
    events = int(random.poisson(2 * INDELS * time * len(residues)))
    for _ in range(events):
        length = int(random.geometric(1 / INDEL_LENGTH))
        place = int(random.integers(len(residues) + 1))
        if random.random() < 0.5:
            inserted = _random_residues(length, random)
            residues = np.concatenate([residues[:place], inserted, residues[place:]])
        elif len(residues) - length >= SHORTEST:
            residues = np.concatenate([residues[:place], residues[place + length :]])
    return residues
