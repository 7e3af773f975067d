"""For all tests."""

import signal


def pytest_configure() -> None:
    """Hear interrupts, which tests send: a script starts what is in its background without."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
