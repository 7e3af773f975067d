"""Estimators that choose their landmarks; see :mod:`kreinflow.estimators.choice`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kreinflow.answering.query_and_answers import Answers
from kreinflow.base.numerics import FloatArray
from kreinflow.config.cross_references import cascade_fault, cascade_of
from kreinflow.estimators.alignment_kernel import AlignmentKernel
from kreinflow.estimators.base import LandmarkDecisions
from kreinflow.estimators.choice import LandmarkChoice
from kreinflow.fitting.pipeline import LiftSource
from kreinflow.sequences.partition import ALL
from kreinflow.sequences.scores import evidence_of


@dataclass(eq=False, repr=False, kw_only=True)
class KreinClassifier(LandmarkDecisions, LandmarkChoice):
    r"""A classifier that chooses its landmarks among the training objects.

    It learns from their columns as :class:`~kreinflow.estimators.NystroemClassifier`. New objects
    are compared with the landmarks alone.

    Parameters
    ----------
    kernel : str
        "precomputed" (X is a square matrix of scores; of new objects a row each, with a column for
        each training object); a kernel of :data:`kreinflow.kernels.registry.KERNELS` (X holds
        vectors, or for ``edit_distance`` strings); or "alignment" (X is a list of sequences).
    kernel_params : mapping, optional
        Its settings, as in the config; of alignments also ``transform``, ``molecule``, ``threads``.
    kind : str
        What the entries of a precomputed matrix are: "similarity", "zero_diagonal_similarity",
        "dissimilarity", "squared_dissimilarity", or "asymmetric": similarities of the rows with the
        columns, which few selectors, corrections and learners take. Also what ``metric`` returns.
    selector : str
        A method of :data:`kreinflow.landmarks.registry.SELECTORS`, but for ``given``; "meb" are
        class-wise minimum enclosing balls.
    selector_params : mapping, optional
        Its settings, as in the config, without transform.
    metric : callable, optional
        A similarity of your own, in place of a kernel: a function of two lists of objects that
        returns an array of shape (len(a), len(b)), of the ``kind``. X is a list of any objects. It
        is asked for each pair once, of those that landmarks are chosen by and of their columns
        alone. ``kernel_params`` may have ``batch``, ``timeout`` and ``self``, see
        :class:`~kreinflow.kernels.asked.AskedKernel`.
    n_landmarks : int, optional
        The budget; "meb" and "all" know a number of their own.
    views : mapping, optional
        ``{"words": [1, 2, 3]}``: words of sequences beside their scores, to which they are added if
        there is no ``lift``; see :mod:`kreinflow.views.objects`.
    cascade : mapping, optional
        For the kernel "alignment": ``{"loss": 0.005}`` (or ``{}``) is the accuracy that may be lost
        against asking for all training sequences, ``{"alignments": 40}`` the mean number of
        alignments for a sequence. :meth:`decision_function` stays that of the landmarks alone.
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
        What the training said: rank, hyper_parameters, inner_accuracy, converged and more.

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

        Raises InputError or ValueError if a parameter, X or y is wrong.

        Parameters
        ----------
        X : array-like of shape (n, n), (n, n_features) or (n,)
            A matrix of scores, vectors or strings; see ``kernel``.
        y : array-like of shape (n,), or of shape (n, n_labels)
            Labels; or of several a record, 1 where it has a label and 0 where it does not.
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        objects, labels = self._read(X, y, reset=True)
        codes, memberships = self._encode(labels)
        recipe = self._recipe(views=self.views or {}, cascade=self.cascade)  # before aligning
        if recipe["cascade"] is not None and memberships is not None:
            raise self._wrong("cascade: it is for records of one label each. Leave it out.")
        names = tuple(map(str, self.classes_))
        run, landmarks, again = self._choose(objects, codes, names)
        part = replace(run.training_part(ALL), memberships=memberships)
        scheme, aligned = None, {}
        if (kernel := self._aligned_by) is not None:
            scheme = kernel.scheme
            aligned = {
                "cache": kernel.pair_scores(run.dataset.sequences),
                "evidence": evidence_of({}, scheme),
            }
        self._train(recipe, landmarks, part, LiftSource.of(run, scheme), again, **aligned)
        self.cascade_ = self.landmark_classifier_.cascade
        return self

    def _recipe(self, **others: Any) -> dict[str, Any]:
        """See :meth:`LandmarkDecisions._recipe`; only sequences have words and cascades."""
        recipe = super()._recipe(**others)
        views, cascade = recipe["views"], cascade_of(recipe["cascade"])
        if views["vectors"]:
            raise self._wrong(
                "views: vectors beside other objects are for the workflow. X holds one kind of "
                "objects."
            )
        if self.kernel != AlignmentKernel.name and (views["words"] or cascade):
            raise self._wrong(
                "views, cascade: only sequences have words and are aligned, and the kernel "
                f"{self.kernel!r} compares others. Leave them out, or use {AlignmentKernel.name!r}."
            )
        if cascade is not None:
            if fault := cascade_fault(cascade):
                raise self._wrong(fault)
            if cascade.pop("records") != "model":
                raise self._wrong("cascade: training sequences are always kept. Leave out records.")
        return recipe | {"cascade": cascade}

    def answer(self, X: Any) -> Answers:
        """Return what is said of objects, by which stage, and what it cost.

        X is as for :meth:`fit`; a precomputed matrix has the shape (n, n_training). The answers'
        ``nearest`` are places in the training objects.
        """
        check_is_fitted(self)
        query, kernel, cascade = self._query(X), self._aligned_by, self.cascade_
        if cascade is None or kernel is None or query.objects is None:
            return super().answer(X)
        n, records = len(query), cascade.records.index.objects.sequences or ()
        scores = kernel.pair_scores([*(query.objects.sequences or ()), *records])
        ask = scores.of_rows(np.arange(n), n + np.arange(len(records)))
        return self.landmark_classifier_.answer(replace(query, ask=ask))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the calibrated probabilities of the answers, of shape (n, n_classes)."""
        return self.answer(X).probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest decision; with a cascade, of the largest probability."""
        check_is_fitted(self)
        if self.cascade_ is None:
            return super().predict(X)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


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
    kernel, kernel_params, kind, metric, selector, selector_params, n_landmarks, random_state
        See :class:`~kreinflow.estimators.KreinClassifier`.
    rank : "misfit", int or float
        Eigenvalues of the landmark matrix that are kept.
    correction : str
        But for none and landmark_basis inner products of the rows are the corrected kernel, so that
        what follows in a pipeline may be Euclidean. With "none" k(x, y) is the sum of z(x) z(y)
        with the signs ``signs_``.

    Attributes
    ----------
    n_features_in_, landmark_indices_
        See :class:`~kreinflow.estimators.KreinClassifier`.
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
        """Choose the landmarks and fit the factor; see :meth:`KreinClassifier.fit`.

        ``y`` are labels for selectors that choose in each class; without them all are one class.
        """
        objects, labels = self._read(X, y, reset=True)
        if labels is None:
            labels = np.zeros(len(objects), dtype=np.int64)
        classes, codes = np.unique(labels, return_inverse=True)
        run, landmarks, _ = self._choose(objects, codes, tuple(map(str, classes)))
        kernel, pairs, self._embedding = self._fit_factor(landmarks, run.training_part(ALL))
        self._centring = kernel.centring
        self._own = (landmarks.self_scores[landmarks.rows], landmarks.lengths[landmarks.rows])
        self.eigenvalues_, self.signs_ = pairs.values, self._embedding.signs
        self._n_features_out = self._embedding.rank
        return self

    def transform(self, X: Any) -> FloatArray:
        """Return the rows z*(x), of shape (n, rank); each depends on its own object alone.

        X is as for :meth:`fit`; a precomputed matrix has the shape (n, n_training).
        """
        check_is_fitted(self)
        given, (self_scores, lengths) = self._query(X), self._own
        scores = self._transform.apply(
            given.scores, given.self_scores, self_scores, given.lengths, lengths
        )
        return self._embedding.transform(
            scores if self._centring is None else self._centring.columns(scores)
        )
