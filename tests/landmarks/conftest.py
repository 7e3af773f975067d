from contextlib import nullcontext

import pytest

from kreinflow.numerics import single_threaded


@pytest.fixture(autouse=True)
def one_thread():
    """The oracles are small, and slower with two threads on a busy machine."""
    with single_threaded():
        yield


@pytest.fixture
def many_draws(monkeypatch):
    """Thousands of calls: to hold the threads anew takes longer than a call."""
    from kreinflow.landmarks import cholesky

    monkeypatch.setattr(cholesky, "single_threaded", nullcontext)
