"""A short series of flipped bits; the long one is ``tests/flips.py --flips 320``."""

import flips
from small_inputs import configuration, families, fasta_source, write_fasta


def test_a_flipped_bit_is_found_or_harmless(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    write_fasta(folder / "x.fasta", families(4, classes=("a", "b"), each=8))
    run = flips.FinishedRun(folder, configuration(fasta_source()))
    drawn = flips.draw(run, len(run.files()), seed=2, only="")
    assert len(drawn) == len(run.files()) >= 15
    tried = list(flips.outcomes(run, drawn, str(tmp_path)))
    assert flips.faults(tried) == []
    outcomes = [found for _, found, _ in tried]
    assert outcomes.count("found") >= len(tried) / 3
