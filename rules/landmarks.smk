# Chooses the landmarks of a fold from its training part, for all selectors of the data set: a
# changed landmark of any selector changes the columns, and so all models. Of small data a job
# chooses those of all folds.

# Outputs cannot depend on a wildcard, so each set of selectors, and of folds, has a rule. Those of
# larger data are the first: profiles and settings name the first one.
CHOOSERS = {}
for _dataset, _plan in PLANS.items():
    _folds = _plan.folds if _plan.landmarks_in_one_job else ["{fold}"]
    CHOOSERS.setdefault((tuple(_plan.selectors), tuple(_folds)), []).append(_dataset)

_ordered = sorted(CHOOSERS.items(), key=lambda chooser: chooser[0][1] != ("{fold}",))
for _number, ((_selectors, _folds), _datasets) in enumerate(_ordered, 1):
    _name = "select_landmarks" if _number == 1 else f"select_landmarks_{_number}"
    _job = PLANS[_datasets[0]].landmark_job("{fold}")

    rule:
        name:
            _name
        input:
            unpack(dataset_files),
            folds=f"{HERE}/folds.tsv",
            candidates=f"{HERE}/candidates.tsv",
            class_scores=lambda wildcards: plan(wildcards).blocks("class_scores"),
            given=lambda wildcards: plan(wildcards).tables_of(plan(wildcards).selectors),
        output:
            [f"{HERE}/landmarks/{name}/{fold}.tsv" for fold in _folds for name in _selectors],
        log:
            f"{HERE}/logs/{_job}.log",
        benchmark:
            f"{HERE}/times/{_job}.tsv"
        wildcard_constraints:
            dataset=one_of(_datasets),
        conda:
            "../envs/learning.yaml"
        resources:
            **asks(_name, lambda w, _, times=len(_folds): times * costs(w).selecting()),
        params:
            **given("transforms scoring data seed"),
            job=_job,
            selectors=lambda wildcards: plan(wildcards).selectors,
            code=code("landmarks.py"),
        script:
            "../scripts/landmarks.py"
