"""Whether inner folds give chance on labels that say nothing, for all selectors and learners.

    python benchmarks/noise.py --seeds 20

Each run draws points of one cloud and two classes at random, as large as each other. A table has
the mean of the inner accuracy and its distance from 0.5 in standard errors, for each selector and
learner, which have points of their own. Of unbiased figures 6 % are beyond 2 standard errors with
20 seeds. The mean of these distances is 0 then, and their mean square 1.1.
"""

import argparse
import warnings

import numpy as np
import pandas as pd

from kreinflow.estimators import KreinClassifier
from kreinflow.estimators.choice import CHOSEN
from kreinflow.learners.registry import LEARNERS

POINTS, FEATURES, LANDMARKS = 240, 10, 110


def inner_accuracy(seed: int, selector: str, learner: str) -> float:
    """Return what inner folds say of one model of noise."""
    random = np.random.default_rng([seed, *selector.encode(), *learner.encode()])
    X = random.normal(size=(POINTS, FEATURES))
    y = random.permutation(np.arange(POINTS) % 2)
    model = KreinClassifier(
        "gaussian",
        kernel_params={"width": 3.0},
        selector=selector,
        n_landmarks=LANDMARKS if "budget" in CHOSEN[selector].settings_schema else None,
        learner=learner,
        correction="flip" if LEARNERS[learner].needs_positive else "none",
    )
    return float(model.fit(X, y).training_["inner_accuracy"])


def main() -> None:
    """Print the table, a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")  # of factors that miss much: they are of noise
    distances = []
    for selector in CHOSEN:
        cells = []
        for learner in LEARNERS:
            found = pd.Series([inner_accuracy(seed, selector, learner) for seed in range(seeds)])
            distances.append((found.mean() - 0.5) / (found.sem() or 1.0))
            cells.append(f"{learner} {found.mean():.3f} ({distances[-1]:+.1f})")
        print(f"{selector}: {', '.join(cells)}", flush=True)
    z = np.array(distances)
    beyond = np.mean(np.abs(z) > 2)
    print(
        f"of {len(z)}: mean {z.mean():+.2f}, mean square {np.mean(z**2):.2f}, {beyond:.0%} beyond 2"
    )


if __name__ == "__main__":
    main()
