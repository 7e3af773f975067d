# The tables and figures of the papers, and ours: `snakemake --cores all paper`.
# needs: nothing; the user's files of the papers' data, where they are in the data folder
# makes: paper/experiments/NAME.tsv (fold by fold), paper/figures/NAME.png and NAME.tsv (what is
#        drawn), paper/paper.tsv, paper/paper.html

from kreinflow.papers.experiments import DATA as PAPER_DATA
from kreinflow.papers.experiments import FIGURES as PAPER_FIGURES
from kreinflow.papers.experiments import load_experiments

EXPERIMENTS = load_experiments()
PAPER = f"{RESULTS}/paper"
# What takes hours is part of the target once its file has been asked for.
IN_TARGET = [
    name
    for name, experiment in EXPERIMENTS.items()
    if experiment.can_run(DATA)
    and (not experiment.hours or Path(f"{on_disk(PAPER)}/experiments/{name}.tsv").is_file())
]


rule run_experiment:
    input:
        lambda wildcards: EXPERIMENTS[wildcards.experiment].present(DATA),
    output:
        f"{PAPER}/experiments/{{experiment}}.tsv",
    log:
        f"{PAPER}/logs/{{experiment}}.log",
    benchmark:
        f"{PAPER}/times/{{experiment}}.tsv"
    wildcard_constraints:
        experiment=one_of(EXPERIMENTS),
    conda:
        "../envs/learning.yaml"
    resources:
        **asks(
            "run_experiment",
            lambda w, _: Cost(
                max(600, 3600 * EXPERIMENTS[w.experiment].hours),
                mb=max(3200, EXPERIMENTS[w.experiment].memory_mb),
            ),
        ),
    params:
        **given("data seed"),
        measured=lambda wildcards: EXPERIMENTS[wildcards.experiment].measured,
        code=code("papers_experiment.py"),
    script:
        "../scripts/papers_experiment.py"


rule draw_paper_figure:
    input:
        lambda wildcards: PAPER_FIGURES[wildcards.figure].present(DATA),
    output:
        table=f"{PAPER}/figures/{{figure}}.tsv",
        image=f"{PAPER}/figures/{{figure}}.png",
    log:
        f"{PAPER}/logs/figure.{{figure}}.log",
    benchmark:
        f"{PAPER}/times/figure.{{figure}}.tsv"
    wildcard_constraints:
        figure=one_of(PAPER_FIGURES),
    conda:
        "../envs/report.yaml"
    resources:
        **asks("draw_paper_figure", lambda w, _: Cost(300, mb=1200)),
    params:
        **given("data seed"),
        code=code("papers_figure.py"),
    script:
        "../scripts/papers_figure.py"


rule write_paper_page:
    input:
        experiments=expand(f"{PAPER}/experiments/{{experiment}}.tsv", experiment=IN_TARGET),
        figures=expand(f"{PAPER}/figures/{{figure}}.png", figure=PAPER_FIGURES),
    output:
        table=f"{PAPER}/paper.tsv",
        page=f"{PAPER}/paper.html",
    log:
        f"{PAPER}/logs/page.log",
    benchmark:
        f"{PAPER}/times/page.tsv"
    conda:
        "../envs/report.yaml"
    resources:
        **asks("write_paper_page"),
    params:
        files=[file_sha256(path) for path in sorted(PAPER_DATA.iterdir())],
        code=code("papers_page.py"),
    script:
        "../scripts/papers_page.py"
