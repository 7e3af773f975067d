"""Products in constant tiles do not depend on what else is in the batch."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import kreinflow
from kreinflow.base.numerics import (
    PRODUCT_ROWS,
    TILE,
    ahead,
    limited,
    ordered_map,
    tile_map,
    tiled_product,
)


def test_rows_do_not_depend_on_their_neighbours_or_the_threads_of_blas():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(TILE + 37, 1000)), rng.normal(size=(1000, 30))
    with threadpool_limits(2, "blas"):
        whole = tiled_product(A, B)
        np.testing.assert_allclose(whole, A @ B, rtol=1e-12, atol=1e-11)
        for start, stop in ((0, 1), (5, 105), (PRODUCT_ROWS - 9, 600), (TILE - 1, TILE + 2)):
            np.testing.assert_array_equal(tiled_product(A[start:stop], B), whole[start:stop])


@pytest.mark.parametrize("columns", [196, 300, 301])
def test_a_row_is_the_same_at_each_place_of_a_block(columns):
    """Kernels of BLAS round the rows that are left over at the end of a block otherwise."""
    rng = np.random.default_rng(columns)
    row, B = rng.normal(size=(1, 120)), rng.normal(size=(120, columns))
    alone = tiled_product(row, B)
    np.testing.assert_array_equal(
        tiled_product(np.repeat(row, 600, axis=0), B), np.repeat(alone, 600, axis=0)
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [10, TILE, 2 * TILE + 1])
def test_blas_has_one_thread_in_every_tile(n, threads):
    def blas_threads(rows):
        return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}

    with limited(threads), threadpool_limits(2, "blas"):
        assert blas_threads(None) == {2}
        assert all(found == {1} for found in tile_map(blas_threads, n))
        assert blas_threads(None) == {2}


def test_a_library_that_is_loaded_later_is_held_to_one_thread_too():
    script = """
import numpy
from threadpoolctl import threadpool_info
from kreinflow.base.numerics import single_threaded

print(*(pool["num_threads"] for pool in threadpool_info()))
with single_threaded():
    import scipy.linalg
    print(*(pool["num_threads"] for pool in threadpool_info()))
"""
    threads = {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    library = str(Path(kreinflow.__file__).parents[1])
    environment = {**os.environ, **threads, "PYTHONPATH": library}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    before, after = (line.split() for line in run.stdout.splitlines())
    assert len(after) > len(before) > 0  # scipy brings a BLAS of its own
    assert set(before) == {"2"}
    assert set(after) == {"1"}


WITHOUT_ROOM = """
import resource, sys
import numpy as np, scipy.linalg
from kreinflow.base.numerics import single_threaded
symmetric = np.random.default_rng(1).normal(size=(200, 200))
symmetric += symmetric.T
(used,) = (line for line in open("/proc/self/status") if line.startswith("VmSize"))
limit = int(used.split()[1]) * 1024 + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    with single_threaded():
        scipy.linalg.eigh(symmetric, driver="evd")
        symmetric @ symmetric
except (MemoryError, OSError) as error:
    print("refused:", error)
else:
    print("done")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
@pytest.mark.parametrize(
    ("megabytes", "said"), [(8, "refused: [Errno 12] Cannot allocate memory\n"), (200, "done\n")]
)
def test_blas_without_memory_neither_waits_for_ever_nor_ends_the_process(megabytes, said):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROOM, str(megabytes)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stdout) == (0, said), done.stderr


def test_a_map_inside_of_a_map_has_one_thread():
    """Else a fit on 32 cores had a thousand."""
    outer, inner = [], []

    def work(item):
        outer.append(threading.get_ident())
        inner.append(set(ordered_map(lambda _: threading.get_ident(), range(20))))
        return item

    with limited(3):
        assert list(ordered_map(work, range(9))) == list(range(9))
        alone = set(ordered_map(lambda _: threading.get_ident(), range(20)))
    assert all(len(own) == 1 for own in inner)
    assert {next(iter(own)) for own in inner} == set(outer)
    assert threading.get_ident() not in alone


def test_the_next_item_is_made_while_one_is_used():
    """Each waits for the other: one after the other they would never end."""
    used = threading.Barrier(2, timeout=60)

    def items():
        for number in range(3):
            if number:
                used.wait()
            yield number, threading.get_ident()

    with limited(2):
        found = []
        for number, thread in ahead(items()):
            found.append(number)
            assert thread != threading.get_ident()
            if number < 2:
                used.wait()
    assert found == [0, 1, 2]


def test_an_error_stands_in_the_place_of_its_item():
    def items():
        yield 0
        yield 1
        raise KeyError("the third")

    for threads in (1, 2):
        with limited(threads):
            own = ahead(items())
            assert [next(own), next(own)] == [0, 1]
            with pytest.raises(KeyError, match="the third"):
                next(own)


def test_one_thread_makes_no_other():
    assert list(ahead(threading.get_ident() for _ in range(3))) == [threading.get_ident()] * 3


def test_what_is_made_ahead_has_the_settings_of_its_user():
    overflowing = (np.exp(np.full(2, 1e3)) for _ in range(2))
    with limited(2), np.errstate(over="raise"), pytest.raises(FloatingPointError):
        list(ahead(overflowing))
