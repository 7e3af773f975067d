"""Made-up sequences of many kinds, each with what makes such data hard, to try methods on.

Every kind is a function of a random generator that returns (residues, label) pairs;
:data:`KINDS` has them by name. Unlike :mod:`kreinflow.sequences.simulation` sites have rates of
their own, so that some are conserved longer, as in real families. Identities are those of
:mod:`kreinflow.sequences.identity`, from the 5th to the 95th percentile of pairs of a class.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.sequences.simulation import LETTERS, lg_model, transition_probabilities

Residues = NDArray[np.intp]
Labelled = list[tuple[str, str]]

_RATES = np.array([0.1, 0.3, 0.6, 1.0, 1.5, 2.5])
"""Rates of six classes of sites, of mean 1."""

_INDELS = 0.02
"""Insertions, and as many deletions, for each substitution."""


class Site(NamedTuple):
    """Residues and the rate class of each."""

    residues: Residues
    rates: Residues


def drawn(length: int, random: np.random.Generator) -> Site:
    """Return a random sequence with random rates."""
    residues = random.choice(20, length, p=lg_model()[1])
    return Site(residues, random.choice(len(_RATES), length))


def joined(*parts: Site) -> Site:
    """Return sequences one after the other."""
    return Site(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))


def evolved(site: Site, time: float, random: np.random.Generator) -> Site:
    """Return what becomes of a sequence after ``time`` substitutions a site of rate 1."""
    residues, rates = site.residues.copy(), site.rates
    for code, rate in enumerate(_RATES):
        places = np.flatnonzero(rates == code)
        if len(places):
            cumulative = np.cumsum(transition_probabilities(time * rate), axis=1)
            cumulative[:, -1] = 1.0
            uniform = random.random(len(places))
            residues[places] = (cumulative[residues[places]] <= uniform[:, None]).sum(axis=1)
    for _ in range(random.poisson(2 * _INDELS * time * len(residues))):
        place, length = int(random.integers(len(residues))), int(random.geometric(1 / 3))
        if rates[place] < 2:
            continue  # conserved
        if random.random() < 0.5:
            new = drawn(length, random)
            residues = np.concatenate([residues[:place], new.residues, residues[place:]])
            rates = np.concatenate([rates[:place], np.maximum(new.rates, 2), rates[place:]])
        elif len(residues) - length >= 8:
            residues = np.concatenate([residues[:place], residues[place + length :]])
            rates = np.concatenate([rates[:place], rates[place + length :]])
    return Site(residues, rates)


def tree(root: Site, size: int, time: float, random: np.random.Generator) -> list[Site]:
    """Return sequences that part company at random on the way from a root, 6 steps long."""
    lineages: list[list[Site]] = []
    for number in range(size):
        lineage = [root]
        if lineages:
            lineage = lineages[random.integers(number)][: random.integers(1, 7)]
        while len(lineage) <= 6:
            lineage = [*lineage, evolved(lineage[-1], time / 6, random)]
        lineages.append(lineage)
    return [lineage[-1] for lineage in lineages]


def text(site: Site) -> str:
    """Return the letters of a sequence."""
    return "".join(LETTERS[code] for code in site.residues)


def sizes(count: int, total: int, smallest: int, power: float = 1.0) -> list[int]:
    """Return sizes in proportion to rank^-power, none below the smallest."""
    shares = np.arange(1, count + 1) ** -power
    return np.maximum(smallest, np.round(total * shares / shares.sum())).astype(int).tolist()


def flanked(site: Site, mean: float, random: np.random.Generator) -> Site:
    """Return a sequence between unrelated ones."""
    left, right = (drawn(int(n), random) for n in random.geometric(1 / mean, 2))
    return joined(left, site, right)


def close(random: np.random.Generator) -> Labelled:
    """6 families of 4 subfamilies that differ at 4 sites for certain, 54 to 76 % identity."""
    found = []
    of_class = iter(sizes(24, 480, 8, 0.7))
    for family in range(6):
        ancestor = drawn(int(random.integers(120, 220)), random)
        variable = np.flatnonzero(ancestor.rates >= 3)
        for sub in range(4):
            special = random.choice(variable, 4, replace=False)
            root = Site(ancestor.residues.copy(), ancestor.rates.copy())
            root.residues[special] = random.choice(20, 4)
            root.rates[special] = 0
            for site in tree(root, next(of_class), random.uniform(0.25, 0.6), random):
                found.append((text(site), f"f{family}s{sub}"))
    return found


def remote(random: np.random.Generator, times: int = 1) -> Labelled:
    """20 superfamilies of 3 to 8 families each: of most pairs of one class no identity is left.

    All have so many times the members.
    """
    found = []
    for number, size in enumerate(sizes(20, 450 * times, 10 * times, 0.6)):
        ancestor = drawn(int(random.integers(90, 200)), random)
        families = int(random.integers(3, 9))
        for part in np.array_split(np.arange(size), families):
            family = evolved(ancestor, 2.2, random)
            for site in tree(family, len(part), 1.6, random) if len(part) else []:
                found.append((text(flanked(site, 10, random)), f"sf{number:02d}"))
    return found


def related(random: np.random.Generator, times: int = 1) -> Labelled:
    """5 folds of 5 superfamilies that share an ancestor, 4 to 37 % identity inside a class.

    All have so many times the members.
    """
    found = []
    of_class = iter(sizes(25, 450 * times, 10 * times, 0.6))
    for fold in range(5):
        ancestor = drawn(int(random.integers(100, 200)), random)
        for number in range(5):
            root = evolved(ancestor, 1.0, random)
            for site in tree(root, next(of_class), 2.4, random):
                found.append((text(flanked(site, 8, random)), f"fold{fold}.{number}"))
    return found


def superfamilies(random: np.random.Generator, total: int = 2990) -> Labelled:
    """49 superfamilies of families of 8, in which no two sequences share an ancestor of late."""
    found = []
    for number, size in enumerate(sizes(49, total, 10, 0.6)):
        ancestor = drawn(int(random.integers(90, 220)), random)
        for part in np.array_split(np.arange(size), max(2, size // 8)):
            family = evolved(ancestor, 1.6, random)
            for _ in part:
                site = flanked(evolved(family, 2.2, random), 10, random)
                found.append((text(site), f"sf{number:02d}"))
    return found


def enzymes(random: np.random.Generator, size: int = 183) -> Labelled:
    """28 classes of equal size in 7 families of 4, of about 370 residues."""
    found = []
    for family in range(7):
        ancestor = drawn(int(random.integers(300, 440)), random)
        for number in range(4):
            root = evolved(ancestor, 1.0, random)
            for site in tree(root, size, 2.2, random):
                found.append((text(site), f"family{family}.{number}"))
    return found


def domains(random: np.random.Generator) -> Labelled:
    """Architectures: 14 classes of 2 or 3 of 9 domains, which classes share."""
    pool = [drawn(int(random.integers(60, 130)), random) for _ in range(9)]
    architectures: list[tuple[int, ...]] = []
    while len(architectures) < 14:
        architecture = tuple(random.choice(9, int(random.integers(2, 4)), replace=False).tolist())
        if architecture not in architectures:
            architectures.append(architecture)
    found = []
    for architecture, size in zip(architectures, sizes(14, 400, 10, 0.6), strict=True):
        trees = [tree(pool[domain], size, 2.0, random) for domain in architecture]
        for parts in zip(*trees, strict=True):
            linked: list[Site] = []
            for part in parts:
                linked += [part, drawn(int(random.integers(5, 40)), random)]
            found.append((text(joined(*linked)), "-".join(f"d{d}" for d in architecture)))
    return found


def fragments(random: np.random.Generator) -> Labelled:
    """Families of which half are fragments, 25 to 100 % long, between flanks of 5 to 300."""
    found = []
    for number, size in enumerate(sizes(20, 450, 10, 0.6)):
        root = drawn(int(random.integers(120, 300)), random)
        for site in tree(root, size, 1.6, random):
            if random.random() < 0.5:
                length = int(len(site.residues) * random.uniform(0.25, 1))
                start = int(random.integers(len(site.residues) - length + 1))
                site = Site(*(part[start : start + length] for part in site))
            site = flanked(site, float(np.exp(random.uniform(np.log(5), np.log(300)))), random)
            found.append((text(site), f"family{number:02d}"))
    return found


def low_complexity(random: np.random.Generator) -> Labelled:
    """Families with tracts of few residues, up to half of the sequence, that classes share."""
    found = []
    alphabets = ["Q", "S", "GS", "PE", "KE", "NQ", "AG", "RS"]
    for number, size in enumerate(sizes(16, 400, 10, 0.6)):
        root = drawn(int(random.integers(90, 180)), random)
        for site in tree(root, size, 2.2, random):
            residues = text(site)
            for _ in range(int(random.integers(0, 4))):
                tract = "".join(
                    random.choice(list(alphabets[random.integers(8)]), random.integers(10, 60))
                )
                place = int(random.integers(len(residues) + 1))
                residues = residues[:place] + tract + residues[place:]
            found.append((residues, f"family{number:02d}"))
    return found


def unbalanced(random: np.random.Generator) -> Labelled:
    """40 families of 3 to 560 sequences, four of one superfamily each, moderately remote."""
    found = []
    order = random.permutation(40)
    of_class = np.array(sizes(40, 900, 3, 1.2))[order]
    ancestor = drawn(100, random)
    for number, size in enumerate(of_class.tolist()):
        if number % 4 == 0:
            ancestor = drawn(int(random.integers(80, 160)), random)
        root = evolved(ancestor, 0.8, random)
        for site in tree(root, size, 2.0, random):
            found.append((text(flanked(site, 8, random)), f"family{number:02d}"))
    return found


def ribosomal(random: np.random.Generator) -> Labelled:
    """Nucleotides: 25 genera of 5 phyla, 82 to 99 % identity, up to 450 long, ends missing."""
    rates = random.gamma(0.5, 2.0, 450)

    def changed(bases: NDArray[np.intp], time: float) -> NDArray[np.intp]:
        turned = random.random(len(bases)) < 0.75 * (1 - np.exp(-time * rates))
        return np.where(turned, random.integers(0, 4, len(bases)), bases)

    found = []
    of_class = iter(sizes(25, 500, 8, 0.8))
    root = random.integers(0, 4, 450)
    for phylum in range(5):
        ancestor = changed(root, 0.15)
        for genus in range(5):
            own = changed(ancestor, 0.03)
            species = [changed(own, 0.015) for _ in range(4)]
            for _ in range(next(of_class)):
                bases = changed(species[random.integers(4)], 0.01)
                start, end = random.integers(0, 120), len(bases) - random.integers(0, 120)
                found.append(
                    ("".join("ACGT"[b] for b in bases[start:end]), f"phylum{phylum}.genus{genus}")
                )
    return found


def peptides(random: np.random.Generator) -> Labelled:
    """10 motifs of 4 or 5 preferred sites in peptides of 8 to 30 residues."""
    found = []
    frequencies = lg_model()[1]
    for number, size in enumerate(sizes(10, 450, 20, 0.5)):
        width = int(random.integers(6, 9))
        anchors = random.choice(width, 5, replace=False)
        allowed = {a: random.choice(20, 2, replace=False) for a in anchors.tolist()}
        for _ in range(size):
            core = random.choice(20, width, p=frequencies)
            for anchor, codes in allowed.items():
                if random.random() < 0.85:
                    core[anchor] = codes[random.integers(2)]
            rest = int(random.integers(max(0, 8 - width), 31 - width))
            left = int(random.integers(rest + 1))
            whole = np.concatenate(
                [
                    random.choice(20, left, p=frequencies),
                    core,
                    random.choice(20, rest - left, p=frequencies),
                ]
            )
            found.append(("".join(LETTERS[c] for c in whole), f"motif{number}"))
    return found


def lengths(random: np.random.Generator) -> Labelled:
    """Families of 40 to 60 residues beside such of 1,000 to 2,500, and 150 to 400."""
    found = []
    spans = [(40, 60), (150, 400), (1000, 2500)]
    for number, size in enumerate(sizes(15, 300, 10, 0.5)):
        root = drawn(int(random.integers(*spans[number % 3])), random)
        for site in tree(root, size, 2.4, random):
            found.append((text(flanked(site, 10, random)), f"family{number:02d}"))
    return found


def mislabelled(random: np.random.Generator) -> Labelled:
    """20 families, moderately remote, with a wrong label in 5 of 100."""
    found = []
    for number, size in enumerate(sizes(20, 450, 10, 0.6)):
        root = drawn(int(random.integers(90, 180)), random)
        for site in tree(root, size, 2.0, random):
            label = int(random.integers(20)) if random.random() < 0.05 else number
            found.append((text(flanked(site, 8, random)), f"family{label:02d}"))
    return found


def duplicates(random: np.random.Generator) -> Labelled:
    """Remote families of which half of the sequences have copies of 92 to 99 % identity."""
    found = []
    of_class = iter(sizes(20, 260, 8, 0.6))
    for fold in range(5):
        ancestor = drawn(int(random.integers(100, 180)), random)
        for number in range(4):
            root = evolved(ancestor, 0.8, random)
            for site in tree(root, next(of_class), 2.2, random):
                copies = int(random.geometric(0.4)) if random.random() < 0.5 else 0
                for copy in [site, *(evolved(site, 0.03, random) for _ in range(copies))]:
                    found.append((text(flanked(copy, 4, random)), f"fold{fold}.{number}"))
    return found


KINDS: dict[str, Callable[[np.random.Generator], Labelled]] = {
    "close": close,
    "remote": remote,
    "related": related,
    "domains": domains,
    "fragments": fragments,
    "low_complexity": low_complexity,
    "unbalanced": unbalanced,
    "ribosomal": ribosomal,
    "peptides": peptides,
    "lengths": lengths,
    "mislabelled": mislabelled,
    "duplicates": duplicates,
}
