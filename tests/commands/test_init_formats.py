"""``kreinflow init`` on files as people have them: each becomes a config without an edit.

Each format is written here in its own words, with a stranger's variant beside it.
"""

import gzip
import io
from dataclasses import replace

import pytest
from Bio import SeqIO
from Bio.Seq import Seq
from Bio.SeqFeature import SeqFeature, SimpleLocation
from Bio.SeqRecord import SeqRecord

from kreinflow.commands import init
from kreinflow.commands.check import checked
from kreinflow.commands.proposing.proposal import propose
from small_inputs import DNA, families

GENERA = ("Bacillus", "Listeria", "Vibrio")
GREENGENES = {
    "Bacillus": "k__Bacteria; p__Bacillota; c__Bacilli; f__Bacillaceae; g__Bacillus; s__",
    "Listeria": "k__Bacteria; p__Bacillota; c__Bacilli; f__Listeriaceae; g__Listeria; s__grayi",
    "Vibrio": "k__Bacteria; p__Pseudomonadota; c__; f__; g__; s__",
}
NAMES = {
    "Bacillus": ("Bacteria", "Bacillota", "Bacilli", "Bacillaceae", "Bacillus"),
    "Listeria": ("Bacteria", "Bacillota", "Bacilli", "Listeriaceae", "Listeria"),
    "Vibrio": ("Bacteria", "Pseudomonadota", "Gammaproteobacteria", "Vibrionaceae", "Vibrio"),
}
RECORDS = families(5, classes=GENERA, each=6, length=90, letters=DNA, changed=0.15)


def write(name, text):
    with (gzip.open if name.endswith(".gz") else open)(name, "wt") as file:
        file.write(text)
    return name


def fasta(header, name="x.fasta", records=RECORDS):
    """Write FASTA with headers that a function makes of id and class."""
    return write(name, "".join(f">{header(id, label)}\n{s}\n" for id, label, s in records))


def rows(*lines, join="\t"):
    return "".join(f"{join.join(line)}\n" for line in lines)


def taxonomy(*head, join="\t", name="taxonomy.tsv", lineages=GREENGENES):
    lines = [(id, lineages[label]) for id, label, _ in RECORDS]
    return write(name, rows(*([head] if head else []), *lines, join=join))


def part_of(config):
    (part,) = config["datasets"].values()
    return part


SINTAX = {
    genus: ",".join(f"{rank}:{part}" for rank, part in zip("dpcfg", parts, strict=True))
    for genus, parts in NAMES.items()
}
LISTED = {genus: "|".join(text.split("; ")) for genus, text in GREENGENES.items()}


FIELDS = r"^(?:(?:(?!~~~)\S)*~~~){3}((?:(?!~~~)\S)+)(?=\s|$|~~~)"


@pytest.mark.parametrize(
    ("header", "pattern", "other"),
    [
        (
            lambda id, label: f"{'ca'[id[-1] in '012']}~~~{id}~~~A{id}.1~~~{label} a gene",
            FIELDS,
            "field 1",
        ),
        (  # genes of two records each, in classes of six
            lambda id, label: f"c~~~{label}{id[-1] in '012'}{id[-1] in '03'}~~~A{id}~~~{label}",
            FIELDS,
            "field 2 of the id, between ~~~ (",
        ),
        (
            lambda id, label: f"{id} 1.1.1.1~~~g{id[-1] in '012'}~~~{label} protein~~~",
            r"^\S+\s+(?:(?:(?!~~~).)*~~~){2}((?:(?!~~~).)+)(?=\s|$|~~~)",
            "field 2 behind the id, between ~~~ (2 classes): pattern: ",
        ),
        (
            lambda id, label: f"{id}__{label}__x",
            r"^(?:(?:(?!__)\S)*__){1}((?:(?!__)\S)+)(?=\s|$|__)",
            "",
        ),
    ],
    ids=["abricate", "one database", "Prokka", "two lines"],
)
def test_fields_of_headers(proposed, tmp_path, header, pattern, other):
    config, out, err = proposed(fasta(header))
    assert part_of(config)["source"]["labels"] == {"pattern": pattern}
    assert "3 classes of 6 records" in out
    assert f"x: or {other}" in out or not other
    text = (tmp_path / "kreinflow.yaml").read_text().replace("\n", "").replace("# ", "")
    assert not other or "or pattern: " in text
    assert "The labels are a guess: in the headers, 'field" in err


@pytest.mark.parametrize(
    ("head", "join", "name", "lineages", "separator"),
    [
        (("Feature ID", "Taxon"), "\t", "taxonomy.tsv", GREENGENES, ";"),
        ((), "\t", "taxonomy.tsv", GREENGENES, ";"),
        ((), "\t", "taxonomy.txt.gz", GREENGENES, ";"),
        (("#OTU ID", "what it is"), ",", "t.csv", GREENGENES, ";"),
        (("name", "lineage"), ";", "t.tsv", LISTED, "|"),
        ((), "\t", "t.taxonomy", {g: f"{';'.join(names)};" for g, names in NAMES.items()}, ";"),
    ],
)
def test_a_table_of_lineages(proposed, tmp_path, head, join, name, lineages, separator):
    fasta(lambda id, label: f"{id} some rRNA", "seqs.fasta")
    config, out, err = proposed(
        "seqs.fasta", "--labels", taxonomy(*head, join=join, name=name, lineages=lineages)
    )
    part = part_of(config)
    assert part["levels"] == {"separator": separator}
    id_column, label_column = head or (1, 2)
    labels = {"table": name, "id_column": id_column, "label_column": label_column}
    assert part["source"]["labels"] == labels
    assert "3 lineages, with 1, 2, " in out
    assert "18 records (0 dropped), 18 distinct, 3 classes" in out
    assert "columns have numbers, as its first line names none" in out or head
    assert "guess" not in err


@pytest.mark.parametrize(
    ("header", "pattern", "separator"),
    [
        (lambda id, label: f"{';'.join(NAMES[label])};", "^(.+)$", ";"),
        (lambda id, label: "; ".join(NAMES[label]), "^(.+)$", ";"),
        (lambda id, label: f"{id};tax={SINTAX[label]};", r"\btax=([^;\s]+)", ","),
        (lambda id, label: f"{id};size=3;tax={SINTAX[label]},s:;", r"\btax=([^;\s]+)", ","),
        (lambda id, label: f"{id}.1.90 {';'.join(NAMES[label])}", r"^\S+\s+(.+?)\s*$", ";"),
        (
            lambda id, label: f"{id}|SH{id}.09FU|reps|{GREENGENES[label].replace('; ', ';')}",
            r"(?:^|[\s|=])([dk]__[^\[|]*?)\s*(?:[\[|]|$)",
            ";",
        ),
        (
            lambda id, label: f"{id} {GREENGENES[label]} [length={len(id)}]",
            r"(?:^|[\s|=])([dk]__[^\[|]*?)\s*(?:[\[|]|$)",
            ";",
        ),
    ],
    ids=["dada2", "dada2, spaces", "SINTAX", "SINTAX, size", "SILVA", "UNITE", "GTDB"],
)
def test_lineages_in_headers(proposed, tmp_path, header, pattern, separator):
    config, out, _ = proposed(fasta(header))
    part = part_of(config)
    assert part["levels"] == {"separator": separator}
    assert part["source"]["labels"] == {"pattern": pattern}
    whole = pattern == "^(.+)$"
    assert part["source"].get("ids") == ("numbers" if whole else None)
    assert ("headers are lineages and have no ids: records are numbered from 1." in out) == whole
    assert "18 records (0 dropped), 18 distinct, 3 classes" in out


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("k__Bacteria; p__Bacillota; c", "has no rank for its part 'c': is it cut short?"),
        ("k__Bacteria; g__Vibrio; f__Vibrionaceae", "has its ranks out of order, or one twice"),
        ("k__Bacteria; ; c__Bacilli", "has an empty part between its separators ';'"),
    ],
)
def test_a_lineage_at_fault(refused_here, tmp_path, fault, message):
    fasta(lambda id, label: id, "seqs.fasta")
    with open(taxonomy("Feature ID", "Taxon")) as file:
        text = file.read()
    write("taxonomy.tsv", text.replace(GREENGENES["Vibrio"], fault, 1))
    said = refused_here("seqs.fasta", "--labels", "taxonomy.tsv")
    assert f"taxonomy.tsv: record Vibrio0: The label {fault!r} {message}" in said


PEPTIDES = families(6, classes=("venom", "bacteria", "frog"), each=6, length=14, changed=0.4)


def table_of_peptides(name, head, line, join=","):
    lines = [line(id, label, s, i) for i, (id, label, s) in enumerate(PEPTIDES)]
    return write(name, rows(*([head] if head else []), *lines, join=join))


@pytest.mark.parametrize(
    ("name", "head", "line", "join", "expected"),
    [
        (
            "amp.csv",
            ("ID", "Sequence", "Length", "Source"),
            lambda id, label, s, i: (id, s, str(len(s) + i % 3), label),
            ",",
            {"sequence_column": "Sequence", "id_column": "ID", "label_column": "Source"},
        ),
        (
            "amp.tsv.gz",
            ("year", "what", "chain", "remark"),
            lambda id, label, s, i: (str(1990 + i), label, s.lower(), f"see {i}"),
            "\t",
            {"sequence_column": "chain", "ids": "numbers", "label_column": "what"},
        ),
        (
            "amp.csv",
            ("origin", "peptide", "entry"),
            lambda id, label, s, i: (label, s, id),
            ";",
            {"sequence_column": "peptide", "id_column": "entry", "label_column": "origin"},
        ),
        (
            "amp.txt",
            (),
            lambda id, label, s, i: (s, label),
            "\t",
            {"sequence_column": 1, "ids": "numbers", "label_column": 2},
        ),
        (
            "amp.csv",
            (),
            lambda id, label, s, i: (id, label, s),
            ",",
            {"sequence_column": 3, "id_column": 1, "label_column": 2},
        ),
    ],
)
def test_a_table_with_a_column_of_sequences(proposed, tmp_path, name, head, line, join, expected):
    config, out, _ = proposed(table_of_peptides(name, head, line, join))
    source = part_of(config)["source"]
    assert (source["fasta"], source["labels"].pop("table")) == (name, name)
    found = source["labels"] | {k: source[k] for k in ("sequence_column", "ids") if k in source}
    assert found == expected
    assert "18 records (0 dropped), 18 distinct, 3 classes" in out
    assert ("records are numbered from 1." in out) == ("ids" in expected)


def test_columns_of_0_and_1(proposed, tmp_path):
    def line(id, label, s, i):
        return (s, *("1" if label == x else "0" for x in ("venom", "frog")), "01"[i % 2], "train")

    table_of_peptides("amp.csv", ("seq", "venom", "frog", "toxic", "split"), line)
    config, out, _ = proposed("amp.csv")
    labels = part_of(config)["source"]["labels"]
    assert labels["label_column"] == ["venom", "frog", "toxic"]
    assert labels["multiple"] == "all"
    assert "4 labels, several a record" in out  # and none of them
    assert "or toxic (2 classes): label_column: toxic" in out
    assert "18 records (0 dropped)" in out
    table_of_peptides("amp.csv", ("seq", "venom", "frog"), lambda *one: line(*one)[:3])
    config, out, _ = proposed("amp.csv", "--force")
    assert "multiple" not in part_of(config)["source"]["labels"]
    assert "3 classes of 6 records" in out


def test_tables_of_sequences_at_fault(refused_here, tmp_path):
    def two(id, label, s, i):
        return s, s[::-1], label

    name = table_of_peptides("t.csv", ("CDR3a", "CDR3b", "epitope"), two)
    said = refused_here(name)
    assert "t.csv: several columns have sequences, 'CDR3a' and 'CDR3b', and a record has" in said
    name = table_of_peptides("t.csv", ("seq", "epitope"), lambda id, label, s, i: (s, label))
    with open(name, "a") as file:
        file.write("MKV")
    assert "t.csv, line 20: has 1 field, the header 2." in refused_here(name)
    table_of_peptides("t.csv", ("seq", "epitope"), lambda id, label, s, i: (s, label))
    assert "Leave out --labels" in refused_here(name, "--labels", name)
    name = table_of_peptides("t.csv", ("seq", "mass"), lambda id, label, s, i: (s, f"{i}.5"))
    assert "t.csv: beside the sequences no column could be the labels" in refused_here(name)


@pytest.mark.parametrize("name", ["reads.fastq.gz", "reads.txt"])
def test_fastq(proposed, tmp_path, name):
    text = "".join(f"@{id} barcode={label}\n{s}\n+\n{'I' * len(s)}\n" for id, label, s in RECORDS)
    config, out, _ = proposed(write(name, text))
    assert part_of(config)["source"]["labels"] == {"pattern": r"\bbarcode=([^\s;,\]|]+)"}
    assert "reads: the qualities of FASTQ are not used.\n" in out
    assert "18 records (0 dropped), 18 distinct, 3 classes" in out


def genbank(records=RECORDS, **qualifier):
    """GenBank whose organisms are one of a class, with a qualifier for a number or its name."""
    text = io.StringIO()
    for i, (id, label, residues) in enumerate(records):
        record = SeqRecord(Seq(residues), id=f"{id}.1", name=id, description="a rRNA")
        record.annotations = {"molecule_type": "DNA", "organism": f"{label} sp. {i % 2}"}
        record.annotations["taxonomy"] = list(NAMES[label])
        whole = {key: [texts[GENERA.index(label)]] for key, texts in qualifier.items()}
        record.features = [SeqFeature(SimpleLocation(0, 90), "source", qualifiers=whole)]
        SeqIO.write(record, text, "genbank")
    return text.getvalue()


@pytest.mark.parametrize(
    ("name", "qualifier", "key"),
    [
        ("x.gb", {}, "lineage"),
        ("x.gbk.gz", {"host": "pig", "strain": "abc"}, "lineage"),
        ("x.txt", {"EC_number": ["1.1.1.1", "1.1.1.2", "2.7.1.1"]}, "EC_number"),
    ],
)
def test_genbank(proposed, tmp_path, name, qualifier, key):
    config, out, _ = proposed(write(name, genbank(**qualifier)))
    part = part_of(config)
    assert part["source"]["labels"] == {"pattern": rf"\[{key}=([^\]]+)\]"}
    assert part["levels"] == {"separator": ";" if key == "lineage" else "."}
    assert "x: or [organism=] (6 classes): pattern: " in out
    assert f"18 records (0 dropped), 18 distinct, {6 if key == 'lineage' else 3} classes" in out


def test_where_a_run_takes_hours_the_config_says_what_takes_less(proposed, tmp_path, monkeypatch):
    fasta(lambda id, label: f"{id} family={label};")
    *_, err = proposed("x.fasta")
    assert "takes hours" not in err
    monkeypatch.setattr(init, "_LONG", 0)
    *_, err = proposed("x.fasta", "--force")
    assert "This takes hours. Larger classes alone take less ('min_class_size')" in err
    assert "# Look at this: This takes hours" in (tmp_path / "kreinflow.yaml").read_text()


def test_what_takes_long_is_proposed_with_fewer_recipes_and_folds(proposed, tmp_path, monkeypatch):
    fasta(lambda id, label: f"{id} family={label};")
    config, out, err = proposed("x.fasta")
    assert "x: 5 folds: " in out
    assert "recipes" not in part_of(config)
    assert "Proposed are" not in err
    made = propose(["x.fasta"], None)
    one = checked(made.config, made.name, tmp_path, made.groups)
    # 250 classes, which give the two smallest sets 200 landmarks each.
    many = {"class_sizes": {f"c{i}": 8 for i in range(250)}, "distinct": 2000}
    one = replace(one, dataset=one.dataset.with_statistics(**many, lengths={"mean": 90}))
    costs = one.run_costs()
    sizes = [costs.landmarks(name) for name in one.plan.selectors]
    assert sizes[0] == sizes[1] == 200 < sizes[2] < sizes[3]
    whole, prefix = costs.minutes(2), "nucleotide-"
    for soon, selectors in ((0.99 * whole, ("few", "some")), (0, ("few",))):
        monkeypatch.setattr(init, "_SOON", soon)
        fewer, checks = init.lighter(made, one)
        assert checks.plan.trained_selectors == [prefix + name for name in selectors]
        assert (len(one.plan.folds), len(checks.plan.folds)) == (6, 4)
        told = fewer.advice[-1]
        assert f"All 7 recipes with 5 folds take about {whole:.0f} minutes on 2 cores" in told
        assert f"Proposed are {len(checks.plan.recipes())} recipes of few landmarks" in told
        assert "leave out the line 'recipes: ...' and write 'k: 5'" in told
    config, out, err = proposed("x.fasta", "--force")
    assert "Proposed are" in err
    assert "5 folds: " not in out
    assert part_of(config)["folds"]["k"] == 3
    text = (tmp_path / "kreinflow.yaml").read_text()
    assert "# Look at this: All 7 recipes" in text
    assert "\n    recipes: [" in text


def test_ec_numbers_of_one_kind_and_several_of_a_record(proposed, tmp_path):
    fasta(lambda id, label: id, "x.fasta")
    numbers = {"Bacillus": "2.7.1.1", "Listeria": "2.7.1.2", "Vibrio": "2.7.1.-"}
    config, *_ = proposed("x.fasta", "--labels", taxonomy("id", "EC", lineages=numbers))
    assert part_of(config)["levels"] == {"separator": "."}
    assert config["unknown"] == {"false_alarms": 0.01}
    both = numbers | {"Vibrio": "2.7.1.1; 2.7.1.2"}
    table = taxonomy("id", "EC", lineages=both)
    config, out, _ = proposed("x.fasta", "--labels", table, "--force")
    assert part_of(config)["source"]["labels"]["multiple"] == "all"
    assert part_of(config)["levels"] == {"separator": "."}
    assert "labels are paths, with '.' between their levels" in out
    assert "unknown" not in config
    # One that stands alone nowhere, or in one record alone, is an EC number all the same.
    partly = {"Bacillus": "1.1.1.1; 2.7.1.-", "Listeria": "2.7.1.2", "Vibrio": "1.1.1.1"}
    config, *_ = proposed("x.fasta", "--labels", taxonomy(lineages=partly), "--force")
    assert part_of(config)["source"]["labels"]["multiple"] == "all"
