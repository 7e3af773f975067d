"""The methods paragraph: what ran, in words, with its references."""

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from kreinflow.alignment.scoring import by_parasail
from kreinflow.base.hierarchy import Tree
from kreinflow.base.references import REFERENCES
from kreinflow.fitting.fit_cascade import LIKELIEST, SAMPLE, STEPS
from kreinflow.landmarks.registry import make_selector
from kreinflow.learners.registry import factored, make_learner
from kreinflow.learners.siblings import learner_of
from kreinflow.report.cascades import stated_loss
from kreinflow.report.in_words import joined
from kreinflow.report.own import recipe_called, recipes_of
from kreinflow.report.several import THRESHOLDS
from kreinflow.sequences.sources.registry import make_source
from kreinflow.sequences.sources.source import Source

_NUMBER = {key: number for number, key in enumerate(REFERENCES, 1)}

_TRANSFORMS = {
    "raw": "as they are (raw)",
    "normalised": "divided by the root of both self-scores (normalised)",
    "sqrt": "as the square root of the normalised score (sqrt)",
    "log": "as log(1 + a s)/log(1 + a) of the normalised score s with a = {a:g} (log)",
    "evalue": "as -ln of the expected number of chance hits, normalised by its own diagonal "
    "(evalue)",
}
_MODES = {
    "local": "local (Smith-Waterman)",
    "global": "global (Needleman-Wunsch)",
    "semiglobal": "semi-global",
}

_LANDMARK_COORDINATES = {
    "landmark_basis": "the coordinates of the landmark factor itself",
    "flip_landmark_matrix": "the baseline that flips the landmark matrix in place of the kernel "
    "(as the Nystroem method of scikit-learn does with an indefinite one)",
    "landmark_mds": "the baseline Landmark MDS, the positive part of the landmark factor",
}


def cite(*keys: str) -> Markup:
    """Return the numbers of some references in brackets, as links to the list."""
    links = ", ".join(
        f'<a href="#reference-{_NUMBER[key]}">{_NUMBER[key]}</a>'
        for key in sorted(keys, key=_NUMBER.__getitem__)
    )
    return Markup(f"[{links}]")


def methods_text(
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
    final_recipe: str,
) -> list[Markup]:
    """Return the methods paragraph of a final model as sentences in groups, from what ran.

    Parameters
    ----------
    settings : mapping
        The data set's part of the config: source, scoring, folds, recipes, final.
    config : mapping
        The whole config: alignment, selectors, learners, recipes, transforms, inner_folds, prefer,
        reject_error, reject_coverage; auto if it names no recipes.
    final_recipe : str
        The recipe of the final model.

    Returns
    -------
    list of Markup
        One paragraph each; everything from the config is escaped.
    """
    source = make_source(settings["source"])
    own = [recipe_called(final_recipe, config)]
    others = len(recipes_of(settings, config)) - 1
    return [
        _data(source, settings, config) + _scores(own, source, config),
        *_how(own, settings, config),
        _evaluation(settings, config, others, final_recipe, source.several),
    ]


def others_text(
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
    final_recipe: str,
) -> list[Markup]:
    """Return what the recipes beside that of the final model are; as :func:`methods_text`."""
    others = [r for r in recipes_of(settings, config) if r["name"] != final_recipe]
    if not others:
        return []
    scores = _scores(others, make_source(settings["source"]), config)
    return [*([scores] if scores else []), *_how(others, settings, config)]


def _how(
    recipes: Sequence[Mapping[str, Any]], settings: Mapping[str, Any], config: Mapping[str, Any]
) -> list[Markup]:
    """Return what recipes do with the scores."""
    source = make_source(settings["source"])
    lifted = [recipe for recipe in recipes if recipe.get("lift")]
    asking = [recipe for recipe in recipes if recipe.get("cascade")]
    return [
        _landmarks(recipes, config, _unit(source)),
        _factor(factored(recipes, config["learners"]), source.kind),
        *([_lift(lifted)] if lifted else []),
        _learners(recipes, config, settings.get("levels"), source.several),
        *([_cascade(asking)] if asking else []),
    ]


def chosen_by(settings: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return why the recipe of the final model is that of a data set, as part of a sentence."""
    if settings.get("final"):
        return "as the config asks"
    if len(recipes_of(settings, config)) == 1:
        return "the only recipe"
    if config["prefer"] == "cheap":
        unit = _unit(make_source(settings["source"]))
        return (
            f"the recipe with the fewest {unit} per query of those within one standard error of "
            "the best accuracy on the inner folds of all data"
        )
    return "the recipe with the best accuracy on the inner folds of all data"


def _unit(source: Source) -> str:
    return "alignments" if source.aligned else "scores"


def beside_parasail(scoring: Mapping[str, Any], config: Mapping[str, Any]) -> bool:
    """Tell whether anything beside parasail may align sequences, and is held against it."""
    return not by_parasail(config["alignment"]["backend"], scoring["mode"])


def _e(value: object) -> str:
    return html.escape(str(value))


def _told(text: str, references: Sequence[str]) -> str:
    return _e(text) + (f" {cite(*references)}" if references else "")


def _cited(text: str) -> str:
    """Return a text with its references, which stand in it as ``[@key; @key]``, as links."""

    def links(found: re.Match[str]) -> str:
        return cite(*re.findall(r"@(\w+)", found[0]))

    return re.sub(r"\[(?:@\w+(?:; )?)+\]", links, _e(text))


def _data(
    source: Source,
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
) -> Markup:
    text = _cited(source.describe())
    if not source.aligned:
        return Markup(text)
    text += " " if text else ""
    scoring = settings["scoring"]
    way = f"with parasail {cite('daily2016')}"
    if beside_parasail(scoring, config):
        way = (
            f"many at once, each in a lane of a vector register {cite('rognes2011')}, or {way} "
            "where that is faster or the scores need more bits"
        )
    text += (
        f"Sequences were aligned {way}: "
        f"{_MODES.get(scoring['mode'], _e(scoring['mode']))} alignment, matrix "
        f"{_e(scoring['matrix'])}, a gap of n residues costing {_e(scoring['gap_open'])} + "
        f"(n - 1) {_e(scoring['gap_extend'])}. Identical sequences were aligned once. "
    )
    if beside_parasail(scoring, config):
        text += (
            "A job that aligns scores some of its pairs, drawn at random, with parasail too, and "
            "fails if one differs. "
        )
    return Markup(text)


def _scores(
    recipes: Sequence[Mapping[str, Any]], source: Source, config: Mapping[str, Any]
) -> Markup:
    """Return what the scores of alignments are made into."""
    if not source.aligned:
        return Markup("")
    constants = config.get("transforms", {}).get("log", {})
    names = list(dict.fromkeys(recipe["transform"] for recipe in recipes))
    ways = [_TRANSFORMS[name].format(a=constants.get("a", 20)) for name in names]
    return Markup(f"The scores were used {joined(ways)}.")


def _landmarks(
    recipes: Sequence[Mapping[str, Any]], config: Mapping[str, Any], unit: str
) -> Markup:
    texts = []
    for name in dict.fromkeys(recipe["selector"] for recipe in recipes):
        selector = make_selector(config["selectors"][name])
        texts.append(f"{_e(name)}, {_told(selector.describe(unit), selector.references)}")
    return Markup(
        "Landmarks were chosen anew in the training part of each fold: " + "; ".join(texts) + "."
    )


def _factor(recipes: Sequence[Mapping[str, Any]], kind: str) -> Markup:
    centred = "Dissimilarities were centred at linear cost, with the landmark mean as origin. "
    centred = centred if kind == "squared_dissimilarity" else ""
    if not recipes:
        return Markup(
            f"{centred}Nothing was learned from a factor of the kernel. The landmark map has one "
            "of its own."
        )
    ranks = list(dict.fromkeys(str(recipe.get("rank", "misfit")) for recipe in recipes))
    kept = [
        "as many eigenvalues of the landmark matrix as reproduce the known self-scores best"
        if rank == "misfit"
        else f"rank {_e(rank)}"
        for rank in ranks
    ]
    if kind == "asymmetric":
        kept = [text.replace("eigenvalues", "singular values") for text in kept]
        return Markup(
            "The kernel, which is not symmetric, was approximated by the generalised Nyström "
            f"method and its singular value decomposition {cite('schleif2015epcvm')}, keeping "
            f"{joined(kept)}. What this report calls eigenvalues are singular values."
        )
    text = (
        "The kernel was approximated by its indefinite Nyström factor and its eigenpairs "
        f"{cite('gisbrecht2015', 'oglic2019')}, keeping {joined(kept)}. {centred}"
    )
    methods = list(dict.fromkeys(recipe.get("correction", "none") for recipe in recipes))
    spectral = [
        "shift on the span of the factor" if name == "shift" else _e(name)
        for name in methods
        if name not in _LANDMARK_COORDINATES and name != "none"
    ]
    if spectral and "none" in methods:
        text += f"Eigenvalue corrections compared with none: {joined(spectral)}."
    elif spectral:
        text += f"Eigenvalues were corrected: {joined(spectral)}."
    elif "none" in methods:
        text += "Eigenvalues were not corrected."
    coordinates = [_LANDMARK_COORDINATES[name] for name in methods if name in _LANDMARK_COORDINATES]
    if coordinates:
        text += f" Other coordinates were {joined(coordinates)}."
    return Markup(text)


_FORMS = {
    "gaussian": "a product of Gaussians, one of the scores and one of each view",
    "linear": "the sum of the linear kernels of the scores and of each view",
}


def _lift(recipes: Sequence[Mapping[str, Any]]) -> Markup:
    names = joined([_e(recipe["name"]) for recipe in recipes])
    text = f"To {names} the scores with the landmarks are features {cite('liao2002')}"
    words = [tuple(found) for r in recipes if (found := r["views"].get("words"))]
    views = [
        f"square roots of the shares of words of {joined([f'{k}' for k in lengths])} residues "
        f"{cite('leslie2002', 'jebara2003')}"
        for lengths in dict.fromkeys(words)
    ]
    if any(recipe["views"].get("vectors") for recipe in recipes):
        views.append("the vectors that the user gave")
    if views:
        text += f", beside views that need no alignment: {joined(views)}"
    lifts = [recipe["lift"] for recipe in recipes]
    forms = dict.fromkeys(_FORMS[lift["kernel"]] for lift in lifts)
    most = dict.fromkeys(f"{lift['inducing']:,}" for lift in lifts)
    text += (
        f". Their kernel is {joined(list(forms), 'or')}, approximated as a subset of regressors "
        f"{cite('quinonero2005')}: by its values with at most {joined(list(most), 'or')} training "
        "records, shared by the classes. "
    )
    given = [lift["width"] for lift in lifts if lift["width"] != "inner"]
    unit = "in units of the median squared distance (of a sum: of the mean squared length)"
    text += f"Widths, {unit}, "
    if len(given) < len(lifts):
        text += (
            "were chosen for each view by ridge regression on inner folds. Each inner fold is "
            "measured with widths that were chosen without its records "
            f"{cite('cawley2010')}. A view may be left out."
        )
    else:
        text += f"were {joined([f'{w:g}' for w in dict.fromkeys(given)])}. A view may be left out."
    return Markup(text)


def _learners(
    recipes: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    levels: Mapping[str, Any] | None,
    several: bool,
) -> Markup:
    texts = []
    for name in dict.fromkeys(recipe["learner"] for recipe in recipes):
        learner = make_learner(config["learners"][name])
        if levels is not None:
            learner = learner_of(learner, Tree.of("ab", ".").forks, levels["learn"])
        texts.append(f"{_e(name)}: {_told(learner.describe(), learner.references)}")
    text = ("The learner was " if len(texts) == 1 else "Learners were ") + "; ".join(texts) + "."
    if several:
        text += (
            " A record may have several labels. Each label was learned against the rest "
            f"{cite('tsoumakas2007')}, over the same landmarks and with the same hyper-parameters: "
            "those of the least mean log loss over all labels on the inner folds. Where landmarks "
            "are chosen by class, the class of a record is the rarest of its labels. A prediction "
            "is right if it has all labels of the record and no other; beside this stand measures "
            f"that count labels one by one {cite('zhang2014')}."
        )
    return Markup(text)


def _cascade(recipes: Sequence[Mapping[str, Any]]) -> Markup:
    wanted: dict[str, list[str]] = {}
    for recipe in recipes:
        loss = stated_loss(recipe["cascade"])
        if loss is None:
            most = f"{float(recipe['cascade']['alignments']):g}"
            rule = f"the best accuracy with at most {most} alignments of a query on average"
        else:
            rule = (
                "the levels that are best if all are asked, and the lowest threshold that loses at "
                f"most {100 * loss:g} points against this in expectation, by conformal risk "
                f"control {cite('angelopoulos2024')}"
            )
        wanted.setdefault(rule, []).append(_e(recipe["name"]))
    rules = "; ".join(f"of {joined(names)} {rule}" for rule, names in wanted.items())
    return Markup(
        "The levels of a cascade align a query with more and more training "
        f"records while its largest probability is below a threshold {cite('viola2001')}. Each "
        f"level is a conditional logit, with weights that all classes share {cite('mcfadden1974')}"
        f". First come the nearest records, {STEPS[0]} of them and then more and more, by the "
        "scores with the landmarks, and the views if there are any: features are the decision of "
        "the first stage, and of the records of the class the best evidence, the mean evidence and "
        f"their share. Then come the members of the {LIKELIEST} likeliest classes where the "
        "first stage confuses them, by a linear classifier for each two classes: features are the "
        "log probability of the level before, and the sum of tanh of the decisions. Levels and "
        f"threshold were chosen on at most {SAMPLE:,} records of the inner folds: {rules}. "
        "Temperature and reject threshold are those of the answers of all levels together."
    )


def threshold_text(config: Mapping[str, Any]) -> str:
    """Return what the reject threshold was chosen for."""
    if config.get("reject_coverage") is not None:
        return f"{100 * float(config['reject_coverage']):g} % of the predictions accepted"
    error, confidence = (100 * float(config[f"reject_{key}"]) for key in ("error", "confidence"))
    return f"at most {error:g} % errors among accepted predictions with {confidence:g} % confidence"


def _evaluation(
    settings: Mapping[str, Any],
    config: Mapping[str, Any],
    others: int,
    final_recipe: str,
    several: bool,
) -> Markup:
    folds = settings["folds"]
    if folds["method"] == "table":
        scheme = "in the user's own folds"
    else:
        scheme = f"in {_e(folds['k'])} stratified folds"
        if folds["method"] == "grouped" and folds.get("column"):
            scheme += f" that keep sequences of the same {_e(folds['column'])} together"
        elif folds["method"] == "grouped":
            scheme += (
                f" that keep sequences of at least {100 * folds['identity']:g} % identity together"
            )
        if folds.get("repeats", 1) > 1:
            scheme += f", drawn {_e(folds['repeats'])} times"
    grouped = folds["method"] == "grouped"
    bound = ""
    if config.get("reject_coverage") is None:
        bound = f", by exact bounds that hold at all thresholds together {cite('angelopoulos2021')}"
    temperature = "temperature of the probabilities"
    if settings.get("levels"):
        temperature = "temperatures of the probabilities, one for each node at which classes part,"
    certain = (
        f"calibration of each label {cite('platt1999')} and its threshold ({THRESHOLDS})"
        if several
        else f"{temperature} {cite('guo2017')} and the reject threshold "
        f"({_e(threshold_text(config))}{bound})"
    )
    text = (
        f"Models were measured {scheme}; identical sequences share a fold. Hyper-parameters, the "
        f"{certain} came from "
        f"{_e(config['inner_folds'])} inner folds of each training part, which measure no record "
        "by a fit that has it as a landmark. "
    )
    if not several:
        text += (
            "Sets of labels, and what is accepted for a share of errors, are conformal: they "
            "compare with the records that the inner folds held out, class by class "
            f"{cite('vovk2012')}, by an adaptive score {cite('romano2020')}, and by p-values "
            f"{cite('jin2023')} with the rule of Benjamini and Hochberg {cite('benjamini1995')}. "
        )
    if levels := settings.get("levels"):
        text += (
            "Classes are paths. The probability of a node is the sum of its classes, and a "
            "prediction is the deepest node whose probability is at least "
            f"{_e(levels['back_off'])}, or more where inner folds asked for it. Hierarchical "
            f"precision and recall are those of {cite('kiritchenko2006')}. "
        )
    if several:
        drawn = folds["method"] != "table" and not folds.get("column")
        text += (
            f"{'Folds and inner folds' if drawn else 'Inner folds'} have their share of each label "
            f"by iterative stratification {cite('sechidis2011')}. "
        )
    if others:
        text += (
            f"{others} other recipe{'s were' if others > 1 else ' was'} measured on the same "
            "folds. All were compared with the best on the predictions of all folds together, by "
            f"McNemar's exact test {cite('mcnemar1947')}"
        )
        if grouped:
            text += (
                ", with one sign for all records of a group that shares a fold "
                f"{cite('canay2017')}, because they are not independent"
            )
        text += (
            ". It asks whether the models that were fitted differ on records of this kind, and "
            f"takes {'these groups' if grouped else 'distinct records'} as independent. Intervals "
            f"of the differences are of 95 % {cite('bonett2012', 'rao1992')}. Beside it stands the "
            f"corrected resampled t-test over folds {cite('nadeau2003')}. It asks whether the "
            "methods would differ after training on other samples too, and takes differences of "
            "folds as normal. The p-values of each test have Holm's adjustment "
            f"{cite('holm1979')}. The best recipe was found on the same records. "
        )
    if others and not settings.get("final"):
        text += (
            "Figures of the final model on these folds are those of the recipe that the inner "
            "folds of each training part chose. "
        )
    if others and "auto" in config:
        text += (
            "All recipes were fitted on the training part of the first outer fold; those that its "
            "inner folds showed to be behind the best by more than two standard errors"
        )
        if config["prefer"] == "cheap":
            unit = _unit(make_source(settings["source"]))
            text += f", or no standard error ahead of one that needs fewer {unit},"
        text += " were fitted on no other part. "
    text += (
        f"The final model is {_e(final_recipe)}, {chosen_by(settings, config)}, trained on all "
        f"data. The workflow ran under Snakemake {cite('moelder2021')}."
    )
    return Markup(text)
