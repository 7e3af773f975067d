"""Whatever happens to a run, the same bytes come out."""

import fcntl
import json
import os
import re
import shlex
import shutil
import subprocess

import pytest


def test_cores_blocks_and_backend_do_not_matter(workflow, small_config, reference):
    # Against two cores and 2 blocks. The report prints the config, and tells it apart in no more.
    for changes, cores, target in (
        ({"blocks": 1}, "1", "all"),
        ({"blocks": 3, "backend": "parasail"}, "2", "alignment"),
    ):
        small_config["alignment"] |= changes
        run = workflow(small_config, f"blocks{changes['blocks']}")
        run.run("--", target, cores=cores)
        if target == "all":
            for name in ("report.html", "config.yaml"):
                path = run.folder / "results" / name
                text = path.read_text()
                assert text.count("blocks: 1\n") == 1
                path.write_text(text.replace("blocks: 1\n", "blocks: 2\n"))
            crate = "results/ro-crate-metadata.json"  # names the jobs of the blocks
            shutil.copy(reference.folder / crate, run.folder / crate)
            run.assert_same(reference)
        run.assert_same(reference, "scores.npy")


def test_the_report_counts_the_pairs_that_parasail_scored_too(reference):
    folder = reference.folder / "results" / "small"
    jobs = [json.loads(path.read_text()) for path in (folder / "alignment").glob("*.json")]
    assert [job["backend"] for job in jobs] == 4 * ["auto"]
    agreed = sum(job["agreed"] for job in jobs)
    # No job has more than 1,000 pairs, so all of them are scored twice.
    assert agreed == json.loads((folder / "columns" / "alignments.json").read_text())["aligned"] > 0
    report = (reference.folder / "results" / "report.html").read_text()
    assert f"{agreed:,} pairs were scored so, and all agreed" in report


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
    command = shlex.join(run.command("--", "alignment"))

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
    assert "kreinflow error: results: only 0 kB are left on this disk." in said
    assert "Traceback" not in said
    (run.folder / "results").rmdir()
    (run.folder / "kept").rename(run.folder / "results")
    run.assert_same(reference, "scores.npy")


def test_a_second_run_does_nothing(finished):
    done = finished.run()
    assert "Nothing to be done" in done.stdout + done.stderr


def test_two_runs_in_one_folder_are_refused(run):
    (run.folder / "results").mkdir()
    with open(run.folder / "results" / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run.run(check=False)
    assert done.returncode == 2
    assert "another run is writing there" in done.stderr
    assert not (run.folder / "results" / "small").exists()


def test_a_flipped_bit_in_the_score_store_costs_its_segment_and_changes_nothing(
    finished, reference
):
    # The run stopped before the columns, and a bit flipped meanwhile.
    folder = finished.folder / "results" / "small"
    for path in [finished.folder / "results" / "report.html", *folder.iterdir()]:
        if path.name in ("report.html", "model.safetensors", "map.json"):
            path.unlink()
        elif path.name in ("columns", "factors", "models", "predictions", "evaluation", "figures"):
            shutil.rmtree(path)
    path = max(folder.rglob("segment_*"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[-100] ^= 8
    path.write_bytes(data)
    done = finished.run(check=False)
    name = path.relative_to(finished.folder)
    advice = "Delete it and the folder results/small/alignment, and run again"
    assert f"{name}: damaged or truncated, it does not match its checksum. {advice}" in done.stderr
    path.unlink()
    shutil.rmtree(folder / "alignment")
    finished.run("--", "alignment")
    finished.assert_same(reference, "scores.npy")


def test_a_damaged_summary_is_named_where_rules_ask_it_for_resources(finished):
    path = finished.folder / "results" / "small" / "dataset" / "summary.json"
    times = path.stat()
    for data in (b"z", path.read_bytes().replace(b'"statistics"', b'"statisdics"')):
        path.write_bytes(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        done = finished.run("--forcerun", "align_class_scores", check=False)
        assert done.returncode != 0
        assert "Traceback" not in done.stdout + done.stderr
        (line,) = re.findall("^kreinflow input error: .*", done.stderr, re.MULTILINE)
        assert "results/small/dataset/summary.json: " in line
        assert "Delete it and run again" in line


def test_a_dry_run_looks_over_results_of_older_versions(finished):
    path = finished.folder / "results" / "small" / "dataset" / "summary.json"
    path.write_text(re.sub('  "checksum": .*\n', "", path.read_text()))
    done = finished.run("--dry-run", "--forceall")
    assert "input error" not in done.stderr


def test_damaged_artifacts_are_named_and_refused(finished):
    folder = finished.folder / "results" / "small"
    (folder / "model.safetensors").unlink()
    path = folder / "models" / "uniform" / "all.safetensors"  # of the final model
    for damaged in (lambda data: data[:-20], lambda _: b"GIF89a"):
        times = path.stat()
        path.write_bytes(damaged(path.read_bytes()))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        done = finished.run("--keep-going", check=False)
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert re.search("models/uniform/all.safetensors: .*truncated", said)
