"""Estimators that choose their landmarks: from a matrix, vectors with a kernel, or sequences."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from kreinflow.alignment.transforms import ScoreTransform, make_transform
from kreinflow.cross_references import asymmetry_fault, cascade_of
from kreinflow.errors import InputError
from kreinflow.estimators.alignment_kernel import (
    AlignedScores,
    AlignmentKernel,
    array_of,
    lengths,
)
from kreinflow.estimators.base import SYMMETRY, LandmarkDecisions, LandmarkFactor, Scored
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import KERNELS
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.landmarks.given import Given
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.models.cascade import Answers
from kreinflow.models.inner_folds import ChooseAgain
from kreinflow.models.run import Run
from kreinflow.numerics import FloatArray, IntArray, tiles
from kreinflow.schema import complete, complete_method, nearest, schema
from kreinflow.scores import open_scores
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import MATRIX_KINDS, check_matrix
from kreinflow.sequences.objects import refuse_unfit
from kreinflow.sequences.partition import ALL, Partition
from kreinflow.sequences.payload import Compared, Matrix, Payload, Sequences, digest
from kreinflow.sequences.sources.measured import numbers
from kreinflow.views.objects import Viewed

PRECOMPUTED = "precomputed"

_ASKING = 1024  # objects that ask at once: each may ask thousands of records

COMPARED: Mapping[str, type[Kernel]] = {**KERNELS, AlignmentKernel.name: AlignmentKernel}
"""The kernels that estimators can compute, by name."""

CHOSEN = {name: kind for name, kind in SELECTORS.items() if kind is not Given}
"""The selectors that choose, by name."""


@dataclass(eq=False, repr=False, kw_only=True)
class LandmarkChoice(LandmarkFactor):
    """The parameters by which landmarks are chosen, and the choice."""

    kernel: str = field(default=PRECOMPUTED, kw_only=False)
    kernel_params: Mapping[str, Any] | None = None
    selector: str = "meb"
    selector_params: Mapping[str, Any] | None = None
    n_landmarks: int | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == PRECOMPUTED
        strings = self.kernel in COMPARED and COMPARED[self.kernel].strings
        tags.input_tags.string = strings
        tags.input_tags.two_d_array = not strings
        return tags

    @property
    def _transform(self) -> ScoreTransform:
        """Of the scores with the landmarks; those of other kernels are what they are."""
        return make_transform("raw") if self._aligned_by is None else self._aligned_by.transform

    def _make_kernel(self) -> Kernel | None:
        """Return the kernel, None if its values are given."""
        if self.kernel == PRECOMPUTED:
            if self.kernel_params:
                raise self._wrong("kernel_params: a precomputed matrix takes none.")
            return None
        if self.kernel not in COMPARED:
            known = [PRECOMPUTED, *COMPARED]
            raise self._wrong(
                f"kernel: {self.kernel!r} is unknown{nearest(str(self.kernel), known)}"
            )
        content = {**(self.kernel_params or {}), "name": self.kernel}
        return COMPARED[self.kernel](
            complete_method(COMPARED, content, "kernel", type(self).__name__)
        )

    def _selector_settings(self, transform: str) -> dict[str, Any]:
        """Return the settings of the selector, checked and complete."""
        params = dict(self.selector_params or {})
        for key, why in (
            ("budget", "give n_landmarks"),
            ("transform", "the kernel is what it is; of alignments give it in kernel_params"),
        ):
            if key in params:
                raise self._wrong(f"selector_params: {key!r} is none of them: {why}.")
        known = CHOSEN[self.selector].settings_schema if self.selector in CHOSEN else {}
        content = {**params, "method": self.selector}
        if "transform" in known:
            content["transform"] = transform
        if self.n_landmarks is not None:
            content["budget"] = self.n_landmarks
        elif "budget" in known and "default" not in known["budget"]:
            raise self._wrong(
                f"n_landmarks: the selector {self.selector!r} needs a number of landmarks."
            )
        return complete_method(CHOSEN, content, "selector", type(self).__name__)

    def _read(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        """Return objects and labels as arrays, checked by scikit-learn.

        Raises
        ------
        InputError
            If they are no list of strings where the kernel compares strings.
        ValueError
            If scikit-learn refuses them, or a precomputed matrix to fit is not square.
        """
        if self.kernel in COMPARED and COMPARED[self.kernel].strings:
            objects = _strings(X)
            if y is not None:
                y = column_or_1d(y, warn=True)
                check_consistent_length(objects, y)
            return objects, y
        given = {"X": X} if y is None else {"X": X, "y": y}
        read = validate_data(
            self, **given, dtype=np.float64, order="C", reset=reset, ensure_min_samples=1 + reset
        )
        objects, labels = (read, None) if y is None else read
        if reset and self.kernel == PRECOMPUTED and objects.shape[0] != objects.shape[1]:
            raise ValueError(
                f"X is of shape {objects.shape}. With kernel 'precomputed' it must be square, the "
                "scores of the training objects with each other."
            )
        return objects, labels

    def _choose(
        self, X: Any, codes: NDArray[np.int64], classes: tuple[str, ...]
    ) -> tuple[Landmarks, TrainingPart, Dataset, ChooseAgain | None, AlignedScores | None]:
        """Choose the landmarks, and return them with the scores of all training objects.

        The last but one is :meth:`kreinflow.models.run.Run.choose_again`. The last has the scores
        of sequences.

        Parameters
        ----------
        X : ndarray
            See :meth:`_read`.
        codes : ndarray of shape (n,)
            Classes, for selectors that look at them.
        classes : tuple of str
        """
        kernel = self._make_kernel()
        if kernel is None:
            kind = self._checked_name("kind", tuple(MATRIX_KINDS))
            dataset = _matrix_dataset(X, kind, codes, classes)
        else:
            dataset = _objects_dataset(X, kernel, codes, classes)
        self._aligned_by = kernel if isinstance(kernel, AlignmentKernel) else None
        aligned, transform = None, self._transform
        if self._aligned_by is not None:
            aligned = AlignedScores(self._aligned_by, array_of(dataset.sequences))
        scores = open_scores(dataset) if aligned is None else aligned
        settings = self._selector_settings(transform.name)
        if dataset.kind == "asymmetric":
            learner = self.learner if isinstance(self, LandmarkDecisions) else None
            if fault := asymmetry_fault(settings["method"], learner, self.correction):
                raise self._wrong(fault)
        seed = self._checked_number("random_state", 0)
        stage = LandmarkStage(dataset, scores, {transform.name: transform}, seed)
        selector = CHOSEN[settings["method"]](settings)
        table = stage.select(selector)
        rows = table["row"].to_numpy(np.int64)
        columns = scores.rectangle(np.arange(len(dataset.digests)), rows)
        groups = dataset.first_alike[dataset.rows]
        partition = Partition(groups, np.empty((0, len(codes)), dtype=np.int64))
        run = Run(dataset, partition, columns, rows, scores.self_scores())
        first = np.unique(dataset.rows, return_index=True)[1]
        self.landmark_indices_ = first[rows]
        self._landmarks = dataset.payload.take(rows)
        again = run.choose_again(stage, selector, len(table))
        return run.landmarks(table), run.training_part(ALL), dataset, again, aligned

    def _seen(self, X: Any) -> Scored:
        """See :meth:`LandmarkFactor._seen`."""
        objects, _ = self._read(X, reset=False)
        landmarks, kernel = self._landmarks, self._aligned_by
        if kernel is not None and isinstance(landmarks, Sequences):
            read, others = kernel.read(objects), array_of(landmarks.residues)
            scores = [kernel.scores(read[part], others) for part in tiles(len(read))]
            own = kernel.self_scores(read), lengths(read)
            return Scored(np.concatenate(scores), *own, Viewed(list(read)))
        if not isinstance(landmarks, Compared):
            columns = np.ascontiguousarray(objects[:, self.landmark_indices_])
            return Scored.measured(self._squared("X", columns, self.landmark_indices_.tolist()))
        objects = _compared(objects, landmarks.kernel)
        out = np.empty((len(objects), len(self.landmark_indices_)))
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            for part in tiles(len(objects)):
                out[part] = landmarks.kernel.columns(objects[part], landmarks.objects)
        wrong = ~np.isfinite(out).all(axis=1)
        if wrong.any():
            raise self._wrong(
                f"X, row {int(wrong.argmax())}: {landmarks.kernel.describe()} "
                "is not finite for it. Its numbers are too large."
            )
        return Scored.measured(out)


def _strings(X: Any) -> Objects:
    """Return a list of strings as an array of them."""
    values = [X] if isinstance(X, str | bytes) else list(X)
    wrong = [i for i, value in enumerate(values) if not isinstance(value, str | bytes)]
    if isinstance(X, str | bytes) or not values or wrong:
        found = repr(values[wrong[0]]) if wrong else repr(X)
        raise InputError(f"X: {found[:60]} is no list of strings. Give one string an object.")
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _compared(X: Any, kernel: Kernel) -> Objects:
    """Return vectors or strings as the kernel takes them."""
    if isinstance(kernel, AlignmentKernel):
        return kernel.read(X)
    objects: Objects = X if kernel.strings else X + 0.0  # -0.0 is 0.0
    refuse_unfit("X", kernel, objects)
    return objects


def _matrix_dataset(
    X: FloatArray, kind: str, codes: NDArray[np.int64], classes: tuple[str, ...]
) -> Dataset:
    """Return the data set that the workflow makes of a matrix without ids."""
    payload = Matrix(
        check_matrix(Path("X"), X, kind, SYMMETRY)[0],
        kind=MATRIX_KINDS[kind],
        numbered=True,
    )
    ids = numbers(len(X))
    return Dataset(
        ids=tuple(ids),
        labels=codes,
        classes=classes,
        rows=np.arange(len(X), dtype=np.int64),
        digests=payload.digests(payload.contents(ids)),
        payload=payload,
    )


def _objects_dataset(
    X: Any, kernel: Kernel, codes: NDArray[np.int64], classes: tuple[str, ...]
) -> Dataset:
    """Return the data set of vectors or strings, identical ones of a class once.

    Those of different classes stay apart, but share their random numbers and inner folds.
    """
    objects = _compared(X, kernel)
    contents = [x.encode() if isinstance(x, str) else bytes(x) for x in objects]
    row_of: dict[tuple[bytes, int], int] = {}
    rows = [
        row_of.setdefault(key, len(row_of)) for key in zip(contents, codes.tolist(), strict=True)
    ]
    first = np.unique(rows, return_index=True)[1]
    payload: Payload = Compared(objects[first], kernel, kind=kernel.kind)
    if isinstance(kernel, AlignmentKernel):
        payload = Sequences(tuple(objects[first]))
    return Dataset(
        ids=tuple(str(i) for i in range(1, len(objects) + 1)),
        labels=codes,
        classes=classes,
        rows=np.array(rows, dtype=np.int64),
        digests=tuple(digest(content) for content, _ in row_of),
        payload=payload,
    )


@dataclass(eq=False, repr=False, kw_only=True)
class KreinClassifier(LandmarkDecisions, LandmarkChoice):
    r"""A classifier that chooses its landmarks.

    It chooses objects of the training part as landmarks, makes the Nyström factor of their
    columns, corrects its spectrum, and fits a learner to its rows, as the workflow makes a final
    model. New objects are compared with the landmarks alone.

    Parameters
    ----------
    kernel : str
        "precomputed" (X is a square matrix of scores; for new objects, a row each with a column
        for each training object); a kernel of :data:`kreinflow.kernels.registry.KERNELS` (X holds
        vectors, or for ``edit_distance`` strings); or "alignment" (X is a list of sequences, see
        :class:`~kreinflow.estimators.alignment_kernel.AlignmentKernel`).
    kernel_params : mapping, optional
        Its settings, as in the config; of alignments also ``transform``, ``molecule`` and
        ``threads``.
    kind : str
        What the entries of a precomputed matrix are: "similarity", "zero_diagonal_similarity",
        "dissimilarity", "squared_dissimilarity", or "asymmetric": similarities of the rows with the
        columns, which few selectors, corrections and learners take.
    selector : str
        A method of :data:`kreinflow.landmarks.registry.SELECTORS`, but for ``given``; "meb" are
        class-wise minimum enclosing balls.
    selector_params : mapping, optional
        Its settings, as in the config, without budget and transform.
    n_landmarks : int, optional
        The budget; "meb" and "all" know a number of their own.
    views : mapping, optional
        What is known of sequences beside their scores: ``{"words": [1, 2, 3]}`` are the words of
        these lengths; see :mod:`kreinflow.views.words`. Without ``lift`` they are added to the
        scores.
    cascade : mapping, optional
        Of sequences with the kernel "alignment": those that the scores with the landmarks leave
        unsure are aligned with the training sequences that decide. ``{"loss": 0.001}`` is the
        accuracy that may be lost against asking for all of them, ``{"alignments": 40}`` the mean
        number of alignments for a sequence, and ``{}`` is the former; see
        :mod:`kreinflow.models.cascade`. :meth:`predict`, :meth:`predict_proba` and :meth:`answer`
        go through it, and :meth:`decision_function` stays that of the landmarks alone.
    rank, correction, learner, learner_params, lift, inner_folds
        See :class:`~kreinflow.estimators.NystroemClassifier`.
    random_state : int
        The seed of all random draws.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
        Columns of X; not there for strings.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Places of the landmarks among the training objects.
    landmark_classifier_ : LandmarkClassifier
        The trained function of the scores with the landmarks.
    cascade_ : Cascade or None
        With the training sequences.
    training_ : dict
        What the training said: rank, hyper_parameters, inner_accuracy, converged and more. With a
        cascade the inner accuracy and the alignments for a sequence are those of its answers.

    References
    ----------
    .. [1] Schleif, F.-M., Gisbrecht, A., Tino, P.: Supervised low rank indefinite kernel
       approximation using minimum enclosing balls. Neurocomputing 318, 213-226 (2018).
       doi:10.1016/j.neucom.2018.08.057

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from kreinflow.estimators import KreinClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [3]], 30, axis=0)
    >>> K, y = np.tanh(X @ X.T / 4 - 1), np.repeat(["a", "b"], 30)
    >>> cross_val_score(KreinClassifier(), K, y, cv=3).mean() > 0.9
    np.True_
    >>> model = KreinClassifier("sigmoid", kernel_params={"slope": 0.25}).fit(X, y)
    >>> np.array_equal(model.predict(X), KreinClassifier().fit(K, y).predict(K))
    True
    """

    views: Mapping[str, Any] | None = None
    cascade: Mapping[str, Any] | None = None

    def fit(self, X: Any, y: ArrayLike) -> "KreinClassifier":
        """Choose the landmarks, and fit the factor and the learner.

        Parameters
        ----------
        X : array-like of shape (n, n), (n, n_features) or (n,)
            A matrix of scores, vectors or strings; see ``kernel``.
        y : array-like of shape (n,)
            Labels.

        Raises
        ------
        InputError
            If a parameter is wrong, or X cannot be compared or learned from.
        ValueError
            If scikit-learn refuses X or y.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        objects, labels = self._read(X, y, reset=True)
        codes = self._encode(labels)
        self._lifted()  # what is wrong is said before anything is aligned
        cascade = self._checked_cascade()
        landmarks, part, dataset, again, aligned = self._choose(objects, codes, self._class_names())
        self._train(landmarks, part, dataset.digests, again, aligned, cascade)
        self.cascade_ = self.landmark_classifier_.cascade
        return self

    def _lifted(
        self, views: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """See :meth:`LandmarkDecisions._lifted`; the views are those of the parameter."""
        known, lift = super()._lifted(self.views)
        if known["vectors"]:
            raise self._wrong(
                "views: vectors beside other objects are for the workflow. X holds one kind of "
                "objects."
            )
        if known["words"] and self.kernel != AlignmentKernel.name:
            raise self._wrong(
                f"views: only sequences have words, and the kernel {self.kernel!r} compares "
                f"others. Leave them out, or use {AlignmentKernel.name!r}."
            )
        return known, lift

    def _checked_cascade(self) -> dict[str, Any] | None:
        """Return the cascade, checked and complete as that of a recipe of the config."""
        part = {"properties": {"cascade": schema()["$defs"]["recipe"]["properties"]["cascade"]}}
        content = {"cascade": self.cascade}
        cascade = cascade_of(complete(content, part, type(self).__name__)["cascade"])
        if cascade is None:
            return None
        if self.kernel != AlignmentKernel.name:
            raise self._wrong(
                f"cascade: only sequences are aligned, and the kernel {self.kernel!r} compares "
                f"others. Leave it out, or use {AlignmentKernel.name!r}."
            )
        if {"loss", "alignments"} <= cascade.keys():
            raise self._wrong(
                "cascade: loss and alignments are two ways to choose one threshold. Leave out the "
                "one or the other."
            )
        if cascade.pop("records") != "model":
            raise self._wrong(
                "cascade: the training sequences are always kept with the estimator. Leave out "
                "records."
            )
        return cascade

    def answer(self, X: Any) -> Answers:
        """Return what is said of objects, by which stage, and what it cost.

        Parameters
        ----------
        X : array-like
            As for :meth:`fit`; of a precomputed matrix, of shape (n, n_training).

        Returns
        -------
        Answers
            Its ``nearest`` are places in the training objects.
        """
        check_is_fitted(self)
        given, kernel, cascade = self._seen(X), self._aligned_by, self.cascade_
        if cascade is None or kernel is None or given.objects is None:
            return self.landmark_classifier_.answer(*given)
        records = array_of(cascade.records.index.objects.sequences or ())
        asking = array_of(given.objects.sequences or ())
        found = []
        for start in range(0, len(asking), _ASKING):
            part = slice(start, start + _ASKING)
            own = asking[part]

            def ask(queries: IntArray, asked: IntArray, own: Objects = own) -> NDArray[np.int32]:
                return kernel.pairs(own[queries], records, asked)

            seen = given.scores[part], given.self_scores[part], given.lengths[part]
            answers = self.landmark_classifier_.answer(*seen, Viewed(list(own)), ask)
            found.append([getattr(answers, field.name) for field in fields(answers)])
        return Answers(*map(np.concatenate, zip(*found, strict=True)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the calibrated probabilities, of shape (n, n_classes).

        Without a cascade they are those of :meth:`LandmarkDecisions.predict_proba`. With one they
        are those of the stage that answers.
        """
        return self.answer(X).probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest decision, of shape (n,).

        With a cascade it is the class of the largest probability.
        """
        check_is_fitted(self)
        if self.cascade_ is None:
            return super().predict(X)
        labels: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels


@dataclass(eq=False, repr=False, kw_only=True)
class KreinNystroem(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LandmarkChoice):  # type: ignore[misc]
    r"""The corrected embedding of an indefinite kernel, from the columns of landmarks.

    .. math:: Z^* = C_e |a^*|^{1/2}, \qquad Z^* diag(s) \, Z^{*\prime} = C_e diag(a^*) C_e'

    with the eigenpairs C_e, a of the Nyström approximation of the training kernel and the
    corrected eigenvalues a*. scikit-learn's ``Nystroem`` flips the eigenvalues of the landmark
    matrix instead, silently, which is not the flipped kernel (here
    ``correction="flip_landmark_matrix"``).

    Parameters
    ----------
    kernel, kernel_params, kind, selector, selector_params, n_landmarks, random_state
        See :class:`~kreinflow.estimators.KreinClassifier`.
    rank : "misfit", int or float
        Eigenvalues of the landmark matrix that are kept.
    correction : str
        "flip" and others but for none and landmark_basis make inner products of the rows the
        corrected kernel, so that what follows in a pipeline may be Euclidean. With "none" they are
        indefinite: k(x, y) is the sum of z(x) z(y) with the signs ``signs_``.

    Attributes
    ----------
    n_features_in_ : int
        Columns of X; not there for strings.
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Places of the landmarks among the training objects.
    eigenvalues_ : ndarray
        Those of the approximated kernel, before the correction.
    signs_ : ndarray of shape (rank,)
        s, each +1 or -1.

    References
    ----------
    .. [1] Gisbrecht, A., Schleif, F.-M.: Metric and non-metric proximity transformations at
       linear costs. Neurocomputing 167, 643-657 (2015). doi:10.1016/j.neucom.2015.04.017
    .. [2] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from kreinflow.estimators import KreinNystroem
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> K = np.tanh(X @ X.T / 4 - 1)
    >>> map = KreinNystroem(selector="all", rank=1.0, correction="none").fit(K)
    >>> Z = map.transform(K)
    >>> bool(np.allclose((Z * map.signs_) @ Z.T, K)), int((map.signs_ < 0).sum()) > 0
    (True, True)
    """

    correction: str = "flip"

    def fit(self, X: Any, y: ArrayLike | None = None) -> "KreinNystroem":
        """Choose the landmarks and fit the factor.

        Parameters
        ----------
        X : array-like of shape (n, n), (n, n_features) or (n,)
            A matrix of scores, vectors or strings; see ``kernel``.
        y : array-like of shape (n,), optional
            Labels, for selectors that choose in each class; without them all are one class.

        Raises
        ------
        InputError
            If a parameter is wrong, or X cannot be compared.
        ValueError
            If scikit-learn refuses X or y.
        """
        objects, labels = self._read(X, y, reset=True)
        if labels is None:
            labels = np.zeros(len(objects), dtype=np.int64)
        classes, codes = np.unique(labels, return_inverse=True)
        landmarks, part, *_ = self._choose(objects, codes, tuple(map(str, classes)))
        kernel, pairs, self._embedding = self._fit_factor(landmarks, part, self._transform)
        self._centring = kernel.centring
        self._own = (
            landmarks.self_scores[landmarks.rows],
            landmarks.lengths[landmarks.rows],
        )
        self.eigenvalues_, self.signs_ = pairs.values, self._embedding.signs
        self._n_features_out = self._embedding.rank
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the rows z*(x), of shape (n, rank); each depends on its own object alone.

        Parameters
        ----------
        X : array-like
            As for :meth:`fit`; of a precomputed matrix, of shape (n, n_training).
        """
        check_is_fitted(self)
        given, (self_scores, lengths) = self._seen(X), self._own
        scores = self._transform.apply(
            given.scores, given.self_scores, self_scores, given.lengths, lengths
        )
        return self._embedding.transform(
            scores if self._centring is None else self._centring.columns(scores)
        )
