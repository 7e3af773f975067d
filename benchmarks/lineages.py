"""Lineages of 7 ranks, 60 % of species with one record: what `init` proposes, beside two peers.

    python benchmarks/lineages.py                          800 records, a look whether it runs
    python benchmarks/lineages.py --records 11700 --species 3400       some 8,000 are for training

Lineages are simulated: a tree of kingdoms to species, along which sites change by the model of
Jukes and Cantor, each at a rate of its own from a gamma distribution, but for some that never do.
``v4`` resembles the region V4 of 16S, ``its`` an internal transcribed spacer, with insertions and
deletions; ``KINDS`` has the distances. Of all records are held out: all of some families, all of
some genera, and a fifth of the others, whatever their species. What is left becomes a FASTA and a
taxonomy as of QIIME 2, from which a model is made by `kreinflow init` and `kreinflow run` as they
are. `kreinflow classify` then answers all that was held out. Beside it stand

* no_limit: the same without what is proposed for unknown nodes;
* nearest, LCA: the lowest common ancestor of all training records whose Smith-Waterman score is
  within ``--near`` of the best; every record is aligned, as BLAST would if it missed nothing;
* naive Bayes: words of 7 letters and a confidence of 0.7, set as in q2-feature-classifier.

Expected is the deepest node of the true lineage that a training record has. As in tax-credit
(Bokulich et al. 2018, Microbiome 6:90) an answer is a match, or underclassified (above it on the
true lineage), overclassified (below it), or misclassified. Precision at a rank is of all answers at
it or below, recall of the records whose node of this rank is known. Seconds, processor seconds and
the largest process are those of whole commands.
"""

import argparse
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import accumulate, pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aligned_folds import scheme_of
from kreinflow.alignment.backends import backend_named
from kreinflow.alignment.engine import pack
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.random_streams import stream
from search import Cost, cost_of

RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
SEPARATOR = "; "
ALONE = 0.62  # of the species have one record; some 0.6 of those to learn
UNEVEN = 0.7  # shape of the gamma distribution of how many children nodes have
CONFIDENCE = 0.7
MODEL = "results-train/train"
FREE = "sed -i '/^unknown:/,$d' kreinflow.yaml"
FEWER = "sed -i 's/^    folds:/    recipes: [{}]\\n    folds:/' kreinflow.yaml"
COLUMNS = ["Feature ID", "Taxon", "Confidence"]


class Kind(NamedTuple):
    """How records of a kind differ.

    ``apart``: the share of sites at which two records differ, in the mean, that part at the root,
    at their kingdom, and so on down to their species. ``nodes``: of each rank down to the genus,
    for 1,000 species; of kingdoms for any number.
    """

    apart: tuple[float, ...]
    nodes: tuple[int, ...]
    length: int  # of the root
    conserved: float  # the share of sites that never change
    shape: float  # of the gamma distribution of the rates of the others
    indels: float  # for each substitution
    indel_length: float  # mean letters

    @property
    def heights(self) -> FloatArray:
        """Half of the substitutions at a changing site between records that differ so much."""
        left = 1 - np.array(self.apart) / (0.75 * (1 - self.conserved))
        heights: FloatArray = 0.375 * self.shape * (left ** (-1 / self.shape) - 1)
        return heights


KINDS = {
    "v4": Kind(
        (0.34, 0.28, 0.22, 0.17, 0.13, 0.065, 0.02, 0.007),
        (2, 8, 16, 40, 100, 320),
        *(253, 0.4, 0.7, 0.01, 1.2),
    ),
    "its": Kind(
        (0.58, 0.56, 0.53, 0.49, 0.42, 0.15, 0.04, 0.01),
        (1, 4, 12, 35, 100, 320),
        *(200, 0.15, 1.0, 0.1, 5.0),
    ),
}


class Sites(NamedTuple):
    """Letters by number, and the rate of each."""

    letters: NDArray[np.int64]
    rates: FloatArray


def drawn(kind: Kind, length: int, random: np.random.Generator) -> Sites:
    """Return random sites, all of which may change."""
    return Sites(random.integers(4, size=length), random.gamma(kind.shape, 1 / kind.shape, length))


def evolved(kind: Kind, sites: Sites, time: float, random: np.random.Generator) -> Sites:
    """Return what becomes of sites after a time in substitutions at a site that may change."""
    turned = random.random(len(sites.rates)) < -np.expm1(-4 / 3 * time * sites.rates)
    letters, rates = (
        np.where(turned, random.integers(4, size=len(turned)), sites.letters),
        sites.rates,
    )
    for _ in range(random.poisson(kind.indels * time * np.count_nonzero(rates))):
        free = np.flatnonzero(rates)
        start, length = int(random.choice(free)), int(random.geometric(1 / kind.indel_length))
        stop, new = start, drawn(kind, length, random)
        if random.random() < 0.5:  # a deletion, up to what never changes
            kept = rates[start : start + length] == 0
            stop, new = start + int(np.append(kept, True).argmax()), drawn(kind, 0, random)
        letters = np.concatenate([letters[:start], new.letters, letters[stop:]])
        rates = np.concatenate([rates[:start], new.rates, rates[stop:]])
    return Sites(letters, rates)


def children(parents: int, total: int, random: np.random.Generator) -> IntArray:
    """Return the parent of each of so many nodes; each parent has one at least."""
    weights = random.gamma(UNEVEN, 1, parents)
    more = random.choice(parents, total - parents, p=weights / weights.sum())
    return np.sort(np.concatenate([np.arange(parents), more]))


def record_counts(species: int, records: int, random: np.random.Generator) -> IntArray:
    """Return how many records species have: :data:`ALONE` of them one, the others geometric."""
    alone = round(ALONE * species)
    some, left = species - alone, records - alone - (species - alone)
    cuts = np.sort(random.choice(np.arange(1, left), some - 1, replace=False))
    sizes = np.concatenate(
        [np.ones(alone, dtype=np.int64), 1 + np.diff(cuts, prepend=0, append=left)]
    )
    return random.permutation(sizes)


def simulated(name: str, species: int, records: int, seed: int) -> pd.DataFrame:
    """Return records: their letters, their lineage, and the number of their node at each rank."""
    kind, random = KINDS[name], stream(seed, "lineages", name, "tree")
    scaled = [max(kind.nodes[0], round(count * species / 1000)) for count in kind.nodes[1:]]
    totals = [kind.nodes[0], *scaled, species]
    counts = record_counts(species, records, random)
    above: list[IntArray] = [np.zeros(totals[0], dtype=np.int64)]
    above += [children(*pair, random) for pair in pairwise(totals)]
    above.append(np.repeat(np.arange(species), counts))
    ancestor = drawn(kind, kind.length, random)
    ancestor.rates[random.random(kind.length) < kind.conserved] = 0
    nodes, times = [ancestor], np.append(-np.diff(kind.heights), kind.heights[-1])
    for depth, parents in enumerate(above):
        draws = stream(seed, "lineages", name, "rank", depth)
        lengths = times[depth] * draws.gamma(3, 1 / 3, len(parents))
        nodes = [
            evolved(kind, nodes[parent], time, draws)
            for parent, time in zip(parents.tolist(), lengths, strict=True)
        ]
    own: IntArray = np.arange(records)
    table = pd.DataFrame()
    for rank, parents in zip(reversed(RANKS), reversed(above), strict=False):
        own = table[rank] = parents[own]
    named = [f"{rank[0]}__{rank[:3].title()}" + table[rank].astype(str) for rank in RANKS]
    lineages = [SEPARATOR.join(parts) for parts in zip(*named, strict=True)]
    letters = ["".join("ACGT"[code] for code in site.letters) for site in nodes]
    ids = [f"r{n:05d}" for n in range(records)]
    return table.assign(id=ids, lineage=lineages, letters=letters)


def held_out(table: pd.DataFrame, seed: int, novel: float) -> NDArray[np.object_]:
    """Return for what each record is held out: "", "ordinary", "genus" or "family"."""
    held = np.full(len(table), "", dtype=object)
    random = stream(seed, "lineages", "held out")
    held[random.random(len(table)) < 0.2] = "ordinary"
    for rank in ("genus", "family"):
        kinds = table[rank].unique()
        left = random.choice(kinds, max(1, round(novel * len(kinds))), replace=False)
        held[table[rank].isin(left)] = rank
    return held


def write(folder: Path, name: str, table: pd.DataFrame) -> None:
    """Write a FASTA and a taxonomy as QIIME 2 has them."""
    rows = zip(table["id"], table["letters"], strict=True)
    (folder / f"{name}.fasta").write_text("".join(f">{id}\n{text}\n" for id, text in rows))
    taxonomy = table[["id", "lineage"]].set_axis(COLUMNS[:2], axis=1)
    taxonomy.to_csv(folder / f"{name}.tsv", sep="\t", index=False)


def read(folder: Path, name: str) -> pd.DataFrame:
    """Return what was written."""
    lines = (folder / f"{name}.fasta").read_text().split("\n")
    taxonomy = pd.read_csv(folder / f"{name}.tsv", sep="\t")
    return taxonomy.set_axis(["id", "lineage"], axis=1).assign(letters=lines[1::2])


def common(lineages: Sequence[str]) -> str:
    """Return the lowest common ancestor."""
    parts = zip(*(lineage.split(SEPARATOR) for lineage in lineages), strict=False)
    return SEPARATOR.join(part[0] for part in takewhile(lambda part: len({*part}) == 1, parts))


def nearest(train: pd.DataFrame, queries: pd.DataFrame, near: float) -> Iterator[tuple[str, float]]:
    """Yield the lowest common ancestor of the nearest records of each query, and 1."""
    letters = [text.encode() for text in (*train["letters"], *queries["letters"])]
    packed, columns = pack(letters, scheme_of("nucleotide"), 2), np.arange(len(train))
    lineages = train["lineage"].to_numpy()
    for rows in np.array_split(len(train) + np.arange(len(queries)), len(queries) // 256 + 1):
        for scores in backend_named("auto")(packed, rows, columns):
            yield common(sorted(set(lineages[scores >= (1 - near) * scores.max()]))), 1.0


def naive_bayes(train: pd.DataFrame, queries: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield the deepest node of the likeliest class that is sure enough, and its probability."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.naive_bayes import MultinomialNB

    words = HashingVectorizer(
        analyzer="char_wb", ngram_range=(7, 7), n_features=8192, alternate_sign=False
    )
    model = MultinomialNB(alpha=0.001, fit_prior=False)
    model.fit(words.transform(train["letters"]), train["lineage"])
    nodes = np.array([beginnings(lineage) for lineage in model.classes_]).T
    codes = [np.unique(of_rank, return_inverse=True)[1] for of_rank in nodes]
    for part in np.array_split(np.arange(len(queries)), len(queries) // 1000 + 1):
        for of in model.predict_proba(words.transform(queries["letters"].iloc[part])):
            best = int(of.argmax())
            sums = [1.0, *(float(of[code == code[best]].sum()) for code in codes)]
            depth = sum(np.array(sums) >= CONFIDENCE) - 1
            yield (str(nodes[depth - 1, best]) if depth else ""), sums[depth]


def peer(name: str, near: float) -> None:
    """Write the answers of a peer, which runs in this folder, as QIIME has them."""
    train, queries = (read(Path(".."), part) for part in ("train", "queries"))
    told = nearest(train, queries, near) if name == "nearest" else naive_bayes(train, queries)
    found = pd.DataFrame(told)
    found.insert(0, "id", queries["id"])
    found.set_axis(COLUMNS, axis=1).to_csv("answers.tsv", sep="\t", index=False)


def beginnings(lineage: str) -> list[str]:
    """Return the nodes on the way to the end of a lineage, from the first rank on."""
    return list(accumulate(lineage.split(SEPARATOR), lambda *pair: SEPARATOR.join(pair)))


def depths(lineages: Sequence[str]) -> IntArray:
    """Return how many ranks lineages have."""
    return np.array([lineage.count(SEPARATOR) + 1 if lineage else 0 for lineage in lineages])


def judged(told: Sequence[str], true: Sequence[str], known: set[str]) -> pd.DataFrame:
    """Return of each answer its rank, that of the right part of it, and the deepest that is known.

    Ranks are numbers from 1; 0 is no answer.
    """
    best = [sum(part in known for part in beginnings(lineage)) for lineage in true]
    right = depths([common([a, b]) for a, b in zip(told, true, strict=True)])
    return pd.DataFrame({"told": depths(told), "right": right, "known": best})


def measures(answers: pd.DataFrame) -> dict[str, float]:
    """Return the measures of some records, in percent."""
    told, right, known = (answers[name].to_numpy() for name in ("told", "right", "known"))
    found: dict[str, float] = {}
    for rank in ("genus", "species"):
        depth = RANKS.index(rank) + 1
        has = known >= depth
        if has.any():
            answered, matched = told >= depth, has & (right >= depth)
            precision, recall = matched.sum() / max(1, answered.sum()), matched.sum() / has.sum()
            f = 2 * precision * recall / max(precision + recall, 1e-9)
            found |= {f"{rank} precision": precision, f"{rank} recall": recall, f"{rank} F": f}
    wrong = right < np.minimum(told, known)
    found["match"] = np.mean(~wrong & (told == known))
    found["under"] = np.mean(~wrong & (told < known))
    found["over"] = np.mean(~wrong & (told > known))
    found["mis"] = np.mean(wrong)
    return {name: 100 * float(value) for name, value in found.items()}


def below_unseen(answers: pd.DataFrame) -> dict[str, float]:
    """Return of records whose node of a rank is unseen the share that has one of it, in percent."""
    return {
        f"unseen {rank}": 100 * float((own["told"] > depth).mean())
        for depth, rank in enumerate(RANKS)
        if len(own := answers[answers["known"] == depth])
    }


def commands(near: float, cores: int, target: str, recipe: str = "") -> dict[str, list[str]]:
    """Return the commands of each method, which run in a folder of its own."""
    us = f"{sys.executable} -m kreinflow.commands.main"
    own = f"{sys.executable} {shlex.quote(str(Path(__file__).resolve()))} --near {near}"
    fewer = [f"sh -c {shlex.quote(FEWER.format(recipe))}"] if recipe else []
    train = [
        f"{us} init ../train.fasta --labels ../train.tsv",
        *fewer,
        f"{us} run kreinflow.yaml --cores {cores} {target}",
    ]
    asked = f"{MODEL}/model.safetensors ../queries.fasta --threads {cores}"
    train.append(f"{us} classify {asked} --format qiime -o answers.tsv")
    return {
        "kreinflow": train,
        "no_limit": [train[0], f"sh -c {shlex.quote(FREE)}", *train[1:]],
        "nearest": [f"{own} --peer nearest"],
        "naive_bayes": [f"{own} --peer naive_bayes"],
    }


def show(answers: dict[str, tuple[pd.DataFrame, Cost]], held: NDArray[np.object_]) -> None:
    """Print the tables of a kind."""
    rows = {}
    for name, (judged_by, _) in answers.items():
        for part in ("ordinary", "genus", "family"):
            rows[name, "novel " * (part != "ordinary") + part] = measures(judged_by[held == part])
    print(pd.DataFrame(rows).T.round(1).to_string(), "\n")
    unseen = {name: below_unseen(judged_by) for name, (judged_by, _) in answers.items()}
    table = pd.DataFrame(unseen).T
    records = next(iter(answers.values()))[0]["known"].value_counts()
    table.loc["records"] = [records[RANKS.index(name.split()[1])] for name in table.columns]
    print(table.round(1).to_string(), "\n")
    costs = {name: cost._asdict() for name, (_, cost) in answers.items()}
    print(pd.DataFrame(costs).T.round(1).to_string(), "\n", flush=True)


def main() -> int:
    """Simulate, hold out, ask each method, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--records", type=int, default=1100)
    parser.add_argument("--species", type=int, default=320)
    parser.add_argument(
        "--novel", type=float, default=0.08, help="share of genera, and of families"
    )
    parser.add_argument("--near", type=float, default=0.01, help="of the best score, for the LCA")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--model", action="store_true", help="no outer folds: the model alone")
    parser.add_argument("--recipe", default="", help="of those that init proposes, this one alone")
    parser.add_argument("--methods", nargs="*", default=list(commands(0, 1, "")))
    parser.add_argument("--folder", type=Path, default=Path("lineages-benchmark"))
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.peer:
        peer(asked.peer, asked.near)
        return 0
    target = f"-- {MODEL}/model.safetensors" if asked.model else ""
    for name in asked.kinds:
        folder = asked.folder.resolve() / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        table = simulated(name, asked.species, asked.records, asked.seed)
        held = held_out(table, asked.seed, asked.novel)
        train, queries = table[held == ""], table[held != ""]
        write(folder, "train", train)
        write(folder, "queries", queries)
        print(f"{name}: {len(train):,} records of {train['species'].nunique():,} species to learn")
        known = {node for lineage in train["lineage"] for node in beginnings(lineage)}
        answers = {}
        for method, lines in commands(asked.near, asked.cores, target, asked.recipe).items():
            if method not in asked.methods:
                continue
            if method == "naive_bayes" and find_spec("sklearn") is None:
                print("naive_bayes: scikit-learn is not installed")
                continue
            own = folder / method
            own.mkdir()
            cost = cost_of(own, *lines)
            table = pd.read_csv(own / "answers.tsv", sep="\t", keep_default_na=False)
            if (learned := own / MODEL / "dataset" / "records.tsv").exists():
                dropped = len(train) - len(pd.read_csv(learned, sep="\t"))
                print(f"{method}: {dropped:,} records dropped")
            told = table["Taxon"].replace("Unassigned", "").tolist()
            answers[method] = judged(told, queries["lineage"].tolist(), known), cost
        show(answers, held[held != ""])
    return 0


if __name__ == "__main__":
    sys.exit(main())
