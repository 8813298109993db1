"""What other libraries take of graphs: their support surfaces as data, and judgements of a graph by them.

Each TOML file here is a library. A graph is taken where one surface at least has no rule that it breaks. A rule names a
predicate (:mod:`.predicates`), what it is of, and its source; ``unknown`` is an answer like yes and no, for what no
source documents and for what depends on a compute capability that was not stated.
"""

from .judge import Broken, Judgement, SurfaceAnswer, judge
from .table import Library, Surface, SurfaceRule, libraries, library

__all__ = [
    "Broken",
    "Judgement",
    "Library",
    "Surface",
    "SurfaceAnswer",
    "SurfaceRule",
    "judge",
    "libraries",
    "library",
]
