"""The adapters of examples/own_similarity, with the packages that they are for, where installed."""

import importlib
import shlex
import shutil
import sys
import textwrap
from pathlib import Path

import numpy as np
import parasail
import pytest
import yaml

from kreinflow.commands.main import main
from kreinflow.config.configuration import complete_configuration
from kreinflow.estimators import KreinClassifier
from kreinflow.kernels.command import CommandKernel
from kreinflow.sequences.sources.registry import make_source
from small_inputs import configuration, families

FOLDER = Path(__file__).parents[1] / "examples" / "own_similarity"

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


@pytest.fixture
def adapter(monkeypatch):
    """A function that imports an adapter, or skips the test if its package is not there."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def imported(name, package):
        pytest.importorskip(package, reason=f"needs {package}")
        sys.modules.pop(name, None)
        return importlib.import_module(name)

    return imported


def accuracy(metric, objects, labels, kind):
    """Of every third object, by a model of the others and ten landmarks."""
    model = KreinClassifier(metric=metric, kind=kind, selector="uniform", n_landmarks=10)
    tested = np.arange(len(objects)) % 3 == 0
    split = [[x for x, own in zip(objects, tested, strict=True) if own == t] for t in (0, 1)]
    return model.fit(split[0], labels[~tested]).score(split[1], labels[tested])


def test_strings(adapter):
    module = adapter("strings", "rapidfuzz")
    assert module.similarity(["kitten", "ab"], ["sitting"]).tolist() == [[1 - 3 / 7], [0.0]]
    rng = np.random.default_rng(1)
    ancestors = rng.integers(97, 107, size=(2, 30))
    labels = np.arange(60) % 2
    noisy = np.where(rng.random((60, 30)) < 0.4, rng.integers(97, 107, (60, 30)), ancestors[labels])
    texts = ["".join(map(chr, row)) for row in noisy]
    assert accuracy(module.similarity, texts, labels, "similarity") > 0.9


def aligned(x, y):
    """The score of Smith and Waterman as parasail has it without a profile."""
    return parasail.sw(x, y, 11, 1, parasail.blosum62).score if x and y else 0


def test_paired_chains(adapter, tmp_path, monkeypatch, capsys):
    module = adapter("chains", "parasail")
    alpha, beta = (
        [r for r in families(s, ("x", "y"), each=24, length=n, changed=0.4)]
        for s, n in ((3, 13), (4, 15))
    )
    rows = [  # every third lacks a chain
        (id, label, a * (i % 6 != 1), b * (i % 6 != 4))
        for i, ((id, label, a), (*_, b)) in enumerate(zip(alpha, beta, strict=True))
    ]
    texts = [f"{a}|{b}" for *_, a, b in rows]
    expected = [
        [
            sum(
                aligned(u, v) / np.sqrt(aligned(u, u) * aligned(v, v)) if u and v else 0
                for u, v in zip(x[2:], y[2:], strict=True)
            )
            for y in rows[:9]
        ]
        for x in rows[:9]
    ]
    np.testing.assert_allclose(module.together(texts[:9], texts[:9]), expected, rtol=1e-12)

    assert accuracy(module.together, texts, np.array([r[1] for r in rows]), "similarity") > 0.9

    monkeypatch.chdir(tmp_path)
    lines = [f"{id},{a},{b},{label}\n" for id, label, a, b in rows]
    Path("receptors.csv").write_text(f"id,cdr3a,cdr3b,epitope\n{''.join(lines)}")
    assert main(["init", "receptors.csv"]) == 2
    said = capsys.readouterr().err
    assert "several columns have sequences, 'cdr3a' and 'cdr3b', and a record has one." in said
    assert "examples/own_similarity/chains.py" in said
    # The config of the example reads the table.
    told = textwrap.dedent(module.__doc__.split("empty:\n\n")[1])
    assert told.strip() in (FOLDER.parents[1] / "docs" / "own-similarity.md").read_text()
    config = complete_configuration(configuration(yaml.safe_load(told)["source"], transform="raw"))
    dataset = make_source(config["datasets"]["mine"]["source"], Path()).load(None, 1)
    assert dataset.payload.objects.tolist() == texts
    assert dataset.row_labels == [label for _, label, *_ in rows]


def warped(x, y):
    """Dynamic time warping without a band, by its definition."""
    D = np.full((len(x) + 1, len(y) + 1), np.inf)
    D[0, 0] = 0
    for i, j in np.ndindex(len(x), len(y)):
        D[i + 1, j + 1] = (x[i] - y[j]) ** 2 + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return np.sqrt(D[-1, -1])


def test_series(adapter, monkeypatch):
    module = adapter("series", "numba")
    rng = np.random.default_rng(2)
    few = [rng.normal(size=n) for n in (9, 12, 12)]
    monkeypatch.setattr(module, "BAND", 1.0)
    expected = [[warped(x, y) for y in few] for x in few]
    np.testing.assert_allclose(module.distance(few, few), expected)
    texts = [" ".join(map(str, x)) for x in few]
    np.testing.assert_allclose(module.of_texts(texts, texts), expected)
    labels = np.arange(60) % 2
    times = np.linspace(0, 1, 50) ** rng.uniform(0.7, 1.4, size=(60, 1))
    series = np.where(labels[:, None], np.sin(9 * times), np.sin(9 * times) ** 3)
    assert accuracy(module.distance, [*series], labels, "dissimilarity") > 0.9


def test_molecules(adapter):
    module = adapter("molecules", "rdkit")
    found = np.array(module.tanimoto(["CCO", "c1ccccc1"], ["CCO", "CCN"]))
    assert found[0, 0] == 1
    assert 0 < found[0, 1] < 1
    assert found[1, 1] == 0
    alcohols = [f"{'C' * n}({'C' * k})O" for n in range(1, 11) for k in range(1, 4)]
    rings = [f"c1ccccc1{'C' * n}{end}" for n in range(10) for end in ("N", "F", "Cl")]
    labels = np.repeat([0, 1], 30)
    assert accuracy(module.tanimoto, alcohols + rings, labels, "similarity") > 0.9
    with pytest.raises(Exception, match="xx is no SMILES"):
        module.tanimoto(["xx"], ["CCO"])


def test_graphs(adapter):
    module = adapter("graphs", "networkx")
    same = np.array(module.wl(["1-2 2-3", "a-b"], ["x-y y-z", "1-2 2-3 3-1"]))
    assert same[0, 0] == pytest.approx(1)
    assert (same[0, 1], same[1, 0]) < (1, 1)
    rng = np.random.default_rng(3)

    def tree(n, star):
        return " ".join(f"{i}-{rng.integers(2) if star else i - 1}" for i in range(2, n)) + " 0-1"

    labels = np.arange(60) % 2
    graphs = [tree(int(rng.integers(8, 20)), own) for own in labels]
    assert accuracy(module.wl, graphs, labels, "similarity") > 0.9


def test_elastic_distances(adapter):
    module = adapter("elastic", "aeon")
    rng = np.random.default_rng(2)
    few = [rng.normal(size=n) for n in (9, 12, 12)]
    found = module.distance(few, few)
    np.testing.assert_allclose(found, found.T)
    assert (np.diag(found) == 0).all()
    assert found[0, 1] == pytest.approx(moved(few[0], few[1]))
    texts = [" ".join(map(str, x)) for x in few]
    np.testing.assert_allclose(module.of_texts(texts, texts[:1]), found[:, :1])
    labels = np.arange(60) % 2
    series = [np.sin(9 * np.linspace(0, 1, int(n))) for n in rng.integers(40, 60, 60)]
    series = [x**3 if own else x for x, own in zip(series, labels, strict=True)]
    assert accuracy(module.distance, series, labels, "dissimilarity") > 0.9


def moved(x, y, c=1.0):
    """Move, split, merge by its definition (Stefan et al. 2013, figure 7)."""

    def cost(new, x, y):
        between = min(x, y) <= new <= max(x, y)
        return c if between else c + min(abs(new - x), abs(new - y))

    D = np.full((len(x), len(y)), np.inf)
    D[0, 0] = abs(x[0] - y[0])
    for i, j in np.ndindex(len(x), len(y)):
        if i and j:
            D[i, j] = D[i - 1, j - 1] + abs(x[i] - y[j])
        if i:
            D[i, j] = min(D[i, j], D[i - 1, j] + cost(x[i], x[i - 1], y[j]))
        if j:
            D[i, j] = min(D[i, j], D[i, j - 1] + cost(y[j], x[i], y[j - 1]))
    return D[-1, -1]


def test_spectra(adapter):
    module = adapter("spectra", "matchms")
    # Of three peaks two match, one of them by the difference of the precursors.
    found = module.modified_cosine(["200 50:1 100:2 150:2"], ["210 50:1 90:1 160:2"])
    assert found == [[pytest.approx(5 / (3 * np.sqrt(6)))]]
    rng = np.random.default_rng(6)
    ancestors = rng.uniform(50, 400, size=(2, 12))
    labels = np.arange(60) % 2

    def text(own):
        kept = ancestors[own][rng.random(12) < 0.7]
        peaks = np.unique(np.append(kept, rng.uniform(50, 400, 3)).round(4))
        return " ".join(["450", *(f"{mz}:{rng.uniform(1, 9):.3f}" for mz in peaks)])

    assert accuracy(module.modified_cosine, list(map(text, labels)), labels, "similarity") > 0.9


def test_graph_kernels(adapter):
    module = adapter("graph_kernels", "grakel")
    graphs = ["C1-O2 C1-C3", "C7-O8 C9-C7", "C1-C2 C2-C3", "N1-N2"]
    found = module.paths(graphs, graphs)
    # Ordered shortest paths by ends and length: (CO 1, OC 1, CC 1 twice, CO 2, OC 2), ...
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == pytest.approx(2 * 4 / np.sqrt((4 + 4) * (16 + 4)))
    assert found[0, 3] == 0
    np.testing.assert_array_equal(module.paths(graphs[:1], graphs[2:]), found[:1, 2:])
    rng = np.random.default_rng(3)

    def tree(n, star):
        return " ".join(f"C{i}-C{rng.integers(2) if star else i - 1}" for i in range(1, n))

    labels = np.arange(60) % 2
    trees = [tree(int(rng.integers(8, 20)), own) for own in labels]
    assert accuracy(module.paths, trees, labels, "similarity") > 0.9


def test_fingerprints(adapter):
    module = adapter("fingerprints", "skfp")
    alcohols = [f"{'C' * n}({'C' * k})O" for n in range(1, 11) for k in range(1, 4)]
    rings = [f"c1ccccc1{'C' * n}{end}" for n in range(10) for end in ("N", "F", "Cl")]
    bits = [set(np.flatnonzero(module.fingerprint(x))) for x in (alcohols[0], alcohols[4])]
    expected = len(bits[0] & bits[1]) / len(bits[0] | bits[1])
    assert module.tanimoto(alcohols[:1], [alcohols[4]])[0, 0] == pytest.approx(expected)
    labels = np.repeat([0, 1], 30)
    assert accuracy(module.tanimoto, alcohols + rings, labels, "similarity") > 0.9


def test_structures(tmp_path):
    if shutil.which("TMalign") is None:
        pytest.skip("needs the program TMalign")
    turn = np.arange(40)
    helix = np.stack([2.3 * np.cos(1.745 * turn), 2.3 * np.sin(1.745 * turn), 1.5 * turn], axis=1)
    strand = np.stack([np.zeros(40), 0.9 * (-1.0) ** turn, 3.3 * turn], axis=1)
    rng, paths = np.random.default_rng(1), []
    for number in range(6):
        trace = (helix, strand)[number % 2][: 34 + number]
        trace = trace + rng.normal(0, 0.1, trace.shape)
        atoms = "".join(
            f"ATOM  {i:5}  CA  ALA A{i:4}    {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C\n"
            for i, (x, y, z) in enumerate(trace, 1)
        )
        paths.append(str(tmp_path / f"s{number}.pdb"))
        Path(paths[-1]).write_text(f"{atoms}TER\nEND\n")
    program = map(shlex.quote, (sys.executable, str(FOLDER / "structures.py")))
    command = f"{' '.join(program)} {{a}} {{b}}"
    kernel = CommandKernel({"command": command, "objects": "files", "self": 1}).loaded([])
    found = kernel.columns(np.array(paths, dtype=object), np.array(paths, dtype=object))
    np.testing.assert_array_equal(found, found.T)
    same = np.equal.outer(np.arange(6) % 2, np.arange(6) % 2)
    assert found[same].min() > 0.7 > found[~same].max()
