"""Handwritten digits: the UCI ones that ship inside scikit-learn, or MNIST's IDX files."""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = 10
MIN_SIZE = 4  # of an image's sides: the network halves them twice
SPLIT_SEED = 1  # the held-out digits are always the same, whatever the seed of the training
IDX_FILES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")

Array = np.ndarray[Any, np.dtype[Any]]


class DataError(Exception):
    """The digits cannot be had; the message says what is missing and what brings it."""


@dataclass(frozen=True)
class Digits:
    """Images (n, 1, h, w), float32 in [0, 1], and labels (n,), int64, to learn from and to test with."""

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array
    source: str
    epochs: int  # enough to learn them


def load(folder: Path | None = None) -> Digits:
    """Return the UCI digits, or those in the IDX files of `folder`.

    Raises
    ------
    DataError
        scikit-learn or a file is missing, or a file is not what its name says.
    """
    return load_uci() if folder is None else load_idx(folder)


def load_uci() -> Digits:
    """Return the 1797 UCI digits of 8x8 pixels, a fifth of every class held out."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise DataError(
            'the UCI digits come with scikit-learn: pip install "portadnn[demo]" (or give MNIST with --data DIR)'
        ) from None
    raw = load_digits()
    images = (raw.images[:, None] / 16).astype(np.float32)
    labels = raw.target.astype(np.int64)
    rng = np.random.default_rng(SPLIT_SEED)
    held_out = np.zeros(len(labels), bool)
    for digit in range(CLASSES):
        members = rng.permutation(np.flatnonzero(labels == digit))
        held_out[members[: len(members) // 5]] = True
    source = "UCI digits (8x8)"
    return Digits(images[~held_out], labels[~held_out], images[held_out], labels[held_out], source, epochs=25)


def load_idx(folder: Path) -> Digits:
    """Return the digits of MNIST's four IDX files, plain or compressed (.gz)."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder")
    parts = [read_idx(_find(folder, stem), dims=3 if "images" in stem else 1) for stem in IDX_FILES]
    for images, labels, stem in ((*parts[:2], IDX_FILES[1]), (*parts[2:], IDX_FILES[3])):
        if len(images) != len(labels):
            raise DataError(f"{stem}-ubyte in {folder} has {len(labels)} labels for {len(images)} images")
        if labels.size and labels.max() >= CLASSES:
            raise DataError(f"{stem}-ubyte in {folder} has the label {labels.max()}; digits go from 0 to 9")
    train, test = parts[0].shape, parts[2].shape
    if train[1:] != test[1:] or min(train[1:]) < MIN_SIZE:
        raise DataError(
            f"images in {folder} are {train[1:]} and {test[1:]} pixels; "
            f"expected one size, at least {MIN_SIZE}x{MIN_SIZE}"
        )
    images = [(part[:, None] / np.float32(255)).astype(np.float32) for part in (parts[0], parts[2])]
    labels = [part.astype(np.int64) for part in (parts[1], parts[3])]
    source = f"IDX files in {folder.resolve().name} ({train[1]}x{train[2]})"
    return Digits(images[0], labels[0], images[1], labels[1], source, epochs=2 if train[0] > 10_000 else 25)


def _find(folder: Path, stem: str) -> Path:
    names = [
        f"{name}{end}" for name in (f"{stem}-ubyte", stem.replace("-idx", ".idx") + "-ubyte") for end in ("", ".gz")
    ]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder} has no {names[0]} (or {names[0]}.gz)")


def read_idx(path: Path, dims: int) -> Array:
    """Return the uint8 array of an IDX file.

    The format: two zero bytes, the type (8 is uint8), the number of dims, each dim as a big-endian int32, the data.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
    head = 4 + 4 * dims
    if len(raw) < head or raw[:4] != bytes((0, 0, 8, dims)):
        raise DataError(f"{path} is no IDX file of bytes with {dims} dims")
    shape = tuple(int(d) for d in np.frombuffer(raw, ">i4", dims, offset=4))
    if min(shape) < 1 or len(raw) != head + math.prod(shape):
        raise DataError(f"{path} has {len(raw) - head} bytes of data; its header says {shape}")
    return np.frombuffer(raw, np.uint8, offset=head).reshape(shape)
