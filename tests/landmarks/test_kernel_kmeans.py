import numpy as np

from kreinflow.landmarks.kernel_kmeans import KernelKMeansPlusPlus
from kreinflow.landmarks.weighted_draw import draw_row
from landmarks.made_up import flip, indefinite_kernel, keys_of, sketch_of


def test_draws_are_those_of_the_dense_flipped_kernel():
    """The sketch has the rank of the kernel, so its distances are exact."""
    K = indefinite_kernel(70, 14, 6, seed=1)
    keys = keys_of(70)
    H = flip(K)
    D = np.diag(H)[:, None] + np.diag(H) - 2 * H
    drawn = []
    free, rates = np.ones(70, dtype=bool), np.ones(70)
    for step in range(15):
        drawn.append(draw_row(rates, free, keys, step))
        free[drawn[-1]] = False
        rates = np.maximum(D[:, drawn].min(axis=1), 0.0)
    for count in (25, None):
        chosen = KernelKMeansPlusPlus({"budget": 15}).choose(sketch_of(K, count), 15, keys)
        assert chosen.tolist() == drawn
