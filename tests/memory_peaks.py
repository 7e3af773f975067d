"""The memory that a piece of Python takes in a process of its own."""

import gzip
import subprocess
import sys
import textwrap

LIMIT = 3_000_000_000
"""Bytes that a process may ask for at all: a reader without a bound fails and does no harm."""

_AROUND = """
import re, resource, sys
from pathlib import Path
from kreinflow.errors import InputError
{imports}
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1e3
before = peak()
resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
said = ""
try:
{code}
except InputError as error:
    said = str(error)
except MemoryError:
    said = "out of memory"
print(peak() - before)
print(said)
"""


def peak_of(imports, code, seconds=60):
    """Return the megabytes that code takes beyond its imports, and the message of InputError."""
    text = _AROUND.format(imports=imports, code=textwrap.indent(code, "    "), limit=LIMIT)
    run = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=seconds
    )
    assert run.returncode == 0, run.stderr
    megabytes, _, said = run.stdout.partition("\n")
    return float(megabytes), said.strip()


def write_bomb(path, *parts):
    """Write a gzip file of texts, each given with how many times it stands there."""
    path.write_bytes(b"".join(gzip.compress(text.encode()) * times for text, times in parts))
    return path
