"""Targets that end their process, hang, lie or lose their device, for the tests of campaigns; named by what they do."""

from __future__ import annotations

import ctypes
import os
import signal
import time

from lies import Liar

import portadnn as dnn
from portadnn.diff.campaign.serving import open_target

OP = "activation_forward"  # of the cases that go wrong
HAS = "FRAGILE_HAS"  # set: the only targets that there are
QUIET = "FRAGILE_QUIET"  # set: nothing goes wrong


def exits(handle):
    os._exit(7)


def crashes(handle):
    ctypes.string_at(0)


def hangs(handle):
    while True:
        signal.pause()


def loses(handle):
    handle.close()
    raise dnn.ExecutionFailed("illegal address")


ENDS = {"exits": exits, "crashes": crashes, "hangs": hangs, "loses": loses}


def opened(word):
    """Open a target of that name, or one of portadnn's own."""
    if word not in os.environ.get(HAS, word).split():
        raise dnn.NotSupported(f"{word} is not on this machine")
    if word == "stillborn":
        os._exit(9)
    if word not in (*ENDS, "lies"):
        return open_target(word)
    handle = dnn.Handle("reference", profile="")

    def lie(problem, tensors, workspace, run):
        if problem.op != OP or QUIET in os.environ:
            return
        if word == "lies":
            tensors["y"][...] = 3
        else:
            ENDS[word](handle)

    handle.engines = (Liar(lie),)
    return handle


def waited_for(condition):
    """Wait until something is so, a minute at most."""
    for _ in range(6000):
        if found := condition():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come to that")
