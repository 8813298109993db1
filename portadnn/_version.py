"""The version of portadnn, in one place."""

import re

__version__ = "0.1.0"


def get_version() -> int:
    """Return the version of portadnn as one number, ``1000 * major + 100 * minor + patch`` (guide section 4.1).

    Later versions have larger numbers, as cuDNN 5.0.5 is 5005. It is portadnn's version, not that of a cuDNN.
    """
    major, minor, patch = map(int, re.findall(r"\d+", __version__)[:3])
    return 1000 * major + 100 * minor + patch
