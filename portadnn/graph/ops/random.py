"""Random numbers: Philox4x32-10, the same on every device for one seed and offset."""

from __future__ import annotations

from ..api.arguments import maybe_number, maybe_whole, member_of, number
from ..data_types import data_type
from ..enums import rng_distribution
from ..layout import row_major
from ..node import Attribute, Kind, Node, Port, register
from .batch_norm import demand_scalars


def _settle(node: Node) -> None:
    out = node.dims("Y")
    if not out:
        raise node.fail("PG-RNG-001", "Y", expected="dims set by the program", fix="y.set_dim([...])")
    demand_scalars(node, "SEED", "OFFSET")
    if node.has("SEED") == (node["seed"] is not None):
        raise node.fail(
            "PG-RNG-002", argument="seed", expected="a seed, as a number or as a tensor", fix="pass seed=..."
        )
    for port in ("SEED", "OFFSET"):
        if node.has(port) and node.inputs[port].get_data_type() not in (data_type.INT32, data_type.INT64):
            got = node.inputs[port].get_data_type()
            raise node.fail("PG-RNG-005", port, expected="INT32 or INT64", got=got, fix="pass an integer")
    probability = node["bernoulli_probability"]
    if node["distribution"] is rng_distribution.BERNOULLI and (probability is None or not 0 <= probability <= 1):
        raise node.fail("PG-RNG-003", argument="bernoulli_probability", expected="0 to 1", got=probability)
    if node["distribution"] is rng_distribution.UNIFORM and node["minimum"] > node["maximum"]:
        raise node.fail(
            "PG-RNG-004", argument="minimum", expected=f"at most maximum = {node['maximum']}", got=node["minimum"]
        )
    node.settle("Y", out, row_major(out), "as set")


register(
    Kind(
        "rng",
        (Port("SEED", optional=True), Port("OFFSET", optional=True, scalar=True)),
        (Port("Y"),),
        _settle,
        (
            Attribute("distribution", member_of(rng_distribution)),
            Attribute("seed", maybe_whole, None),
            Attribute("bernoulli_probability", maybe_number, None),
            Attribute("minimum", number, 0.0),
            Attribute("maximum", number, 1.0),
            Attribute("mean", number, 0.0),
            Attribute("standard_deviation", number, 1.0),
        ),
        computes=False,
    )
)
