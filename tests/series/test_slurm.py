"""A real Slurm of two nodes: the bytes of a local run, whatever happens to nodes and jobs.

``KREINFLOW_SLURM=1 python -m pytest tests/series/test_slurm.py`` runs them, on a machine that has
what ``two_nodes.py`` names.
"""

import subprocess

import pytest
import yaml

from series.two_nodes import NODES, TwoNodes, why_not
from workflow.conftest import ROOT

REASON = why_not()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(REASON is not None, reason=f"no Slurm to test with: {REASON}"),
]
# What a user says of a site, and shorter waits than a queue would have.
SITE = (
    *("--workflow-profile", str(ROOT / "profiles" / "slurm")),
    *("--default-resources", "slurm_partition=debug", "mem_mb=1000", "runtime=30"),
    *("--slurm-init-seconds-before-status-checks", "2", "--seconds-between-status-checks", "2"),
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    nodes = TwoNodes(tmp_path_factory.mktemp("slurm"))
    nodes.start()
    yield nodes
    nodes.stop()


def jobs_of(run, slurm, *arguments):
    """Run under the profile, and return the jobs of this run."""
    before = len(slurm.jobs())
    run.cold = True  # jobs of another node know no process of this one
    run.run(*SITE, *arguments)
    return slurm.jobs()[before:]


def test_the_demonstration_on_two_nodes_gives_the_bytes_of_a_local_run(workflow, slurm):
    config = yaml.safe_load((ROOT / "config.yaml").read_text()) | {"data": str(ROOT)}
    local = workflow(config, "local")
    local.run()
    run = workflow(config)
    jobs = jobs_of(run, slurm)
    run.assert_same(local)
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}
    assert {job["NodeList"] for job in jobs} == set(NODES)
    assert len(jobs) <= 18  # for 42 jobs of Snakemake: the groups of the profile
    times = (run.folder / "results" / "demo" / "times.tsv").read_text().splitlines()
    host = times[0].split("\t").index("host")
    assert {line.split("\t")[host] for line in times[1:]} == set(NODES)


def test_a_node_that_dies_costs_its_jobs_and_nothing_else(run, reference, slurm):
    before = len(slurm.jobs())
    process = subprocess.Popen(
        run.command(*SITE, "--group-components", "landmarks=2", "models=2"),
        cwd=run.folder,
        stdout=(run.folder / "run.log").open("w"),
        stderr=subprocess.STDOUT,
    )
    results = run.folder / "results" / "small"
    try:
        slurm.wait_for(lambda: list(results.glob("factors/*/*.tsv")), "a factor")
        (node, *_) = slurm.busy_nodes()
        slurm.kill_node(node)
        assert process.wait(timeout=1800) == 0, (run.folder / "run.log").read_text()
        slurm.start_node(node)
    finally:
        process.kill()
    states = [job["JobState"] for job in slurm.jobs()[before:]]
    assert "NODE_FAIL" in states
    run.assert_same(reference)
    assert run.jobs() == {}
    slurm.wait_for(lambda: slurm.states() == {"idle"}, "the node to be back")


def test_a_job_that_exceeds_its_memory_is_submitted_with_more(run, reference, slurm):
    # Snakemake and the script take more than 150 MB; a rule's own request grows in the same way.
    jobs = jobs_of(run, slurm, "--set-resources", "gather_columns:mem_mb=150 * attempt")
    asked = [job for job in jobs if "mem=150M" in job["Tres"] or "mem=300M" in job["Tres"]]
    assert [job["JobState"] == "COMPLETED" for job in asked] == [False, True]
    (log,) = run.folder.glob(f".snakemake/slurm_logs/rule_gather_columns/*/{asked[0]['JobId']}.log")
    assert "exceeded memory limit" in log.read_text()
    run.assert_same(reference)
