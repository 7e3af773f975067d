"""``kreinflow run`` and its likes, with a Snakemake made up for it."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kreinflow.commands.main import main
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER

FAKE = """
import json, os, signal, subprocess, sys, time
json.dump([sys.argv[1:], dict(os.environ)], open("asked.json", "w"))
def tell(**what):
    os.write(2, b"\\x1e" + json.dumps(what).encode() + b"\\n")
"""
ENDING = """
tell(event="", kreinflow={"config": {"datasets": {}}, "results": os.path.abspath("results")})
tell(event="run_info", stats={"write_report": 1, "total": 1})
tell(event="progress", done=1, total=1)
"""


@pytest.fixture
def snakemake(tmp_path, monkeypatch):
    """A function that makes Snakemake a program of these lines, in a folder with a config."""

    def make(program):
        package = tmp_path / "fake" / "snakemake"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(FAKE + program)
        library = str(Path(WORKFLOW_FOLDER, "lib"))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package.parent), library]))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine.yaml").write_text("seed: 1\n")
        (tmp_path / "results").mkdir(exist_ok=True)

    return make


def asked(folder):
    return json.loads((folder / "asked.json").read_text())


def test_snakemake_gets_the_workflow_the_config_and_all_further_arguments(run, snakemake, tmp_path):
    snakemake("")
    assert run("run", "mine.yaml", "--forcerun", "write_report", "-q", "all")[0] == 0
    arguments, environment = asked(tmp_path)
    assert arguments[:6] == [
        *("--logger", "kreinflow"),
        *("--snakefile", str(WORKFLOW_FOLDER / "Snakefile"), "--configfile", "mine.yaml"),
    ]
    assert arguments[-6:] == ["--cores", "all", "--forcerun", "write_report", "-q", "all"]
    first = environment["PYTHONPATH"].split(os.pathsep)[0]
    assert Path(first, "snakemake_logger_plugin_kreinflow", "__init__.py").is_file()


def test_the_cores_and_the_profile_are_those_that_are_named(run, snakemake, tmp_path):
    snakemake("")
    run("run", "mine.yaml", "--cores", "3")
    assert asked(tmp_path)[0][-2:] == ["--cores", "3"]
    for given in ("-j1", "-pc2", "--jobs=1"):
        run("run", "mine.yaml", given)
        assert "--cores" not in asked(tmp_path)[0]
    for name in ("slurm", "kubernetes", "googlebatch", "aws-batch"):
        run("run", "mine.yaml", "--profile", name)
        shipped = asked(tmp_path)[0]
        assert "--cores" not in shipped, "those of the profile"
        assert shipped[shipped.index("--profile") + 1] == str(WORKFLOW_FOLDER / "profiles" / name)
    (tmp_path / "slurm").mkdir()
    run("run", "mine.yaml", "--profile", "slurm")
    own = asked(tmp_path)[0]
    assert own[own.index("--profile") + 1] == "slurm", "a folder of the user's goes first"


def test_compare_is_a_target_and_the_demonstration_finds_its_data(run, snakemake, tmp_path):
    snakemake("")
    run("compare", "mine.yaml")
    assert asked(tmp_path)[0][0] == "compare"
    run("demo")
    assert asked(tmp_path)[0][:2] == ["--config", f'data="{WORKFLOW_FOLDER}"']


@pytest.mark.parametrize("flag", ["-Fn", "--dry-run"])
def test_a_dry_run_counts_jobs_and_shows_each_where_it_is_asked_to(run, snakemake, flag):
    page = 'tell(event="job_info", level=20, text="rule a:")'
    snakemake(f'tell(event="run_info", stats={{"a": 12, "b": 1, "total": 13}})\n{page}')
    counts = "kreinflow: 13 jobs would run; --verbose has each.\n   12  a\n    1  b\n"
    assert run("run", "mine.yaml", flag) == (0, counts, "")
    assert run("run", "mine.yaml", flag, "--verbose") == (0, "", "rule a:\n")
    snakemake('tell(event="", level=20, text="Nothing to be done (all is there).")')
    assert run("run", "mine.yaml", flag)[1].startswith("kreinflow: nothing to do")


def test_the_end_shows_the_short_text_and_where_the_page_is(run, snakemake, tmp_path):
    snakemake(ENDING)
    text = "== mine: 48 records\n\nHow good is it?  91 %\n    details\n\nWhat to do next\n- More\n"
    (tmp_path / "results" / "report.txt").write_text(text)
    (tmp_path / "results" / "report.html").touch()
    code, out, _ = run("run", "mine.yaml")
    shown = "\n== mine: 48 records\n\nHow good is it?  91 %\n\nThe report: results/report.html\n"
    assert (code, out) == (0, shown)


def test_messages_are_shown_and_the_pages_of_snakemake_are_not(run, snakemake):
    program = """
print("kreinflow input error: x.fasta: empty.", file=sys.stderr, flush=True)
tell(event="job_error", level=40, text="Error in rule one:")
tell(event="", level=20, text="Select jobs to execute...")
tell(event="", level=30, text="a warning")
os.write(2, b'50 %\\r\\x1e{"event": "", "level": 30, "text": "behind it"}\\n')
os.write(2, b"\\x1e{torn")
"""
    snakemake(program)
    _, _, said = run("run", "mine.yaml")
    assert said == "kreinflow input error: x.fasta: empty.\na warning\n50 %\r\nbehind it\n"
    _, _, said = run("run", "mine.yaml", "--verbose")
    assert "Error in rule one:\nSelect jobs to execute...\na warning\n" in said


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("sys.exit(1)", 1),
        ("sys.exit(2)", 2),
        ('tell(event="", kreinflow={"exit_code": 2}); sys.exit(1)', 2),
        ("os.kill(os.getpid(), signal.SIGKILL)", 1),
    ],
)
def test_the_exit_code_is_the_workflows_and_2_where_the_input_is_at_fault(
    snakemake, program, code, capsys
):
    snakemake(program)
    with pytest.raises(SystemExit) as left:
        main(["run", "mine.yaml"])
    assert left.value.code == code
    said = capsys.readouterr()
    assert "report" not in said.out
    killed = "kreinflow error: Snakemake was ended by signal 9 (Killed), as the system does where"
    assert said.err.startswith(killed) == ("SIGKILL" in program)


def test_a_config_that_is_not_there_and_results_that_are_none(refused, tmp_path):
    assert "there is no such file" in refused("run", tmp_path / "no.yaml")
    assert "there is no config.yaml" in refused("report", tmp_path)
    (tmp_path / "config.yaml").touch()
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "a run is writing there" in refused("report", tmp_path)


@pytest.mark.parametrize(
    ("before", "number"),
    [
        (signal.SIG_DFL, signal.SIGINT),
        (signal.SIG_DFL, signal.SIGTERM),
        (signal.SIG_IGN, signal.SIGTERM),  # in the background of a script
    ],
)
def test_a_signal_ends_all_processes_once(snakemake, tmp_path, before, number):
    program = '''
code = """
import time
try:
    open("up", "w")
    time.sleep(60)
except KeyboardInterrupt:
    open("ended", "a").write("once")
"""
job = subprocess.Popen([sys.executable, "-c", code])
try:
    job.wait()
except KeyboardInterrupt:
    print("a job failed", file=sys.stderr)
    job.wait()
    sys.exit(1)
'''
    snakemake(program)
    command = [sys.executable, "-m", "kreinflow.commands.main", "run", "mine.yaml"]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
    ) as process:
        while not (tmp_path / "up").exists():
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)  # the pipe ends with the last process
    assert process.returncode == 128 + number
    assert (tmp_path / "ended").read_text() == "once"
    assert said == "kreinflow: interrupted. The same command goes on where it was.\n"


def test_a_process_that_snakemake_leaves_behind_holds_nothing_up(run, snakemake):
    program = 'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"])'
    snakemake(program)
    start = time.monotonic()
    assert run("run", "mine.yaml")[0] == 0
    assert time.monotonic() - start < 15


def test_where_the_command_is_killed_the_run_ends_too(snakemake, tmp_path):
    """The plugin, which cannot write any longer, interrupts Snakemake and its jobs."""
    program = """
from importlib import import_module
import logging
plugin = import_module("snakemake_logger_plugin_kreinflow").LogHandler(None, None)
record = logging.LogRecord("", 20, "", 0, "on it", (), None)
open("up", "w")
try:
    while True:
        plugin.emit(record)
        time.sleep(0.05)
except KeyboardInterrupt:
    open("down", "w")
"""
    snakemake(program)
    command = [sys.executable, "-m", "kreinflow.commands.main", "run", "mine.yaml"]
    with subprocess.Popen(command) as process:
        while not (tmp_path / "up").exists():
            time.sleep(0.05)
        process.kill()
    until = time.monotonic() + 30
    while not (tmp_path / "down").exists():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("text", "cores", "said"),
    [
        ("a: [", "1", "mine.yaml: not YAML"),
        ("seed: 1", "0", "argument --cores: '0': give a number from 1, or 'all'"),
    ],
)
def test_what_snakemake_would_tell_badly_is_refused_before(tmp_path, capsys, text, cores, said):
    (tmp_path / "mine.yaml").write_text(text)
    try:
        code = main(["run", str(tmp_path / "mine.yaml"), "--cores", cores])
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert said in capsys.readouterr().err
