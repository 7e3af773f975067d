"""An output that was stopped, and goes on: the bytes of one that was not."""

import gzip
import shutil
import signal
import subprocess
import sys
import time

import pytest

from answering.cascades import cascade_model
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.base.errors import KreinflowError
from kreinflow.classify import new_objects
from kreinflow.commands.unfinished import unfinished
from small_inputs import families, write_fasta


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A model file and two files of new records."""
    folder = tmp_path_factory.mktemp("asked")
    model, _ = cascade_model(folder)
    model.save(folder / "model.safetensors")
    records = families(7, each=8, changed=0.6)
    parts = ("one", records[:10]), ("two", [("bad", "a", "1"), *records[10:]])
    return folder / "model.safetensors", *(write_fasta(folder / f"{n}.fa", r) for n, r in parts)


@pytest.fixture
def stopped(run, monkeypatch):
    """A function that runs the command until a batch of four records too many."""

    def command(*arguments, batches):
        answer, seen = LandmarkClassifier.answer, []

        def stop(classifier, batch):
            if len(seen) == batches:
                raise KreinflowError("stopped")
            seen.append(batch.ids)
            return answer(classifier, batch)

        with monkeypatch.context() as patch:
            patch.setattr(new_objects, "_RECORDS", 4)
            patch.setattr(LandmarkClassifier, "answer", stop)
            assert run("classify", *arguments)[0] == 1

    return command


@pytest.mark.parametrize("damage", ["none", "half", "flipped", "first line", "all done"])
def test_what_was_stopped_goes_on(run, classified, stopped, asked, tmp_path, monkeypatch, damage):
    """Stopped inside the second file; the last line is half-written, or an earlier one damaged."""
    monkeypatch.setattr(new_objects, "_RECORDS", 4)
    whole = classified(*asked, "--evidence", tmp_path / "whole.tsv", "-o", tmp_path / "whole.gz")
    out, evidence = tmp_path / "out.tsv.gz", tmp_path / "evidence.tsv"
    command = *asked, "--evidence", evidence, "-o", out, "--resume"
    stopped(*command, batches=4)
    kept = tmp_path / "out.tsv.gz.unfinished"
    assert {path.name for path in tmp_path.iterdir()} == {kept.name, "whole.gz", "whole.tsv"}
    lines, left = kept.read_bytes().splitlines(keepends=True), 14
    assert len(lines) == 5
    if damage == "half":
        kept.write_bytes(b"".join(lines)[:-9])
        left = 10
    elif damage == "flipped":
        lines[2] = lines[2].replace(b"first", b"fIrst", 1).replace(b"nearest", b"neArest", 1)
        kept.write_bytes(b"".join(lines))
        left = 4
    elif damage == "first line":
        kept.write_bytes(lines[0][:20])
        left = 0
    monkeypatch.setattr(new_objects, "_RECORDS", 3)
    if damage == "all done":  # and stopped before the file had its name
        shutil.copy(kept, tmp_path / "copy")
        assert run("classify", *command)[0] == 0
        out.unlink()
        kept.write_bytes((tmp_path / "copy").read_bytes())
    code, _, err = run("classify", *command, "--threads", "1")
    assert code == 0
    assert (f"kreinflow: goes on behind {left} records\n" in err) == (left > 0)
    assert gzip.decompress(out.read_bytes()) == gzip.decompress(
        (tmp_path / "whole.gz").read_bytes()
    )
    assert out.read_bytes() == (tmp_path / "whole.gz").read_bytes()
    assert evidence.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert not kept.exists()
    assert whole == ""


def test_killed_in_the_middle(classified, asked, tmp_path):
    whole, out = classified(*asked), tmp_path / "out.tsv"
    code = (
        "import sys, time; from kreinflow.classify import new_objects; "
        "from kreinflow.commands.main import main; new_objects._RECORDS = 2; "
        "from kreinflow.answering.classifier import LandmarkClassifier as C; answer = C.answer; "
        "C.answer = lambda *given: (time.sleep(0.1), answer(*given))[1]; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, "classify", *asked, "-o", out, "--resume"]
    started = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    kept = tmp_path / "out.tsv.unfinished"
    until = time.monotonic() + 60
    while not (kept.exists() and kept.read_bytes().count(b"\n") > 3):
        assert started.poll() is None
        assert time.monotonic() < until
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    assert not out.exists()
    classified(*asked, "-o", out, "--resume")
    assert out.read_text() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["out.tsv"]


def test_only_the_same_work_goes_on(refused, stopped, asked, trained, tmp_path):
    model, one, two = asked
    out, kept = tmp_path / "out.tsv", tmp_path / "out.tsv.unfinished"
    other = write_fasta(tmp_path / "other.fa", families(3, each=2))

    stopped(model, one, "-o", out, "--resume", batches=1)
    for changed, what in (
        ((trained.path, one), "model"),
        ((model, other), "input"),
        ((model, one, two), "input"),
        ((model, one, "--shard", "1/2"), "--shard"),
        ((model, one, "--confidence", "0.8"), "--confidence"),
        ((model, other, "--evidence", tmp_path / "e.tsv"), "--evidence, input"),
    ):
        said = refused("classify", *changed, "-o", out, "--resume")
        assert f"{kept}: was begun with another {what}. Give what it was begun with" in said
        assert kept.exists()
        assert not out.exists()


def test_what_cannot_go_on_is_refused(refused, trained, tmp_path):
    asked, out = ("classify", trained.path, trained.fasta, "--resume"), tmp_path / "out.tsv"
    for more in ((), ("-o", "-"), ("-o", "/dev/null"), ("-o", tmp_path)):
        assert "--resume: name the file to write, with -o." in refused(*asked, *more)
    assert "not with --resume" in refused(*asked, "-o", out, "--errors", "0.2")
    said = refused("classify", trained.path, "-", "--resume", "-o", out)
    assert "--resume: standard input can be read once" in said
    bad = write_fasta(tmp_path / "bad.fa", [("bad", "a", "1")])
    refused("classify", trained.path, bad, "--resume", "--strict", "-o", out)
    assert list(tmp_path.iterdir()) == [bad], "nothing was done, so nothing is kept"
    with unfinished(str(out), {}) as work:
        work.add(1, ["x"])
        assert "another process is at work on it" in refused(*asked, "-o", out)
