import numpy as np

from kreinflow.landmarks.weighted_draw import arrivals, draw_row
from landmarks.made_up import keys_of


def test_the_first_two_to_arrive_follow_the_rates_without_replacement():
    rates = np.array([1.0, 0.0, 4.0, 3.0])
    keys = keys_of(4)
    counts = np.zeros((4, 4))
    for t in range(20_000):
        first, second = np.argsort(arrivals(rates, keys, t))[:2]
        counts[first, second] += 1
    p = rates / rates.sum()
    expected = p[:, None] * p / (1 - p[:, None])
    np.fill_diagonal(expected, 0.0)
    # Four standard deviations of a share.
    np.testing.assert_allclose(counts / 20_000, expected, atol=4 * np.sqrt(0.25 / 20_000))
    assert not counts[1].any()
    assert not counts[:, 1].any()


def test_only_free_rows_are_drawn_and_all_alike_without_rates():
    free = np.array([True, False, True])
    keys = keys_of(3)
    drawn = [draw_row(np.array([0.0, 9.0, 0.0]), free, keys, t) for t in range(2000)]
    assert set(drawn) == {0, 2}
    assert abs(np.mean(drawn) - 1) < 4 / np.sqrt(2000)
    assert draw_row(np.array([0.0, 9.0, 1e-300]), free, keys, 0) == 2
    assert draw_row(np.array([1e300, 9.0, 1e-300]), free, keys, 0) == 0
