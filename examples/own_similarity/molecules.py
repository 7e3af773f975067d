"""Molecules as SMILES: the Tanimoto similarity of their Morgan fingerprints.

Needs rdkit. In a config: score: {function: "molecules:tanimoto", kind: similarity, self: 1}
"""

from functools import lru_cache

from rdkit import Chem, DataStructs
from rdkit.Chem import rdFingerprintGenerator

GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


@lru_cache(maxsize=100_000)
def fingerprint(smiles):
    """Return the bits of a molecule; landmarks are asked for again and again."""
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise ValueError(f"{smiles} is no SMILES")
    return GENERATOR.GetFingerprint(molecule)


def tanimoto(a, b):
    """Return the share of bits in common among those that one of two molecules has."""
    others = [fingerprint(smiles) for smiles in b]
    return [DataStructs.BulkTanimotoSimilarity(fingerprint(smiles), others) for smiles in a]
