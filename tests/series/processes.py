"""Processes of flips and mutants. Nothing of the library is imported here: mutants change it."""

import math
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import SIGKILL
from typing import Any


def forked(work: Callable[[], int], seconds: float, said: Path) -> tuple[int | None, float]:
    """Do something in a process of its own, whose words go to a file.

    Returned are its status, None if it had to be killed, and the seconds of the processor.
    """
    child = os.fork()
    if not child:
        code = 70
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
            resource.setrlimit(resource.RLIMIT_AS, (16 * 2**30,) * 2)
            words = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), words, words)):
                os.dup2(file, stream)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
            code = work()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    status, used = None, 0.0
    end = time.monotonic() + 10 * seconds  # where it waits, or others work
    try:
        while status is None and time.monotonic() < end:
            pid, found, usage = os.wait4(child, os.WNOHANG)
            status, used = (found if pid else None), usage.ru_utime + usage.ru_stime
            time.sleep(0.005)
    finally:
        if status is None:  # too slow, or Ctrl-C
            os.killpg(child, SIGKILL)
            os.waitpid(child, 0)
    return status, used


_worker: Callable[[Any], Any]


def _begin(make: Callable[..., Any], *given: Any) -> None:
    global _worker
    _worker = make(*given)


def _ask(item: Any) -> tuple[Any, Any]:
    return item, _worker(item)


def asked_of_workers(
    make: Callable[..., Callable[[Any], Any]], given: tuple[Any, ...], items: list[Any], jobs: int
) -> Iterator[tuple[Any, Any]]:
    """Yield each item with what a worker says of it; ``make`` makes one in each process."""
    with multiprocessing.get_context("fork").Pool(jobs, _begin, (make, *given)) as pool:
        yield from pool.imap_unordered(_ask, items)
