"""x."""
from __future__ import annotations
import numpy as np
from portadnn.problem import Problem
from portadnn.ops.tensor import SetTensor
from ..base import *

class Elementwise(Engine):
    name = "elementwise"
    problems = (SetTensor,)
    def why_not(self, problem, info): return None
    def prepare(self, problem, device):
        k = device.compile("shared/elementwise.cl", "set_flat", {f"DTYPE_{problem.dtype}": 1, "VW": 8})
        l = Launch(k, (1,), (1,), (TensorArg(0), ScalarArg(0, problem.dtype.accumulator), ConstantArg(np.int32(problem.y.size))))
        return Plan(problem, self, 0, device.bind([l]), (l,))
ENGINES = (Elementwise(),)
