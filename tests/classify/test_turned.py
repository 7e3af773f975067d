"""New objects on their better strand, found by seeds or by landmarks, and DNA in its best frame."""

import numpy as np
import pandas as pd
import pytest
from Bio import SearchIO
from Bio.Data import CodonTable
from Bio.Seq import Seq

from answering.cascades import related_model, with_cascade
from kreinflow.base.errors import InputError
from kreinflow.classify.classification import classify_batches, classify_file
from kreinflow.classify.formats import blast6
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.sequences.strands import FRAMES
from small_inputs import (
    DNA,
    PROTEIN,
    configuration,
    families,
    fasta_source,
    model_of,
    trained_model,
    turned,
    write_fasta,
)


def model_of_dna(folder, apart=False, cascade=True):
    records = families(5, letters=DNA, changed=0.3, length=90)
    write_fasta(folder / "x.fasta", records)
    scoring = {"matrix": "dnafull", "gap_open": 10}
    config = configuration(fasta_source(molecule="nucleotide"), scoring=scoring)
    model, dataset, _ = trained_model(config, folder)
    if cascade:
        model = with_cascade(model, dataset, apart, threshold=2.0, evidence="normalised")
    return model, records


@pytest.mark.parametrize("cascade", [True, False])
def test_the_strand_is_found_by_seeds_or_without_records_by_landmarks(tmp_path, cascade):
    model, records = model_of_dna(tmp_path, cascade=cascade)
    mixed = [r if n % 3 else turned(r) for n, r in enumerate(records)]
    new = write_fasta(tmp_path / "new.fasta", [*mixed, ("bad", "", "ACE")])
    table = classify_file(model, new, Options(strand="auto", on_fault=lambda _: None))
    plain = classify_file(model, tmp_path / "x.fasta")
    strand = ["+" if n % 3 else "-" for n in range(len(records))]
    assert table.pop("strand").tolist() == [*strand, ""]
    # Seeds cost no alignment, landmarks each one more.
    more = (table["alignments"][:-1] - plain["alignments"]).astype(int)
    assert (more == (0 if cascade else len(model.landmark_ids) + 1)).all()
    left = [table[:-1].drop(columns="alignments"), plain.drop(columns="alignments")]
    pd.testing.assert_frame_equal(*left, check_exact=True, check_dtype=False)
    given = classify_file(model, new, Options(on_fault=lambda _: None))
    assert "strand" not in given
    assert not given["probability"][:-1].equals(plain["probability"])


def test_proteins_have_no_strand_unless_it_is_asked_for(tmp_path):
    model, *_ = model_of(tmp_path)
    table = classify_file(model, tmp_path / "x.fasta", Options(strand="auto"))
    assert "strand" not in table
    with pytest.raises(InputError, match="--strand both: the model is not one of nucleotides"):
        classify_file(model, tmp_path / "x.fasta", Options(strand="both"))


def test_records_that_are_apart_may_be_given_on_either_strand(tmp_path):
    """A run turns those that stand on the other strand; the file that is given is as it was."""
    model, records = model_of_dna(tmp_path, apart=True)
    model.save(tmp_path / "model.safetensors")
    mixed = [r if n % 3 else turned(r) for n, r in enumerate(records)]
    path = write_fasta(tmp_path / "mixed.fasta", mixed)
    read = Model.load(tmp_path / "model.safetensors", [path])
    assert read.record_residues == model.record_residues


def dna_of(protein, frame, rng):
    """DNA that has a protein in a frame, among random letters, as random codons."""
    codons = {}
    for codon, letter in CodonTable.unambiguous_dna_by_id[1].forward_table.items():
        codons.setdefault(letter, []).append(codon)
    coding = "".join(rng.choice(codons[letter]) for letter in protein)
    before, after = ("".join(rng.choice(list("ACGT"), n)) for n in (int(frame[1]) - 1, 7))
    dna = before + coding + after
    return dna if frame[0] == "+" else str(Seq(dna).reverse_complement())


@pytest.mark.parametrize("asked", [True, False])
def test_dna_is_answered_as_its_best_frame(tmp_path, asked):
    """The frame is that it was made in, and the label that of the protein."""
    model, _ = (
        related_model(tmp_path) if asked else (model_of(tmp_path, seed=7, changed=0.3)[0], None)
    )
    rng = np.random.default_rng(3)
    proteins = [
        (id, label, "".join(rng.choice(list(PROTEIN)) if rng.random() < 0.1 else s for s in own))
        for id, label, own in families(7, changed=0.5 if asked else 0.3)
    ]
    frames = [FRAMES[n % 6] for n in range(len(proteins))]
    dna = [
        (id, label, dna_of(s, frame, rng))
        for (id, label, s), frame in zip(proteins, frames, strict=True)
    ]
    new = write_fasta(tmp_path / "dna.fasta", [*dna, ("e", "", "ACGTE"), ("short", "", "ACGT")])
    faults, pieces = [], []
    options = Options(translate=True, on_fault=faults.append, on_evidence=pieces.append)
    table = pd.concat(classify_batches(model, new, options))
    assert ["residue 5 is 'E', which is no sign of" in faults[0], len(faults)] == [True, 2]
    assert "has fewer than 5 nucleotides" in faults[1]
    table = table[table["problem"] == ""]
    assert table["frame"].tolist() == frames
    direct = classify_file(model, write_fasta(tmp_path / "p.fasta", proteins))
    assert (table["label"] == direct["label"]).mean() > 0.9
    landmarks = len(model.landmark_ids) + 1
    assert (table["alignments"] >= landmarks * 6).all()
    if not asked:
        return
    (tmp_path / "hits.b6").write_text("".join(map(blast6, pieces)))
    strands = {id: s for id, _, s in dna}
    seen = 0
    for result in SearchIO.parse(tmp_path / "hits.b6", "blast-tab"):
        for (hsp,) in (hit.hsps for hit in result.hits):
            # Biopython has positions in order, and BLAST's own order tells the strand.
            coding = Seq(strands[result.id][hsp.query_start : hsp.query_end])
            if hsp.query_strand == -1:
                coding = coding.reverse_complement()
            assert len(coding) % 3 == 0
            member = dict(zip(model.record_ids, model.record_residues, strict=True))[hsp.hit_id]
            theirs = member.decode()[hsp.hit_start : hsp.hit_end]
            ours = str(coding.translate())
            if len(ours) == len(theirs) == hsp.aln_span:
                equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
                assert hsp.ident_pct == pytest.approx(100 * equal / hsp.aln_span, abs=0.001)
                seen += 1
    assert seen > 20


def test_what_cannot_be_translated_is_refused(tmp_path):
    model, _ = model_of_dna(tmp_path, cascade=False)
    with pytest.raises(InputError, match="--translate: the model is not one of proteins"):
        classify_file(model, tmp_path / "x.fasta", Options(translate=True))
