import numpy as np
import parasail
import pytest
import scipy.linalg

from kreinflow.sequences import simulation
from kreinflow.sequences.simulation import LETTERS, lg_model, simulate_families


def test_the_lg_model_is_reversible_with_unit_rate():
    Q, frequencies = lg_model()
    assert frequencies.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(Q.sum(axis=1), 0, atol=1e-14)
    flow = frequencies[:, None] * Q
    np.testing.assert_allclose(flow, flow.T, atol=1e-16)
    assert -(frequencies @ np.diag(Q)) == pytest.approx(1, abs=1e-14)
    assert (Q[~np.eye(20, dtype=bool)] > 0).all()
    # The published figures.
    R = Q / frequencies
    at = LETTERS.index
    ratio = {"IV": 10.649107, "EC": 0.003499, "YF": 7.803902}
    for a, b in ratio:
        scaled = R[at(a), at(b)] / R[at("R"), at("A")]
        assert scaled == pytest.approx(ratio[a + b] / 0.425093, rel=1e-6)
    assert LETTERS[frequencies.argmax()] == "L"
    assert LETTERS[frequencies.argmin()] == "W"


@pytest.mark.parametrize("time", [0.0, 0.1, 1.0, 5.0])
def test_transition_probabilities_are_the_matrix_exponential(time):
    P = simulation.transition_probabilities(time)
    np.testing.assert_allclose(P, scipy.linalg.expm(lg_model()[0] * time), atol=1e-13)


def test_residues_change_as_often_as_the_model_says():
    random = np.random.default_rng(0)
    _, frequencies = lg_model()
    start = simulation._random_residues(200_000, random)
    np.testing.assert_allclose(np.bincount(start, minlength=20) / 200_000, frequencies, atol=0.003)
    end = simulation._inverse(simulation._cumulative(0.5)[start], random.random(len(start)))
    same = float(frequencies @ np.diag(simulation.transition_probabilities(0.5)))
    assert (start == end).mean() == pytest.approx(same, abs=0.005)
    np.testing.assert_allclose(np.bincount(end, minlength=20) / 200_000, frequencies, atol=0.003)


def test_indels_balance_and_never_empty_a_sequence(monkeypatch):
    monkeypatch.setattr(simulation, "INDELS", 0.5)
    random = np.random.default_rng(1)
    start = simulation._random_residues(200, random)
    lengths = [len(simulation._evolve(start, 1.0, random)) for _ in range(300)]
    assert min(lengths) >= simulation.SHORTEST
    assert len(set(lengths)) > 50
    assert np.mean(lengths) == pytest.approx(200, abs=10)


def test_more_families_or_sequences_leave_the_others_as_they_were():
    few = {s.id: s.residues for s in simulate_families(5, 60, seed=1)}
    for more in (simulate_families(6, 72, seed=1), simulate_families(5, 90, seed=1)):
        known = {s.id: s.residues for s in more}
        shared = few.keys() & known.keys()
        assert len(shared) > 50
        assert all(few[id] == known[id] for id in shared)


def test_simulated_families_are_neither_trivial_nor_hopeless():
    """Nearest neighbour by normalised Smith-Waterman scores, on every third query."""
    records = simulate_families(8, 480, seed=1)
    assert len({r.residues for r in records}) == 480
    assert 100 < np.mean([len(r.residues) for r in records]) < 150
    texts = [r.residues.decode() for r in records]
    own = np.array([parasail.sw(t, t, 12, 1, parasail.blosum62).score for t in texts])
    queries = range(0, 480, 3)
    right = 0
    for i in queries:
        profile = parasail.profile_create_sat(texts[i], parasail.blosum62)
        scores = np.array([parasail.sw_striped_profile_sat(profile, t, 12, 1).score for t in texts])
        scores = scores / np.sqrt(own * own[i])
        scores[i] = -1
        right += records[i].label == records[int(scores.argmax())].label
    assert 0.90 <= right / len(queries) <= 0.99
