"""Made-up cascades over families of sequences, of plausible weights, for tests that answer."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.transforms import make_transform
from kreinflow.models.cascade import Cascade
from kreinflow.models.facing import Records
from kreinflow.models.pair_machines import PairMachines, fit_machine
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed
from kreinflow.views.words import Words
from sequence_pairs import rectangle
from small_inputs import PROTEIN, model_of

WEIGHTS = [1.3], [1.0, 0.7, 1.5], [0.9, 0.9, 1.2], [0.8, 0.6]


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
    own = self_scores(pack(sequences), everyone, scheme, 1).astype(float)
    lengths = np.array([len(s) for s in sequences], dtype=float)
    landmark_rows = classifier.landmark_rows(scores, own, lengths)
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
    first = {row: id for row, id in reversed(list(zip(dataset.rows.tolist(), dataset.ids)))}
    return replace(
        model,
        classifier=replace(model.classifier, cascade=cascade),
        record_ids=tuple(first[row] for row in cascade.records.rows.tolist()),
        record_digests=tuple(dataset.digests) if apart else (),
    )


def cascade_model(folder, seed=7, changed=0.5, apart=False, recipe=None, **settings):
    """A model with a cascade of what :func:`small_inputs.write_input` writes, and its data set."""
    model, dataset, _ = model_of(folder, seed=seed, changed=changed, recipe=recipe)
    return with_cascade(model, dataset, apart, **settings), dataset


def cleaned(records):
    alphabet = ResidueAlphabet(PROTEIN, "protein")
    return [alphabet.clean(residues) for *_, residues in records]
