"""A recipe in plain words."""

from collections.abc import Mapping, Sequence
from typing import Any

from kreinflow.landmarks.registry import make_selector
from kreinflow.learners.registry import factored, make_learner
from kreinflow.report.own import Config
from kreinflow.sequences.sources.source import Source
from kreinflow.sequences.sources.vectors import ComparedSource

_TRANSFORMS = {
    "raw": "the score as it is",
    "normalised": "the score divided by the root of both self-scores",
    "sqrt": "the square root of the normalised score",
    "log": "the logarithm of the normalised score",
    "evalue": "the logarithm of the E-value",
}

_LEARNERS = {
    "ny_ikfd": "a Fisher discriminant on the Krein factor, Ny-iKFD",
    "ny_pcvm": "a sparse probabilistic classifier on the Krein factor, Ny-PCVM",
    "ny_epcvm": "a sparse probabilistic classifier on the Krein factor, Ny-EPCVM",
    "sf_lsm": "ridge regression",
    "svc": "a support vector classifier",
    "linear_svc": "a linear support vector classifier",
    "nearest_landmark": "the nearest landmark",
}
"""Of the learners that most recipes have; of others, the head of what they say of themselves."""


RELATIVES = "A sequence that may be unknown is aligned with its nearest training records too."


def in_words(
    recipe: Mapping[str, Any],
    config: Config,
    landmarks: str,
    source: Source,
    relatives: bool = False,
) -> list[str]:
    """Return what a recipe does, as sentences: landmarks, what is looked at, learner, cascade.

    Parameters
    ----------
    recipe : mapping
    config : mapping
    landmarks : str
        Their number in the final model, or an empty text.
    source : Source
        Of the data.
    relatives : bool
        Whether the final model looks for relatives of what may be unknown.
    """
    aligned = source.aligned
    selector = make_selector(config["selectors"][recipe["selector"]])
    head = selector.describe("alignments" if aligned else "scores").split(",")[0]
    how = "aligned" if aligned else "compared"
    number = f"{landmarks} landmarks" if landmarks else "landmarks"
    found = [f"A query is {how} with {number} ({recipe['selector']}: {head})."]
    views = recipe.get("views") or {}
    looks = [f"{_TRANSFORMS[recipe['transform']]} (transform {recipe['transform']})"]
    if isinstance(source, ComparedSource):
        looks = [f"the values of the kernel {source.kernel.name}"]
    elif not aligned:
        looks = ["the scores as they were given"]
    if words := views.get("words"):
        looks.append(f"the words of {_range(words)} residues")
    if views.get("vectors"):
        looks.append("the vectors that you gave")
    text = f"The model looks at {joined(looks)}"
    if lift := recipe.get("lift"):
        text += f", by a {'Gaussian' if lift['kernel'] == 'gaussian' else 'linear'} kernel (lift)"
    elif factored([recipe], config["learners"]):
        correction = recipe.get("correction", "none")
        text += ", as an indefinite kernel" + (
            " whose eigenvalues stay as they are (correction none)"
            if correction == "none"
            else f" with the correction {correction}"
        )
    learner = config["learners"][recipe["learner"]]
    name = _LEARNERS.get(learner["method"]) or make_learner(learner).describe().split(",")[0]
    found += [f"{text}.", f"It decides by {name} (learner {recipe['learner']})."]
    if recipe.get("cascade"):
        found.append(
            "If it is unsure, it aligns the query with its nearest training records too (cascade)."
        )
    return [*found, RELATIVES] if relatives else found


def joined(parts: Sequence[str], last: str = "and") -> str:
    """Return parts of a sentence with commas, and a word before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    if len(numbers) > 2 and sorted(numbers) == list(range(low, high + 1)):
        return f"{low} to {high}"
    return joined([str(n) for n in numbers])
