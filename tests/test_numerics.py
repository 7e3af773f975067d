"""Products in constant tiles do not depend on what else is in the batch."""

import numpy as np

from kreinflow.numerics import TILE, tiled_product, tiles


def test_rows_do_not_depend_on_their_neighbours():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(TILE + 37, 61)), rng.normal(size=(61, 5))
    whole = tiled_product(A, B)
    np.testing.assert_allclose(whole, A @ B, rtol=1e-12, atol=1e-12)
    for rows in (slice(0, 1), slice(5, 8), slice(TILE - 1, TILE + 2), slice(TILE, None)):
        np.testing.assert_array_equal(tiled_product(A[rows], B), whole[rows])


def test_tiles_cover_all_rows_once():
    for n in (0, 1, TILE, TILE + 1, 3 * TILE - 1):
        covered = [i for rows in tiles(n) for i in range(rows.start, rows.stop)]
        assert covered == list(range(n))
