"""``kreinflow inspect``: a model as text and as JSON."""

import json
from dataclasses import replace


def test_text_and_json(run, refused, trained):
    code, out, err = run("inspect", trained.path)
    assert (code, err) == (0, "")
    records = f"records: {len(trained.records)}"
    assert {"objects: sequences", records, "  matrix: blosum62"} <= set(out.splitlines())
    code, out, _ = run("inspect", trained.path, "--json")
    assert (code, json.loads(out)["landmarks"]) == (0, len(trained.model.landmark_ids))
    assert "Give a model file that kreinflow wrote." in refused("inspect", trained.fasta)


def test_what_a_model_says_does_not_command_the_terminal(run, trained, tmp_path):
    said, path = "\x1b[31m\x9b1m\ud800", tmp_path / "m.safetensors"
    replace(trained.model, about=trained.model.about | {"records": said}).save(path)
    code, out, _ = run("inspect", path)
    assert code == 0
    assert r"records: \x1b[31m\x9b1m\ud800" in out
    code, out, _ = run("inspect", path, "--json")
    assert (code, json.loads(out)["records"]) == (0, said)
