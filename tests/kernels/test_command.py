import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.kernels.command import CommandKernel
from kreinflow.kernels.registry import known_kernel
from own_scores import shared

TEXTS = np.array(["abcab", "b c;abc", "$(rm x)", "ab xy"], dtype=object)
SCRIPT = """
import sys
def read(name):
    lines = [line.rstrip("\\n") for line in open(name)]
    fasta = lines[0].startswith(">")
    return list(zip([x[1:] for x in lines[::2]], lines[1::2])) if fasta else [(x, x) for x in lines]
def pairs(x):
    return set(zip(x, x[1:]))
sys.stderr.write("working\\n")
print("#a b score")
for a, x in read(sys.argv[1]):
    for b, y in read(sys.argv[2]):
        score = 2 * len(pairs(x) & pairs(y)) / (len(pairs(x)) + len(pairs(y)))
        print(WRITE)
"""
SIMPLE = 'a, b, score, sep="\\t"'


@pytest.fixture
def program(tmp_path):
    """A function that writes a program and returns a command line for it."""

    def make(write=SIMPLE, text=SCRIPT, more=""):
        (tmp_path / "program.py").write_text(text.replace("WRITE", write))
        return f"{shlex.quote(sys.executable)} {tmp_path}/program.py {{a}} {{b}}{more}"

    return make


def asking(command, **settings):
    return CommandKernel({"command": command, **settings}).loaded([])


def compared(kernel, X=TEXTS, Y=TEXTS[:2]):
    return kernel.compare(
        X, Y, [f"i{n}" for n, _ in enumerate(X)], [f"j{n}" for n, _ in enumerate(Y)]
    )


@pytest.mark.parametrize("batch", [1, 3, 256])
@pytest.mark.parametrize("reads", ["texts", "fasta"])
def test_the_table_is_read_and_no_text_meets_a_shell(program, batch, reads):
    kernel = asking(program(), batch=batch, reads=reads)
    np.testing.assert_allclose(compared(kernel), shared(TEXTS, TEXTS[:2]))


def test_m8_the_best_line_of_a_pair_and_repeated_objects(program):
    line = 'a, b, *[0] * 9, 3 * score, sep="\\t"); print(a, b, *[0] * 9, score, sep="\\t"'
    kernel = asking(program(line), writes="m8")
    X = TEXTS[[0, 1, 0]]
    np.testing.assert_allclose(compared(kernel, X, X), 3 * shared(X, X))
    least = asking(program(line), writes="m8", kind="squared_dissimilarity")
    np.testing.assert_allclose(compared(least, X, X), shared(X, X))


@pytest.mark.parametrize("reads", ["texts", "fasta"])
def test_one_start_has_all_pairs_that_are_wanted(program, reads, tmp_path):
    """Of lists, and of a mask; the program is told these pairs and no others."""
    text = """
import sys
print(*open(sys.argv[1]), sep="", file=open(sys.argv[0] + ".told", "a"))
names = {}
for path in sys.argv[2:]:
    lines = [line.strip() for line in open(path)]
    names.update(zip([x[1:] for x in lines[::2]], lines[1::2]))
def pairs(x):
    return set(zip(x, x[1:]))
for line in open(sys.argv[1]):
    a, b = line.rstrip("\\n").split("\\t")
    x, y = (pairs(names.get(name, name)) for name in (a, b))
    print(a, b, 2 * len(x & y) / (len(x) + len(y)), sep="\\t")
"""
    command = program(text=text).replace("{a} {b}", "{pairs}" + " {a} {b}" * (reads == "fasta"))
    kernel, told = asking(command, reads=reads), tmp_path / "program.py.told"
    S, ids = shared(TEXTS, TEXTS), list("wxyz")
    lists = np.array([[1, 2], [3, -1], [0, 1], [-1, -1]])
    found = kernel.compare_lists(TEXTS, TEXTS, ids, ids, lists)
    wanted = lists >= 0
    np.testing.assert_allclose(found[wanted], S[np.nonzero(wanted)[0], lists[wanted]])
    assert np.isnan(found[~wanted]).all()
    assert len(told.read_text().split("\n\n")) == 2  # a start, and what is behind it
    assert told.read_text().count("\t") == wanted.sum()
    mask = np.eye(4, dtype=bool)
    twice = kernel.compare(TEXTS[[0, 0, 1, 2]], TEXTS, ids, ids, mask)
    np.testing.assert_allclose(np.diag(twice), S[[0, 0, 1, 2], range(4)])
    assert CommandKernel.fault({"command": "program {pairs}"}) is None


def test_what_is_missing_has_a_stated_score(program):
    some = f"{SIMPLE}) if score > 0 else print('#'"
    with pytest.raises(InputError, match=r"no line for abcab with .* Say what their score is"):
        compared(asking(program(some)), TEXTS, TEXTS[2:])
    kernel = asking(program(some), missing=-1)
    expected = shared(TEXTS, TEXTS[2:])
    np.testing.assert_allclose(compared(kernel, TEXTS, TEXTS[2:]), np.where(expected, expected, -1))


def test_a_file_of_its_own_and_paths(program, tmp_path):
    for name, text in (("x.a.txt", "abc"), ("y.txt", "bcd")):
        (tmp_path / name).write_text(text)
    paths = np.array([str(tmp_path / name) for name in ("x.a.txt", "y.txt")], dtype=object)
    text = """
import os, sys
a, b, out = sys.argv[1:]
with open(out, "w") as file:
    for x in open(a):
        for y in open(b):
            names = os.path.basename(x.strip()), os.path.basename(y.strip()).partition(".")[0]
            print(*names, len(open(x.strip()).read() + open(y.strip()).read()), file=file)
"""
    kernel = asking(program(text=text, more=" {out}"), objects="files")
    assert compared(kernel, paths, paths).tolist() == [[6, 6], [6, 6]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; print('so'); sys.exit('no licence')", "code 1. It said: no licence"),
        ("import sys; print('so far'); sys.exit(3)", "ended with exit code 3. It said: so far"),
        ("import sys; sys.exit(4)", "exit code 4. It said nothing"),
        (
            "print('abcab abcab high')",
            "1: 'abcab abcab high' has no two names and a number in col",
        ),
        ("print('#x'); print('abcab q9 1')", "what it wrote, line 2, names 'q9', which it was"),
        ("print('abcab abcab nan')", "line 1: 'abcab abcab nan' has no two names and a number"),
    ],
)
def test_faults_are_told_with_the_command_and_its_last_words(program, text, message):
    command = program(text=text)
    with pytest.raises(InputError, match=message) as caught:
        compared(asking(command))
    assert "command " in str(caught.value)
    assert "program.py" in str(caught.value)


def test_a_time_out_ends_the_program_and_its_children(program, tmp_path):
    text = f"""
import subprocess, sys, time
child = subprocess.Popen(["sleep", "60"])
open("{tmp_path}/child", "w").write(str(child.pid))
time.sleep(60)
"""
    with pytest.raises(InputError, match="took more than the 1 seconds of its timeout"):
        compared(asking(program(text=text), timeout=1))
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    os.kill(child, 9)
    raise AssertionError("the child lives")


def test_nothing_is_started_unless_the_user_says_so(program, tmp_path):
    command = program(text=f"open('{tmp_path}/started', 'w')")
    kernel = known_kernel({"name": "command", **CommandKernel({"command": command}).settings})
    with pytest.raises(InputError, match="which no file may start.*--score"):
        compared(kernel)
    assert not (tmp_path / "started").exists()
    with pytest.raises(InputError, match="there is no program 'nowhere'"):
        CommandKernel({"command": "nowhere {a} {b}"}).loaded([])
    assert CommandKernel.fault({"command": "x {a}"}).startswith("{b} does not stand in it")
    assert (
        CommandKernel.fault({"command": "x '{a} {b}"})
        == "No closing quotation. Close the quotation mark."
    )
