"""Formats: public files as they are, from the file to a model by ``init`` and ``run``.

    python tests/series formats                    some minutes of one core
    python tests/series formats --only FASTQ       the rows with this word

Each row of the table writes a small file in the words of its format, or of a stranger: other names
of columns, another header or separator. ``kreinflow init`` proposes a config, ``run`` runs it as it
is up to the model, and ``classify`` reads new records in the same format. Their labels must be the
true ones. The exit code is 1 if a row fails.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from commands.test_init_formats import GENERA, GREENGENES, LISTED, NAMES, SINTAX, genbank, write
from kreinflow.commands.main import main
from small_inputs import DNA, PROTEIN, families

Record = tuple[str, str, str]  # id, class, residues
NEW = 2  # of each class, which nothing is learned from


@dataclass(frozen=True)
class Row:
    """A file in its own words, and beside it a table of labels if there is one."""

    file: str
    text: Callable[[list[Record]], str]
    answers: dict[str, str]  # the label of each class
    labels: tuple[str, Callable[[list[Record]], str]] | None = None
    letters: str = DNA
    column: str = "label"  # of the table of answers

    def records(self) -> tuple[list[Record], list[Record]]:
        """What is learned from, and what is new."""
        every = families(5, GENERA, each=9, length=90, letters=self.letters, changed=0.2)
        return [r for r in every if int(r[0][-1]) >= NEW], [r for r in every if int(r[0][-1]) < NEW]


def fasta(header: Callable[[str, str], str], width: int = 90) -> Callable[[list[Record]], str]:
    """FASTA whose headers a function makes of id and class."""
    return lambda records: "".join(
        f">{header(id, label)}\n{wrapped(s, width)}" for id, label, s in records
    )


def fastq(width: int) -> Callable[[list[Record]], str]:
    """FASTQ, whose qualities may begin with the signs of a record."""
    return lambda records: "".join(
        f"@{id} barcode={label}\n{wrapped(s, width)}+\n{wrapped('@+I' * (len(s) // 3), width)}"
        for id, label, s in records
    )


def wrapped(text: str, width: int) -> str:
    return "".join(f"{text[i : i + width]}\n" for i in range(0, len(text), width))


def table(
    *head: str, line: Callable[..., tuple[str, ...]], join: str = "\t"
) -> Callable[[list[Record]], str]:
    """A table with a line of each record, by id, class, residues and number."""

    def text(records: list[Record]) -> str:
        lines = [line(*record, i) for i, record in enumerate(records)]
        return "".join(f"{join.join(cells)}\n" for cells in ([head] if head else []) + lines)

    return text


PATHS = {genus: ";".join(names) for genus, names in NAMES.items()}
SELF = {genus: genus for genus in GENERA}
EC = {"Bacillus": "1.1.1.1", "Listeria": "2.7.1.2", "Vibrio": "1.1.1.1; 2.7.1.-"}
EC_SETS = {"Bacillus": "1.1.1.1", "Listeria": "2.7.1.2", "Vibrio": "1.1.1.1;2.7.1"}
CUT = {
    "Bacillus": "k__Bacteria;p__Bacillota;c__Bacilli;f__Bacillaceae;g__Bacillus",
    "Listeria": "k__Bacteria;p__Bacillota;c__Bacilli;f__Listeriaceae;g__Listeria;s__grayi",
    "Vibrio": "k__Bacteria;p__Pseudomonadota",
}
BARS = {genus: text.replace(";", "|") for genus, text in CUT.items()}
UNIPROT = {genus: f"{genus} family, some subfamily" for genus in GENERA}


def lineages(*head: str, join: str = "\t", of: dict[str, str] = GREENGENES) -> Any:
    return table(*head, line=lambda id, label, s, i: (id, of[label]), join=join)


def uniprot(with_sequence: bool) -> Any:
    head = ("Entry", "Entry Name", "Organism", "Protein families", "Length")
    return table(
        *head,
        *(["Sequence"] if with_sequence else []),
        line=lambda id, label, s, i: (
            *(f"P{i:05d}", f"{id}_XYZ", f"Species {'ab'[i % 2]}", UNIPROT[label], str(len(s))),
            *([s] if with_sequence else []),
        ),
    )


PLAIN = fasta(lambda id, label: f"{id} some rRNA")
ROWS = {
    "QIIME 2, no header": Row("seqs.fasta", PLAIN, CUT, ("taxonomy.tsv", lineages())),
    "QIIME 2, its header": Row(
        "seqs.fasta.gz", PLAIN, CUT, ("taxonomy.tsv.gz", lineages("Feature ID", "Taxon"))
    ),
    "QIIME 2, a stranger's": Row(
        *("dna.fa", PLAIN, BARS),
        ("t.csv", lineages("#OTU ID", "what it is", join=";", of=LISTED)),
    ),
    "dada2": Row("x.fasta.gz", fasta(lambda id, label: f"{PATHS[label]};"), PATHS),
    "dada2, spaces": Row("x.fa", fasta(lambda id, label: "; ".join(NAMES[label])), PATHS),
    "SINTAX": Row("x.fasta", fasta(lambda id, label: f"{id};tax={SINTAX[label]};"), SINTAX),
    "SINTAX, a stranger's": Row(
        "x.txt", fasta(lambda id, label: f"{id};size=3;tax={SINTAX[label]},s:;", 40), SINTAX
    ),
    "SILVA": Row("x.fasta", fasta(lambda id, label: f"{id}.1.90 {PATHS[label]}"), PATHS),
    "CSV": Row(
        "amp.csv",
        table("ID", "Sequence", "Source", line=lambda id, c, s, i: (id, s, c), join=","),
        *(SELF, None, PROTEIN),
    ),
    "CSV, a stranger's": Row(
        "amp.csv",
        table("origin", "peptide", "entry", line=lambda id, c, s, i: (c, s, id), join=";"),
        *(SELF, None, PROTEIN),
    ),
    "TSV, no header": Row(
        "amp.tsv.gz", table(line=lambda id, c, s, i: (s.lower(), c)), SELF, None, PROTEIN
    ),
    "EC in several": Row(
        "x.faa", PLAIN, EC_SETS, ("ec.tsv", lineages("id", "EC", of=EC)), PROTEIN, "labels"
    ),
    "EC in several, a stranger's": Row(
        *("x.faa", PLAIN, EC_SETS),
        ("ec.csv", lineages("protein", "activity", join=",", of=EC)),
        *(PROTEIN, "labels"),
    ),
    "abricate": Row(
        "x.fna", fasta(lambda id, label: f"db{id[-1] in '345'}~~~{id}~~~A{id}~~~{label} a"), SELF
    ),
    "Prokka": Row(
        *("x.faa", fasta(lambda id, c: f"{id} 1.1.1.1~~~g{id[-1] in '345'}~~~{c} protein~~~")),
        *({genus: f"{genus} protein" for genus in GENERA}, None, PROTEIN),
    ),
    "UniProt": Row("uniprot.tsv", uniprot(True), UNIPROT, None, PROTEIN),
    "UniProt beside FASTA": Row(
        *("x.fasta", fasta(lambda id, label: f"sp|{id}|X_{id} a protein OS=x OX=1"), UNIPROT),
        (
            "uniprot.tsv.gz",
            table(
                "Entry",
                "Organism",
                "Families",
                line=lambda id, c, s, i: (id, f"Species {'ab'[i % 2]}", UNIPROT[c]),
            ),
        ),
        PROTEIN,
    ),
    "GenBank": Row("x.gb", genbank, PATHS),
    "GenBank, packed": Row("x.gbk.gz", genbank, PATHS),
    "FASTQ": Row("reads.fastq", fastq(90), SELF),
    "FASTQ, wrapped and packed": Row("reads.fq.gz", fastq(40), SELF),
}


def faults(row: Row, folder: Path) -> list[str]:
    """Go from the file of a row to the answers, in a folder; return what is wrong."""
    known, new = row.records()
    with contextlib.chdir(folder):
        write(row.file, row.text(known))
        write(f"new-{row.file}", row.text(new))
        beside: list[str] = []
        if row.labels is not None:
            name, text = row.labels
            beside = ["--labels", write(name, text(known))]
        config = "kreinflow.yaml"
        said = _command("init", row.file, *beside, "-o", config)
        if not said:
            settings = yaml.safe_load(Path(config).read_text())
            (dataset,) = settings["datasets"]
            model = f"{settings['results']}/{dataset}/model.safetensors"
            said = _command("run", config, "--cores", "1", model)
            said = said or _command("classify", model, f"new-{row.file}", "-o", "answers.tsv")
        if said:
            return said
        answers = pd.read_csv("answers.tsv", sep="\t", keep_default_na=False)[row.column]
    expected = [row.answers[label] for _, label, _ in new]
    return [
        f"{record[0]}: {answer!r}, not {true!r}"
        for record, answer, true in zip(new, answers, expected, strict=True)
        if not _fits(answer, true, row.column == "labels")
    ]


def _fits(answer: str, true: str, several: bool) -> bool:
    """Whether it is the label, or a species of the genus; or the labels, the likeliest first."""
    if several:
        return sorted(answer.split(";")) == true.split(";")
    return answer == true or answer.startswith(f"{true};")


def _command(*arguments: str) -> list[str]:
    """Run a command of kreinflow; return what it says if it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main([*arguments])
    return [f"kreinflow {' '.join(arguments)}: {said.getvalue()}"] if code else []


def run(asked: Any) -> int:
    """Run the rows, and print what is wrong of each."""
    wrong = 0
    for name, row in ROWS.items():
        if asked.only not in name:
            continue
        start = _seconds()
        with tempfile.TemporaryDirectory(prefix="formats-") as folder:
            found = faults(row, Path(folder))
        print(f"{name}: {'wrong' if found else 'right'}, {_seconds() - start:.0f} s", *found)
        wrong += bool(found)
    return int(bool(wrong))


def _seconds() -> float:
    """Seconds of the processor, of this process and those that it started."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
