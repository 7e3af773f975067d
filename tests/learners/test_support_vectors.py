"""SVC on the factor: the precomputed kernel, and the Krein SVM with its signs back."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.svm import SVC

from krein_problems import embedding_of, indefinite_kernel, learned


@pytest.mark.parametrize("correction", ["flip", "clip", "square", "shift"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_the_machine_of_the_precomputed_corrected_kernel(correction, n_classes):
    K, k, y = indefinite_kernel(90, n_classes=n_classes)
    embedding = embedding_of(K, correction)
    Z, new = embedding.transform(K), embedding.transform(k)
    fitted = learned({"method": "svc", "penalty": 5.0}, Z, embedding.signs, y)
    ours = fitted.decision.decide(new)
    assert fitted.converged
    gram = Z @ Z.T
    scale = np.trace(gram) / len(gram)
    for c in range(n_classes):
        theirs = SVC(kernel="precomputed", C=5.0, tol=1e-6).fit(gram / scale, y == c)
        expected = theirs.decision_function(new @ Z.T / scale)
        np.testing.assert_allclose(ours[:, c], expected, atol=1e-3)


@pytest.mark.parametrize("width", [20, 60])
def test_one_kernel_for_all_machines_gives_the_bits_of_libsvms_rows(width):
    """Of many columns the kernel is made once; of few libsvm makes the rows that it needs."""
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(90, width)), np.arange(90) % 3
    fitted = learned({"method": "svc", "penalty": 5.0}, Z, np.ones(width), y)
    root = np.sqrt(np.einsum("ij,ij->", Z, Z) / len(Z))
    machines = [SVC(kernel="linear", C=5.0, tol=1e-5).fit(Z / root, y == c) for c in range(3)]
    expected = np.stack([machine.coef_[0] for machine in machines], axis=1) / root
    np.testing.assert_array_equal(
        fitted.decision.decide(np.eye(width)),
        expected + [machine.intercept_[0] for machine in machines],
    )


def test_on_flip_it_is_the_krein_svm_with_its_signs_back():
    """Loosli: the machine on U|D|U', alpha = U S U' a, and f(x) = k(x)'alpha + b, indefinite k."""
    K, k, y = indefinite_kernel(90)
    D, U = scipy.linalg.eigh(K)
    assert D.min() < -1
    flipped = (U * np.abs(D)) @ U.T
    scale = np.trace(flipped) / len(K)
    machine = SVC(kernel="precomputed", C=5.0 / scale, tol=1e-6).fit(flipped, y)
    a = np.zeros(len(K))
    a[machine.support_] = machine.dual_coef_[0]
    kept = np.abs(D) > 1e-10 * np.abs(D).max()
    alpha = (U[:, kept] * np.sign(D[kept])) @ (U[:, kept].T @ a)
    expected = k @ alpha + machine.intercept_[0]
    embedding = embedding_of(K, "flip")
    Z, new = embedding.transform(K), embedding.transform(k)
    fitted = learned({"method": "svc", "penalty": 5.0}, Z, embedding.signs, y)
    np.testing.assert_allclose(fitted.decision.decide(new)[:, 1], expected, atol=1e-3)
    # Without the signs the prediction is another.
    assert np.abs(k @ a + machine.intercept_[0] - expected).max() > 0.1


def test_records_that_any_class_rests_on_are_counted_once():
    K, _, y = indefinite_kernel(90, n_classes=3)
    embedding = embedding_of(K, "clip")
    Z = embedding.transform(K)
    fitted = learned({"method": "svc", "penalty": 1.0}, Z, embedding.signs, y)
    margins = np.where(y[:, None] == np.arange(3), 1, -1) * fitted.decision.decide(Z)
    inside, near = ((margins < 1 + gap).any(axis=1).mean() for gap in (-1e-3, 1e-3))
    assert inside <= fitted.basis_used <= near
