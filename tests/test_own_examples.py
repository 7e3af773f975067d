"""The adapters of examples/own_similarity, with the packages that they are for, where installed."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from kreinflow.estimators import KreinClassifier

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
