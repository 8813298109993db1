"""ONNX's reference evaluator for the operators that portadnn does not have, with what it gets wrong put right."""

from __future__ import annotations

from typing import Any

import numpy as np


def evaluator(model: Any) -> Any:
    """Return a ``ReferenceEvaluator`` of a model whose GatherElements takes every index that ONNX allows.

    ONNX's own refuses a negative axis, and indices that are fewer than the data along another axis.
    """
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import OpRun

    class GatherElements(OpRun):  # its name is the operator's
        op_domain = ""

        def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
            axis = axis % data.ndim
            there = tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(indices.shape))
            return (np.take_along_axis(data[there], indices, axis),)

    return ReferenceEvaluator(model, new_ops=[GatherElements])
