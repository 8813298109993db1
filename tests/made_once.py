"""What libraries make anew at every call, and tests ask for thousands of times, made once for each process of tests."""

from __future__ import annotations

import functools

import typer.main
import typer.testing


def keep_commands() -> None:
    """Have Typer return the command that it made of an application before: declaring ours takes it 60 ms."""
    typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)


def keep_invokers() -> None:
    """Have PyOpenCL write a kernel's calls, which portadnn leaves unused, once for each list of arguments."""
    from pyopencl import invoker

    make = invoker.generate_enqueue_and_set_args
    known = {}

    def made(name, *arguments, devs, **options):
        key = repr((arguments, sorted(options.items())))
        if key not in known:
            known[key] = make(name, *arguments, devs=devs, **options)
        return known[key]

    invoker.generate_enqueue_and_set_args = made
