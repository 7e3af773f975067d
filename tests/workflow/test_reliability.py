"""Whatever happens to a run, the same bytes come out."""

import copy
import os
import random
import signal
import subprocess
import time

import pytest


def assert_same(workflow, reference):
    ours, theirs = workflow.digests(), reference.digests()
    assert sorted(ours) == sorted(theirs)
    assert {name for name in ours if ours[name] != theirs[name]} == set()
    assert "report.html" in ours
    assert "small/model.safetensors" in ours


def test_one_core_gives_the_same_bytes(workflow, small_config, reference):
    run = workflow(small_config)
    run.run(cores="1")
    assert_same(run, reference)


def test_blocks_and_backend_do_not_matter(workflow, small_config, reference):
    # Against the 2 blocks of the reference; the report prints the config, so it may differ.
    for blocks, backend in ((1, "parasail"), (7, "pyopal")):
        config = copy.deepcopy(small_config)
        config["alignment"] |= {"blocks": blocks, "backend": backend}
        run = workflow(config, f"blocks{blocks}")
        run.run()
        ours, theirs = run.digests(), reference.digests()
        assert sorted(ours) == sorted(theirs)
        assert {name for name in ours if ours[name] != theirs[name]} <= {"report.html"}


def test_killed_at_ten_random_moments(workflow, small_config, reference):
    run = workflow(small_config)
    rng = random.Random(20181)
    begin = time.monotonic()
    killed = 0
    for _ in range(10):
        process = subprocess.Popen(
            run.command(),
            cwd=run.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(timeout=rng.uniform(1.5, 9.0))
        except subprocess.TimeoutExpired:
            killed += 1
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
    assert killed >= 5, f"finished too soon to be killed ({time.monotonic() - begin:.0f} s)"
    run.run()
    assert_same(run, reference)
    assert list((run.folder / "results").rglob("*.part")) == []


def test_a_second_run_does_nothing(reference):
    done = reference.run()
    assert "Nothing to be done" in done.stdout + done.stderr


def test_two_runs_in_one_folder_are_refused(workflow, small_config):
    import fcntl

    run = workflow(small_config)
    (run.folder / "results").mkdir()
    with open(run.folder / "results" / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run.run(check=False)
    assert done.returncode == 2
    assert "another run is writing there" in done.stderr
    assert not (run.folder / "results" / "small").exists()


@pytest.mark.parametrize("damage", ["truncated", "foreign"])
def test_a_damaged_artifact_is_named_and_refused(workflow, small_config, reference, damage):
    import shutil

    run = workflow(small_config, damage)
    shutil.copytree(reference.folder, run.folder, dirs_exist_ok=True)
    path = run.folder / "results" / "small" / "factors" / "meb" / "all.safetensors"
    times = path.stat()
    path.write_bytes(path.read_bytes()[:-20] if damage == "truncated" else b"GIF89a" * 50)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for name in ("models/meb/all.safetensors", "model.safetensors"):
        (run.folder / "results" / "small" / name).unlink()
    done = run.run(check=False)
    assert done.returncode == 1
    assert "factors/meb/all.safetensors: truncated or not a safetensors file" in (
        done.stdout + done.stderr
    )
