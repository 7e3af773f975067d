"""Made-up cascades over families of sequences, of plausible weights, for tests that answer."""

from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from scipy.special import softmax

from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.transforms import make_transform
from kreinflow.answering import nearest_records
from kreinflow.answering.cascade import Cascade, PairMachines
from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import NOBODY, Answers, Decided, Query
from kreinflow.answering.relatives import NoRelative, Relatives
from kreinflow.answering.unknown_pvalue import Strangeness
from kreinflow.fitting.fit_cascade import fit_machine
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed, Words
from kreinflow.views.seeds import Seeds
from plain_seeds import plain_nearest
from sequence_pairs import rectangle, scheme_of
from small_inputs import model_of

WEIGHTS = (
    [3.0, 0.1, 0.4],
    [1.0, 0.1, 0.3, 0.7, 0.3, 1.5],
    [0.9, 0.05, 0.2, 0.9, 0.4, 1.2],
    [0.8, 0.6],
)
LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", dtype=np.uint8)


def machines_of(codes, scores, landmarks, pairs):
    """The machines of pairs of classes, of transformed scores of all with all and landmarks."""
    members, of_landmarks, intercepts = [], [], []
    for pair in pairs:
        own = np.flatnonzero(np.isin(codes, pair))
        w, b = fit_machine(
            np.hstack([scores[np.ix_(own, own)], landmarks[own]]), codes[own] == pair[0]
        )
        members.append(w[: len(own)])
        of_landmarks.append(w[len(own) :])
        intercepts.append(b)
    return PairMachines(
        np.array(pairs), np.concatenate(members), np.array(of_landmarks), np.array(intercepts)
    )


def made_up_cascade(
    model, dataset, steps=(2, 5), pairs=True, threshold=0.9, words=True, evidence="evalue"
):
    """A cascade whose records are all distinct rows of the data set.

    ``pairs`` is all pairs of classes but the last one (True), none (False), or those to be used.
    """
    classifier, scheme, sequences = model.classifier, model.scheme, list(dataset.sequences)
    n, m = len(sequences), classifier.n_landmarks
    everyone, place = np.arange(n), {s: i for i, s in enumerate(sequences)}
    scores = rectangle([*sequences, *model.landmarks], everyone, np.arange(n, n + m), scheme)
    own = self_scores(pack(sequences, scheme), everyone).astype(float)
    lengths = np.array([len(s) for s in sequences], dtype=float)
    landmark_rows = classifier.landmark_rows(Query(scores, own, lengths))
    codes = np.array([dataset.classes.index(label) for label in dataset.row_labels])
    index = Lift(
        "gaussian",
        {"scores": 3.0, "words": 1.0} if words else {"scores": 3.0},
        Words((1, 2), scheme.matrix.alphabet) if words else None,
        landmark_rows.astype(np.float32),
        Viewed(tuple(sequences)),
    )
    records = Records(
        index,
        classes=codes,
        rows=everyone,
        self_scores=own,
        lengths=lengths,
        landmarks=np.array([place.get(s, -1) for s in model.landmarks]),
        seeds=Seeds.of(sequences),
    )
    if pairs is True:
        pairs = list(combinations(range(len(dataset.classes)), 2))[:-1]
    machines = None
    if pairs:
        among = rectangle(sequences, everyone, everyone, scheme)
        similar = classifier.transform.apply(among, own, own, lengths, lengths)
        machines = machines_of(codes, similar, landmark_rows, pairs)
    first, *nearest, last = (np.array(w) for w in WEIGHTS)
    return Cascade(
        records,
        classifier.transform,
        make_transform(evidence, scheme if evidence == "evalue" else None),
        tuple(steps),
        (first, *nearest[: len(steps)], *([last] if machines is not None else [])),
        machines,
        likeliest=3,
        threshold=threshold,
        temperature=1.1,
        reject_threshold=0.6,
        about={"loss": 0.001},
    )


def with_cascade(model, dataset, apart=False, **settings):
    """The model with a made-up cascade, as a final model has it."""
    cascade = made_up_cascade(model, dataset, **settings)
    rows = dataset.rows.tolist()
    return replace(
        model,
        classifier=model.classifier.with_parts(cascade=cascade),
        record_ids=tuple(dataset.ids[rows.index(row)] for row in cascade.records.rows),
        record_digests=tuple(dataset.digests) if apart else (),
    )


def cascade_model(folder, seed=7, changed=0.5, apart=False, recipe=None, **settings):
    """A model with a cascade of what :func:`small_inputs.write_input` writes, and its data set."""
    model, dataset, _ = model_of(folder, seed=seed, changed=changed, recipe=recipe)
    return with_cascade(model, dataset, apart, **settings), dataset


def related_model(folder, cascade=True, seed=7, changed=0.5, **settings):
    """A model with made-up relatives, of a cascade or alone, and its data set."""
    model, dataset = cascade_model(folder, seed, changed)
    relatives = made_up_relatives(model.classifier, model.scheme, seed, **settings)
    own = model.classifier.cascade if cascade else None
    classifier = model.classifier.with_parts(cascade=own, relatives=relatives)
    return replace(model, classifier=classifier), dataset


def made_up_relatives(classifier, scheme, seed=7, **settings):
    """Relatives of plausible thresholds for the records of a cascade."""
    rng = np.random.default_rng(seed)
    lowest, highest = np.array([-0.2, -9.0, -1.0]), np.array([-0.07, -1.5, -0.4])
    strangeness = Strangeness(*(rng.uniform(lowest, highest, (2, 60, 3))), false_alarms=0.1)
    made = {
        "null": NoRelative(2.8, 3.0),
        "strangeness": strangeness,
        "sure_threshold": 0.35,
        **settings,
    }
    records = classifier.cascade.records
    return Relatives(records, make_transform("evalue", scheme), **made)


def candidates(by_seeds, near):
    """The records of two orders: some by seeds, then in turn by space and by seeds."""
    first = nearest_records.SEEDS_FIRST
    turns = chain(*zip(near, by_seeds[first:], strict=False))
    return list(dict.fromkeys([*by_seeds[:first], *turns, *near]))


class Table:
    """Scores of objects with records by a table, and which pairs were asked for."""

    def __init__(self, S):
        self.S = S
        self.asked = np.zeros(S.shape, dtype=int)

    def __call__(self, queries, records):
        assert len(np.unique(queries)) == len(queries), "each query in one row"
        wanted = records >= 0
        rows = np.broadcast_to(queries[:, None], records.shape)
        np.add.at(self.asked, (rows[wanted], records[wanted]), 1)
        return np.where(wanted, self.S[rows, records], -1)


class Problem:
    """A cascade over points of a plane with sequences, and objects that it has not seen.

    Parameters
    ----------
    seed, n, n_records, n_classes
    steps : sequence of int
    pairs : sequence of (int, int)
        Of the machines; empty for none.
    evidence : str
        A transform.
    """

    def __init__(
        self,
        seed=0,
        n=25,
        n_records=40,
        n_classes=5,
        steps=(2, 16),
        pairs=((0, 1), (0, 2), (1, 2), (3, 4)),
        evidence="evalue",
    ):
        rng = np.random.default_rng(seed)
        codes = rng.permutation(np.arange(n_records) % n_classes)
        centres = rng.normal(size=(n_classes, 2)) * 0.9
        points = rng.normal(size=(n_records, 2)) + centres[codes]
        new, own_codes = rng.normal(size=(n, 2)), rng.integers(n_classes, size=n)
        new += centres[own_codes]
        lengths, own_lengths = (rng.integers(40, 90, k).astype(float) for k in (n_records, n))
        drawn = np.random.default_rng([seed, 1])
        ancestors = drawn.choice(LETTERS, (n_classes, 90))

        def sequences(codes, lengths):
            found = ancestors[codes]
            changed = drawn.random(found.shape) < drawn.uniform(0.1, 0.8, (len(found), 1))
            found[changed] = drawn.choice(LETTERS, changed.sum())
            return tuple(of[: int(n)].tobytes() for of, n in zip(found, lengths, strict=True))

        def scores(A, B):
            squared = ((A[:, None] - B[None]) ** 2).sum(axis=2)
            return np.round(20 + 180 * np.exp(-squared)).astype(np.int32)

        self.S = scores(new, points)
        # The last landmark is not among the records.
        self.landmarks = np.append(rng.permutation(n_records)[:5], NOBODY)
        stranger = np.zeros((1, 2))
        U = np.hstack([scores(points, points[self.landmarks[:-1]]), scores(points, stranger)])
        seen = np.hstack([self.S[:, self.landmarks[:-1]], scores(new, stranger)])
        own = np.full(n_records, 200.0)
        transform = make_transform("log")

        def rows(scores, lengths):
            own_scores = np.full(len(scores), 200.0)
            return transform.apply(scores, own_scores, np.full(6, 200.0), lengths, np.full(6, 60.0))

        landmark_rows = rows(U, lengths)
        known = sequences(codes, lengths)
        seen_as = landmark_rows.astype(np.float32), Viewed(known)
        index = Lift("gaussian", {"scores": 2.0}, None, *seen_as)
        rows_of = rng.permutation(n_records)
        records = Records(index, codes, rows_of, own, lengths, self.landmarks, Seeds.of(known))
        among = transform.apply(scores(points, points), own, own, lengths, lengths)
        first, *nearest, last = (np.array(w) for w in WEIGHTS)
        self.cascade = Cascade(
            records,
            transform,
            make_transform(evidence, scheme_of() if evidence == "evalue" else None),
            tuple(steps),
            (first, *(nearest * 2)[: len(steps)], *([last] if pairs else [])),
            machines_of(codes, among, landmark_rows, pairs) if pairs else None,
            likeliest=3,
            threshold=0.8,
            temperature=1.2,
            reject_threshold=0.5,
            about={"loss": 0.001},
        )
        decisions = -((new[:, None] - centres) ** 2).sum(axis=2)
        self.n_classes = n_classes
        self.query = Decided(
            seen,
            np.full(n, 200.0),
            own_lengths,
            Viewed(sequences(own_codes, own_lengths)),
            rows=rows(seen, own_lengths),
            decisions=decisions,
        )

    def some(self, places):
        """Some of the objects, and the table that they ask."""
        table = Table(self.S[places])
        own = self.query.take(np.arange(len(self.S))[places])
        return replace(own, ask=table), table

    def scores(self, places=slice(None)):
        query, table = self.some(places)
        return self.cascade.scores(query), table

    def answer(self, places=slice(None), cascade=None):
        return answered(cascade or self.cascade, self.some(places)[0])

    # What follows says the same of one object, in plain sums over dense scores.

    def evidence(self, i):
        """What each record says of an object."""
        records, query = self.cascade.records, self.query
        constants, found = self.cascade.evidence.constants, []
        for j, s in enumerate(self.S[i].tolist()):
            if self.cascade.evidence.name == "evalue":
                space = constants["K"] * query.lengths[i] * records.lengths[j]
                found.append(np.log(1 + max(0.0, constants["lambda"] * s - np.log(space))))
            else:
                found.append(s / np.sqrt(query.self_scores[i] * records.self_scores[j]))
        return found

    @property
    def known(self):
        """The landmarks that are records."""
        return {*self.landmarks.tolist()} - {NOBODY}

    @cached_property
    def seed_orders(self):
        """Of all objects the records with a hit in order, and the scores of all records."""
        records, of = self.cascade.records, self.query.objects
        return plain_nearest(records.seeds, of.sequences, records.index.objects.sequences)

    def besides(self, i, left_out):
        """The same of an object, whose search does not end with what is left out."""
        records, sequence = self.cascade.records, self.query.objects.sequences[i]
        every = records.index.objects.sequences
        return plain_nearest(records.seeds, [sequence], every, [left_out])[0]

    def by_seeds(self, i):
        """The records with a hit, in order."""
        return self.seed_orders[i][0]

    def seed_features(self, i, c):
        """What seeds say of a class: its best score, and its share of the first."""
        codes, order = self.cascade.records.classes, self.by_seeds(i)[: nearest_records.BY_SEEDS]
        scores = [self.seed_orders[i][1][j] for j in order]
        full = len(order) == min(nearest_records.BY_SEEDS, len(codes))
        own = [s for s, j in zip(scores, order, strict=True) if codes[j] == c]
        best = max(own, default=scores[-1] if full else 0)
        first = codes[order[: nearest_records.SEEDS_FIRST]]
        return np.log(1 + best), np.sum(first == c) / nearest_records.SEEDS_FIRST

    def order(self, i, left_out=()):
        """The records as candidates, but some that are left out."""
        both = self.besides(i, left_out)[0] if left_out else self.by_seeds(i), self.near(i)
        return candidates(*([j for j in order if j not in left_out] for order in both))

    def near(self, i):
        """The records, the nearest in space first."""
        U = self.cascade.records.index.scores.astype(float)
        u = self.query.rows[i].astype(np.float32).astype(float)
        return sorted(range(len(U)), key=lambda j: (((U[j] - u) ** 2).sum(), j))

    def levels(self, i):
        """What each level says of an object: probabilities, records asked, whether it got there.

        The landmarks among the records are asked at all levels but the first.
        """
        cascade, f = self.cascade, self.query.decisions[i]
        codes, said, order = cascade.records.classes, self.evidence(i), self.order(i)
        seen = [(f[c], *self.seed_features(i, c)) for c in range(self.n_classes)]
        found = [(softmax(seen @ cascade.weights[0]), set(), True)]
        for q, weights in zip(cascade.steps, cascade.weights[1:], strict=False):
            asked = {*order[:q], *self.known}
            total = []
            for c in range(self.n_classes):
                own = [said[j] for j in asked if codes[j] == c]
                mean = sum(own) / max(1, len(own))
                features = *seen[c], max(own, default=0), mean, len(own) / len(order[:q])
                total.append(np.dot(weights, features))
            found.append((softmax(total), asked, True))
        if cascade.machines is not None:
            found.append(self._pairs(i, *found[-1][:2]))
        return [(p, len(asked - self.known), asked, reached) for p, asked, reached in found]

    @cached_property
    def every_level(self):
        """The same of all objects."""
        return [self.levels(i) for i in range(len(self.S))]

    def _pairs(self, i, before, asked):
        cascade, machines = self.cascade, self.cascade.machines
        codes, records = cascade.records.classes, cascade.records
        top = np.argsort(-before, kind="stable")[: cascade.likeliest]
        votes, members, start = np.zeros(self.n_classes), set(), 0
        a = cascade.transform.constants["a"]
        for number, (c, d) in enumerate(machines.pairs.tolist()):
            own = [j for j in range(len(codes)) if codes[j] in (c, d)]
            w, start = machines.pair_member_weights[start : start + len(own)], start + len(own)
            if c not in top or d not in top:
                continue
            members |= set(own)
            shares = self.S[i, own] / np.sqrt(self.query.self_scores[i] * records.self_scores[own])
            g = np.log1p(a * shares) / np.log1p(a) @ w
            g += (
                self.query.rows[i] @ machines.pair_landmark_weights[number]
                + machines.pair_intercepts[number]
            )
            votes[c] += np.tanh(g)
            votes[d] -= np.tanh(g)
        if not members:
            return before, asked, False
        u, v = cascade.weights[-1]
        return (
            softmax(u * np.log(np.maximum(before, 1e-12)) + v * votes),
            asked | self.known | members,
            True,
        )


def answered(cascade, query):
    """The answers of a cascade."""
    return cascade.answer(query, Answers.of_first(softmax(query.decisions, axis=1), 0.5))
