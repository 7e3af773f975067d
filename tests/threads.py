"""One thread where more are slower, and one and two where both must give the same."""

import pytest
from threadpoolctl import threadpool_limits

from kreinflow.base.numerics import single_threaded


@pytest.fixture(autouse=True)
def one_thread():
    """The oracles are small, and slower with two threads on a busy machine."""
    with single_threaded():
        yield


def same_with_threads(function):
    """Whether a function returns the same with one thread and with two."""
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(function())
    return found[0] == found[1]
