import pytest

from kreinflow.numerics import single_threaded


@pytest.fixture(autouse=True)
def one_thread():
    """The oracles are small, and slower with two threads on a busy machine."""
    with single_threaded():
        yield
