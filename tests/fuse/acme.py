"""A converter module for tests: acme.Add(x, y), acme.Max(x, y), and acme.Twins(x, y), which gives x twice."""

from fuseconv.fuse.match import Fusion, composite


def rewrite(tfl, m):
    return tfl.add(m.x, m.y)


def rewrite_max(tfl, m):
    return tfl.maximum(m.x, m.y)


def rewrite_twins(tfl, m):
    twin = tfl.add(m.x, tfl.mul(m.y, 0.0))
    return {name: twin for name in m.results if m.reads(name)}


FUSIONS = [
    Fusion("acme_add", "ADD", composite("acme.Add", "x y -> sum"), rewrite),
    Fusion("acme_max", "MAXIMUM", composite("acme.Max", "x y -> largest"), rewrite_max),
    Fusion("acme_twins", "ADD", composite("acme.Twins", "x y -> first second"), rewrite_twins),
]
