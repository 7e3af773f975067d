"""What the final model is and does, in plain words and as the methods paragraph of a paper."""

import re
from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from markupsafe import Markup

from kreinflow.alignment.scoring import by_parasail
from kreinflow.base.hierarchy import Tree
from kreinflow.base.references import REFERENCES
from kreinflow.fitting.first_stage import SAMPLE
from kreinflow.fitting.fit_cascade import LIKELIEST, STEPS
from kreinflow.landmarks.registry import make_selector
from kreinflow.learners.registry import factored, make_learner
from kreinflow.learners.siblings import learner_of
from kreinflow.report.html import page_environment
from kreinflow.report.reading import DatasetResults
from kreinflow.report.texts import TEXTS
from kreinflow.sequences.sources.measured import ComparedSource

RELATIVES = "A sequence that may be unknown is aligned with its nearest training records too."
_COMPARED = {"aligned": "compared", "aligns": "compares", "A sequence": "An object"}

_NUMBER = {key: number for number, key in enumerate(REFERENCES, 1)}


def _with_links(text: str) -> str:
    """Return a text with references, which stand in it as ``[@key; @key]``, as links by number."""

    def links(found: re.Match[str]) -> str:
        cited = sorted(_NUMBER[key] for key in re.findall(r"@(\w+)", found[0]))
        return "[" + ", ".join(f'<a href="#reference-{n}">{n}</a>' for n in cited) + "]"

    known = "|".join(REFERENCES)
    return re.sub(rf"\[@(?:{known})(?:; @(?:{known}))*\]", links, text)


def beside_parasail(scoring: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Tell whether anything beside parasail may align sequences, and is held against it."""
    return not by_parasail(config["alignment"]["backend"], scoring["mode"])


def methods_text(data: DatasetResults) -> Markup:
    """Return the methods paragraphs of the final model, from the config of the run."""
    config, settings, recipe = data.config, data.settings, data.recipe
    levels, scoring = settings.get("levels"), settings["scoring"]
    learner = make_learner(config["learners"][recipe["learner"]])
    if levels is not None:
        learner = learner_of(learner, Tree.of("ab", ".").forks, levels["learn"])
    lift = recipe.get("lift")
    a = config.get("transforms", {}).get("log", {}).get("a", 20)
    environment = page_environment()
    environment.globals["joined"] = joined
    text = environment.get_template("methods.html.j2").render(
        data=data,
        config=config,
        settings=settings,
        recipe=recipe,
        source=data.source,
        selector=make_selector(config["selectors"][recipe["selector"]]),
        learner=learner,
        factored=bool(factored([recipe], config["learners"])),
        lift=lift and {**lift, "form": TEXTS["lifts"][lift["kernel"]]},
        mode=TEXTS["modes"].get(scoring["mode"], scoring["mode"]),
        beside_parasail=data.aligned and beside_parasail(scoring, config),
        transform=TEXTS["transforms"][recipe["transform"]].format(a=a),
        coordinates=TEXTS["coordinates"].get(recipe.get("correction", "none")),
        cascade={"first": STEPS[0], "likeliest": LIKELIEST, "sample": f"{SAMPLE:,}"},
        threshold=threshold_text(config, data.several),
        chosen_by=chosen_by(data),
        others=len(data.recipes) - 1,
    )
    text = re.sub(r" ?(</?p>) ?", r"\1", " ".join(_with_links(text).split()))
    return Markup(text.replace("</p>", "</p>\n"))


def threshold_text(config: Mapping[str, Any], several: bool = False) -> str:
    """Return what the reject threshold was chosen for."""
    if several:
        return "the largest F1 of each label"
    if config.get("reject_coverage") is not None:
        return f"{100 * float(config['reject_coverage']):g} % of the predictions accepted"
    error, confidence = (100 * float(config[f"reject_{key}"]) for key in ("error", "confidence"))
    return f"at most {error:g} % errors among accepted predictions with {confidence:g} % confidence"


def in_words(data: DatasetResults) -> list[str]:
    """Return what the final recipe does, as sentences: landmarks, what is looked at, learner."""
    recipe, config, source = data.recipe, data.config, data.source
    selector = make_selector(config["selectors"][recipe["selector"]])
    head = selector.describe(data.unit).split(",")[0]
    how = "aligned" if data.aligned else "compared"
    looks = [f"{TEXTS['looks'][recipe['transform']]} (transform {recipe['transform']})"]
    if isinstance(source, ComparedSource):
        looks = [f"the values of the kernel {source.kernel.name}"]
    elif not data.aligned:
        looks = ["the scores as they were given"]
    views, by = recipe.get("views") or {}, ""
    if words := views.get("words"):
        looks.append(f"the words of {joined(list(map(str, words)))} residues")
    if views.get("vectors"):
        looks.append("the vectors that you gave")
    if lift := recipe.get("lift"):
        by = f", by a {'Gaussian' if lift['kernel'] == 'gaussian' else 'linear'} kernel (lift)"
    elif factored([recipe], config["learners"]):
        by = f", as an indefinite kernel with the correction {recipe.get('correction', 'none')}"
        stay = " whose eigenvalues stay as they are (correction none)"
        by = by.replace(" with the correction none", stay)
    learner = config["learners"][recipe["learner"]]
    described = make_learner(learner).describe().split(",")[0]
    name = TEXTS["learners"].get(learner["method"], described)
    found = [
        f"A query is {how} with {int(data.final['landmarks']):,} landmarks "
        f"({recipe['selector']}: {head}).",
        f"The model looks at {joined(looks)}{by}.",
        f"It decides by {name} (learner {recipe['learner']}).",
    ]
    if recipe.get("cascade"):
        found.append(
            "If it is unsure, it aligns the query with its nearest training records too (cascade)."
        )
    found += [RELATIVES] * data.asks_relatives
    return [worded(data, text) for text in found]


def worded(data: DatasetResults, text: str) -> str:
    """Return a text on alignments as it is said of objects that are compared otherwise."""
    for aligned, compared in () if data.aligned else _COMPARED.items():
        text = text.replace(aligned, compared)
    return text


def joined(parts: Sequence[str]) -> str:
    """Return parts of a sentence with commas, and "and" before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def chosen_by(data: DatasetResults) -> str:
    """Return why the recipe of the final model is that of a data set, as part of a sentence."""
    if data.settings.get("final"):
        return "as the config asks"
    if len(data.recipes) == 1:
        return "the only recipe"
    prefer = data.config["prefer"]
    how: str = TEXTS["chosen_by"][prefer].format(unit=data.unit)
    return how + (TEXTS["chosen_by_worst"][prefer] if data.final["inner_sizes"] else "")


def asks(landmarks: str, cascade: Mapping[str, Any]) -> str:
    """Return which records the final model compares a query with.

    ``landmarks`` is their number, ``cascade`` has threshold, steps, and likeliest, which is None
    without machines of pairs of classes.
    """
    text = f"A query is aligned with {landmarks} landmarks."
    threshold, (least, *more) = cascade["threshold"], cascade["steps"] or [0]
    levels = [f"its {least:,} nearest training records"] if least else []
    levels += [f"its {q:,} nearest" for q in more]
    if cascade["likeliest"]:
        levels.append(
            f"the members of its {cascade['likeliest']} likeliest classes, if these are often "
            "taken for each other"
        )
    if not levels or threshold <= 0:
        return f"{text} Training records are not asked."
    then = ", then with ".join(levels)
    if threshold > 1:
        return f"{text} Then each query is aligned with {then}."
    below = f"If its largest probability is below {threshold_digits(threshold)}"
    stops = " It stops at the first level at which the probability is that large."
    return f"{text} {below}, it is aligned with {then}.{stops if levels[1:] else ''}"


def threshold_digits(threshold: float) -> str:
    """Return a threshold with four digits of its distance from 1, where thresholds crowd."""
    digits = 3 - floor(log10(max(abs(1 - threshold), 1e-12)))
    return f"{threshold:.{max(3, digits)}f}".rstrip("0").rstrip(".")
