"""Draw accuracy against the pairs that were asked for, ``docs/own-similarity.png``.

    python benchmarks/draw_own_similarity.py        a minute

It learns from made-up texts of ``objects.py`` under ``examples/own_similarity/strings.py``, which
needs rapidfuzz: 1,000 to learn from, 1,000 to test, means over three seeds.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples" / "own_similarity"))

from strings import similarity  # noqa: E402

from kreinflow.base.random_streams import stream  # noqa: E402
from kreinflow.estimators import KreinClassifier  # noqa: E402
from objects import Counted, texts  # noqa: E402

LANDMARKS, N, SEEDS = (10, 20, 40, 80, 160, 320), 1000, 3


def main() -> None:
    """Run what is drawn, print the figures, and write the picture."""
    found, neighbour = np.zeros((len(LANDMARKS), 2)), 0.0
    for seed in range(SEEDS):
        objects, labels = texts(2 * N, stream(seed, "objects texts"))
        X, new, y, truth = objects[:N], objects[N:], labels[:N], labels[N:]
        for place, m in enumerate(LANDMARKS):
            score = Counted(similarity)
            how = {"learner": "sf_lsm", "selector": "uniform", "n_landmarks": m}
            model = KreinClassifier(metric=score, kind="similarity", random_state=seed, **how)
            asked = model.fit(X, y) and score.pairs
            right = float((model.predict(new) == truth).mean())
            found[place] += np.array([asked / (N * (N - 1) / 2), right]) * 100 / SEEDS
        nearest = np.asarray(similarity(new, X)).argmax(axis=1)
        neighbour += 100 * float((y[nearest] == truth).mean()) / SEEDS
    print(np.round(found, 2), round(neighbour, 2))
    mpl.rcParams.update({"svg.hashsalt": "kreinflow", "font.size": 9})
    figure, axes = plt.subplots(figsize=(5.2, 2.9), layout="constrained")
    axes.semilogx(*found.T, marker="o", color="#2f81f7")
    for (share, right), m in zip(found, LANDMARKS, strict=True):
        axes.annotate(str(m), (share, right), (0, 6), textcoords="offset points", ha="center")
    axes.axhline(neighbour, color="#59636e", linestyle="--")
    axes.text(found[-1, 0], neighbour, "nearest neighbour, all pairs", ha="right", va="bottom")
    axes.set(xlabel="pairs asked for to learn, % of all", ylabel="accuracy, %")
    axes.set_xticks(ticks := [2, 5, 10, 20, 50], map(str, ticks))
    axes.set_xticks([], minor=True)
    axes.set_ylim(top=found[:, 1].max() + 4)
    axes.set_title("numbers: landmarks", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "own-similarity.png", dpi=140, metadata={"Software": None})


if __name__ == "__main__":
    main()
