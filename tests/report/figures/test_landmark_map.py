import re
import warnings
import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd

from kreinflow.report.figures import figure_svg
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


def test_a_prefix_renames_ids_and_leaves_texts():
    odd = ["url(#a)", ' id="x"', 'xlink:href="#y"', "#z"]
    svg = map_svg(points(odd, odd, [True, False, False, True]), AXES)
    renamed = with_prefix(svg, "m7-")
    before, after = (
        [title.text for use in elements(text, "use") for title in use] for text in (svg, renamed)
    )
    assert len(before) == 4
    assert before == after
    assert [text.partition("\n")[2] for text in sorted(after)] == [
        text.partition(" ")[2].partition("\n")[0] for text in sorted(after)
    ]
    old, new = (list(ElementTree.fromstring(text).iter()) for text in (svg, renamed))
    ids = {element.get("id") for element in new} - {None}
    assert ids == {f"m7-{element.get('id')}" for element in old if element.get("id")}
    values = [value for element in new for value in element.attrib.values()]
    references = {v[1:] for v in values if v.startswith("#m7-")}
    references |= {part for v in values for part in re.findall(r"url\(#(.*?)\)", v)}
    assert len(references) > 3
    assert references <= ids


def test_names_that_begin_with_an_underscore_are_in_the_legend():
    figure = _draw(points(["a", "b"], ["_x", "y"], [True, False]), AXES, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # among others, of letters that the font lacks
        assert figure_svg(figure)
    texts = [text.get_text().strip("\u200b") for text in figure.legends[0].get_texts()]
    assert texts == ["_x", "y", "landmark"]


def test_landmarks_are_larger_than_objects_and_have_an_edge():
    classes, landmark = list("xxyy"), [True, False, False, True]
    (axes,) = _draw(points(list("abcd"), classes, landmark, range(4)), AXES, {}).axes
    drawn = {line.get_gid(): line for line in axes.lines if line.get_gid()}
    assert sorted(drawn) == ["landmarks-0", "landmarks-1", "objects-0", "objects-1"]
    for number in (0, 1):
        large, small = (drawn[f"{kind}s-{number}"] for kind in ("landmark", "object"))
        assert large.get_markersize() > 1.5 * small.get_markersize()
        assert large.get_markeredgewidth() > small.get_markeredgewidth() == 0
        assert large.get_zorder() > small.get_zorder()


def test_axes_of_the_map_have_the_signs_of_their_eigenvalues():
    one = points(["a"], ["x"], [True])
    (axes,) = _draw(one, {"eigenvalues": [-8.0, 1.0], "all_eigenvalues": 10.0}, {}).axes
    assert axes.get_xlabel() == "-   (eigenvalue -8, 80.0% of all magnitudes)"
    assert axes.get_ylabel().startswith("+ ")
    (axes,) = _draw(one, {"eigenvalues": [3.0], "all_eigenvalues": 3.0}, {}).axes
    assert axes.get_ylabel() == "no second eigenvalue"
