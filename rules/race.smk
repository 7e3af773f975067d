# The race of the recipes of `auto`. Those that the inner folds of the first training part show to be
# behind are fitted on no other part, and the landmarks of their selectors are aligned for none. Before
# it, what has the fewest landmarks may be so right that no other could be chosen: a stop.
for _name, _most in {"stop": 1, "race": None}.items():

    rule:
        name:
            _name
        input:
            tables=lambda wildcards, most=_most: plan(wildcards).of_folds(
                "models", "tsv", plan(wildcards).folds[0]
            )[:most],
            landmarks=lambda wildcards, most=_most: plan(wildcards).of_folds(
                "landmarks", "tsv", *plan(wildcards).folds[:most]
            ),
            aligned=lambda wildcards, most=_most: (
                [] if most else plan(wildcards).column_stages.get("race_columns", [])
            ),
        output:
            table=f"{HERE}/{_name}.tsv",
            landmarks=f"{HERE}/{_name}.landmarks.tsv",
        log:
            f"{HERE}/logs/{_name}.log",
        benchmark:
            f"{HERE}/times/{_name}.tsv"
        conda:
            "../envs/learning.yaml"
        resources:
            **asks(_name),
        params:
            **given("prefer final"),
            recipes=lambda wildcards: plan(wildcards).recipes(),
            stops=_most is not None,
            code=code("race.py"),
        script:
            "../scripts/race.py"
