"""A graph as a script that builds it, runs it on seeded data and checks it, on any machine with portadnn."""

from __future__ import annotations

from .operation_graph import OperationGraph
from .sample import special

_SCRIPT = '''"""Graph {name!r} of {count} nodes on seeded data, checked node by node against its definition.

Made by {library} on {backend} ({device}). python THIS [BACKEND] runs it, where the plan's engine is missing by another.
"""

import sys

import numpy as np

import portadnn.graph as cudnn
from portadnn.graph.sample import numbers

GRAPH = r"""{json}"""
{packs}

def main(backend):
    graph = cudnn.pygraph(handle=cudnn.create_handle(backend))
    planned = {planned}
    try:
        graph.deserialize(GRAPH)
    except cudnn.cudnnGraphNotSupportedError as error:
        planned = False
        print(error)
    if not planned:
        graph.build([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    print(graph.explain())
    pack, results = {{}}, {{}}
    for uid, (name, kind, dims, strides, span, role) in TENSORS.items():
        if role == "number":
            pack[uid] = NUMBERS[uid]
            continue
        storage = cudnn.data_type[kind].storage
        flat = np.zeros(span, storage)
        view = np.ndarray(dims, storage, flat, strides=[step * storage.itemsize for step in strides])
        if role == "input":
            values = np.reshape(VALUES[uid], dims) if uid in VALUES else numbers(kind, dims, SEED + uid)
            view[...] = cudnn.data_type[kind].stored(values)
        else:
            results[name] = kind, view
        pack[uid] = flat
    graph.execute(pack, check="reference")
    for name, (kind, view) in results.items():
        found = cudnn.data_type[kind].loaded(view)
        print(f"{{name}}: mean {{found.mean():.6g}}, largest {{np.abs(found).max():.6g}}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else {backend!r})
'''


def script(
    graph: OperationGraph, json: str, *, planned: bool, library: str, backend: str, device: str, seed: int
) -> str:
    """Return the script.

    Parameters
    ----------
    json
        The graph with its plan, as ``to_json`` returns it.
    planned
        Whether it has a plan.
    seed
        Of the data; each tensor's is that and its uid.
    """
    lines = [f"SEED = {seed}", "NUMBERS = {"]
    lines += [f"    {i.uid}: {1.0 if i.value is None else i.value!r},  # {i.name}" for i in graph.packed if i.by_value]
    lines += ["}", "VALUES = {  # of tensors that cannot have any"]
    lines += [f"    {uid}: {values.ravel().tolist()!r}," for uid, values in special(graph, seed).items()]
    lines += ["}", "TENSORS = {  # uid: name, type, dims, strides, elements with gaps, role"]
    for info in graph.packed:
        role = "number" if info.by_value else "result" if info.uid in graph.results else "input"
        row = (info.name, info.data_type.name, info.dims, info.strides, info.span, role)
        lines.append(f"    {info.uid}: {row!r},")
    lines.append("}")
    return _SCRIPT.format(
        name=graph.name,
        count=len(graph.operations),
        library=library,
        backend=backend,
        device=device,
        planned=planned,
        json=json,
        packs="\n".join(lines) + "\n",
    )
