"""A real Slurm of two nodes on one machine, for ``test_slurm.py``.

    apt-get install --no-install-recommends slurmctld slurmd slurm-client munge
    KREINFLOW_SLURM=1 python -m pytest tests/series/test_slurm.py      # as root

Memory is accounted (a job that takes more than it asked for is killed). ``/etc/slurm/slurm.conf``
is written, since the inner ``srun`` of a job looks nowhere else: hence the variable, for a machine
on which that may be done. A configuration that is not ours is left alone.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

CONFIGURATION = Path("/etc/slurm/slurm.conf")
MARK = "# Two nodes on one machine, written by tests/series/two_nodes.py of kreinflow.\n"
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "munged")
NODES = ("n1", "n2")
TEXT = """\
ClusterName=onebox
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
SlurmctldPort=16817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
SchedulerParameters=sched_interval=2,batch_sched_delay=0
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
EnforcePartLimits=ALL
MinJobAge=300
KillWait=5
SlurmdTimeout=10
NodeName=n[1-2] NodeHostname={host} NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=2 RealMemory=8000
PartitionName=debug Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes=n[1-2] MaxTime=2 State=UP
"""


def why_not() -> str | None:
    """Return why no Slurm is to be started here, if so."""
    if not os.environ.get("KREINFLOW_SLURM"):
        return "KREINFLOW_SLURM is not set"
    missing = [name for name in PROGRAMS if _which(name) is None]
    if missing:
        return f"no {', '.join(missing)} here"
    if os.geteuid() != 0:
        return "slurmctld and slurmd need root"
    if CONFIGURATION.exists() and not CONFIGURATION.read_text().startswith(MARK):
        return f"{CONFIGURATION} belongs to another Slurm"
    if _call("sinfo", check=False).returncode == 0:
        return "a Slurm is running"
    return None


class TwoNodes:
    """The nodes n1 and n2, of two cores and 8,000 MB each, with all their files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def start(self) -> None:
        """Start munged if there is none, the controller and both nodes, and wait for them."""
        if reason := why_not():
            raise RuntimeError(reason)
        for name in ("state", "log", "run", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        CONFIGURATION.parent.mkdir(exist_ok=True)
        CONFIGURATION.write_text(MARK + TEXT.format(folder=self.folder, host=socket.gethostname()))
        if _call("munge", "-n", check=False).returncode != 0:
            run = Path("/run/munge")
            run.mkdir(exist_ok=True)
            shutil.chown(run, "munge", "munge")
            identity = ("--reuid=munge", "--regid=munge", "--clear-groups")
            _call("setpriv", *identity, _found("munged"))
        _call(_found("slurmctld"), "-c")
        for node in NODES:
            self.start_node(node)
        self.wait_for(lambda: self.states() == {"idle"}, "both nodes to be idle")

    def start_node(self, node: str) -> None:
        """Start the daemon of a node."""
        _call(_found("slurmd"), "-N", node)

    def stop(self) -> None:
        """Stop the daemons by their pid files, and take the configuration away."""
        _call("scancel", "--user=root", check=False)
        self.wait_for(lambda: _call("squeue", "-h", check=False).stdout == "", "jobs to end")
        # The controller last: a node that cannot reach it waits.
        for path in sorted((self.folder / "run").glob("*.pid"), key=lambda p: "ctld" in p.name):
            pid = int(path.read_text())
            os.kill(pid, signal.SIGTERM)
            self.wait_for(lambda pid=pid: _ended(pid), f"{path.name} to end")
        if CONFIGURATION.exists() and str(self.folder) in CONFIGURATION.read_text():
            CONFIGURATION.unlink()

    def kill_node(self, node: str) -> None:
        """Kill the daemon of a node and all that runs under it, as if its power had failed."""
        # The daemon of the node and those of its steps hold its log open.
        log = (self.folder / "log" / f"slurmd-{node}.log").resolve()
        for process in list(_with_children(log)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        (self.folder / "run" / f"slurmd-{node}.pid").unlink()

    def states(self) -> set[str]:
        """Return the states of the nodes."""
        return set(_call("sinfo", "--noheader", "-N", "-o", "%t").stdout.split())

    def jobs(self) -> list[dict[str, str]]:
        """Return what is known of the jobs that ended: JobId, JobState, StartTime, EndTime ..."""
        path = self.folder / "jobs.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines]

    def busy_nodes(self) -> list[str]:
        """Return the nodes on which jobs run."""
        return _call("squeue", "--noheader", "-t", "RUNNING", "-o", "%N").stdout.split()

    @staticmethod
    def wait_for(condition, what: str, seconds: float = 1800) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {seconds} s for {what}")
            time.sleep(0.5)


def _which(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _found(name: str) -> str:
    path = _which(name)
    assert path is not None
    return path


def _call(*command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done


def _ended(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    return True


def _with_children(file: Path) -> Iterator[psutil.Process]:
    """Yield the processes that hold a file open, and all that they have started."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):  # it has ended
            if any(Path(held.path) == file for held in process.open_files()):
                yield from (process, *process.children(recursive=True))
