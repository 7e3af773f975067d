"""The files that subcommands write: where they may be, and how they appear."""

import gzip
from pathlib import Path

from small_inputs import write_fasta


def test_where_a_table_can_be_written(classified, trained, tmp_path):
    given = (trained.path, write_fasta(tmp_path / "new.fasta", trained.records[:3]))
    expected = classified(*given)
    (tmp_path / "kept.tsv").write_text("old")
    (tmp_path / "link.tsv").symlink_to("kept.tsv")
    classified(*given, "-o", tmp_path / "link.tsv")
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "kept.tsv").read_text() == expected
    classified(*given, "-o", tmp_path / "folder" / "out.tsv.gz")
    assert gzip.decompress((tmp_path / "folder" / "out.tsv.gz").read_bytes()).decode() == expected
    classified(*given, "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()


def test_where_nothing_can_be_written(refused, trained, tmp_path):
    long = tmp_path / ("x" * 300)
    for option, command in (
        ("-o", ("classify", trained.path, trained.fasta)),
        ("--landmarks", ("export", trained.path)),
    ):
        for path, message in (
            (".", "is a folder. Name a file in it."),
            (trained.fasta / "out", "cannot be written (File exists)."),
            (long, "cannot be written (File name too long)."),
        ):
            assert f"{option} {path}: {message}" in refused(*command, option, path)
    message = refused("export", trained.path, "--landmarks", "/dev/null")
    assert "--landmarks /dev/null: is not a plain file. Name another one." in message
    assert "(File name too long)" in refused("classify", trained.path, long)


def test_nothing_is_written_over_what_is_read(refused, trained, tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_bytes(trained.path.read_bytes())
    new = write_fasta(tmp_path / "new.fasta", trained.records[:2])
    (tmp_path / "link.tsv").symlink_to(new)
    for arguments in (
        ("classify", model, new, "-o", new),
        ("classify", model, new, "-o", tmp_path / "link.tsv"),
        ("classify", model, new, "-o", model),
        ("classify", model, "--landmarks", "-o", model),
        ("export", model, "--landmarks", model),
        ("explain", model, new, "--id", trained.records[0][0], "-o", new),
    ):
        message = refused(*arguments)
        assert f"{arguments[-1]}: is what is read. Name another file." in message
    assert model.read_bytes() == trained.path.read_bytes()
    assert new.read_text().startswith(">")
