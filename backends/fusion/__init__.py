"""Kernels written at run time: graphs of pointwise nodes, reductions and normalisations become one text each.

:mod:`.expand` turns a graph into primitive nodes (:mod:`.values`), :mod:`.launches` cuts them into launches,
:mod:`.cpu` and :mod:`.gpu` write each launch's text in the kernels' dialect, :mod:`.engine` compiles and runs it.
"""
