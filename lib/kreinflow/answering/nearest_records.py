"""The nearest training records of a query, and their scores: each pair is aligned once."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.query_and_answers import NOBODY, Ask, Decided, Query
from kreinflow.answering.unknown_pvalue import LARGEST
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Part, State, Value
from kreinflow.views.gapless import Besides, by_chance
from kreinflow.views.lift import Lift
from kreinflow.views.seeds import SeedIndex, Seeds, seed_index

SEEDS_FIRST = 10
"""Candidates of an object by its seeds alone, before any of the space of landmarks."""
BY_SEEDS = 100
"""Records that are first by seeds, and are known of all objects."""

_RANKED = 1 << 21  # objects with their nearest records, at once
_TABLE = 1 << 22  # pairs of a set that have a place each
_SMALL = 1 << 16  # pairs of a run that is merged with the next, whatever its size


class ScoreCache:
    """Scores that are asked for when they are needed, and kept.

    Of a small set each pair has a place, if the number of the queries is known. Else there are
    sorted runs of keys with their scores, each more than twice as long as the next: a pair is
    seldom copied. If it is
    ``symmetric``, queries and records are numbers of the same sequences, and one of the two
    directions is asked for. ``known`` returns scores that are known elsewhere, NaN for others: they
    are not asked for. ``aligned``: pairs that were asked for so far.
    """

    def __init__(
        self,
        ask: Ask,
        n_records: int,
        symmetric: bool = False,
        known: Ask | None = None,
        n_queries: int | None = None,
    ) -> None:
        self._ask, self._n, self._symmetric, self._known = ask, n_records, symmetric, known
        self._runs: list[tuple[IntArray, FloatArray]] = []
        size = n_records * (n_records if symmetric else n_queries or _TABLE)
        self._table = np.full(size + 1, np.nan) if size < _TABLE else None  # the last: no pair
        self.aligned = 0

    def know(self, queries: IntArray, records: IntArray, scores: NDArray[np.number]) -> None:
        """Take scores that were aligned elsewhere: of all queries with all records."""
        rows, others = np.broadcast_arrays(queries[:, None], records)
        self.know_pairs(rows.ravel(), others.ravel(), np.asarray(scores).ravel())

    def know_pairs(self, queries: IntArray, records: IntArray, scores: NDArray[np.number]) -> None:
        """Take scores of single pairs, all of shape (n,), that were asked for elsewhere."""
        keys = self._key(queries, records)
        new = np.isnan(self._get(keys))
        keys, own = keys[new], scores[new].astype(np.float64)
        if self._table is None:
            keys, first = np.unique(keys, return_index=True)
            own = own[first]
        if keys.size:
            self._add(keys, own)

    def said(self) -> str:
        """Return how many pairs were asked for, in words."""
        return f"{self.aligned:,} pairs of records were aligned because they were asked for"

    def of_rows(self, rows: IntArray, records: IntArray) -> Ask:
        """Return an ask of objects and records by their places among these."""

        def ask(queries: IntArray, others: IntArray) -> FloatArray:
            return self(rows[queries], np.where(others >= 0, records[others], NOBODY))

        return ask

    def __call__(self, queries: IntArray, records: IntArray) -> FloatArray:
        """Return the scores of each query with records of its own.

        ``queries``, of shape (k,). ``records``, of shape (k, q): -1 for none. The result has shape
        (k, q): NaN for none.
        """
        wanted = records >= 0
        keys = np.where(wanted, self._key(queries[:, None], records), -1)
        scores = self._get(keys)
        if self._known is not None:
            scores = np.where(np.isnan(scores) & wanted, self._known(queries, records), scores)
        places = np.flatnonzero(wanted & np.isnan(scores))
        if not places.size:
            return scores
        asks = keys.ravel()[places]
        new, first, of_place = np.unique(asks, return_index=True, return_inverse=True)
        once = np.sort(places[first])
        missing = np.zeros(keys.shape, dtype=bool)
        missing.ravel()[once] = True
        rows = np.flatnonzero(missing.any(axis=1))
        counts = missing[rows].sum(axis=1)
        asked = np.full((rows.size, int(counts.max())), NOBODY, dtype=np.int64)
        filled = np.arange(asked.shape[1]) < counts[:, None]
        asked[filled] = records[rows][missing[rows]]
        found = np.asarray(self._ask(queries[rows], asked))[filled].astype(np.float64)
        self.aligned += once.size
        found = found[np.searchsorted(once, places[first])]  # in the order of their keys
        scores.ravel()[places] = found[of_place]
        self._add(new, found)
        return scores

    def _get(self, keys: IntArray) -> FloatArray:
        """Return the scores of pairs; NaN for those that are not there."""
        if self._table is not None:
            return self._table[keys]
        out = np.full(keys.shape, np.nan)
        for known, scores in self._runs:
            places = np.minimum(np.searchsorted(known, keys), known.size - 1)
            there = known[places] == keys
            out[there] = scores[places[there]]
        return out

    def _add(self, keys: IntArray, scores: FloatArray) -> None:
        """Keep the scores of sorted keys that are not there yet."""
        if self._table is not None:
            self._table[keys] = scores
            return
        self._runs.append((keys, scores))
        while len(self._runs) > 1:
            (keys, scores), (more, their_scores) = self._runs[-2:]
            if keys.size > max(2 * more.size, _SMALL):
                break
            at = np.searchsorted(keys, more)
            self._runs[-2:] = [(np.insert(keys, at, more), np.insert(scores, at, their_scores))]

    def _key(self, queries: IntArray, records: IntArray) -> IntArray:
        if self._symmetric:
            queries, records = np.minimum(queries, records), np.maximum(queries, records)
        return np.asarray(queries * self._n + records)


@dataclass(frozen=True, eq=False)
class Records(State):
    """The training records that an object may be aligned with."""

    index: Lift  # its points are the records, in the space in which the nearest are found
    classes: IntArray  # (n_records,): codes of their classes
    rows: IntArray  # (n_records,): their distinct rows in the training data
    self_scores: FloatArray  # (n_records,)
    lengths: FloatArray  # (n_records,)
    landmarks: IntArray  # (n_landmarks,): places among the records, -1 for one that is not there
    seeds: Seeds | None  # what finds those with a diagonal in common; None of no sequences

    @cached_property
    def by_seeds(self) -> SeedIndex:
        """The index of their seeds, made when it is needed first."""
        assert self.index.objects.sequences is not None, "records whose residues are not there"
        assert self.seeds is not None, "sequences without seeds"
        return seed_index(self.seeds, self.index.objects.sequences)

    def forget(self) -> None:
        """Drop the indexes; they are made again when they are needed."""
        self.index.forget()
        self.__dict__.pop("by_seeds", None)

    def __len__(self) -> int:
        return len(self.classes)

    state: ClassVar = {
        "index": Part(Lift, "index_"),
        "classes": Array("i", "number"),
        "rows": Array("i", "number"),
        "self_scores": Array("f", "number"),
        "lengths": Array("f", "number"),
        "landmarks": Array("i", "m"),
        "seeds": Value(
            lambda seeds: seeds and Seeds.from_dict(seeds), lambda seeds: seeds and seeds.to_dict()
        ),
    }


def by_seeds(records: Records, query: Query, most: int, besides: Besides | None = None) -> IntArray:
    """Return the first records by seeds of all objects and their scores, of shape (n, 2, most).

    Of what has no hit the record is -1, and the score 0; so nothing but sequences has any.
    """
    if query.seeds is not None and min(most, len(records)) <= query.seeds.shape[2]:
        return query.seeds[:, :, :most]
    if records.seeds is None:
        return np.tile(np.array([[NOBODY], [0]]), (len(query), 1, most))
    sequences = None if query.objects is None else query.objects.sequences
    assert sequences is not None, "seeds of no sequences"
    return np.stack(records.by_seeds.nearest(sequences, most, besides), axis=1)


def closeness(records: Records, query: Query, found: IntArray) -> FloatArray:
    r"""Return how close objects are to the training records, of shape (n,).

    .. math:: c(x) = \frac15 \sum_r \frac{g(x, r) - g_0(x)}{\sqrt{s_{xx} s_{rr}}}

    over the five largest summands, with g and what chance is expected to give of it, :math:`g_0`,
    of :mod:`kreinflow.views.gapless`, of the records ``found`` by :func:`by_seeds`. It is near 1
    for a copy, and below 0 for what is no more alike than chance makes it, the less the shorter it
    is. A record without hit counts with g of 0 and the self-score of the object. It costs no
    alignment, so it is the same whatever a cascade asks. Of five, as an object with a single close
    record is less sure than one of a family.
    """
    if records.seeds is None:
        return np.zeros(len(found))
    above = by_chance(records.seeds.groups, query.lengths, records.lengths.sum())[:, None]
    own, there = query.self_scores[:, None], found[:, 0] >= 0
    scale = np.sqrt(own * np.where(there, records.self_scores[found[:, 0]], own))
    shares = (np.where(there, found[:, 1], 0) - above) / np.maximum(scale, 1.0)
    return np.asarray(np.sort(shares, axis=1)[:, -LARGEST:].mean(axis=1))


def closeness_besides(records: Records, query: Query, own: IntArray, codes: IntArray) -> FloatArray:
    """Return :func:`closeness` without the records of an object's own code; see Besides."""
    largest = int(np.unique(codes, return_counts=True)[1].max())
    wanted = min(len(codes), BY_SEEDS + largest)
    step, parts = max(1, _RANKED // wanted), [np.empty(0)]
    for part in (np.arange(i, min(i + step, len(own))) for i in range(0, len(own), step)):
        some = query.take(part)
        found = by_seeds(records, some, wanted, (own[part], codes))
        other = codes[found[:, 0]] != own[part, None]
        found[:, 0][~other | (np.cumsum(other, axis=1) > BY_SEEDS)] = NOBODY
        parts.append(closeness(records, some, found))
    return np.concatenate(parts)


def in_turn(first: IntArray, second: IntArray, most: int) -> IntArray:
    """Return records of two orders, each once: some of the first, then one of each in turn.

    ``first``, ``second``, of shape (k, q): different records of each row, -1 for none; of shape
    (k, most).
    """
    i, j = np.arange(first.shape[1]), np.arange(second.shape[1])
    turns = [np.where(i < SEEDS_FIRST, i, 2 * i + 1 - SEEDS_FIRST), 2 * j + SEEDS_FIRST]
    both = np.hstack([first, second])[:, np.argsort(np.concatenate(turns))]
    by_number = np.argsort(both, axis=1, kind="stable")
    sorted_ = np.take_along_axis(both, by_number, axis=1)
    again = np.zeros(both.shape, dtype=bool)
    np.put_along_axis(again, by_number[:, 1:], sorted_[:, 1:] == sorted_[:, :-1], axis=1)
    both[again] = NOBODY
    kept = np.argsort(both < 0, axis=1, kind="stable")[:, :most]
    return np.take_along_axis(both, kept, axis=1)


class RecordScores:
    """Objects of a query with the training records: their scores, and what follows from these.

    Places are those of k objects in the query, of shape (k,). Records have shape (k, q), -1 for
    none. The query has an ask; of a ScoreCache nothing is kept twice.
    """

    def __init__(self, records: Records, query: Decided, evidence: ScoreTransform) -> None:
        self.records, self.query, self._evidence = records, query, evidence
        ask, known = query.ask, np.flatnonzero(records.landmarks >= 0)
        assert ask is not None, "a query that cannot be aligned with records"
        if not isinstance(ask, ScoreCache):
            ask = ScoreCache(ask, len(records), n_queries=len(query))
        self.scores = ask
        self.scores.know(np.arange(len(query)), records.landmarks[known], query.scores[:, known])
        self._is_landmark = np.isin(np.arange(len(records)), records.landmarks)
        self._order = np.full((len(query), 0), NOBODY, dtype=np.int64)

    @cached_property
    def by_seeds(self) -> tuple[IntArray, IntArray]:
        """The :data:`BY_SEEDS` records that are first by seeds of all objects, and their scores."""
        found = by_seeds(self.records, self.query, BY_SEEDS)
        return found[:, 0], found[:, 1]

    def rank(self, places: IntArray, most: int, besides: Besides | None = None) -> None:
        """Find the nearest records of some objects, so many at most.

        The first :data:`SEEDS_FIRST` are those by seeds, the others in turn those that are near in
        the space of the index, and more by seeds, of :data:`BY_SEEDS`. Without a hit a record is
        none by seeds.
        """
        most = min(most, len(self.records))
        if besides is None:
            near = self._nearest(places, most)
        else:
            near = self._nearest_besides(places, most, *besides)
        width = max(near.shape[1], self._order.shape[1])
        order = np.full((len(self.query), width), NOBODY, dtype=np.int64)
        order[:, : self._order.shape[1]] = self._order
        order[places] = NOBODY
        order[places, : near.shape[1]] = near
        self._order = order

    def _nearest_besides(
        self, places: IntArray, most: int, own: IntArray, codes: IntArray
    ) -> IntArray:
        wanted = min(len(codes), most + int(np.unique(codes, return_counts=True)[1].max()))
        near = np.full((len(places), most), NOBODY, dtype=np.int64)
        step = max(1, _RANKED // wanted)
        for part in (slice(start, start + step) for start in range(0, len(places), step)):
            orders, query = [], self.query.take(places[part])
            of_space = self.records.index.nearest(query.rows, query.objects, wanted)
            by_both = by_seeds(self.records, query, wanted, (own[part], codes))[:, 0], of_space
            for found in by_both:
                other = (found >= 0) & (codes[found] != own[part, None])
                first = np.argsort(~other, axis=1, kind="stable")[:, :most]
                taken = np.take_along_axis(found, first, axis=1)
                fits = np.take_along_axis(other, first, axis=1)
                orders.append(np.where(fits, taken, NOBODY))
            near[part] = in_turn(orders[0], orders[1], most)
        return near

    def _nearest(self, places: IntArray, most: int) -> IntArray:
        if not len(places):
            return np.empty((0, 0), dtype=np.int64)
        if most > SEEDS_FIRST:
            return in_turn(*self._orders(places, most), most)
        near = self.by_seeds[0][places, :most]
        few = np.flatnonzero((near < 0).any(axis=1))
        if few.size:
            near[few] = in_turn(*self._orders(places[few], most), most)
        return near

    def _orders(self, places: IntArray, most: int) -> tuple[IntArray, IntArray]:
        """Return the records that are first by seeds of some objects, and those that are near."""
        query = self.query.take(places)
        near = self.records.index.nearest(query.rows, query.objects, most)
        return self.by_seeds[0][places, :most], near

    def with_landmarks(self) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`resemblance` of all objects with the landmarks."""
        known, column = np.unique(self.records.landmarks, return_index=True)
        there = known >= 0
        records = np.tile(known[there], (len(self.query), 1))
        scores = np.asarray(self.query.scores[:, column[there]], dtype=np.float64)
        return self._resembling(np.arange(len(records)), records, scores)

    def around(self, places: IntArray, q: int, besides: Besides | None = None) -> IntArray:
        """Return the landmarks and the q nearest records of some objects, each once."""
        known = np.unique(self.records.landmarks[self.records.landmarks >= 0])
        near = self._order[places, :q]
        near = np.where((near >= 0) & ~self._is_landmark[near], near, NOBODY)
        around = np.concatenate([np.tile(known, (len(places), 1)), near], axis=1)
        if besides is None:
            return around
        own, codes = besides
        return np.where(codes[around] == own[:, None], NOBODY, around)

    def resemblance(self, places: IntArray, records: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return normalised scores and -ln E of objects with records; NaN for none."""
        return self._resembling(places, records, self.scores(places, records))

    def _resembling(
        self, places: IntArray, records: IntArray, scores: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        of, query = self.records, self.query
        product = query.self_scores[places, None] * of.self_scores[records]
        normalised = self._evidence.likeness(scores, product)
        lengths = query.lengths[places, None], of.lengths[records]
        return normalised, -self._evidence.log_evalues(scores, *lengths)

    def evidence(self, places: IntArray, records: IntArray) -> FloatArray:
        """Return the evidence of records for some objects; 0 for none."""
        of, query = self.records, self.query
        return self._evidence.evidence(
            self.scores(places, records),
            query.self_scores[places, None],
            of.self_scores[records],
            query.lengths[places, None],
            of.lengths[records],
        )

    def ranked(self, places: IntArray, q: int) -> IntArray:
        """Return the q nearest records of some objects, which :meth:`rank` has found."""
        return self._order[places, :q]

    def best(
        self,
        places: IntArray,
        labels: IntArray,
        asked: IntArray,
        weight: Callable[[IntArray, IntArray], FloatArray],
    ) -> tuple[IntArray, FloatArray]:
        """Return the record of a class with the most weight for each object, and its score.

        ``labels``, of shape (k,): codes of the classes, -1 for any. ``asked``, of shape (k, q):
        records. ``weight`` takes places and records, as :meth:`evidence` does. Of equal records it
        is the first, and -1 with NaN if there is none.
        """
        any_class = (labels < 0)[:, None]
        fits = (asked >= 0) & (any_class | (self.records.classes[asked] == labels[:, None]))
        asked, n = np.where(fits, asked, NOBODY), len(self.records)
        value = np.where(fits, weight(places, asked), -np.inf)
        most = fits & (value == value.max(axis=1, keepdims=True, initial=-np.inf))
        first = np.where(most, asked, n).min(axis=1, initial=n)
        best = np.where(most.any(axis=1), first, NOBODY)
        return best, self.scores(places, best[:, None])[:, 0]

    def _fresh(self, records: IntArray) -> NDArray[np.bool_]:
        """Return which records are not aligned as landmarks."""
        return np.asarray((records >= 0) & ~self._is_landmark[records])
