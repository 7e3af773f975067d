"""What a run took, did and made, as an RO-Crate: ``ro-crate-metadata.json`` in the results.

It keeps to the profiles of :data:`PROFILES`. Files of the results are named by their paths there.
Data of the user are named by their content (``ni``, RFC 6920): they lie outside the crate, and
their paths are private.
"""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rocrate.model.data_entity import DataEntity
from rocrate.rocrate import ROCrate

from kreinflow.base.errors import InputError
from kreinflow.config.plan import DatasetPlan
from kreinflow.files.provenance import file_sha256, utc
from kreinflow.report.names import CONFIG, MULTIQC, PAGE, TEXT, WORKFLOW
from kreinflow.report.reading import DatasetResults
from kreinflow.report.texts import TEXTS

PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
"""What the crate keeps to, beside RO-Crate 1.1."""

PAGES = {PAGE: "the report: everything on one page", TEXT: "its first screen as plain text"}
PAGES[MULTIQC] = "figures of the data sets for MultiQC"
PRODUCTS: dict[str, dict[str, str]] = TEXTS["products"]  # files of a data set by stage
CLASSIFIED = "what the final model says of new objects"

_TERMS = "https://w3id.org/ro/terms/workflow-run"
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"

Properties = dict[str, Any]


def render_crate(
    results: Path, datasets: Sequence[DatasetResults], versions: Mapping[str, str]
) -> str:
    """Return the metadata of the folder of results, as JSON.

    The files that it names are read for their checksums. Two runs of the same have the same
    metadata, but for times and the files that show them. ``versions`` of packages are empty if the
    run is over: those of now need not be those that it had. A missing file, or a time that is
    none, raises an InputError.
    """
    crate, now = ROCrate(version="1.1"), utc(datetime.now(UTC))
    crate.metadata.extra_terms["sha256"] = f"{_TERMS}#sha256"
    crate.name = f"Results of kreinflow: {', '.join(data.name for data in datasets)}"
    crate.description = "Classifiers, how good they are, and what they were learned from."
    crate.datePublished = now
    crate.license = "None is stated. Who publishes these results says how to use them."
    crate.root_dataset["conformsTo"] = [
        _thing(crate, id, "CreativeWork", name=name, version=id.rpartition("/")[2])
        for id, name in PROFILES.items()
    ]

    def product(name: str, description: str) -> Any:
        about = {"name": name, "description": description, **_read(results / name)}
        return crate.add_file(dest_path=name, properties=about)

    lines = [(data, line) for data in datasets for line in data.times.to_dict("records")]
    noted = [line for _, line in lines if line["kreinflow"]]
    last = max(noted, key=lambda line: str(line["ended"]), default={"kreinflow": ""})
    version = str(last["kreinflow"]) or versions.get("kreinflow", "")
    workflow = _workflow(crate, results, version, versions)
    taken = [product(CONFIG, "the complete configuration, defaults included")]
    taken += [_given(crate, *file) for data in datasets for file in _inputs(data)]
    made = [product(name, description) for name, description in PAGES.items()]
    made += [
        product(f"{data.name}/{name}", description)
        for data in datasets
        for name, description in _products(data.plan).items()
    ]
    begun = (_start(line, data.folder / "times.tsv") for data, line in lines)
    about = {
        "name": f"kreinflow {version}".rstrip(),
        "description": "From the first job whose results are here to the report.",
        "startTime": min(filter(None, begun), default=""),
        "endTime": now,
    }
    run = crate.add_action(
        workflow,
        "#run",
        object=list({file.id: file for file in taken}.values()),
        result=made,
        properties={name: value for name, value in about.items() if value},
    )
    crate.root_dataset["mentions"] = [run]
    graph = crate.metadata.generate()
    return json.dumps(graph, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def _thing(crate: ROCrate, id: str, type: str, **properties: str) -> Any:
    """Return what is no file, made at first use, without properties that are empty."""
    known = {name: value for name, value in properties.items() if value}
    return crate.get(id) or crate.add_jsonld({"@id": id, "@type": type, **known})


def _given(crate: ROCrate, path: Path, sha256: str, more: Properties) -> Any:
    """Return a file of the user, by its content."""
    content = base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip("=")
    about = {"@type": "File", "name": path.name, "sha256": sha256, **more}
    id = f"ni:///sha-256;{content}"
    return crate.get(id) or crate.add(DataEntity(crate, id, about))


def _workflow(crate: ROCrate, results: Path, version: str, versions: Mapping[str, str]) -> Any:
    properties = _read(results / WORKFLOW) | {
        "name": "kreinflow",
        "description": "The Snakefile. Its rules and scripts are those of this version.",
        **({"version": version} if version else {}),
        "license": {"@id": "https://spdx.org/licenses/BSD-3-Clause"},
        "conformsTo": {"@id": _BIOSCHEMAS},
        "softwareRequirements": [
            _thing(crate, f"{kind}/{name}@{v}", "SoftwareApplication", name=name, version=v)
            for name, v in versions.items()
            for kind in ["pkg:generic" if name == "python" else "pkg:pypi"]
            if name != "kreinflow" and v != "not installed"
        ],
    }
    speaks = {"lang": "snakemake", "lang_version": versions.get("snakemake")}
    return crate.add_workflow(dest_path=WORKFLOW, main=True, properties=properties, **speaks)


def _read(path: Path) -> Properties:
    try:
        size = str(path.stat().st_size)
        return {"contentSize": size, "sha256": file_sha256(path)}
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Run again.") from error


def _products(plan: DatasetPlan) -> dict[str, str]:
    """Return the files that a data set's jobs made, and what they are."""
    jobs = (*plan.timed_jobs(), "times")
    stages = (files for stage, files in PRODUCTS.items() if stage in jobs)
    made = {name: description for files in stages for name, description in files.items()}
    return made | {f"classified/{Path(path).name}": CLASSIFIED for path in plan.classified}


def _inputs(data: DatasetResults) -> Iterator[tuple[Path, str, Properties]]:
    """Yield the user's data, their sha256 when they were read, and where they came from."""
    source = data.plan.source
    # Files of the same name have that of their folder before it.
    files = [*source.files(), *map(Path, data.plan.vectors)]
    places = {path.name: path for path in files}
    places |= {f"{path.parent.name}/{path.name}": path for path in files}
    for name, sha256 in data.statistics["files"].items():
        path = places.get(name, Path(name))
        origin = source.downloads().get(path, {})
        keys = {"url": "url", "version": "release"}
        yield path, sha256, {key: origin[k] for key, k in keys.items() if origin.get(k)}


def _start(line: Mapping[Any, Any], path: Path) -> str:
    """Return when a job began, as far as its line of times.tsv says; else nothing."""
    if not line["ended"]:
        return ""
    try:
        end = datetime.fromisoformat(line["ended"])
    except ValueError as error:
        fault = f"{line['ended']!r} is no time. Delete the file and run again."
        raise InputError(f"{path}: {fault}") from error
    return utc(end - timedelta(seconds=float(line["seconds"] or 0)))
