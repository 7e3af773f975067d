"""How estimators choose landmarks: from a matrix, vectors with a kernel, or sequences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.errors import InputError
from kreinflow.config.cross_references import asymmetry_fault
from kreinflow.config.schema import complete_method
from kreinflow.estimators.alignment_kernel import AlignmentKernel
from kreinflow.estimators.base import SYMMETRY, LandmarkDecisions, LandmarkFactor, has_columns
from kreinflow.fitting.inner_folds import ChooseAgain
from kreinflow.fitting.run import Run
from kreinflow.kernels.asked import KINDS, numbered
from kreinflow.kernels.function import Compare, FunctionKernel
from kreinflow.kernels.kernel import Kernel, Objects
from kreinflow.kernels.registry import ASKED, KERNELS
from kreinflow.krein.landmark_kernel import Landmarks
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.landmarks.score_free import NamedLandmarks
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import MATRIX_KINDS, check_matrix, refuse_unfit
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Compared, Matrix, Payload, Sequences
from kreinflow.sequences.scores import KernelScores, columns_in_memory, scores_in_memory

PRECOMPUTED = "precomputed"

COMPARED: Mapping[str, type[Kernel | AlignmentKernel]] = {
    **KERNELS,
    AlignmentKernel.name: AlignmentKernel,
}
"""The kernels that estimators can compute, by name."""

CHOSEN = {name: kind for name, kind in SELECTORS.items() if kind is not NamedLandmarks}
"""The selectors that choose, by name."""


@dataclass(eq=False, repr=False, kw_only=True)
class LandmarkChoice(LandmarkFactor):
    """The parameters by which landmarks are chosen, and the choice."""

    kernel: str = field(default=PRECOMPUTED, kw_only=False)
    kernel_params: Mapping[str, Any] | None = None
    selector: str = "meb"
    selector_params: Mapping[str, Any] | None = None
    n_landmarks: int | None = None
    metric: Compare | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.string = self._lists
        tags.input_tags.two_d_array = not self._lists
        return tags

    @property
    def _given(self) -> bool:
        """Whether X is a matrix of scores."""
        return self.kernel == PRECOMPUTED and self.metric is None

    @property
    def _lists(self) -> bool:
        """Whether X is a list of strings, sequences or other objects."""
        strings = self.kernel in COMPARED and COMPARED[self.kernel].strings
        return self.metric is not None or strings

    @property
    def _transform(self) -> ScoreTransform:
        return super()._transform if self._aligned_by is None else self._aligned_by.transform

    def _make_kernel(self) -> Kernel | AlignmentKernel | None:
        """Return the kernel, None if its values are given."""
        if self.metric is not None:
            return self._make_metric(self.metric)
        if self.kernel == PRECOMPUTED:
            if self.kernel_params:
                raise self._wrong("kernel_params: a precomputed matrix takes none.")
            return None
        content = {**(self.kernel_params or {}), "name": self.kernel}
        settings = complete_method(COMPARED, content, "kernel", type(self).__name__)
        return COMPARED[self.kernel](settings)

    def _make_metric(self, metric: Compare) -> FunctionKernel:
        if self.kernel != PRECOMPUTED or not callable(metric):
            raise self._wrong("metric: is a function of two lists, in place of a kernel.")
        if self.kind not in KINDS:
            raise self._wrong(f"kind: {self.kind!r} is none of {', '.join(KINDS)}.")
        name = f"{metric.__module__}:{getattr(metric, '__qualname__', type(metric).__name__)}"
        content = {**(self.kernel_params or {}), "name": "function", "function": name}
        content |= {"kind": self.kind}
        settings = complete_method(ASKED, content, "metric", type(self).__name__)
        return FunctionKernel(settings, metric)

    def _selector_settings(self, transform: str) -> dict[str, Any]:
        content = {**(self.selector_params or {}), "method": self.selector}
        if "transform" in content or ("budget" in content and self.n_landmarks is not None):
            raise self._wrong(
                "selector_params: the number of landmarks is n_landmarks, and of alignments the "
                "transform is that of kernel_params. Leave both out."
            )
        if self.selector in CHOSEN and "transform" in CHOSEN[self.selector].settings_schema:
            content["transform"] = transform
        if self.n_landmarks is not None:
            content["budget"] = self.n_landmarks
        return complete_method(CHOSEN, content, "selector", type(self).__name__)

    def _read(self, X: Any, y: Any = None, *, reset: bool) -> tuple[Any, Any]:
        if self._lists:
            objects = _strings(X) if self.metric is None else _listed(X)
            if y is not None:
                y = y if has_columns(y) else column_or_1d(y, warn=True)
                check_consistent_length(objects, y)
            return objects, y
        given = {"X": X} if y is None else {"X": X, "y": y, "multi_output": has_columns(y)}
        read = validate_data(
            self, **given, dtype=np.float64, order="C", reset=reset, ensure_min_samples=1 + reset
        )
        objects, labels = (read, None) if y is None else read
        if reset and self._given and objects.shape[0] != objects.shape[1]:
            raise ValueError(
                f"X is of shape {objects.shape}. With kernel 'precomputed' it must be square, the "
                "scores of the training objects with each other."
            )
        return objects, labels

    def _choose(
        self, X: Any, codes: NDArray[np.int64], classes: tuple[str, ...]
    ) -> tuple[Run, Landmarks, ChooseAgain | None]:
        """Choose landmarks among the training objects; see :meth:`Run.choose_again`, too."""
        seed, kernel = self._checked("random_state")["random_state"], self._make_kernel()
        if kernel is None:
            self._checked("kind")
        dataset = _dataset(X, kernel, self.kind, codes, classes)
        self._aligned_by = kernel if isinstance(kernel, AlignmentKernel) else None
        transform = self._transform
        settings = self._selector_settings(transform.name)
        if dataset.kind == "asymmetric":
            learner = self.learner if isinstance(self, LandmarkDecisions) else None
            if fault := asymmetry_fault(settings["method"], learner, self.correction):
                raise self._wrong(fault)
        if self._aligned_by is None:
            scores = scores_in_memory(dataset)
        else:
            scores = self._aligned_by.aligned(dataset.sequences)
        stage = LandmarkStage(dataset, scores, {transform.name: transform}, seed)
        selector = CHOSEN[settings["method"]](settings)
        table = stage.select(selector)
        rows = table["row"].to_numpy(np.int64)
        columns = columns_in_memory(dataset, scores, rows)
        groups = dataset.first_identical[dataset.rows]
        partition = Partition(groups, np.empty((0, len(codes)), dtype=np.int64))
        run = Run(dataset, partition, columns, rows, scores.self_scores())
        self.landmark_indices_ = np.unique(dataset.rows, return_index=True)[1][rows]
        self._landmarks = dataset.payload.take(rows)
        return run, run.landmarks(table), run.choose_again(stage, selector, len(table))

    def _query(self, X: Any) -> Query:
        objects, _ = self._read(X, reset=False)
        landmarks, kernel = self._landmarks, self._aligned_by
        if kernel is not None and isinstance(landmarks, Sequences):
            return kernel.query(kernel.read(objects), landmarks.residues)
        if not isinstance(landmarks, Compared):
            columns = np.ascontiguousarray(objects[:, self.landmark_indices_])
            return Query.measured(self._squared("X", columns, self.landmark_indices_.tolist()))
        read, n = _compared(objects, landmarks.kernel), len(objects)
        if landmarks.kernel.asked:
            ids = [f"row {row} of X" for row in range(n)], numbered(landmarks.objects)
            return Query.measured(landmarks.kernel.compare(read, landmarks.objects, *ids))
        everything = np.concatenate([read, landmarks.objects])
        scores = KernelScores(everything, landmarks.kernel, lambda row: f"row {row} of X")
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            found = scores.rectangle(np.arange(n), np.arange(n, len(everything)))
        return Query.measured(found)


def _strings(X: Any) -> Objects:
    values = [] if isinstance(X, str | bytes) else list(X)
    if not values or not all(isinstance(value, str | bytes) for value in values):
        raise InputError(f"X: {repr(X)[:60]} is no list of strings. Give one string an object.")
    return np.array(values, dtype=object)


def _listed(X: Any) -> Objects:
    """Return any objects as an array of them."""
    if isinstance(X, str | bytes) or not hasattr(X, "__len__") or not len(X):
        raise InputError(f"X: {repr(X)[:60]} is no list of objects.")
    objects = np.empty(len(X), dtype=object)
    for place, value in enumerate(X):
        objects[place] = value
    return objects


def _compared(X: Any, kernel: Kernel) -> Objects:
    """Return vectors or strings as the kernel takes them."""
    objects: Objects = X if kernel.strings else X + 0.0  # -0.0 is 0.0
    refuse_unfit("X", kernel, objects)
    return objects


def _dataset(
    X: Any,
    kernel: Kernel | AlignmentKernel | None,
    kind: str,
    codes: NDArray[np.int64],
    classes: tuple[str, ...],
) -> Dataset:
    """Return the data set that the workflow makes of a matrix without ids, or of objects.

    Identical objects of a class stand there once. Those of different classes stay apart.
    """
    ids = tuple(str(number) for number in range(1, len(codes) + 1))
    if kernel is None:
        matrix = check_matrix(Path("X"), X, kind, SYMMETRY)[0]
        payload: Payload = Matrix(matrix, kind=MATRIX_KINDS[kind], numbered=True)
    elif isinstance(kernel, AlignmentKernel):
        payload = Sequences(kernel.read(X))
    else:
        payload = Compared(_compared(X, kernel), kernel)
    contents = payload.contents(ids)
    row_of: dict[tuple[bytes, int], int] = {}
    keys = zip(contents, codes.tolist(), strict=True)
    rows = np.array([row_of.setdefault(key, len(row_of)) for key in keys], dtype=np.int64)
    first, names = np.unique(rows, return_index=True)[1], payload.digests(contents)
    digests = tuple(names[record] for record in first)
    return Dataset(ids, codes, classes, rows, digests, payload.take(first))
