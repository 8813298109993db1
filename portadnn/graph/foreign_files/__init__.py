"""Graphs that other libraries wrote, read into and written from plain data of :mod:`portadnn.graph.files`.

hipDNN's graphs are FlatBuffers (:mod:`.hipdnn_schema`) and JSON (:mod:`.hipdnn_json`), both of which become tables of
its schema; :mod:`.hipdnn` says what these mean here. cudnn-frontend's are JSON, alone or in a serialized plan
(:mod:`.cudnn_frontend`). No file is trusted: what is malformed is PG-FILE-001, what has no counterpart PG-FILE-003.
"""

from .formats import FORMATS, is_json, read, write

__all__ = ["FORMATS", "is_json", "read", "write"]
