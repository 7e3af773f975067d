"""What a run took, did and made, as an RO-Crate: ``ro-crate-metadata.json`` in the results.

It keeps to the profiles of :data:`PROFILES`. Files of the results are named by their paths there.
Files of the user are named by their content (``ni``, RFC 6920): they lie outside the crate, and
their paths are private.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rocrate.model.data_entity import DataEntity
from rocrate.rocrate import ROCrate

from kreinflow.base.errors import InputError
from kreinflow.config.plan import UNLABELLED, DatasetPlan
from kreinflow.files.provenance import file_sha256, utc
from kreinflow.report.names import CONFIG, PAGE, TEXT, WORKFLOW
from kreinflow.report.reading import DatasetResults
from kreinflow.report.texts import TEXTS

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
"""What the crate keeps to, beside RO-Crate 1.1."""

PAGES = {
    PAGE: "the report: everything on one page",
    TEXT: "its first screen as plain text",
}
"""What is made of all data sets."""

PRODUCTS: dict[str, dict[str, str]] = TEXTS["products"]
"""What a crate names of the results of a data set, by the stage that makes it."""

CLASSIFIED = "what the final model says of new objects"
"""Of the tables of ``classify``, one for each request."""

_TERMS = "https://w3id.org/ro/terms/workflow-run"
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"

_TYPES = {
    ".fasta": "text/plain",
    ".gz": "application/gzip",
    ".html": "text/html",
    ".json": "application/json",
    ".smk": "text/plain",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
}

Properties = dict[str, Any]


def render_crate(
    results: Path,
    datasets: Sequence[DatasetResults],
    versions: Mapping[str, str],
    written: Mapping[str, bytes],
    again: bool = False,
) -> str:
    """Return the metadata of the folder of results, as JSON.

    The files that it names are read for their checksums, some kilobytes at a time. Two runs of the
    same have the same metadata, but for times and the files that show them.

    ``written`` are files of :mod:`kreinflow.report.names` that will be written; others are there.
    ``again`` tells that the run is over: versions and files of now need not be those that it had,
    so only what it noted is named. A missing file, or a time that is none, raises an InputError.
    """
    crate = _Crate(results, [data.name for data in datasets], written)
    if again:  # the last job that noted its version
        lines = [line for data in datasets for line in data.times.to_dict("records")]
        noted = (line for line in lines if line["kreinflow"])
        last = max(noted, key=lambda line: str(line["ended"]), default={})
        versions = {key: str(last[key]) for key in ("kreinflow",) if key in last}
    version = versions.get("kreinflow", "")
    workflow = crate.workflow(versions)
    taken = [crate.product(CONFIG, "the complete configuration, defaults included")]
    made = [crate.product(name, description) for name, description in PAGES.items()]
    jobs = []
    for data in datasets:
        taken += [crate.given(*file) for file in _inputs(data, again)]
        products = {
            job: [crate.product(f"{data.name}/{name}", text) for name, text in files.items()]
            for job, files in _products(data.plan).items()
        }
        made += [file for files in products.values() for file in files]
        jobs += [crate.job(data, line, products, version) for line in data.times.to_dict("records")]
    workflow["hasPart"] = list({tool.id: tool for tool in (j["instrument"] for j in jobs)}.values())
    starts = [job["startTime"] for job in jobs if "startTime" in job]
    run = crate.thing(
        "#run",
        "CreateAction",
        name=f"kreinflow {version}".rstrip(),
        description="From the first job whose results are here to the report.",
        instrument=workflow,
        object=list({file.id: file for file in taken}.values()),
        result=made,
        startTime=min(starts, default=""),
        endTime=crate.now,
    )
    crate.root_dataset["mentions"] = [run, *jobs]
    graph = crate.metadata.generate()
    return json.dumps(graph, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


class _Crate(ROCrate):  # type: ignore[misc]
    """A crate of a folder of results, of data sets with these ``names``."""

    def __init__(self, results: Path, names: Sequence[str], written: Mapping[str, bytes]) -> None:
        super().__init__(version="1.1")
        self.now = utc(datetime.now(UTC))
        self._results, self._written = results, written
        self.metadata.extra_terms["sha256"] = f"{_TERMS}#sha256"
        self.name = f"Results of kreinflow: {', '.join(names)}"
        self.description = "Classifiers, how good they are, and what they were learned from."
        self.datePublished = self.now
        self.license = "None is stated. Who publishes these results says how to use them."
        self.root_dataset["conformsTo"] = [
            self.thing(id, "CreativeWork", name=name, version=id.rpartition("/")[2])
            for id, name in PROFILES.items()
        ]

    def thing(self, id: str, type: str, **properties: Any) -> Any:
        """Return what is no file, made at first use, without properties that are empty."""
        known = {name: value for name, value in properties.items() if value}
        return self.get(id) or self.add_jsonld({"@id": id, "@type": type, **known})

    def given(self, path: Path, sha256: str, more: Properties) -> Any:
        """Return a file of the user, by its content."""
        content = base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip("=")
        about = {"@type": "File", "name": path.name, "sha256": sha256, **_type_of(path), **more}
        if path.is_file() and file_sha256(path) == sha256:  # else it was changed since
            about["contentSize"] = str(path.stat().st_size)
        id = f"ni:///sha-256;{content}"
        return self.get(id) or self.add(DataEntity(self, id, about))

    def product(self, name: str, description: str) -> Any:
        """Return a file of the results."""
        about = {"name": name, "description": description, **self._read(name)}
        return self.add_file(dest_path=name, properties=about)

    def workflow(self, versions: Mapping[str, str]) -> Any:
        """Return the main entity, with what it needs."""
        version = versions.get("kreinflow", "")
        properties = self._read(WORKFLOW) | {
            "name": "kreinflow",
            "description": "The Snakefile. Its rules and scripts are those of this version.",
            **({"version": version} if version else {}),
            "license": {"@id": "https://spdx.org/licenses/BSD-3-Clause"},
            "conformsTo": {"@id": _BIOSCHEMAS},
            "softwareRequirements": [
                self.thing(
                    f"pkg:{'generic' if name == 'python' else 'pypi'}/{name}@{v}",
                    "SoftwareApplication",
                    name=name,
                    version=v,
                )
                for name, v in versions.items()
                if name != "kreinflow" and v != "not installed"
            ],
        }
        return self.add_workflow(
            dest_path=WORKFLOW,
            main=True,
            properties=properties,
            lang="snakemake",
            lang_version=versions.get("snakemake"),
        )

    def job(
        self, data: DatasetResults, line: Mapping[Any, Any], products: Properties, ours: str
    ) -> Any:
        """Return what a job did, from its line of times.tsv; ``ours`` is the workflow's version."""
        stage, job = line["stage"], f"{line['stage']}.{line['job']}".rstrip(".")
        version = str(line["kreinflow"])
        id = f"#{stage}" if version == ours else f"#{stage}@{version or 'unknown'}"
        made = products.get(job, [])
        return self.thing(
            f"#{data.name}/{job}",
            "CreateAction",
            name=f"{job} of {data.name}",
            instrument=self.thing(id, "SoftwareApplication", name=stage, version=version),
            **_times(line, data.folder / "times.tsv"),
            result=made if len(made) != 1 else made[0],
        )

    def _read(self, name: str) -> Properties:
        path = self._results / name
        try:
            if (content := self._written.get(name)) is None:
                size, sha256 = path.stat().st_size, file_sha256(path)
            else:
                size, sha256 = len(content), hashlib.sha256(content).hexdigest()
            return {**_type_of(path), "contentSize": str(size), "sha256": sha256}
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}). Run again.") from error


def _products(plan: DatasetPlan) -> dict[str, dict[str, str]]:
    """Return the files that a data set's jobs made, and what they are, by the job."""
    jobs = (*plan.timed_jobs(), "times")
    made = {stage: files for stage, files in PRODUCTS.items() if stage in jobs}
    for path in plan.classified:
        name = Path(path).stem
        made[f"classify.{name}"] = {f"classified/{name}.tsv": CLASSIFIED}
    return made


def _inputs(data: DatasetResults, again: bool) -> Iterator[tuple[Path, str, Properties]]:
    """Yield the user's files, their sha256, and where they were downloaded.

    Files of the data have the checksum of when they were read. Those of the others were not noted:
    ``again``, or if they are gone, they are left out.
    """
    plan = data.plan
    downloads = plan.source.downloads()
    files = [*plan.source.files(), *map(Path, plan.vectors)]
    # Files of the same name have that of their folder before it.
    places = {path.name: path for path in files}
    places |= {f"{path.parent.name}/{path.name}": path for path in files}
    for name, sha256 in data.statistics["files"].items():
        path = places.get(name, Path(name))
        origin = downloads.get(path, {})
        keys = {"url": "url", "version": "release"}
        yield path, sha256, {key: origin[k] for key, k in keys.items() if origin.get(k)}
    if again:
        return
    others = [*plan.fold_tables, *plan.tables_of(plan.selectors)]
    others.append(plan.path(plan.settings["scoring"]["matrix"]))  # or a name: then no such file
    for name in (Path(path).stem for path in plan.classified):
        if name != UNLABELLED:
            others += [plan.to_classify(name), *plan.vectors_to_classify(name)]
    for path in map(Path, others):
        if path.is_file():
            yield path, file_sha256(path), {}


def _type_of(path: Path) -> Properties:
    """Return what a file is by its name."""
    return {"encodingFormat": _TYPES.get(path.suffix, "application/octet-stream")}


def _times(line: Mapping[Any, Any], path: Path) -> Properties:
    """Return when a job began and ended, as far as its line of times.tsv says."""
    if not line["ended"]:
        return {}
    try:
        end = datetime.fromisoformat(line["ended"])
    except ValueError as error:
        fault = f"{line['ended']!r} is no time. Delete the file and run again."
        raise InputError(f"{path}: {fault}") from error
    seconds = float(line["seconds"] or 0)
    if not seconds > 0:  # empty: too short to be measured
        return {"endTime": utc(end)}
    return {"startTime": utc(end - timedelta(seconds=seconds)), "endTime": utc(end)}
