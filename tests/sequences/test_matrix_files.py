import re

import numpy as np
import pandas as pd
import pytest
import scipy.io

from kreinflow.base.errors import InputError
from kreinflow.sequences.matrix_files import check_matrix, read_matrix

K = np.array([[1.0, 0.25, -0.5], [0.25, 2.0, 1e-17], [-0.5, 1e-17, 3.0]])
IDS = ["a", "b", "c"]


@pytest.mark.parametrize(("ending", "separator"), [("csv", ","), ("tsv", "\t"), ("csv.gz", ",")])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("index", [True, False])
def test_text_with_and_without_ids(tmp_path, ending, separator, header, index):
    path = tmp_path / f"m.{ending}"
    table = pd.DataFrame(K, index=IDS, columns=IDS)
    table.to_csv(path, sep=separator, header=header, index=index)
    read = read_matrix(path)
    np.testing.assert_array_equal(read.values, K)
    assert read.ids == (("a", "b", "c") if header or index else None)


@pytest.mark.parametrize("corner", ["", "id", "ID"])
def test_numbers_as_ids_are_told_by_the_corner(tmp_path, corner):
    pd.DataFrame(K).to_csv(tmp_path / "m.csv", index_label=corner)
    read = read_matrix(tmp_path / "m.csv")
    np.testing.assert_array_equal(read.values, K)
    assert read.ids == ("0", "1", "2")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.tsv", "a\tb\na\t1\t2.5\nb\t2.5\t1\n"),  # without a corner, as R writes it
        ("m.csv", "a,\u00a01,2.5\nb, 2.5 ,1\u3000\n"),
        *(
            ("m.csv", f'{h}a;1;2.5\n"b";"2.5";1\n')
            for h in ("id;a;b\n", '"";"a";"b"\n', "a;b\n", "")
        ),
    ],
)
def test_harmless_oddities(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    for square in (True, False):
        read = read_matrix(tmp_path / name, square=square)
        assert read.values.tolist() == [[1, 2.5], [2.5, 1]]
        assert read.ids == ("a", "b")


def test_npy_and_mat(tmp_path):
    np.save(tmp_path / "m.npy", K.astype(np.float32))
    np.testing.assert_array_equal(read_matrix(tmp_path / "m.npy").values, K.astype(np.float32))
    path = tmp_path / "m.mat"
    scipy.io.savemat(path, {"K": K, "y": np.arange(3)})
    np.testing.assert_array_equal(read_matrix(path).values, K)
    scipy.io.savemat(path, {"X": K[:, :1]})
    np.testing.assert_array_equal(read_matrix(path, square=False).values, K[:, :1])
    scipy.io.savemat(path, {"K": K, "L": 2 * K})
    np.testing.assert_array_equal(read_matrix(path, "L").values, 2 * K)
    with pytest.raises(InputError, match=r"holds 2 matrices .* has K, L\."):
        read_matrix(path)
    with pytest.raises(InputError, match=r"holds 0 matrices .* 'M', .* has K, L\."):
        read_matrix(path, "M")
    scipy.io.savemat(path, {"y": np.array(["a", "b"], dtype=object)})
    with pytest.raises(InputError, match=r"m.mat: holds 0 matrices of numbers"):
        read_matrix(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", b"1,2\n2,x\n", r"m.csv, row 2, column 2: 'x' is not a number"),
        ("m.csv", b"1,2\n2,\n", r"row 2, column 2: '' is not a number"),
        ("m.csv", b"1,2,3\n2,1\n", r"row 2: has 2 fields, others have 3|row 1: has 3 fields"),
        ("m.csv", b"", r"m.csv: is empty"),
        ("m.csv", b"\n\n", r"m.csv: has no rows"),
        ("m.csv", b",a,b\na,1,2\nx,2,1\n", r"ids of the columns \(a, b\) and of the rows \(a, x\)"),
        ("m.csv", b",a,a\na,1,2\na,2,1\n", r"id 'a' of row 2 is empty or stands twice"),
        ("m.csv", "a\u202eb,1,2\nb,2,1\n".encode(), r"row 1: the id 'a\\u202eb' has a control"),
        ("m.csv", b"1,2\n2,1\n3,4\n", r"m.csv: has 3 rows and 2 columns. A square matrix"),
        ("m.csv", b",a,b\na,1,2,3\nb,2,1,3\n", r"its header has 3 fields, the row below it 4"),
        ("m.csv", b"id,a,b,c\na,1,2\nb,2,1\n", r"its header has 4 fields, the row below it 3"),
        ("m.npy", b"PK\x03\x04" + bytes(40), r"m.npy: truncated, or not a .npy file"),
        ("m.mat", b"1,2\n2,1\n", r"m.mat: truncated, or not a .mat file"),
        ("m.xlsx", b"1", r"the ending is not one of a table of numbers"),
        ("m.npy.gz", b"1", r"the ending is not one of a table of numbers"),
    ],
)
def test_each_fault_of_a_file_has_its_message(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([[{}, 1], [1, 2]], dtype=object), "m.npy: truncated, or not a .npy file"),
        (K * 1j, "m.npy: holds complex128 of 2 dim"),
        (np.zeros((2, 2, 2)), "m.npy: holds float64 of 3 dim"),
    ],
)
def test_npy_with_objects_text_or_three_dimensions(tmp_path, array, message):
    np.save(tmp_path / "m.npy", array, allow_pickle=True)
    with pytest.raises(InputError, match=message):
        read_matrix(tmp_path / "m.npy")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.tsv", "a;b\n1;2\n3;4\n", "Fields must be separated by tabs"),
        ("x.csv", "1 2\n3 4\n", "Fields must be separated by commas"),
        ("x.tsv", "1,2\n3,4\n", "column 1: '1,2' is not a number. Separate fields by tabs"),
        ("x.csv", "id;x;y\na;3,5;1\nb;1;2\n", "column 1: '3,5' .* by semicolons"),
        ("x.csv", "a;3,5;1,5\nb;1,5;2,5\n", "column 1: '5;1' .* by commas"),
        ("x.csv", "x;y\n1,5;2,5\n3;4,5\n", "column 1: '1,5' .* by semicolons"),
    ],
)
def test_other_separators_and_decimal_commas_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_matrix(tmp_path / name, square=False)
    assert re.search(r"row 1, .* decimals with a point \(3.5\)|decimals have a", str(caught.value))


def changed(i, j, value, both=True, D=K):
    M = D.copy()
    M[i, j] = value
    if both:
        M[j, i] = value
    return M


D = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
TILES = np.ones((4100, 4100))
TILES[3, 7], TILES[4099, 5] = 1.1, 1.5


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        (K[:1, :1], "similarity", r"has 1 row and 1 column"),
        (0 * K, "similarity", r"m.csv: its largest entry is 0 in size"),
        (D, "similarity", r"whole diagonal is 0.*'kind: zero_diagonal_sim"),
        (changed(1, 1, 5.0, D=D), "zero_diagonal_similarity", r"row 2, column 2: 5 is no zero"),
        (changed(2, 0, 0.5, both=False, D=D), "zero_diagonal_similarity", r"not symmetric, 2 at"),
        (changed(1, 2, np.nan, both=False), "asymmetric", r"row 2, column 3: nan is not a finite"),
        (1e200 * K, "similarity", r"row 1, column 1: 1e\+200 is not .* above 1e\+60 in size"),
        (1e31 * D, "dissimilarity", r"row 1, column 2: .*e\+31 is not .* above 1e\+30 in size"),
        (1e-200 * K, "similarity", r"largest entry is .*e-200 in size, below 1e-60"),
        (1e-31 * D, "dissimilarity", r"largest entry is 3e-31 in size, below 1e-30"),
        (changed(2, 0, np.inf), "similarity", r"row 1, column 3: inf is not a finite number"),
        (changed(2, 0, 0.5, both=False), "similarity", r"-0.5 at row 1, column 3 but 0.5 at row 3"),
        (changed(0, 1, -1, D=D), "dissimilarity", r"row 1, column 2: -1 is no dissimilarity"),
        (changed(1, 1, 1, D=D), "squared_dissimilarity", r"row 2, column 2: 1 is no squared"),
        (TILES, "similarity", r"row 6, column 4100.*row 4100, column 6"),  # the worst pair of all
    ],
)
def test_each_fault_of_the_values_has_its_message(tmp_path, values, kind, message):
    with pytest.raises(InputError, match=message):
        check_matrix(tmp_path / "m.csv", values, kind, 1e-6)


def test_small_asymmetry_is_averaged(tmp_path):
    M = changed(0, 1, 0.25 + 3e-7, both=False)
    values, asymmetry = check_matrix(tmp_path / "m.csv", M, "similarity", 1e-6)
    np.testing.assert_array_equal(values, values.T)
    assert values[0, 1] == pytest.approx(0.25 + 1.5e-7, abs=1e-15)
    assert asymmetry == pytest.approx(1e-7, rel=1e-6)
    assert M[0, 1] != values[0, 1]


def test_asymmetric_matrices_stay_as_they_are_and_dissimilarities_are_squared_once(tmp_path):
    M = changed(0, 1, -7.0, both=False)
    asymmetry = check_matrix(tmp_path / "m.csv", M, "asymmetric", 0)[1]
    assert asymmetry == pytest.approx((M[1, 0] + 7) / np.abs(M).max())
    for values, kind, wanted in (
        (M, "asymmetric", M),
        (D, "asymmetric", D),
        (D, "dissimilarity", D**2),
        (D, "squared_dissimilarity", D),
        (K, "similarity", K),
    ):
        np.testing.assert_array_equal(check_matrix(tmp_path, values, kind, 0)[0], wanted)
