"""Keep ``python -m portadnn`` from importing files of the working directory.

``-m`` puts the working directory before all other folders, so that a ``json.py`` of whatever is checked or compared
would run. This module is imported before any other; it looks at the command line, because programs that are run by
``-m`` and import portadnn have their own modules there. ``python -P`` and ``PYTHONSAFEPATH`` (from 3.11 on) leave
nothing to do.
"""

import sys


def of_this_command(words: "list[str]") -> bool:
    """Tell whether a command line of Python runs portadnn, or a module of it, by ``-m``."""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-X", "-W", "--check-hash-based-pycs"):
            next(rest, None)
        elif word.startswith("-") and not word.startswith("--") and "m" in word:
            flags, _, name = word.partition("m")
            if "c" in flags or "X" in flags or "W" in flags:
                continue
            return (name or next(rest, "")).partition(".")[0] in ("portadnn", "portadnn_backends")
        elif not word.startswith("-") or "c" in word:
            return False
    return False


if of_this_command(getattr(sys, "orig_argv", [])) and not (
    sys.flags.isolated or getattr(sys.flags, "safe_path", False)
):
    del sys.path[:1]
