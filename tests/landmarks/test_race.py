import numpy as np

from kreinflow.landmarks.race import arrivals, draw_row
from landmarks.made_up import keys_of


def test_the_first_to_arrive_follows_the_rates():
    rates = np.array([1.0, 0.0, 4.0, 3.0])
    keys = keys_of(4)
    drawn = [int(np.argmin(arrivals(rates, keys, t))) for t in range(20_000)]
    shares = np.bincount(drawn, minlength=4) / 20_000
    # Four standard deviations of a share.
    np.testing.assert_allclose(shares, rates / rates.sum(), atol=4 * np.sqrt(0.25 / 20_000))
    assert shares[1] == 0


def test_pairs_without_replacement():
    rates = np.array([1.0, 2.0, 3.0])
    keys = keys_of(3)
    counts = np.zeros((3, 3))
    for t in range(20_000):
        first, second = np.argsort(arrivals(rates, keys, t))[:2]
        counts[first, second] += 1
    p = rates / rates.sum()
    expected = p[:, None] * p / (1 - p[:, None])
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(counts / 20_000, expected, atol=4 * np.sqrt(0.25 / 20_000))


def test_only_free_rows_are_drawn_and_all_alike_without_rates():
    free = np.array([True, False, True])
    keys = keys_of(3)
    drawn = [draw_row(np.array([0.0, 9.0, 0.0]), free, keys, t) for t in range(2000)]
    assert set(drawn) == {0, 2}
    assert abs(np.mean(drawn) - 1) < 4 / np.sqrt(2000)
    assert draw_row(np.array([0.0, 9.0, 1e-300]), free, keys, 0) == 2
    assert draw_row(np.array([1e300, 9.0, 1e-300]), free, keys, 0) == 0
