"""Writes the generated files of both front ends, and the index of operations' public names, anew."""

from . import FOLDERS, write
from .public import PATH, public_names

if __name__ == "__main__":
    for library in FOLDERS:
        write(library)
    PATH.write_text(public_names(), encoding="utf-8")
