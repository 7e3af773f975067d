r"""Seeds: short words with gaps, by which an index finds the sequences that share a diagonal.

Letters are counted in groups, such as K and R in one. A seed is what a sequence has at the places
of a shape: of ``1101`` the first, second and fourth of four residues. A hit is a seed that a
sequence x has at i, and a record r at j; related sequences have many hits on one diagonal
:math:`j - i`. With bands of 16 diagonals, the score of x and r is that of the best two neighbours,

.. math:: s(x, r) = \max_b \sum_{hits \in b \cup b + 1} w_{seed}, \qquad
          w_{seed} = \mathrm{round}(4 \max(0, \ln((N + 1) / N_{seed})))

for N records with :math:`N_{seed}` such seeds, those that a record repeats included: so repeats say
little. If there are more than .3 N it weighs nothing, so longer records need shapes of more places.
Diagonals are counted modulo 512: what lies further away adds chance hits alone. All numbers are
integers, so no order of sums matters.

Records are put in order by :mod:`kreinflow.views.gapless`, which looks at these bands.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray, ordered_map, worth_compiling
from kreinflow.views.gapless import ABOVE, FEW, MANY, Besides, Gapless, compiled_loops

BAND = 16  #: diagonals
DIAGONALS = 512  #: that are told apart
MOST = 8192  #: records of a tile, whose bands stay in a near cache
_RECORDS = MOST  # of a tile
_RESIDUES = 1 << 22  # of a tile, and of objects that are looked up at once: bounds memory
_HITS = 1 << 22  # that are added up at once without compiled loops
_LARGEST = (1 << 16) - 1  # of a band
_BANDS = DIAGONALS // BAND
_BITS = 5  # of a band
_BLOCK = 64  # objects that are looked up at once, at most
_UNIT = 4  # of weights
_COMMON = 0.3  # for each record: seeds that are there more often weigh nothing, and take longest
_OF_OBJECT, _OF_SEED = 500.0, 2.0  # microseconds without compiled loops, of 5,000 records
_NO_GROUP = 255
_SMALL, _INDEXES, _KEPT = 1 << 19, 6, 1 << 20  # residues, indexes, numbers that are kept
_WIDE = 256  # records that are found at once, if what is found is kept

PROTEIN = ("A", "KR", "DE", "NQ", "C", "G", "H", "IV", "LM", "FWY", "P", "ST")
NUCLEOTIDE = ("A", "C", "G", "TU")
_IUPAC = "ACGTURYSWKMBDHVNX*"  # signs of nucleotides
_ANY = 1 << 62
SHAPES: Mapping[tuple[str, ...], Mapping[tuple[int, int], tuple[str, ...]]] = {
    PROTEIN: {
        (1 << 23, 1 << 11): ("110101", "1111", "1010011", "1100101"),
        (1 << 25, 1 << 11): ("1111", "1010011"),
        (1 << 23, _ANY): ("1101011", "11111", "11001011", "10100111"),
        (1 << 25, _ANY): ("1101011", "11111"),
        (_ANY, _ANY): ("1101011",),
    },
    NUCLEOTIDE: {
        (1 << 23, 1 << 13): ("11111111", "110100110111"),
        (1 << 25, 1 << 13): ("110100110111",),
        (_ANY, 1 << 15): ("11011010010111",),
        (_ANY, 1 << 17): ("1101100011010111",),
        (_ANY, _ANY): ("111010010100110111",),
    },
}
"""The shapes for records of so many residues at most, and of so many in the mean.

More residues have fewer shapes, to bound time and memory. Longer records have shapes of more
places: by chance a seed is in a record .1 to .2 times at most, so it weighs something.
"""


@dataclass(frozen=True)
class Seeds:
    """Groups of letters, and shapes of one number of places that count."""

    groups: tuple[str, ...]
    shapes: tuple[str, ...]

    @classmethod
    def of(cls, sequences: Sequence[bytes], letters: str = "") -> "Seeds":
        """Return those for records like these.

        ``letters`` are those of the substitution matrix: some of a protein are no sign of
        nucleotides. Else nine of ten residues of nucleotides are A, C, G, T, U or N.
        """
        residues = sum(map(len, sequences))
        others = sum(len(own.translate(None, b"ACGTUN")) for own in sequences)
        proteins = bool(set(letters) - set(_IUPAC)) if letters else 10 * others > residues
        groups = PROTEIN if proteins else NUCLEOTIDE
        for (most, mean), shapes in SHAPES[groups].items():
            if residues <= most and residues <= mean * len(sequences):
                return cls(groups, shapes)
        raise AssertionError("shapes for any records")

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> "Seeds":
        """Return what :meth:`to_dict` wrote."""
        return cls(*(tuple(map(str, written[name])) for name in ("groups", "shapes")))

    def to_dict(self) -> dict[str, Any]:
        """Return what a file keeps; weights that are learned rest on what segments count."""
        return {"groups": list(self.groups), "shapes": list(self.shapes), "segments_above": ABOVE}

    @property
    def n_seeds(self) -> int:
        """Of one shape."""
        return int(len(self.groups) ** self.shapes[0].count("1"))

    def numbers(self, sequences: Sequence[bytes]) -> tuple[NDArray[np.int32], IntArray]:
        """Return the seeds of each shape at each residue, -1 for none, and where sequences end.

        The first has shape (n_shapes, n_residues).
        """
        group_of = np.full(256, _NO_GROUP, dtype=np.uint8)
        for number, letters in enumerate(self.groups):
            group_of[np.frombuffer(letters.encode(), dtype=np.uint8)] = number
        codes = group_of[np.frombuffer(b"".join(sequences), dtype=np.uint8)]
        sizes = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        ends = np.cumsum(sizes)
        left = np.repeat(ends.astype(np.int32), sizes)  # to the sequence's end
        left -= np.arange(len(codes), dtype=np.int32)
        found = np.full((len(self.shapes), len(codes)), -1, dtype=np.int32)
        for shape, own in zip(self.shapes, found, strict=True):
            n = max(0, len(codes) - len(shape) + 1)
            seed, fits = np.zeros(n, dtype=np.int32), left[:n] >= len(shape)
            for place in (place for place, mark in enumerate(shape) if mark == "1"):
                there = codes[place : place + n]
                seed *= len(self.groups)
                seed += there
                fits &= there != _NO_GROUP
            own[:n] = np.where(fits, seed, -1)
        return found, ends


class _SeedTile(NamedTuple):
    """The seeds of some records: for each seed where its places are, and these."""

    pointers: NDArray[np.int32]  # (n_shapes * n_seeds + 1,)
    places: NDArray[np.int32]  # MOST times the residue modulo DIAGONALS, and the record
    first: int  # of its records
    n_records: int


@lru_cache(_INDEXES)
def _small_index(seeds: Seeds, sequences: tuple[bytes, ...]) -> "SeedIndex":
    index = SeedIndex(seeds, sequences)
    index.kept = {}
    return index


def seed_index(seeds: Seeds, sequences: Sequence[bytes]) -> "SeedIndex":
    """Return the index of some records.

    The last indexes of few records are kept, with what they found: recipes search the same.
    """
    small = sum(map(len, sequences)) <= _SMALL
    return _small_index(seeds, tuple(sequences)) if small else SeedIndex(seeds, sequences)


class SeedIndex:
    """Records by their seeds; a result depends on the object and the records alone.

    ``kept``: the records that were found for objects, and their scores; None keeps none.
    """

    kept: dict[bytes, NDArray[np.integer]] | None = None

    def __init__(self, seeds: Seeds, sequences: Sequence[bytes]) -> None:
        self.seeds, self._n = seeds, len(sequences)
        self._gapless = Gapless(seeds.groups, sequences)
        self._tiles = [
            self._tile(sequences[part], part.start) for part in _parts(sequences, _RECORDS)
        ]
        counts = np.zeros(len(seeds.shapes) * seeds.n_seeds, dtype=np.int64)
        for tile in self._tiles:
            counts += np.diff(tile.pointers)
        rarity = np.log((self._n + 1) / np.maximum(1, counts))
        self._weights = np.round(_UNIT * np.maximum(0.0, rarity)).astype(np.int32)
        self._weights[counts > _COMMON * self._n] = 0

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return sum(tile.pointers.nbytes + tile.places.nbytes for tile in self._tiles)

    def _tile(self, sequences: Sequence[bytes], first: int) -> _SeedTile:
        sizes = np.array([len(sequence) for sequence in sequences])
        total, ends = int(sizes.sum()), np.cumsum(sizes)
        place = np.arange(total, dtype=np.int32)  # 32 bits: few bytes at once
        place -= np.repeat((ends - sizes).astype(np.int32), sizes)
        place %= DIAGONALS
        place *= MOST
        place += np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        pointers = [np.zeros(1, dtype=np.int32)]
        places = np.empty(total * len(self.seeds.shapes), dtype=np.int32)

        def by_seed(shape: str) -> "scipy.sparse.csc_array":
            [own], _ = replace(self.seeds, shapes=(shape,)).numbers(sequences)
            there = own >= 0
            own, values = own[there], place[there]
            # The transposition of one row sorts by counting, and keeps the order of equal keys.
            row = scipy.sparse.csr_array(
                (values, own, [0, len(values)]), shape=(1, self.seeds.n_seeds)
            )
            return row.tocsc()

        for shape in self.seeds.shapes:  # one by one: bounds memory
            columns, end = by_seed(shape), pointers[-1][-1]
            pointers.append(columns.indptr[1:].astype(np.int32) + end)
            places[end : pointers[-1][-1]] = columns.data
            del columns
        return _SeedTile(np.concatenate(pointers), places[: pointers[-1][-1]], first, len(sizes))

    def by_hits(self, sequences: Sequence[bytes], q: int) -> tuple[IntArray, IntArray]:
        """Return the q records of the largest scores, in order, and the scores, (n, min(q, N)).

        Of equal scores the first record is nearest. A record without any hit is none: -1, and 0.
        """
        return self._found(sequences, q, lambda own, q: self._by_hits(sequences[own], q)[:2])

    def nearest(
        self, sequences: Sequence[bytes], q: int, besides: Besides | None = None
    ) -> tuple[IntArray, IntArray]:
        """Return the same by what :mod:`kreinflow.views.gapless` finds where seeds hit.

        The first shape is searched first. For objects that have no relative among what was found
        so, ``besides`` those that will be left out, all shapes are, and more records looked at.
        """
        if (kept := self.kept) is None or besides is not None:
            return self._nearest(sequences, q, besides)
        q = min(q, self._n)
        if any(found.shape[1] < q for found in kept.values()) or len(kept) * self._n > _KEPT:
            kept.clear()
        new = list(dict.fromkeys(own for own in sequences if own not in kept))
        found = np.stack(self._nearest(new, max(q, _WIDE), None), axis=1)
        kept.update(zip(new, found, strict=True))
        lists = [kept[own][:, :q] for own in sequences]
        both = np.array(lists, dtype=np.int64).reshape(len(sequences), 2, q)
        return both[:, 0], both[:, 1]

    def _nearest(
        self, sequences: Sequence[bytes], q: int, besides: Besides | None
    ) -> tuple[IntArray, IntArray]:
        def ranked(part: slice, q: int) -> tuple[IntArray, IntArray]:
            own, left_out = sequences[part], besides and (besides[0][part], besides[1])
            several = len(self.seeds.shapes) > 1
            found = self._by_hits(own, max(q, FEW if several else MANY), 1)
            places, scores, related = self._gapless.ranked(own, found, q, FEW, left_out)
            if (rest := np.flatnonzero(~related)).size:
                own = [own[i] for i in rest.tolist()]
                again = self._by_hits(own, max(q, MANY)) if several else [of[rest] for of in found]
                places[rest], scores[rest], _ = self._gapless.ranked(own, again, q, MANY)
            return places, scores

        return self._found(sequences, q, ranked)

    def _found(
        self,
        sequences: Sequence[bytes],
        q: int,
        search: Callable[[slice, int], tuple[IntArray, IntArray]],
    ) -> tuple[IntArray, IntArray]:
        q = min(q, self._n)
        blocks = [*_parts(sequences, _BLOCK)] if q else []
        places = np.empty((len(sequences), q), dtype=np.int64)
        scores = np.empty_like(places)

        def look(number: int) -> None:
            own = blocks[number]
            places[own], scores[own] = search(own, q)

        deque(ordered_map(look, range(len(blocks))), maxlen=0)
        return places, scores

    def _by_hits(
        self, sequences: Sequence[bytes], q: int, n_shapes: int | None = None
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return records and scores of :meth:`by_hits`, and the second of the two bands."""
        seeds = replace(self.seeds, shapes=self.seeds.shapes[:n_shapes])
        numbers, ends = seeds.numbers(sequences)
        best = self._keys(self._tiles[0], numbers, ends)
        for tile in self._tiles[1:]:
            best = np.hstack([_largest(best, q), self._keys(tile, numbers, ends)])
        keys = np.sort(_largest(best, q), axis=1)[:, ::-1]
        scores = keys >> 32 + _BITS
        bands = _BANDS - 1 - keys % _BANDS
        places = np.where(scores > 0, self._n - 1 - (keys >> _BITS & 0xFFFFFFFF), -1)
        return places, scores, bands

    def _keys(
        self, tile: _SeedTile, numbers: NDArray[np.int32], ends: IntArray
    ) -> NDArray[np.int64]:
        """Return scores with the records of a tile, these from behind, and bands: see add_hits."""
        last = self._n - 1 - tile.first
        if worth_compiling(_OF_OBJECT * len(ends) + _OF_SEED * numbers.size):
            keys = np.empty((len(ends), tile.n_records), dtype=np.int64)
            cells = np.empty(_BANDS * MOST, dtype=np.uint16)
            best = np.empty(tile.n_records, dtype=np.int32)
            end = len(numbers) * self.seeds.n_seeds
            index = tile.pointers[: end + 1], tile.places, self._weights[:end]
            compiled_loops().add_hits(numbers, ends, index, cells, best, last, keys)
            return keys
        found = np.array(
            [
                self._score(tile, numbers[:, start:end])
                for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
            ],
            dtype=np.int64,
        )
        record = last - np.arange(tile.n_records)
        return (found >> _BITS << 32 | record) << _BITS | found % _BANDS

    def _score(self, tile: _SeedTile, numbers: NDArray[np.int32]) -> IntArray:
        shape, residue = np.nonzero(numbers >= 0)
        keys = numbers[shape, residue] + self.seeds.n_seeds * shape
        weighs = self._weights[keys] > 0
        keys, residue = keys[weighs], residue[weighs]
        first, sizes = tile.pointers[keys], tile.pointers[keys + 1] - tile.pointers[keys]
        ends, bands = np.cumsum(sizes, dtype=np.int64), np.zeros(_BANDS * MOST)
        for part in np.split(np.arange(len(keys)), np.flatnonzero(np.diff(ends // _HITS)) + 1):
            of = np.repeat(part, sizes[part])
            skipped = (first - (ends - sizes))[of] + (ends[part] - sizes[part])[:1].sum()
            at, record = np.divmod(tile.places[np.arange(len(of)) + skipped], MOST)
            cell = ((at - residue[of]) % DIAGONALS // BAND) * MOST + record
            bands += np.bincount(cell, self._weights[keys[of]], _BANDS * MOST)
        table = np.minimum(bands, _LARGEST).reshape(_BANDS, MOST)
        both = (table + np.roll(table, 1, axis=0)) * _BANDS + np.arange(_BANDS)[::-1, None]
        return np.asarray(both.max(axis=0)[: tile.n_records], dtype=np.int64)


def _parts(sequences: Sequence[bytes], most: int) -> Iterator[slice]:
    """Yield slices of so many sequences at most, in order; a long sequence may be alone."""
    start = residues = 0
    for end, sequence in enumerate(sequences):
        residues += len(sequence)
        if end > start and (end - start == most or residues > _RESIDUES):
            yield slice(start, end)
            start, residues = end, len(sequence)
    if sequences:
        yield slice(start, len(sequences))


def _largest(values: NDArray[Any], q: int) -> NDArray[Any]:
    """Return the q largest of each row, in any order; all of fewer."""
    return values if values.shape[1] <= q else np.partition(values, -q, axis=1)[:, -q:]
