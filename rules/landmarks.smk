# Chooses the landmarks of a fold from its training part, for all selectors of the data set: a
# changed landmark of any selector changes the columns, and so all models.

# Outputs cannot depend on a wildcard, so each set of selectors has a rule.
CHOOSERS = {}
for _dataset, _plan in PLANS.items():
    CHOOSERS.setdefault(tuple(_plan.selectors), []).append(_dataset)

for _number, (_selectors, _datasets) in enumerate(CHOOSERS.items(), 1):
    _name = "select_landmarks" if _number == 1 else f"select_landmarks_{_number}"

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
            [f"{HERE}/landmarks/{selector}/{{fold}}.tsv" for selector in _selectors],
        log:
            f"{HERE}/logs/landmarks.{{fold}}.log",
        benchmark:
            f"{HERE}/times/landmarks.{{fold}}.tsv"
        wildcard_constraints:
            dataset=one_of(_datasets),
        conda:
            "../envs/learning.yaml"
        resources:
            **asks(_name, lambda w, _: costs(w).selecting()),
        params:
            **given("transforms scoring data seed"),
            selectors=lambda wildcards: plan(wildcards).selectors,
            code=code("landmarks.py"),
        script:
            "../scripts/landmarks.py"
