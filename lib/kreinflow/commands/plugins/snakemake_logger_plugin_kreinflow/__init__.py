"""Hands what Snakemake logs to ``kreinflow run``, which puts this folder on its path.

Each record becomes JSON objects on standard error, one a line behind ``MARK``: one with what
happened, and one for each line of its text. Lines are short, so that those of jobs, which write
there too, do not come between.
"""

import json
import os
import signal
from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase

from kreinflow.alignment.progress import MARK

_TOLD = ("stats", "done", "total", "kreinflow")
_MOST = 3000  # letters of a text in JSON, all ASCII: a pipe takes 4,096 bytes at once


class LogHandler(LogHandlerBase):
    """Writes to standard error, in place of Snakemake's own handler."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def emit(self, record: LogRecord) -> None:
        """Write what a record says."""
        event = str(getattr(record, "exception", None) or getattr(record, "event", None) or "")
        told = {name: value for name in _TOLD if (value := getattr(record, name, None)) is not None}
        self._write({"event": event, **told})
        text = self.format(record)
        for line in text.splitlines() if text != "None" else ():
            line = line[:_MOST]
            while len(json.dumps(line)) > _MOST:
                line = line[: len(line) * 3 // 4]
            self._write({"event": event, "level": record.levelno, "text": line})

    def _write(self, told: dict[str, Any]) -> None:
        try:
            os.write(2, f"{MARK}{json.dumps(told, default=str)}\n".encode())
        except OSError:  # nobody listens any more: the command was killed, and jobs end with it
            os.killpg(os.getpgrp(), signal.SIGINT)
