"""What fits over lifted kernels do without: factors that nobody asks for, ridges alike."""

import warnings

import numpy as np
import pytest

from fitting.trainings import problem
from kreinflow.alignment.transforms import make_transform
from kreinflow.base.numerics import limited
from kreinflow.fitting import training as training_module
from kreinflow.fitting.fit_lift import Lifting, positive_factor
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.learners.learner import MANY_COLUMNS
from kreinflow.learners.registry import make_learner
from kreinflow.views.objects import Viewed

SF = {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}


def lifted_training(learner):
    landmarks, part, _ = problem("similarity")
    vectors = np.random.default_rng(0).normal(size=(len(landmarks.scores), 3))
    keys = np.arange(len(vectors), dtype=np.uint64)
    recipe = {
        "name": "it",
        "transform": "raw",
        "rank": "misfit",
        "correction": "none",
        "learner": learner["method"],
        "views": {"vectors": True},
        "lift": {"kernel": "gaussian", "width": "inner", "inducing": 40},
    }

    def lifting(given):
        return Lifting(Viewed(vectors=vectors), part, given["views"], given["lift"], keys)

    fits = InnerFits(inner_partition(part, 3, 1, "it"))
    training = Training(landmarks, part, fits, RejectRule(0.05), 1, lifting)
    kernel = landmark_kernel(landmarks, part, make_transform("raw"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return training.train(recipe, learner, None, kernel)


@pytest.mark.parametrize("method", ["sf_lsm", "nearest_landmark", "linear_svc"])
def test_learners_on_the_columns_themselves_make_no_factor(method, monkeypatch):
    def refuse(kernel):
        raise AssertionError("a factor")

    monkeypatch.setattr(training_module, "positive_factor", refuse)
    trained = lifted_training({"method": method})
    assert trained.figures["rank"] == 40


def test_the_factor_of_a_lifted_kernel_has_its_inner_products():
    landmarks, part, _ = problem("similarity")
    vectors = np.random.default_rng(0).normal(size=(len(landmarks.scores), 3))
    keys = np.arange(len(vectors), dtype=np.uint64)
    settings = {"kernel": "gaussian", "width": 1.0, "inducing": 40}
    lifting = Lifting(Viewed(vectors=vectors), part, {"vectors": True}, settings, keys)
    kernel = landmark_kernel(landmarks, part, make_transform("raw"))
    everything = np.arange(len(part.rows))
    lifted = lifting.on(kernel, everything, {"scores": 1.0, "vectors": 1.0}).kernel
    factor = positive_factor(lifted)
    C, W = np.asarray(lifted.C), np.asarray(lifted.W)
    np.testing.assert_allclose(W, W.T, atol=1e-14)
    Z = np.asarray(factor.rows(lifted.C))
    expected = C @ np.linalg.pinv(W, rcond=1e-13, hermitian=True) @ C.T
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-5)
    np.testing.assert_allclose(np.tril(factor.matrix, -1), 0.0)


def test_of_many_columns_every_second_ridge_is_tried():
    learner = make_learner(SF)
    few, many = (
        [choice["ridge"] for choice in learner.choices(n)] for n in (MANY_COLUMNS, MANY_COLUMNS + 1)
    )
    assert many == [1e-2, 1e-4, 1e-6, 1e-8]
    assert set(many) < set(few)
    given = make_learner({**SF, "ridge": 0.5})
    assert given.choices(9999) == given.choices() == [{"ridge": 0.5}]


def test_little_memory_and_threads_change_no_bit_of_a_lifted_fit():
    found = []
    for threads, memory_mb in ((1, 2048), (2, 0.01)):  # 0.01: columns from a scratch file
        with limited(threads, memory_mb):
            trained = lifted_training(SF)
        found.append((trained.classifier.decision.weights, trained.figures))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
