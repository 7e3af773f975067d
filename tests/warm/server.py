"""Processes that begin where the imports are done: a workflow of fifty jobs would do them anew.

A server imports Snakemake and what scripts/ import. :func:`warm_python` is the path of a program
that stands where a command names Python; what it runs begins in a fork of the server. Nothing else
differs from a Python that was just begun, but that forks of one server order sets alike, and that
garbage is left where it is.
"""

import ast
import atexit
import functools
import gc
import importlib
import json
import os
import resource
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
PROGRAMS = {"kreinflow": "-m kreinflow.commands.main", "snakemake": "-m snakemake"}
"""What stands beside the program, with the arguments of it that they are."""
LATE = [
    *("kreinflow.config.configuration", "kreinflow.files.failures", "kreinflow.views.loops"),
    *("matplotlib.backends.backend_svg", "snakemake.report", "smart_open"),
]
"""What Snakemake, its rules and scripts import where they need it."""


@functools.cache
def warm_python() -> str:
    """Start the server of this process; it ends with it."""
    folder = tempfile.TemporaryDirectory()
    program, socket_path = Path(folder.name) / "python", str(Path(folder.name) / "socket")
    client = [sys.executable, "-IS", str(Path(__file__).with_name("client.py")), socket_path]
    for name, more in (("python", ""), *PROGRAMS.items()):
        path = Path(folder.name) / name
        path.write_text(
            f'#!/bin/sh\nexec {shlex.join(client)} {shlex.quote(str(program))} {more} "$@"\n'
        )
        path.chmod(0o755)
    server = subprocess.Popen(
        [sys.executable, __file__, socket_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": ""},
    )
    assert server.stdin
    assert server.stdout
    atexit.register(folder.cleanup)
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    assert server.stdout.readline() == b"ready\n"
    return str(program)


def import_what_jobs_import():
    sys.path.insert(0, str(ROOT / "lib"))
    importlib.import_module("snakemake.cli")
    for path in sorted((ROOT / "scripts").glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), path, "exec"), {})
    for name in LATE:
        importlib.import_module(name)
    sys.path.insert(0, str(ROOT / "tests"))
    one_pair = importlib.import_module("sequence_pairs")
    rows = np.arange(1)
    one_pair.rectangle([b"MKVL"], rows, rows, one_pair.scheme_of())  # its machine code is loaded


def serve(path):
    """Fork for each client, until standard input ends."""
    base, children = sys.path[1:], set()
    import_what_jobs_import()
    gc.disable()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        while sys.stdin not in (heard := select.select([listener, sys.stdin], [], [], 1)[0]):
            if heard:
                connection, _ = listener.accept()
                if (pid := os.fork()) == 0:
                    listener.close()
                    answer(connection, base)
                connection.close()
                children.add(pid)
            while children and (pid := os.waitpid(-1, os.WNOHANG)[0]):
                children.remove(pid)


def answer(connection, base):
    """Fork, say which process it is, and say how it ended."""
    size, files, *_ = socket.recv_fds(connection, 8, 3)
    with connection.makefile("rb") as file:
        how = json.loads(file.read(int.from_bytes(size, "big")))
    pid = os.fork()
    if pid == 0:
        connection.close()
        end(lambda: become(files, *how, base))
    connection.sendall(pid.to_bytes(8, "big"))
    for number in files:
        os.close(number)
    ended = os.pidfd_open(pid)
    if killed := connection in select.select([ended, connection], [], [])[0]:
        os.kill(pid, signal.SIGKILL)  # as the client was
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if not killed:
        connection.sendall(code.to_bytes(8, "big", signed=True))
    os._exit(0)


def become(files, program, arguments, folder, environment, limits, base):
    """Run what Python was asked to run, in its folder and environment."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for number, limit in enumerate(limits):
        resource.setrlimit(number, limit)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    importlib.reload(sys.modules["kreinflow"])  # which looks at the environment
    sys.executable = program
    if isolated := arguments[0] == "-P":
        arguments = arguments[1:]
    first, *rest = arguments
    start = {"-c": "", "-": "", "-m": folder}.get(first, os.path.abspath(Path(first).parent))
    given = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [*([] if isolated else [start]), *filter(None, given), *base]
    sys.argv = arguments if first not in ("-c", "-m") else [first, *rest[1:]]
    if first == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first in ("-c", "-"):
        code = rest[0] if first == "-c" else sys.stdin.read()
        exec(code, {"__name__": "__main__"})
    else:
        runpy.run_path(first, run_name="__main__")


def end(run):
    """Run, and end as Python does, but free nothing: it is not ours alone."""
    code = 0
    try:
        run()
    except SystemExit as exit:
        code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
