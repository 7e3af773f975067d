# Trains the recipes of a selector on the training part of a fold, and predicts the rest. First it makes
# the Krein factor of each transform and rank that the recipes learn from, its eigenpairs, and the
# corrections: in the same process, which takes less time to make them than to start. Of small data,
# and behind a race, a job trains those of all selectors; of small data those of several folds.

# Outputs cannot depend on a wildcard, so each set of selectors has a rule, and so do the folds behind a
# race, and each set of folds. That of jobs for one selector is the first: profiles and settings name it.
# What a stop waits for has a rule of its own, and is in no group with those that wait for the stop.
TRAINERS = {}
for _dataset, _plan in PLANS.items():
    for _set in _plan.fold_sets:
        _trained = ("{selector}",) if _plan.alone(_set[0]) else (*_plan.trained_selectors,)
        _key = _trained, (*_set,) if _plan.in_few_jobs else ("{fold}",), ""
        TRAINERS.setdefault(_key, []).append((_dataset, _set, _plan.trained_selectors))
    if "first_columns" in _plan.column_stages:
        _first = _dataset, _plan.folds[:1], _plan.trained_selectors[:1]
        TRAINERS.setdefault((("{selector}",), ("{fold}",), "first_"), []).append(_first)

_ordered = sorted(
    TRAINERS.items(), key=lambda trainer: (trainer[0][2], trainer[0][0] != ("{selector}",))
)
for _number, ((_selectors, _folds, _what), _of_rule) in enumerate(_ordered, 1):
    _name = f"train_{_what}models" if _number == 1 or _what else f"train_models_{_number}"
    _dataset, _set, _ = _of_rule[0]
    _job = PLANS[_dataset].model_job("{selector}", _set[0])
    _job = _job if _folds == (*_set,) else _job.replace(_set[0], "{fold}")
    # Each selector's files of each fold.
    _each = [f"{selector}/{fold}" for fold in _folds for selector in _selectors]

    rule:
        name:
            _name
        input:
            unpack(column_files),
            landmarks=[f"{HERE}/landmarks/{own}.tsv" for own in _each],
            race=race_of(_folds[0]),
        output:
            factor_table=[f"{HERE}/factors/{own}.tsv" for own in _each],
            spectrum=[f"{HERE}/factors/{own}.spectrum.tsv" for own in _each],
            models=[f"{HERE}/models/{own}.safetensors" for own in _each],
            table=[f"{HERE}/models/{own}.tsv" for own in _each],
            predictions=[f"{HERE}/predictions/{own}.tsv.gz" for own in _each],
            curves=[f"{HERE}/cascade/{own}.tsv" for own in _each],
        log:
            f"{HERE}/logs/{_job}.log",
        benchmark:
            f"{HERE}/times/{_job}.tsv"
        wildcard_constraints:
            dataset=one_of(dataset for dataset, *_ in _of_rule),
            selector=one_of(sorted({name for *_, own in _of_rule for name in own})),
            fold=one_of(sorted({fold for _, folds, _ in _of_rule for fold in folds})),
        # The final model is made of it.
        priority: lambda wildcards, folds=_folds: int(ALL in (*folds, wildcards.get("fold")))
        conda:
            "../envs/learning.yaml"
        threads: learning_threads
        resources:
            **asks(_name, lambda w, _, times=len(_folds): times * training_cost(w)),
        params:
            **given("transforms scoring levels data backend inner_folds seed"),
            job=_job,
            folds=[*_folds],
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
            stops=lambda w, first=_folds[0]: plan(w).stops and first == plan(w).folds[0],
            asked=lambda wildcards: plan(wildcards).source.asked_of_records,
            code=code("model.py"),
        script:
            "../scripts/model.py"


if any("first_columns" in plan_.column_stages for plan_ in PLANS.values()):

    ruleorder: train_first_models > train_models
