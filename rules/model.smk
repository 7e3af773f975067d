# Trains the recipes of a selector on the training part of a fold, and predicts the rest. First it makes
# the Krein factor of each transform and rank that the recipes learn from, its eigenpairs, and the
# corrections: in the same process, which takes less time to make them than to start. Of small data,
# and behind a race, a job trains those of all selectors.

# Outputs cannot depend on a wildcard, so each set of selectors has a rule, and so do the folds behind a
# race. That of jobs for one selector is the first: profiles and settings name it. What a stop waits for
# has a rule of its own, and is in no group with those that wait for the stop.
TRAINERS = {}
for _dataset, _plan in PLANS.items():
    for _alone in (True, False):
        _folds = [fold for fold in _plan.folds if _plan.alone(fold) == _alone]
        _trained = ("{selector}",) if _alone else (*_plan.trained_selectors,)
        _key = _trained, len(_folds) < len(_plan.folds), ""
        if _folds:
            TRAINERS.setdefault(_key, []).append((_dataset, _folds, _plan.trained_selectors))
    if "first_columns" in _plan.column_stages:
        _first = _dataset, _plan.folds[:1], _plan.trained_selectors[:1]
        TRAINERS.setdefault((("{selector}",), True, "first_"), []).append(_first)

_ordered = sorted(
    TRAINERS.items(), key=lambda trainer: (trainer[0][2], trainer[0][0] != ("{selector}",))
)
for _number, ((_selectors, _, _what), _of_rule) in enumerate(_ordered, 1):
    _name = f"train_{_what}models" if _number == 1 or _what else f"train_models_{_number}"
    _dataset, _folds, _ = _of_rule[0]
    _job = PLANS[_dataset].model_job("{selector}", _folds[0]).replace(_folds[0], "{fold}")

    rule:
        name:
            _name
        input:
            unpack(column_files),
            landmarks=[f"{HERE}/landmarks/{selector}/{{fold}}.tsv" for selector in _selectors],
            race=race_here,
        output:
            factors=[f"{HERE}/factors/{name}/{{fold}}.safetensors" for name in _selectors],
            factor_table=[f"{HERE}/factors/{name}/{{fold}}.tsv" for name in _selectors],
            spectrum=[f"{HERE}/factors/{name}/{{fold}}.spectrum.tsv" for name in _selectors],
            models=[f"{HERE}/models/{name}/{{fold}}.safetensors" for name in _selectors],
            table=[f"{HERE}/models/{name}/{{fold}}.tsv" for name in _selectors],
            predictions=[f"{HERE}/predictions/{name}/{{fold}}.tsv.gz" for name in _selectors],
            curves=[f"{HERE}/cascade/{name}/{{fold}}.tsv" for name in _selectors],
        log:
            f"{HERE}/logs/{_job}.log",
        benchmark:
            f"{HERE}/times/{_job}.tsv"
        wildcard_constraints:
            dataset=one_of(dataset for dataset, *_ in _of_rule),
            selector=one_of(sorted({name for *_, own in _of_rule for name in own})),
            fold=one_of(sorted({fold for _, folds, _ in _of_rule for fold in folds})),
        priority: lambda wildcards: int(wildcards.fold == ALL)  # the final model is made of it
        conda:
            "../envs/learning.yaml"
        threads: learning_threads
        resources:
            **asks(_name, training_cost),
        params:
            **given("transforms scoring levels data backend inner_folds seed"),
            job=_job,
            order=setting("recipes"),
            reject={key: value for key, value in CONFIG.items() if key.startswith("reject_")},
            recipes=recipes_here,
            learners=lambda wildcards: {
                recipe["learner"]: CONFIG["learners"][recipe["learner"]]
                for recipe in recipes_here(wildcards)
            },
            selectors=lambda wildcards: {
                name: CONFIG["selectors"][name] for name in trained_here(wildcards)
            },
            unknown=CONFIG["unknown"],
            stops=lambda w: plan(w).in_few_jobs and plan(w).stops and w.fold == plan(w).folds[0],
            asked=lambda wildcards: plan(wildcards).source.asked_of_records,
            code=code("model.py"),
        script:
            "../scripts/model.py"


if any("first_columns" in plan_.column_stages for plan_ in PLANS.values()):

    ruleorder: train_first_models > train_models
