"""ONNX models on any backend: the operators that cuDNN has are computed by portadnn (docs/onnx.md)."""

from .comparing import Comparison, NodeDifference, compare, random_inputs
from .running import lacking, operators, run

__all__ = ["Comparison", "NodeDifference", "compare", "lacking", "operators", "random_inputs", "run"]
