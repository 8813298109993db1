"""The recorder: a watcher that writes every public call to a file.

A program calls the same functions from the same places with the same descriptors, over and over. What such calls have
in common is written once, as a form; a call is then its form's number, times, addresses and run-time numbers, which
another thread turns into text.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import weakref
from collections.abc import Mapping
from types import FrameType, MappingProxyType, TracebackType
from typing import Any

import numpy as np

from ..errors import BadParam, DnnError
from ..handle import Handle, log
from ..hooks import CALL_HOOKS, OURS, Call, outside
from .encode import MOST_TEXT, encode, place, spec_json, tensor_json
from .forms import arguments_of, device_of, handle_of, status_of
from .graph_runs import GRAPH_RUNS, Run, run_of
from .keys import ARRAY, MODES, arrays_of, kept, key_of
from .writer import BACKLOG, Writer

MOST_FORMS = 20_000  # remembered; a program with more calls them by new numbers
MOST_GRAPHS = 500  # as well


class Recorder:
    """Writes every public call of this process to a file, from :meth:`start` to :meth:`stop`.

    A context manager; made by :func:`portadnn.trace`, which has the parameters.
    """

    def __init__(self, path: str | os.PathLike[str], *, nested: bool = False) -> None:
        self.nested = nested
        self._wanted = os.fspath(path)
        self._writer = Writer(self._wanted, self._stopped_by)
        self._lock = threading.Lock()
        self._began = False
        self._child = False  # of the process that began, without a file so far
        self._finalizer: Any = None
        self._forget()

    def _forget(self) -> None:
        self._forms: dict[Any, tuple[int, Any]] = {}  # with what has to stay alive as long as its id is in a key
        self._tensors: dict[Any, str] = {}
        self._handles: set[int] = set()
        self._graphs: dict[int, tuple[int, Any]] = {}  # numbers by id, with the graphs, which have to stay alive
        self._count = self._graph_count = 0

    @property
    def path(self) -> str:
        """The file that this process writes; "" before there is one."""
        return self._writer.path

    def start(self) -> Recorder:
        """Begin to record; a recorder that was stopped begins its file anew.

        Raises
        ------
        BadParam
            The file cannot be made.
        """
        if not self._began:
            self._forget()
            self._writer = Writer(self._wanted, self._stopped_by)
            try:
                self._writer.open()
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or error
                expected, got = "a file that can be written", f"{self._wanted}: {why}"
                raise BadParam(argument="path", expected=expected, got=got) from error
            self._began = True
            _RECORDERS.add(self)
            atexit.register(self.stop)
            CALL_HOOKS.append(self)
        return self

    def stop(self) -> None:
        """End the recording and close its file; stopping twice is allowed."""
        if self in CALL_HOOKS:
            CALL_HOOKS.remove(self)
        atexit.unregister(self.stop)
        _RECORDERS.discard(self)
        if self._began:
            self._writer.close()
            self._began = False

    def __enter__(self) -> Recorder:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _stopped_by(self, error: Exception) -> None:
        """Stop because of a failure, and say so once: the program goes on."""
        if self in CALL_HOOKS:
            CALL_HOOKS.remove(self)
            log.warning("the recording %s ends here: %s: %s", self.path, type(error).__name__, error)

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        self._writer.forked()
        self._child = True

    # hooks

    computing = None  # nothing of interest: said here because looking for what is not there takes longer

    def before(self, call: Call) -> None:
        """Nothing is known yet."""

    def after(self, call: Call) -> None:
        """Note a call."""
        try:
            if call.parent is not None and not self.nested:
                return
            frame = sys._getframe(2).f_back  # watched, the function's frame around it, and the caller
            if frame is None or frame.f_code.co_filename.startswith(OURS) or frame.f_code.co_filename == "<string>":
                frame = outside(sys._getframe(2))
            known = None if call.function in GRAPH_RUNS else key_of(call, frame)
            if known is None:
                self._note_all(call, frame)
                return
            key, places = known
            form = self._forms.get(key)
            if form is None:
                try:
                    form = self._form(key, call, frame)
                except DnnError:  # an array that portadnn does not take
                    self._note_all(call, frame)
                    return
            more = "" if call.problem is not None or call.result is None else self._result(call)
            queue = self._writer.queue
            queue.append((form[0], call.start, call.seconds, places, call.scalars, more))
            if len(queue) > BACKLOG:
                self._writer.drain()
        except Exception as error:
            if isinstance(error, TypeError) and "unhashable" in str(error):
                self._note_safely(call)
            else:
                self._stopped_by(error)

    def _note_safely(self, call: Call) -> None:
        try:
            self._note_all(call, outside(sys._getframe(3)))
        except Exception as error:
            self._stopped_by(error)

    def _note_all(self, call: Call, frame: FrameType) -> None:
        """Note a call with everything that it was given: it failed, or computed nothing, or several things."""
        run = run_of(call)
        if run is not None:
            self._note_run(call, frame, run)
            return
        facts = self._facts(call, frame)
        form = self._form(json.dumps(facts), call, frame, facts)
        more = "" if call.problem is not None or call.result is None else self._result(call)
        if call.error is not None:
            more += f',"status":{json.dumps(status_of(call.error))},"message":{json.dumps(str(call.error)[:MOST_TEXT])}'
        if call.earlier:
            steps = [
                {"problem": str(problem), "at": list(map(place, addresses)), "scalars": list(map(encode, scalars))}
                for problem, scalars, addresses in call.earlier
            ]
            more += f',"steps":{json.dumps(steps)}'
        self._writer.queue.append((form[0], call.start, call.seconds, call.addresses, call.scalars, more))

    def _note_run(self, call: Call, frame: FrameType, run: Run) -> None:
        """Note a run of a graph, with the memory of its tensors."""
        self._introduce(run.handle)
        facts = {
            "library": call.library,
            "function": call.function,
            "arguments": arguments_of(call, None),
            "site": [frame.f_code.co_filename, frame.f_lineno],
            "thread": threading.get_native_id(),
            "handle": run.handle.serial,
            "graph": self._number(run),
            "tensors": run.tensors,
            "scalars": list(run.scalars),
        }
        if call.parent is not None:
            facts["inside"] = call.parent.function
        form = self._form(json.dumps(facts), call, frame, facts)
        scalars = tuple(run.scalars.values())
        self._writer.queue.append((form[0], call.start, call.seconds, run.addresses, scalars, ""))

    def _number(self, run: Run) -> int:
        """Return the number of a graph, which is written before the first form that has it."""
        with self._lock:
            found = self._graphs.get(id(run.graph))
            if found is None:
                self._open_in_child()
                if len(self._graphs) >= MOST_GRAPHS:
                    self._graphs.clear()
                self._graph_count += 1
                self._writer.line({"graph": self._graph_count, "data": run.data()})
                found = self._graphs[id(run.graph)] = (self._graph_count, run.graph)
            return found[0]

    def _result(self, call: Call) -> str:
        """Return a result that is no output of a computation, as the end of an event's text."""
        result = call.result
        if isinstance(result, np.ndarray) and call.function.endswith("to_numpy"):
            return ""
        device = device_of(call)
        if MODES.get(type(result)) == ARRAY and device is not None and device.owns(result):
            signature = device.signature(result)
            known = self._tensors.get(signature)
            if known is None:
                found = tensor_json(device, result)
                assert found is not None
                del found["tensor"]["at"]
                known = self._tensors[signature] = json.dumps(found)[:-2]
            return f',"result":{known}, "at": {place(device.address(result))}}}}}'
        return f',"result":{json.dumps(encode(result, device))}'

    # forms

    def _form(self, key: Any, call: Call, frame: FrameType, facts: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Return the form of that key, new where there is none."""
        with self._lock:
            self._open_in_child()
            found = self._forms.get(key)
            if found is not None:
                return found
            if facts is None:
                facts = self._facts(call, frame, arrays_of(call) if call.problem is None else {})
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            self._count += 1
            alive = (call.problem, frame.f_code, kept((*call.args, *call.kwargs.values())))
            form = (self._count, alive)
            self._writer.line({"form": self._count, **facts})  # before any event can refer to it
            self._forms[key] = form
            return form

    def _open_in_child(self) -> None:
        """Begin the file of a forked process, which has something to say now."""
        if self._child:
            self._child = False
            self._writer.open()
            self._close_with_worker()

    def _close_with_worker(self) -> None:
        """Let a worker of `multiprocessing`, which leaves without atexit, close the file when it ends."""
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            self._finalizer = util.Finalize(None, self.stop, exitpriority=0)

    def _facts(
        self, call: Call, frame: FrameType, arrays: Mapping[str, dict[str, Any]] = MappingProxyType({})
    ) -> dict[str, Any]:
        """Return what a form has; `arrays` are those of a call without a problem whose addresses its events have."""
        problem = call.problem
        handle = handle_of(call)
        if handle is not None:
            self._introduce(handle)
        facts = {
            "library": call.library,
            "function": call.function,
            "arguments": {**arguments_of(call, problem, arrays), **{name: {"of": name} for name in arrays}},
            "site": [frame.f_code.co_filename, frame.f_lineno],
            "thread": threading.get_native_id(),
            "handle": None if handle is None else handle.serial,
        }
        if arrays:
            facts["tensors"] = arrays
        if problem is not None:
            tensors = zip(problem.names, problem.tensors, strict=True)
            facts["problem"] = str(problem)
            facts["tensors"] = {name: spec_json(spec) for name, spec in tensors}
            facts["scalars"] = list(problem.scalars)
        if call.parent is not None:
            facts["inside"] = call.parent.function
        return facts

    def _introduce(self, handle: Handle) -> None:
        """Write where a handle computes, once."""
        if handle.serial in self._handles or handle._device is None:
            return
        self._handles.add(handle.serial)
        info = handle.info
        self._writer.line(
            {
                "handle": handle.serial,
                "backend": handle.backend,
                "device": info.name,
                "kind": info.kind,
                "platform": info.platform,
                "driver": info.driver,
                "version": info.version,
            }
        )


_RECORDERS: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _after_fork() -> None:
    for recorder in tuple(_RECORDERS):
        recorder._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
