"""For all tests."""

import signal

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Undo that a shell script starts its background processes with interrupts ignored.

    And have files of tests run in the order of :func:`pytest_collection_modifyitems`.
    """
    config.option.loadscopereorder = False  # of pytest-xdist
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what runs the workflow: a file of these that came last would leave cores idle."""
    long = {"docs", "series", "test_installed.py", "test_types.py", "workflow"}
    items.sort(key=lambda item: long.isdisjoint(item.path.parts[-2:]))
