"""The memory that pieces of Python take, each in a process of its own."""

import json
import subprocess
import sys
from functools import cache

LIMIT = 3_000_000_000
"""Bytes that a process may ask for at all: a reader without a bound fails and does no harm."""

_AROUND = """
import json, os, re, resource, sys
from pathlib import Path
from kreinflow.base.errors import InputError
{imports}
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1e3
def measure(code):
    before = peak()
    resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # one that reads without an end fails too
    said = ""
    try:
        exec(code, globals())
    except InputError as error:
        said = str(error)
    except MemoryError:
        said = "out of memory"
    print(json.dumps([peak() - before, said]), flush=True)
for line in sys.stdin:
    if not (child := os.fork()):
        measure(json.loads(line))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print("null", flush=True)
"""


@cache
def _forking(imports):
    """Return a process that has the imports: it forks one for each line of code."""
    return subprocess.Popen(
        [sys.executable, "-c", _AROUND.format(imports=imports, limit=LIMIT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def peak_of(imports, code):
    """Return the megabytes that code takes beyond its imports, and the message of InputError."""
    process = _forking(imports)
    process.stdin.write(json.dumps(code) + "\n")
    process.stdin.flush()
    found = json.loads(process.stdout.readline() or "null")
    assert found is not None, "it took too long, or an error that is not InputError: see above"
    return found
