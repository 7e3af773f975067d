# Trains the recipes of a selector on the training part of a fold, and predicts the rest. First it makes
# the Krein factor of each transform and rank that the recipes learn from, its eigenpairs, and the
# corrections: in the same process, which takes less time to make them than to start. Of small data
# a job trains those of all selectors.

# Outputs cannot depend on a wildcard, so each set of selectors has a rule. That of larger data is the
# first: profiles and settings name it.
TRAINERS = {}
for _dataset, _plan in PLANS.items():
    _selectors = _plan.trained_selectors if _plan.in_few_jobs else ["{selector}"]
    TRAINERS.setdefault(tuple(_selectors), []).append(_dataset)

_ordered = sorted(TRAINERS.items(), key=lambda trainer: trainer[0] != ("{selector}",))
for _number, (_selectors, _datasets) in enumerate(_ordered, 1):
    _name = "train_models" if _number == 1 else f"train_models_{_number}"
    _job = PLANS[_datasets[0]].model_job("{selector}", "{fold}")

    rule:
        name:
            _name
        input:
            unpack(column_files),
            landmarks=[f"{HERE}/landmarks/{selector}/{{fold}}.tsv" for selector in _selectors],
            race=lambda wildcards: plan(wildcards).race(wildcards.fold),
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
            dataset=one_of(_datasets),
        conda:
            "../envs/learning.yaml"
        threads: CONFIG["learning"]["threads"]
        resources:
            **asks(_name, training_cost),
        params:
            **given("transforms scoring levels data backend inner_folds seed"),
            job=_job,
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
            asked=lambda wildcards: plan(wildcards).source.asked_of_records,
            code=code("model.py"),
        script:
            "../scripts/model.py"
