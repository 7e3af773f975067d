"""Programs that look like Slurm's to Snakemake: jobs are refused, end as told, or run at once.

``FakeSlurm(folder)`` makes them. Each submission takes the next line of a plan:

* ``refuse WORDS``: sbatch ends with these words.
* ``STATE``, as ``CANCELLED`` or ``TIMEOUT``: the job never runs, and squeue says so.
* ``STATE WORDS``: the same, and its log of Slurm has these words.
* ``run``: it runs, here, until it ends.

The last line holds for all later submissions. What sbatch was asked for is kept.
"""

import os
import shlex
import sys
from pathlib import Path

SBATCH = """
import pathlib, shlex, subprocess, sys
folder = pathlib.Path(FOLDER)
calls = folder / "calls"
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as file:
    file.write(shlex.join(sys.argv[1:]) + "\\n")
plan = (folder / "plan").read_text().splitlines()
state, _, words = plan[min(number, len(plan) - 1)].partition(" ")
if state == "refuse":
    sys.exit("sbatch: error: " + words)
asked = sys.argv[1:]
log = pathlib.Path(asked[asked.index("--output") + 1].replace("%j", str(number + 1)))
if state == "run":
    (wrapped,) = [word.removeprefix("--wrap=") for word in asked if word.startswith("--wrap=")]
    with log.open("w") as file:
        done = subprocess.run(wrapped, shell=True, stdout=file, stderr=file)
    state = "FAILED" if done.returncode else "COMPLETED"
elif words:
    log.write_text(words + "\\n")
with (folder / "states").open("a") as file:
    file.write(f"{number + 1}|{state}\\n")
print(number + 1)
"""
SRUN = """
import os, sys
command = sys.argv[1:]
while command[0].startswith("-"):
    del command[0]
os.execvp(command[0], command)
"""
SCRIPTS = {
    "squeue": "cat FOLDER/states",
    "sinfo": "echo 'debug*'",
    "scontrol": "echo 'MinJobAge = 300 sec'",
    "scancel": "",
    "sacctmgr": "",
    "sshare": "",
    "sacct": "",
}


class FakeSlurm:
    """A folder of such programs, and what they were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name, text in {"sbatch": SBATCH, "srun": SRUN}.items():
            self._write(name, f"#!{sys.executable}" + text.replace("FOLDER", repr(str(folder))))
        for name, text in SCRIPTS.items():
            self._write(name, "#!/bin/sh\n" + text.replace("FOLDER", shlex.quote(str(folder))))

    def _write(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    @property
    def path(self) -> str:
        """The search path with these programs before all others."""
        return f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def plan(self, *lines: str) -> None:
        """Say what becomes of the next submissions, and forget those before."""
        (self.folder / "plan").write_text("".join(f"{line}\n" for line in lines))
        for name in ("calls", "states"):
            (self.folder / name).write_text("")

    def asked(self, option: str) -> list[str]:
        """The values of an option in all calls of sbatch."""
        calls = map(shlex.split, (self.folder / "calls").read_text().splitlines())
        return [call[call.index(option) + 1] for call in calls]
