"""``kreinflow export``: the landmarks of a model as a file."""


def test_landmarks_are_their_own_nearest(run, classified, trained, tmp_path):
    path, ids = tmp_path / "landmarks.fasta", trained.model.landmark_ids
    assert run("export", trained.path, "--landmarks", path) == (0, "", "")
    assert path.read_text().count(">") == len(ids)
    assert trained.model.landmarks[0].decode() in path.read_text()
    header, *lines = classified(trained.path, path).splitlines()
    place = header.split("\t").index("nearest_landmark")
    for line, id in zip(lines, ids, strict=True):
        assert line.split("\t")[place : place + 3] == [id, id[0], "1.0"]
