"""A classifier over the scores with landmarks that are given."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_consistent_length, validate_data

from kreinflow.answering.query_and_answers import Query
from kreinflow.base.numerics import LARGEST_ENTRY, FloatArray
from kreinflow.estimators.base import SYMMETRY, LandmarkDecisions, has_columns
from kreinflow.fitting.pipeline import LiftSource
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.sequences.matrix_files import MATRIX_KINDS, check_matrix
from kreinflow.sequences.payload import row_digests
from kreinflow.views.objects import Viewed


@dataclass(eq=False, repr=False, kw_only=True)
class NystroemClassifier(LandmarkDecisions):
    r"""A classifier of indefinite similarities from m columns of their matrix.

    From the columns C = K[:, S] of the landmarks S and W = K[S, S] it makes the Nyström factor
    with W = U diag(l) U' over the ``rank`` largest \|l\|,

    .. math:: Z = C U |l|^{-1/2}, \qquad \tilde K = Z \, diag(sign(l)) \, Z' ,

    corrects its spectrum, and fits a learner to its rows. Nothing of the size of K is ever made.
    New objects need their scores with the m landmarks alone.

    Parameters
    ----------
    landmark_matrix : array-like of shape (m, m)
        W, the scores among the landmarks.
    kind : {"similarity", "zero_diagonal_similarity", "dissimilarity", "squared_dissimilarity"}
        What the entries of W and C are. Dissimilarities are squared and centred at linear cost.
    rank : "misfit", int or float
        Eigenvalues of W that are kept: so many, or that share of them; "misfit" chooses by the
        self-similarities (:class:`~kreinflow.krein.factor.KreinFactor`).
    correction : str
        none, flip, clip, square or shift; or landmark_basis, flip_landmark_matrix, landmark_mds
        (:mod:`kreinflow.krein.correction`).
    learner, learner_params : str, mapping
        A method of :data:`kreinflow.learners.registry.LEARNERS`, and its settings as in the config.
    lift : mapping, optional
        A kernel over the scores, in whose place the learner sees it, with the settings of the
        config: ``kernel``, ``width``, ``inducing``; see :mod:`kreinflow.views.lift`. It has a
        factor of its own, so there is no rank to choose and nothing to correct.
    inner_folds : int
        Folds of the training records on which hyper-parameters and temperature are chosen.
    random_state : int
        The seed of inner folds and of learners that draw.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
        m.
    landmark_classifier_ : LandmarkClassifier
        The trained function of the scores, with temperature and reject threshold: at most 5 %
        errors of new objects above it, with 90 % confidence.
    training_ : dict
        What the training said: rank, hyper_parameters, inner_accuracy, converged and more.

    Notes
    -----
    A row of C that equals a row of W is taken for that landmark. ``ny_pcvm`` and ``ny_epcvm`` with
    their basis at the landmarks need some of them among the rows, and ``nearest_landmark`` knows
    the classes of those alone.

    References
    ----------
    .. [1] Schleif, F.-M., Gisbrecht, A., Tino, P.: Supervised low rank indefinite kernel
       approximation using minimum enclosing balls. Neurocomputing 318, 213-226 (2018).
       doi:10.1016/j.neucom.2018.08.057
    .. [2] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97.

    Examples
    --------
    >>> import numpy as np
    >>> from kreinflow.estimators import NystroemClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + np.repeat([[0], [3]], 30, axis=0)
    >>> K = np.tanh(X @ X.T / 4 - 1)  # indefinite
    >>> y, landmarks = np.repeat(["a", "b"], 30), np.arange(0, 60, 5)
    >>> model = NystroemClassifier(landmark_matrix=K[np.ix_(landmarks, landmarks)])
    >>> model.fit(K[:, landmarks], y, self_similarities=np.diagonal(K)).training_["rank"]
    6
    >>> model.score(K[:, landmarks], y) > 0.9
    True
    """

    landmark_matrix: ArrayLike = field(kw_only=False)
    _kinds: ClassVar = tuple(kind for kind in MATRIX_KINDS if kind != "asymmetric")

    def fit(
        self, C: ArrayLike, y: ArrayLike, self_similarities: ArrayLike | None = None
    ) -> "NystroemClassifier":
        """Fit the factor and the learner.

        Raises InputError or ValueError if W, C or y do not fit.

        Parameters
        ----------
        C : array-like of shape (n, m)
            Scores of the training records with the landmarks.
        y : array-like of shape (n,), or of shape (n, n_labels)
            Labels; or of several a record, 1 where it has a label and 0 where it does not.
        self_similarities : array-like of shape (n,), optional
            Scores of the records with themselves, which choose the rank; by default the mean of
            W's diagonal, as of normalised scores. Dissimilarities do not need them.
        """
        self._checked("kind")
        recipe = self._recipe()
        given, y = validate_data(
            self, C, y, dtype=np.float64, order="C", multi_output=has_columns(y)
        )
        codes, memberships = self._encode(y)
        plain, W = self._landmark_matrix(given.shape[1])
        scores = self._squared("C", given, range(given.shape[1]))
        if not (np.abs(scores) <= LARGEST_ENTRY).all():
            raise self._wrong(f"C: a score is above {LARGEST_ENTRY:g} in size. Correct it.")
        n, m = scores.shape
        own = np.full(n, np.diagonal(W).mean())
        if self_similarities is not None:
            own = check_array(self_similarities, dtype=np.float64, ensure_2d=False).ravel()
            check_consistent_length(given, own)
        # Records, then landmarks, have numbers; what is alike has that of its first landmark, or
        # of its first record.
        landmark_of, record_of = _places(plain), _places(given)
        numbers = record_of | {key: n + place for key, place in landmark_of.items()}
        rows = np.array([numbers[row.tobytes()] for row in given], dtype=np.int64)
        landmark_rows = np.array([landmark_of[row.tobytes()] for row in plain], dtype=np.int64)
        landmark_classes = np.full(m, -1, dtype=np.int64)
        landmark_classes[rows[rows >= n] - n] = codes[rows >= n]
        # Landmarks that are alike have one class.
        landmark_classes = landmark_classes[landmark_rows]
        landmarks = Landmarks(
            scores=np.concatenate([scores, W]),
            self_scores=np.concatenate([own, np.diagonal(W)]),
            lengths=np.zeros(n + m),
            rows=n + landmark_rows,
            classes=landmark_classes,
            kind=MATRIX_KINDS[self.kind],
        )
        everything = np.concatenate([given, plain])[:, np.unique(landmark_rows)]
        digests = row_digests(everything, np.abs(given).max())
        part = TrainingPart(
            rows=rows,
            labels=codes,
            groups=np.array(digests[:n]),
            classes=tuple(map(str, self.classes_)),
            memberships=memberships,
        )
        self._train(recipe, landmarks, part, LiftSource(Viewed(), digests))
        return self

    def _landmark_matrix(self, m: int) -> tuple[FloatArray, FloatArray]:
        """Return W as given, and symmetric with dissimilarities squared."""
        name = "landmark_matrix"
        given = check_array(self.landmark_matrix, dtype=np.float64, order="C", input_name=name)
        if given.shape != (m, m):
            raise self._wrong(
                f"{name}: is of shape {given.shape}, but C has {m} columns. Give the scores among "
                f"these {m} landmarks, in the order of the columns."
            )
        return given, check_matrix(Path(name), given, self.kind, SYMMETRY)[0]

    def _query(self, X: Any) -> Query:
        given = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return Query.measured(self._squared("C", given, range(given.shape[1])))


def _places(rows: FloatArray) -> dict[bytes, int]:
    """Return the first place of each distinct row."""
    return {row.tobytes(): i for i, row in reversed(list(enumerate(rows)))}
