from contextlib import nullcontext

import pytest

from threads import one_thread  # noqa: F401


@pytest.fixture
def many_draws(monkeypatch):
    """Thousands of calls: to hold the threads anew takes longer than a call."""
    from kreinflow.landmarks import pivoting

    monkeypatch.setattr(pivoting, "single_threaded", nullcontext)
