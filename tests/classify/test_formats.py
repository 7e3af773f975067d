"""Formats of others: read by a program that knows them, and held against our own tables."""

import numpy as np
import pandas as pd
import pytest
from Bio import SearchIO

from answering.cascades import cascade_model, related_model
from chimeras import model_of_several
from kreinflow.base.errors import InputError
from kreinflow.classify.classification import classify_batches, classify_file
from kreinflow.classify.formats import blast6, refuse_format, taxonomy
from kreinflow.classify.new_objects import Options
from small_inputs import (
    DNA,
    configuration,
    families,
    fasta_source,
    model_of,
    trained_model,
    turned,
    write_fasta,
    write_labels,
)


def hits_of(model, path, **options):
    """The lines of all batches as Biopython reads them, and our own evidence."""
    pieces = []
    list(classify_batches(model, path, Options(on_evidence=pieces.append, **options)))
    (path.parent / "hits.b6").write_text("".join(map(blast6, pieces)))
    read = list(SearchIO.parse(path.parent / "hits.b6", "blast-tab"))
    return read, pd.concat([piece.table for piece in pieces], ignore_index=True)


def test_evidence_is_a_table_of_blast(tmp_path):
    """Read by Biopython: positions, identity, E-values, gaps; the best member comes first."""
    model, _ = related_model(tmp_path)
    new = families(7, each=8, changed=0.6)
    new[0] = ("gapped", "a", new[0][2][:30] + "WWW" + new[0][2][30:])
    read, ours = hits_of(model, write_fasta(tmp_path / "new.fasta", new))
    assert [result.id for result in read] == [id for id, *_ in new]
    members = dict(zip(model.record_ids, model.record_residues, strict=True))
    residues, opened = {id: s for id, _, s in new}, 0
    for result in read:
        own = ours[ours["query"] == result.id].set_index("member")
        assert len(result.hits) == len(own)
        evalues = [hit.hsps[0].evalue for hit in result.hits]
        assert evalues == sorted(evalues)
        for hit in result.hits:
            (hsp,), row = hit.hsps, own.loc[hit.id]
            assert hsp.evalue == pytest.approx(row["evalue"], rel=0.01)
            assert hsp.bitscore == pytest.approx(row["bits"], abs=0.051)
            assert hsp.ident_pct == pytest.approx(100 * row["identity"], abs=0.001)
            spans = hsp.query_end - hsp.query_start, hsp.hit_end - hsp.hit_start
            gaps = 2 * hsp.aln_span - sum(spans)
            assert hsp.mismatch_num == hsp.aln_span - gaps - round(row["identity"] * hsp.aln_span)
            assert (hsp.gapopen_num > 0) == (gaps > 0)
            opened += hsp.gapopen_num
            if not gaps:
                one = residues[result.id][hsp.query_start : hsp.query_end]
                other = members[hit.id].decode()[hsp.hit_start : hsp.hit_end]
                assert hsp.mismatch_num == sum(a != b for a, b in zip(one, other, strict=True))
    assert opened > 0


def test_positions_of_an_object_that_was_turned_are_those_that_were_given(tmp_path):
    records = families(5, letters=DNA, changed=0.1, length=90)
    write_fasta(tmp_path / "x.fasta", records)
    config = configuration(
        fasta_source(molecule="nucleotide"),
        "evalue",
        scoring={"matrix": "dnafull", "gap_open": 10},
    )
    model, *_ = trained_model(config, tmp_path)
    # Without its first ten bases, so that the two ends differ.
    new = [(id, label, s[10:]) for id, label, s in records]
    forward, _ = hits_of(model, write_fasta(tmp_path / "new.fasta", new), strand="both")
    back, _ = hits_of(model, write_fasta(tmp_path / "back.fasta", map(turned, new)), strand="both")
    for one, other in zip(forward, back, strict=True):
        assert one.hit_keys == other.hit_keys
        for hsp, reverse in zip(one.hsps, other.hsps, strict=True):
            assert (hsp.hit_strand, reverse.hit_strand) == (1, -1)
            assert (hsp.hit_start, hsp.hit_end) == (reverse.hit_start, reverse.hit_end)
            assert reverse.query_start == 80 - hsp.query_end
            assert (hsp.evalue, hsp.ident_pct) == (reverse.evalue, reverse.ident_pct)


def checked_taxonomy(table):
    """As TSVTaxonomyFormat of QIIME 2's q2-types asks: header, cells of all rows, ids once."""
    lines = [line.split("\t") for line in table.to_csv(sep="\t", index=False).splitlines()]
    assert lines[0][:2] == ["Feature ID", "Taxon"]
    assert {len(line) for line in lines} == {3}
    assert all(id and taxon for id, taxon, _ in lines[1:])
    assert len({id for id, *_ in lines}) == len(lines)
    return lines[1:]


def test_the_label_is_the_taxon(tmp_path):
    model, _ = related_model(tmp_path)
    new = [*families(7, each=8, changed=0.6), ("bad", "a", "1")]
    given = {"on_fault": lambda _: None}
    table = classify_file(model, write_fasta(tmp_path / "new.fasta", new), Options(**given))
    seen = set()
    for (id, taxon, confidence), own in zip(
        checked_taxonomy(taxonomy(model, table)), table.to_dict("records"), strict=True
    ):
        seen.add(own["reject"])
        assert id == own["id"]
        if own["reject"] == "no":
            assert (taxon, float(confidence)) == (own["label"], own["probability"])
        else:
            assert (taxon, confidence) == ("Unassigned", "")
    assert seen == {"yes", "no", ""}


def test_the_deepest_sure_node_is_the_taxon(tmp_path):
    records = families(3, ("x.a", "x.b", "y.c"), changed=0.6)
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", records)
    levels = {"separator": ".", "back_off": 0.6}
    source = fasta_source(labels={"table": "y.tsv"})
    model, *_ = trained_model(configuration(source, levels=levels), tmp_path)
    table = classify_file(model, tmp_path / "x.fasta")
    nodes = [own[: own.find(".")] if i % 5 else own for i, own in enumerate(table["label"])]
    table["node"] = np.where(np.arange(len(table)) % 7, nodes, "")
    table["node_probability"] = np.linspace(0, 1, len(table))
    rows = checked_taxonomy(taxonomy(model, table))
    expected = [node.replace(".", "; ") or "Unassigned" for node in table["node"]]
    assert [taxon for _, taxon, _ in rows] == expected
    known = (table["node"] != "").to_numpy()
    given = [float(p) for (_, _, p), own in zip(rows, known, strict=True) if own]
    np.testing.assert_array_equal(given, table["node_probability"][known])
    assert {"x; a", "x; b", "y; c", "x", "y", "Unassigned"} == {taxon for _, taxon, _ in rows}


def test_what_a_model_cannot_say_in_a_format(tmp_path):
    with pytest.raises(InputError, match="qiime: a record has one taxon"):
        refuse_format(model_of_several(tmp_path).model, "qiime")
    (tmp_path / "plain").mkdir()
    with pytest.raises(InputError, match="it has E-values, and scores of the model have none"):
        refuse_format(model_of(tmp_path / "plain", transform="log")[0], "blast6")
    (tmp_path / "cascade").mkdir()
    for name in ("tsv", "qiime", "blast6"):
        refuse_format(cascade_model(tmp_path / "cascade")[0], name)
