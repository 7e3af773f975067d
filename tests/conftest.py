"""For all tests."""

import signal


def pytest_configure() -> None:
    """Undo that a shell script starts its background processes with interrupts ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
