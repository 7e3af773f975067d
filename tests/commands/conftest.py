"""The command, run in this process, and a model to run it with."""

from types import SimpleNamespace

import pytest
import yaml

from kreinflow.commands.main import main
from kreinflow.config.configuration import load_configuration
from small_inputs import families, lifted_model, model_of


@pytest.fixture
def run(capsys):
    """A function that runs the command: exit code, standard output, error."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return code, said.out, said.err

    return command


@pytest.fixture
def refused(run):
    """A function that runs what is the user's fault, and returns the one message."""

    def command(*arguments):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith("kreinflow input error: ")
        return err

    return command


@pytest.fixture
def classified(run):
    """A function that classifies, and returns what is on the screen."""

    def command(*arguments):
        code, out, err = run("classify", *arguments)
        assert code == 0, err
        return out

    return command


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A model and its file, and the data it was trained on."""
    folder = tmp_path_factory.mktemp("trained")
    model, *_ = model_of(folder, seed=7, changed=0.45)
    model.save(folder / "model.safetensors")
    return SimpleNamespace(
        path=folder / "model.safetensors",
        model=model,
        fasta=folder / "x.fasta",
        records=families(7, changed=0.45),
    )


@pytest.fixture(scope="session")
def lifted(tmp_path_factory):
    """A model that looks at words and vectors, its file, and the data it was trained on."""
    folder = tmp_path_factory.mktemp("lifted")
    model, _ = lifted_model(folder, seed=7, changed=0.45)
    model.save(folder / "model.safetensors")
    return SimpleNamespace(
        path=folder / "model.safetensors",
        model=model,
        fasta=folder / "x.fasta",
        vectors=folder / "v.tsv",
        records=families(7, changed=0.45),
    )


@pytest.fixture
def proposed(run, tmp_path, monkeypatch):
    """A function that runs init, then check on what it wrote: the config, output, errors."""
    monkeypatch.chdir(tmp_path)

    def propose(*arguments, name="kreinflow.yaml"):
        code, out, err = run("init", *arguments)
        assert code == 0, err
        assert out.splitlines()[-1].startswith(f"{name}: written. Next: kreinflow run {name} ")
        load_configuration(name)
        code, ready, refusal = run("check", name)
        assert code == 0, refusal
        assert "ready to run" in ready
        assert all(line in out for line in ready.splitlines())
        return yaml.safe_load((tmp_path / name).read_text()), out, err

    return propose


@pytest.fixture
def refused_here(refused, tmp_path, monkeypatch):
    """A function that runs init on what is at fault: the message. Nothing is written."""
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments):
        before = sorted(tmp_path.rglob("*"))
        message = refused("init", *arguments)
        assert sorted(tmp_path.rglob("*")) == before
        return message

    return refuse
