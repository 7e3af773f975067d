"""Parts of the input: in a row they are the whole, byte for byte."""

import itertools

import pytest

from answering.cascades import cascade_model
from kreinflow.classify.new_objects import Shard
from small_inputs import families, model_of, write_fasta


@pytest.mark.parametrize("total", [1, 2, 5, 16, 17, 1000])
def test_parts_cover_all_once(total):
    for n in (1, 2, 3, 7, 40):
        bounds = [Shard(k, n).bounds(total) for k in range(1, n + 1)]
        assert bounds[0][0] == 0
        assert bounds[-1][1] == total
        assert all(one[1] == next_[0] for one, next_ in itertools.pairwise(bounds))
        sizes = [last - first for first, last in bounds]
        assert max(sizes) - min(sizes) <= 1
        assert sizes[0] == max(sizes), "the first part has the header, so it is never empty"


def test_shards_of_several_files_in_a_row_are_the_whole(classified, run, tmp_path):
    """With evidence, a record at fault, parts that end inside files, and parts of nothing."""
    model, _ = cascade_model(tmp_path)
    model.save(path := tmp_path / "model.safetensors")
    records = families(7, each=3, changed=0.6)
    files = [
        write_fasta(tmp_path / "one.fasta", records[:2]),
        write_fasta(tmp_path / "two.fasta.gz", [("bad", "a", "1"), *records[2:4]]),
        write_fasta(tmp_path / "three.fasta", records[4:]),
    ]
    together = write_fasta(tmp_path / "all.fasta", [*records[:2], ("bad", "a", "1"), *records[2:]])
    evidence = tmp_path / "e.tsv"

    def told(*arguments):
        table = classified(path, *arguments, "--evidence", evidence)
        return table, evidence.read_text()

    whole = told(together)
    assert whole[0].count("\n") == 11
    assert told(*files) == whole
    for n in (2, 4, 13):
        pieces = [told(*files, "--shard", f"{k}/{n}", "--threads", k) for k in range(1, n + 1)]
        assert tuple(map("".join, zip(*pieces, strict=True))) == whole
    assert (
        "kreinflow: 0 records: 0 classified" in run("classify", path, *files, "--shard", "13/13")[2]
    )


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("objects", ["dissimilarity", {"name": "edit_distance"}], ids=str)
def test_shards_of_rows_of_numbers(classified, tmp_path, objects):
    model, dataset, _ = model_of(tmp_path, objects, learner="ikfd")
    model.save(path := tmp_path / "model.safetensors")
    new = tmp_path / ("k.csv" if objects == "dissimilarity" else "x.txt")
    whole = classified(path, new)
    assert len(whole.splitlines()) == len(dataset.ids) + 1
    assert "".join(classified(path, new, "--shard", f"{k}/4") for k in (1, 2, 3, 4)) == whole


def test_what_cannot_be_parted_is_refused(refused, run, trained, tmp_path, capsys):
    for wrong in ("0/16", "17/16", "3", "a/b", "-1/2", "1/0"):
        with pytest.raises(SystemExit) as ended:
            run("classify", trained.path, trained.fasta, f"--shard={wrong}")
        assert ended.value.code == 2
        assert "give a part and the number of parts, as 3/16" in capsys.readouterr().err
    asked = "classify", trained.path
    said = refused(*asked, "-", "--shard", "1/2")
    assert "--shard: standard input can be read once" in said
    said = refused(*asked, trained.fasta, "--shard", "1/2", "--errors", "0.2")
    assert "--errors: is decided over all records at once, so not with --shard." in said
    said = refused(*asked, trained.fasta, tmp_path / "none.fasta", "-o", tmp_path / "o.tsv")
    assert "none.fasta: no such file" in said
    assert "read once" in refused(*asked, "-", "-")
    said = refused(*asked, tmp_path / "none.fasta", "--shard", "1/2")
    assert "none.fasta: no such file" in said
    said = refused(*asked, trained.path, trained.fasta, "-o", trained.fasta)
    assert "is what is read" in said
