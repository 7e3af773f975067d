"""``kreinflow export``: the landmarks of a model as a file."""


def test_landmarks_are_their_own_nearest(run, classified, trained, tmp_path):
    path, ids = tmp_path / "landmarks.fasta", trained.model.landmark_ids
    assert run("export", trained.path, "--landmarks", path) == (0, "", "")
    assert path.read_text().count(">") == len(ids)
    assert trained.model.landmarks[0].decode() in path.read_text()
    for line, id in zip(classified(trained.path, path).splitlines()[1:], ids, strict=True):
        assert line.split("\t")[7:9] == [id, "1.0"]
