"""Writes the generated files of both front ends anew."""

from . import FOLDERS, write

if __name__ == "__main__":
    for library in FOLDERS:
        write(library)
