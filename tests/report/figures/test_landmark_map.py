import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd

from kreinflow.report.figures.landmark_map import _draw, map_svg
from kreinflow.report.html import drawing

AXES = {"eigenvalues": [8.0, -1.0], "all_eigenvalues": 10.0}


def points(ids, classes, landmark, x=1.0, y=2.0):
    return pd.DataFrame({"id": ids, "class": classes, "landmark": landmark, "x": x, "y": y})


def elements(svg, tag):
    return list(ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def test_points_of_the_map_say_what_they_are():
    ids, classes, landmark = ["a<1", "b&2", "c3", "d4"], list("xxyy"), [True, False, False, True]
    svg = map_svg(points(ids, classes, landmark, [1.0, 2, 3, 4], [0.0, -1, 1, 0]), AXES)
    uses = [use for use in elements(svg, "use") if len(use)]
    titles = {use[0].text: float(use.get("x")) for use in uses}
    shown = ["landmark a<1\nx", "object b&2\nx", "object c3\ny", "landmark d4\ny"]
    assert sorted(titles) == sorted(shown)
    np.testing.assert_allclose(np.diff([titles[text] for text in shown], n=2), 0, atol=0.02)
    assert "*{" not in svg  # a rule that would reach beyond the figure
    assert ElementTree.fromstring(svg).get("width").endswith("pt")


def test_a_prefix_renames_ids_and_what_refers_to_them():
    svg = map_svg(points(list("abcd"), list("xxyy"), [True, False, False, True]), AXES)
    renamed = drawing(svg, "m7-")["text"]
    old, new = (list(ElementTree.fromstring(text).iter()) for text in (svg, renamed))
    ids = {element.get("id") for element in new} - {None}
    assert ids == {f"m7-{element.get('id')}" for element in old if element.get("id")}
    values = [value for element in new for value in element.attrib.values()]
    references = {v[1:] for v in values if v.startswith("#")}
    references |= {part for v in values for part in re.findall(r"url\(#(.*?)\)", v)}
    assert len(references) > 3
    assert references <= ids


def test_axes_of_the_map_have_the_signs_of_their_eigenvalues():
    one = points(["a"], ["x"], [True])
    (axes,) = _draw(one, {"eigenvalues": [-8.0, 1.0], "all_eigenvalues": 10.0}, {}).axes
    assert axes.get_xlabel() == "-   (eigenvalue -8, 80.0% of all magnitudes)"
    assert axes.get_ylabel().startswith("+ ")
    (axes,) = _draw(one, {"eigenvalues": [3.0], "all_eigenvalues": 3.0}, {}).axes
    assert axes.get_ylabel() == "no second eigenvalue"
