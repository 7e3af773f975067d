import json

import pytest
import yaml

from kreinflow.commands.proposing.writing import Noted, scalar, yaml_text

ODD = ["no", "NA", "1e5", "007", "0x1f", "12:30:45", "2024-01-01", "a: b", "a #b", "- a", "é 蛋白"]
ODD += ["", " a", "'a'", '"a"', "a\\b", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "`a`", "~", "="]
ODD += ["Yes", "NaN", ".inf", "a\tb", "a\nb", "x.1", "./x.fasta", "ok", "a/b-c_d.fasta.gz", "🧬"]


@pytest.mark.parametrize("text", ODD)
def test_any_text_stays_the_text_it_is(text):
    assert yaml.safe_load(yaml_text({text: {"a": [text, text], "b": Noted(text, text)}})) == {
        text: {"a": [text, text], "b": text}
    }


@pytest.mark.parametrize("number", [1, 0.9, 1e-9, 2e-05, 1e22, 123456.789, True])
def test_numbers(number):
    assert yaml.safe_load(scalar(number)) == number
    if not isinstance(number, bool):
        assert json.loads(scalar(number)) == number


def test_notes_stand_beside_or_above():
    long = "words " * 30
    content = {
        "a": Noted(1, "short"),
        "b": Noted({"c": Noted(2, long)}, "a\nb\x07c"),
    }
    text = yaml_text(content, ["head"])
    lines = text.splitlines()
    assert lines[:3] == ["# head", "a: 1 # short", "b: # a b c"]
    assert lines[-1] == "  c: 2"
    assert all(line.startswith("  # words") for line in lines[3:-1])
    assert max(map(len, lines)) <= 100
    assert yaml.safe_load(text) == {"a": 1, "b": {"c": 2}}
