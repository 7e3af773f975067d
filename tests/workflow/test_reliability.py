"""Whatever happens to a run, the same bytes come out."""

import fcntl
import os
import re
import shlex
import subprocess

import pytest


def test_cores_blocks_and_backend_do_not_matter(workflow, small_config, reference):
    """One core and one block against two, and orders of sets that another run has."""
    small_config["alignment"] |= {"blocks": 1, "backend": "parasail"}
    run = workflow(small_config, cold=True)
    results = ("columns/scores.npy", "predictions/few/r0f0.tsv.gz", "models/few/all.safetensors")
    run.run("--", *(f"results/small/{name}" for name in results), cores="1")
    run.assert_same(reference, "scores.npy", "r0f0.tsv.gz", "all.safetensors")


OWN_MOUNTS = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
TINY = """
set -u
mkdir results && mount -t tmpfs -o size={size} tmpfs results || exit 99
cat /dev/zero > results/other
{run} 2> full.txt; echo $? > full.code
rm results/other && {run} || exit 98
cp -r results kept
"""


def test_a_disk_that_was_full_is_named_and_the_run_goes_on(run, reference):
    command = shlex.join(run.command("--", "results/small/candidates.tsv"))

    def with_disk(script):
        try:
            return subprocess.run([*OWN_MOUNTS, script], cwd=run.folder, capture_output=True)
        except FileNotFoundError:
            pytest.skip("needs the command unshare")

    if with_disk("mount -t tmpfs tmpfs /mnt").returncode:
        pytest.skip("needs to mount a file system")
    done = with_disk(TINY.format(size="8m", run=command))
    assert done.returncode == 0, done.stderr.decode()
    assert (run.folder / "full.code").read_text() == "1\n"
    said = (run.folder / "full.txt").read_text()
    assert "could not be written (No space left on device). Free some space" in said
    assert "Traceback" not in said
    (run.folder / "results").rmdir()
    (run.folder / "kept").rename(run.folder / "results")
    run.assert_same(reference, "candidates.tsv")


def test_two_runs_in_one_folder_are_refused(run):
    (run.folder / "results").mkdir()
    with open(run.folder / "results" / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run.run(check=False)
    assert done.returncode == 2
    assert "another run is writing there" in done.stderr
    assert not (run.folder / "results" / "small").exists()


def test_a_damaged_summary_is_named_where_rules_ask_it_for_resources(finished):
    path = finished.folder / "results" / "small" / "dataset" / "summary.json"
    healthy, times = path.read_bytes(), path.stat()
    path.write_bytes(healthy.replace(b'"statistics"', b'"statisdics"'))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    done = finished.run("--forcerun", "align_class_scores", check=False)
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr
    (line,) = re.findall("^kreinflow input error: .*", done.stderr, re.MULTILINE)
    assert "results/small/dataset/summary.json: " in line
    assert "Delete it and run again" in line
