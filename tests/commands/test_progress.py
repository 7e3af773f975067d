import io
import logging
from importlib import import_module

import pytest

from kreinflow.commands.progress import ProgressLine
from kreinflow.commands.run import _PLUGINS


class Screen(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_on_a_terminal_one_line_is_rewritten_and_messages_stand_above(clock, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "52")
    line = ProgressLine(screen := Screen(), clock)
    clock.now = 1.0
    line.tick()
    assert screen.getvalue() == "\r\x1b[Kkreinflow 0:00:01  starting"
    line.jobs, line.total, line.aligned = 2, 9, 1e6
    line.message("a message")
    line.tick()
    assert screen.getvalue().endswith(
        "\r\x1b[Ka message\n\r\x1b[Kkreinflow 0:00:01  2 of 9 jobs, 1 million alignment"
    ), "no longer than the terminal"
    line.close()
    assert screen.getvalue().endswith("\r\x1b[K")


def test_what_is_left_takes_what_the_jobs_took(clock):
    line = ProgressLine(io.StringIO(), clock)
    line.jobs, line.total, clock.now = 4, 16, 20.0
    assert line.text() == "4 of 16 jobs", "nothing is known so early"
    clock.now = 100.0
    assert line.text() == "4 of 16 jobs, about 5 min left if jobs go on like this"
    line.jobs = 16
    assert line.text() == "16 of 16 jobs"


@pytest.mark.parametrize("terminal", [False, True])
def test_elsewhere_a_plain_line_comes_now_and_then(clock, monkeypatch, terminal):
    monkeypatch.setenv("TERM", "dumb")
    line = ProgressLine(screen := (Screen() if terminal else io.StringIO()), clock)
    for second in range(7200):
        clock.now = float(second)
        line.tick()
    line.close()
    lines = screen.getvalue().splitlines()
    assert lines[0] == "kreinflow 0:00:30  starting"
    assert 40 < len(lines) < 80
    assert "\r" not in screen.getvalue()


def test_the_plugin_hands_on_short_lines(capfd, monkeypatch):
    monkeypatch.syspath_prepend(_PLUGINS)
    LogHandler = import_module("snakemake_logger_plugin_kreinflow").LogHandler
    record = logging.LogRecord(
        "", logging.ERROR, "", 0, f"one\n{'x' * 9000}\n{'蛋' * 9000}", (), None
    )
    record.exception = "WorkflowError"
    LogHandler(None, None).emit(record)
    first, second, *long = capfd.readouterr().err.removesuffix("\n").split("\n")
    assert first == '\x1e{"event": "WorkflowError"}'
    assert second == '\x1e{"event": "WorkflowError", "level": 40, "text": "one"}'
    assert [2000 < len(line.encode()) < 4096 for line in long] == [True, True]
