"""What remains of a trained model: a function of the scores with a few landmarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.cascade import MOST_PAIRS, REASONS, Answers, Cascade
from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.levels import Levels
from kreinflow.answering.query import Decided, Query
from kreinflow.answering.record_scores import Records, starting_with
from kreinflow.answering.relatives import Relatives
from kreinflow.answering.score_cache import ScoreCache
from kreinflow.answering.several_labels import Several
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import TILE, FloatArray, IntArray
from kreinflow.files.artifacts import Sizes
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.learners.decisions import KINDS, Decision
from kreinflow.views.lift import SCORES, Lift

_LIFTED_ROWS = TILE // 4  # at once: the kernel of a lift may have forty times the columns


@dataclass(frozen=True)
class LandmarkClassifier:
    """Class probabilities from the scores with m landmarks.

    A decision f of the transformed scores k(x) with the landmarks (see
    :mod:`kreinflow.learners.decisions`), and

        p(x) = softmax(f(x) / temperature)

    or, of objects that may have several labels, that of
    :class:`~kreinflow.answering.several_labels.Several`.
    If classes are leaves of a tree, f has been through a temperature for each of its forks.

    Most learners over a Krein factor are linear in z(x) = k(x)' P and so fold into m weights a
    class (schleif2018, section 5).

    Parameters
    ----------
    classes : tuple of str
    decision : Decision
    landmark_classes : ndarray of shape (n_landmarks,)
        Codes of the landmarks' classes.
    transform : ScoreTransform
    landmark_self_scores, landmark_lengths : ndarray of shape (n_landmarks,)
        What the transform needs of the landmarks.
    centring : LandmarkCentring or None
        For squared dissimilarities.
    lift : Lift or None
        If there is one, the decision sees the kernel with its inducing points in place of k(x).
    temperature : float
    reject_threshold : float
        A prediction whose probability is below it is rejected. Above 1: all are.
    about : dict
        The recipe and the figures of its training, for people.
    inducing_rows, inducing_classes : ndarray of shape (p,) or None
        Of a lift: the distinct rows of its inducing points in the training data, and the codes of
        their classes.
    cascade : Cascade or None
        What asks training records where this first stage is unsure; see :meth:`answer`.
    forks : ForkTemperatures or None
    levels : Levels or None
        Of classes that are paths.
    calibration : Calibration or None
        Of the answers for records that were held out: what sets and the control of errors look at.
    several : Several or None
        Of objects that may have several labels: their probabilities and thresholds.
    relatives : Relatives or None
        What tells whether an object is like any training record; its records are the cascade's.
    """

    classes: tuple[str, ...]
    decision: Decision
    landmark_classes: IntArray
    transform: ScoreTransform
    landmark_self_scores: FloatArray
    landmark_lengths: FloatArray
    centring: LandmarkCentring | None
    temperature: float
    reject_threshold: float
    about: dict[str, Any] = field(default_factory=dict)
    lift: Lift | None = None
    inducing_rows: IntArray | None = None
    inducing_classes: IntArray | None = None
    cascade: Cascade | None = None
    forks: ForkTemperatures | None = None
    levels: Levels | None = None
    calibration: Calibration | None = None
    several: Several | None = None
    relatives: Relatives | None = None

    @property
    def records(self) -> Records | None:
        """The training records that an object may ask; None if it asks nobody."""
        asking = self.cascade or self.relatives
        return None if asking is None else asking.records

    def with_records(self, records: Records) -> "LandmarkClassifier":
        """Return the classifier with other records in the place of its own."""
        cascade = self.cascade and replace(self.cascade, records=records)
        relatives = self.relatives and replace(self.relatives, records=records)
        return replace(self, cascade=cascade, relatives=relatives)

    @property
    def n_landmarks(self) -> int:
        """Scores that a new object needs."""
        return int(self.landmark_classes.shape[0])

    @property
    def looks_at_objects(self) -> bool:
        """Whether it needs more of an object than its scores."""
        return any(view != SCORES for view in self._views)

    @property
    def looks_at_vectors(self) -> bool:
        """Whether it needs the vector of an object."""
        return "vectors" in self._views

    @property
    def _views(self) -> set[str]:
        """The views of the lift, and of the index of records."""
        lifts = (self.lift, None if self.records is None else self.records.index)
        return {view for lift in lifts if lift is not None for view in lift.rates}

    def decision_function(self, query: Query) -> FloatArray:
        """Return f of shape (n, n_classes).

        The objects of the query are looked at if :attr:`looks_at_objects`.
        """
        if isinstance(query, Decided):
            return query.decisions
        n = len(query)
        out = np.empty((n, len(self.classes)))
        step = TILE if self.lift is None else _LIFTED_ROWS
        for start in range(0, n, step):
            part = np.arange(start, min(start + step, n))
            out[part] = self.decision.decide(self.decision_rows(query.take(part)))
        return out if self.forks is None else self.forks.log_probabilities(out)

    def decided(self, query: Query) -> Decided:
        """Return a query with what the first stage makes of it."""
        if isinstance(query, Decided):
            return query
        known = query.scores, query.self_scores, query.lengths, query.objects, query.ask
        rows, decisions = self.landmark_rows(query), self.decision_function(query)
        return Decided(*known, rows=rows, decisions=decisions)

    def decision_rows(self, query: Query) -> FloatArray:
        """Return what the decision looks at: k(x), or of a lift the kernel with its p points.

        Returns
        -------
        ndarray of shape (n, n_landmarks) or (n, p)
        """
        rows = self.landmark_rows(query)
        return rows if self.lift is None else self.lift.columns(rows, query.objects)

    def landmark_rows(self, query: Query) -> FloatArray:
        """Return k(x), or the dissimilarities that the decision looks at, of each landmark."""
        kernel = self.transform.apply(
            np.asarray(query.scores),
            query.self_scores,
            self.landmark_self_scores,
            query.lengths,
            self.landmark_lengths,
        )
        if self.centring is None:
            return kernel
        in_kernel = self.lift is not None or self.decision.space == "kernel"
        return self.centring.columns(kernel) if in_kernel else -kernel

    def predict_proba(self, query: Query) -> FloatArray:
        """Return the class probabilities of the first stage, of shape (n, n_classes).

        Those of a row sum to one, unless the objects may have several labels.
        """
        decisions = self.decision_function(query)
        if self.several is not None:
            return self.several.probabilities(decisions)
        probabilities: FloatArray = softmax(decisions / self.temperature, axis=1)
        return probabilities

    def first_answers(self, query: Query) -> Answers:
        """Return the answers of the first stage."""
        probabilities = self.predict_proba(query)
        answers = Answers.of_first(probabilities, self.reject_threshold)
        if self.several is None:
            return answers
        none = ~self.several.chosen(probabilities).any(axis=1)
        return replace(answers, reason=np.array(REASONS)[none.astype(np.int64)])

    def answer(self, query: Query) -> Answers:
        """Return what the model says, asking training records if it has a cascade or relatives.

        Without an ask the first stage answers.
        """
        if self.records is None or query.ask is None:
            return self.first_answers(query)
        decided = self.decided(query)
        asking = [part for part in (self.cascade, self.relatives) if part is not None]
        most = sum(part.most_asked(len(self.classes)) for part in asking)
        step, places = max(1, MOST_PAIRS // max(1, most)), np.arange(len(query))
        parts = [places[i : i + step] for i in range(0, max(1, len(places)), step)]
        return Answers.joined([self._asked(decided.take(part)) for part in parts])

    def _asked(self, query: Decided) -> Answers:
        """Return the answers for a part of the objects; no pair is aligned twice."""
        ask, aligned = query.ask, np.zeros(len(query), dtype=np.int64)
        assert ask is not None
        assert self.records is not None

        def counted(queries: IntArray, records: IntArray) -> NDArray[Any]:
            np.add.at(aligned, queries, (records >= 0).sum(axis=1))
            return ask(queries, records)

        answers = self.first_answers(query)
        query = replace(query, ask=ScoreCache(counted, len(self.records)))
        for part in (self.cascade, self.relatives):
            if part is not None:
                answers = part.answer(query, answers)
        return replace(answers, alignments=aligned)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a JSON header and arrays that :meth:`from_parts` reads."""
        header = {
            "classes": list(self.classes),
            "kind": self.decision.kind,
            "transform": self.transform.to_dict(),
            "centred": self.centring is not None,
            "temperature": self.temperature,
            "reject_threshold": self.reject_threshold,
            "about": self.about,
        }
        arrays: dict[str, NDArray[Any]] = {
            **self.decision.to_arrays(),
            "landmark_classes": self.landmark_classes,
            "landmark_self_scores": self.landmark_self_scores,
            "landmark_lengths": self.landmark_lengths,
        }
        if self.lift is not None:
            lift_header, lift_arrays = self.lift.to_parts()
            header["lift"] = lift_header
            arrays |= {f"lift_{name}": array for name, array in lift_arrays.items()}
            assert self.inducing_rows is not None, "inducing points that nobody knows"
            assert self.inducing_classes is not None, "inducing points without classes"
            arrays["inducing_rows"] = self.inducing_rows
            arrays["inducing_classes"] = self.inducing_classes
        asking = {"records": self.records, "cascade": self.cascade, "relatives": self.relatives}
        for name, own in asking.items():
            if own is not None:
                header[name], parts = own.to_parts()
                arrays |= {f"{name}_{key}": array for key, array in parts.items()}
        if self.forks is not None:
            header["forks"] = self.forks.to_header()
        if self.levels is not None:
            header["levels"] = self.levels.to_header()
        if self.calibration is not None:
            header["calibration"] = self.calibration.header
            parts = self.calibration.to_arrays()
            arrays |= {f"calibration_{name}": array for name, array in parts.items()}
        if self.several is not None:
            header["several"] = True
            parts = self.several.to_arrays()
            arrays |= {f"several_{name}": array for name, array in parts.items()}
        if self.centring is not None:
            arrays["centring_means"] = self.centring.landmark_means
            arrays["centring_grand_mean"] = np.array([self.centring.grand_mean])
        return header, arrays

    @staticmethod
    def sizes(header: Mapping[str, Any], n_landmarks: int, n_records: int) -> Sizes:
        """Return the arrays that :meth:`from_parts` takes, and the largest shape of each.

        Parameters
        ----------
        header : mapping
        n_landmarks, n_records : int
            The ranks of factors are at most the former, the supports of decisions the latter.
        """
        m = n_landmarks
        if header.get("cascade") is not None and header.get("records") is None:
            raise InputError(
                "a model with a cascade that kreinflow 0.7.0 or an earlier version made. Its "
                "records are kept in another way now. Train it again."
            )
        shapes: dict[str, tuple[str, tuple[int, ...]]] = {
            "landmark_classes": ("i", (m,)),
            "landmark_self_scores": ("f", (m,)),
            "landmark_lengths": ("f", (m,)),
        }
        if header["centred"]:
            shapes |= {"centring_means": ("f", (m,)), "centring_grand_mean": ("f", (1,))}
        p = m  # columns that the decision looks at
        if (lift := header.get("lift")) is not None:
            p = int(lift["inducing"])
            shapes |= {f"lift_{name}": size for name, size in Lift.sizes(lift, m).items()}
            shapes |= {"inducing_rows": ("i", (p,)), "inducing_classes": ("i", (p,))}
        if (cascade := header.get("cascade")) is not None:
            own = Cascade.sizes(cascade, m)
            shapes |= {f"cascade_{name}": size for name, size in own.items()}
        if (records := header.get("records")) is not None:
            own = Records.sizes(records, m)
            shapes |= {f"records_{name}": size for name, size in own.items()}
        if (relatives := header.get("relatives")) is not None:
            own = Relatives.sizes(relatives)
            shapes |= {f"relatives_{name}": size for name, size in own.items()}
        k = len(header["classes"])
        if (calibration := header.get("calibration")) is not None:
            own = Calibration.sizes(calibration, k)
            shapes |= {f"calibration_{name}": size for name, size in own.items()}
        if header.get("several"):
            shapes |= {f"several_{name}": size for name, size in Several.sizes(k).items()}
        most = {"m": p, "c": k, "r": p, "s": n_records, "b": 2 * k}
        for name, letters in KINDS[header["kind"]].shapes.items():
            shapes[name] = ("f", tuple(most[letter] for letter in letters))
        return shapes

    @classmethod
    def from_parts(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], name: str
    ) -> "LandmarkClassifier":
        """Build a classifier from a header and arrays, refusing what does not fit together.

        Raises
        ------
        InputError
            Naming the file ``name`` and what is wrong.
        """
        try:
            classes = tuple(str(c) for c in header["classes"])
            m, k = int(arrays["landmark_classes"].shape[0]), len(classes)
            shapes = {
                "landmark_classes": (m,),
                "landmark_self_scores": (m,),
                "landmark_lengths": (m,),
            }
            if header["centred"]:
                shapes |= {"centring_means": (m,), "centring_grand_mean": (1,)}
            for key, shape in shapes.items():
                array = arrays[key]
                wanted = "i" if key == "landmark_classes" else "f"
                if array.shape != shape or array.dtype.kind != wanted:
                    raise ValueError(f"{key} is {array.dtype} {array.shape}, not of shape {shape}")
                if not np.isfinite(array).all():
                    raise ValueError(f"{key} holds numbers that are not finite")
            codes = arrays["landmark_classes"]
            if m == 0 or k < 2 or len(set(classes)) != k or codes.min() < 0 or codes.max() >= k:
                raise ValueError("its classes and landmarks do not agree")
            if header["kind"] not in KINDS:
                raise ValueError(f"its kind {header['kind']!r} is unknown")
            lift, inducing = None, {}
            if header.get("lift") is not None:
                lift = Lift.from_parts(header["lift"], starting_with("lift_", arrays), m)
                inducing = {key: arrays[key] for key in ("inducing_rows", "inducing_classes")}
                for key, limit in zip(inducing, (np.inf, k), strict=True):
                    own = inducing[key]
                    if own.shape != (len(lift),) or own.dtype.kind != "i":
                        raise ValueError(f"{key} is {own.dtype} {own.shape}, not ({len(lift)},)")
                    if own.min() < 0 or own.max() >= limit:
                        raise ValueError(f"{key} holds numbers that are out of range")
            cascade, relatives, asks = None, None, ("cascade", "relatives")
            parts = {name: starting_with(f"{name}_", arrays) for name in (*asks, "records")}
            given = {name: header[name] for name in asks if header.get(name) is not None}
            if given and header.get("records") is None:
                raise ValueError("it lacks the records that it asks")
            if not given and header.get("records") is not None:
                raise ValueError("it has records, and nothing that asks them")
            if given:
                records = Records.from_parts(header["records"], parts["records"], k, m)
            if "cascade" in given:
                cascade = Cascade.from_parts(given["cascade"], parts["cascade"], records, k, m)
            if "relatives" in given:
                relatives = Relatives.from_parts(given["relatives"], parts["relatives"], records)
            forks = None
            if header.get("forks") is not None:
                forks = ForkTemperatures.from_header(header["forks"], k)
            levels = None
            if header.get("levels") is not None:
                levels = Levels.from_header(header["levels"], classes)
            needed = None if relatives is None else relatives.needed
            n_levels = 0 if levels is None else len(levels.thresholds)
            if needed is not None and len(needed) >= n_levels:
                raise ValueError("its levels and what is unknown at them do not agree")
            calibration = None
            if header.get("calibration") is not None:
                of_sets = starting_with("calibration_", arrays)
                calibration = Calibration.from_parts(header["calibration"], of_sets, k)
            several = None
            if header.get("several"):
                if cascade is not None:
                    raise ValueError("it has a cascade and several labels")
                several = Several.from_arrays(starting_with("several_", arrays), k)
            decision = KINDS[header["kind"]].from_arrays(arrays, len(lift) if lift else m, k)
            temperature, threshold = float(header["temperature"]), float(header["reject_threshold"])
            if not (0 < temperature < np.inf and 0 <= threshold < 2):
                raise ValueError("its temperature or reject threshold is out of range")
            return cls(
                classes=classes,
                decision=decision,
                landmark_classes=codes,
                transform=ScoreTransform.from_dict(header["transform"]),
                landmark_self_scores=arrays["landmark_self_scores"],
                landmark_lengths=arrays["landmark_lengths"],
                centring=LandmarkCentring(
                    arrays["centring_means"], float(arrays["centring_grand_mean"][0])
                )
                if header["centred"]
                else None,
                temperature=temperature,
                reject_threshold=threshold,
                about=dict(header["about"]),
                lift=lift,
                cascade=cascade,
                forks=forks,
                levels=levels,
                calibration=calibration,
                several=several,
                relatives=relatives,
                **inducing,
            )
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(
                f"{name}: not a model that can be used: {error}. Give a file that kreinflow wrote."
            ) from error
