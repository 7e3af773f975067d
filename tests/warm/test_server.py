"""What runs in a fork sees what it would see in a Python that was just begun."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warm.server import warm_python

SAYS = """
import json, os, resource, sys
folders = [folder for folder in sys.path[:2] if folder]
said = [sys.argv, os.getcwd(), os.environ["MINE"], sys.stdin.read(), __name__, folders]
print(json.dumps([*said, resource.getrlimit(resource.RLIMIT_FSIZE)]))
"""


@pytest.mark.parametrize("how", ["-c", "-", "-m", "script"])
def test_it_has_the_arguments_the_folder_the_environment_and_the_files(tmp_path, how):
    (tmp_path / "says.py").write_text(SAYS)
    command = {"-c": ["-c", SAYS], "-m": ["-m", "says"], "script": ["says.py"]}.get(how, ["-"])
    cold, warm = (
        subprocess.run(
            [python, *command, "more", "-x"],
            cwd=tmp_path,
            env=os.environ | {"MINE": "ü", "PYTHONPATH": str(tmp_path)},
            input=SAYS if how == "-" else "given",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12345, 123456)),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for python in (sys.executable, warm_python())
    )
    assert warm == cold


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("raise ValueError('no')", 1, "ValueError: no\n"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, ""),
    ],
)
def test_it_ends_alike(code, status, said):
    for python in (sys.executable, warm_python()):
        done = subprocess.run([python, "-c", code], capture_output=True, text=True)
        assert done.returncode == status
        assert done.stderr.endswith(said)


@pytest.mark.parametrize("kill", [subprocess.Popen.terminate, subprocess.Popen.kill])
def test_it_ends_with_who_asked_for_it(kill):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    asked = subprocess.Popen([warm_python(), "-c", code], stdout=subprocess.PIPE, text=True)
    pid = asked.stdout.readline().strip()
    assert int(pid) != asked.pid
    kill(asked)
    assert asked.wait() < 0
    end = time.monotonic() + 30
    while Path("/proc", pid).exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path("/proc", pid).exists()
