"""A converter module for tests: acme.Add(x, y), and acme.Twins(x, y), which gives x twice -> ADD."""

from fuseconv.fuse.match import Fusion, composite


def rewrite(tfl, m):
    return tfl.add(m.x, m.y)


def rewrite_twins(tfl, m):
    twin = tfl.add(m.x, tfl.mul(m.y, 0.0))
    return {name: twin for name in m.results if m.reads(name)}


FUSIONS = [
    Fusion("acme_add", "ADD", composite("acme.Add", "x y -> sum"), rewrite),
    Fusion("acme_twins", "ADD", composite("acme.Twins", "x y -> first second"), rewrite_twins),
]
