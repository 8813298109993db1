"""Faults of migration that are seeded into our own programs; on other code ``mutants.py FOLDER`` does the same."""

from pathlib import Path

import mutants
import pytest

PROGRAMS = Path(__file__).parent / "port_programs"


def test_most_seeded_faults_are_found():
    pairs = mutants.chosen(mutants.collect(PROGRAMS), 24, seed=3)
    missed = [f"{m.rule} {m.function} ({m.shape})" for m, raw in pairs if mutants.is_found(m, raw) is False]
    assert len(pairs) == 24
    assert len(missed) <= 1, missed


@pytest.mark.long
def test_of_150_seeded_faults_95_of_100_are_found():
    pairs = mutants.chosen(mutants.collect(PROGRAMS), 150, seed=1)
    said = [mutants.is_found(m, raw) for m, raw in pairs]
    valid = [hit for hit in said if hit is not None]
    assert len(valid) >= 100
    assert sum(valid) >= 0.95 * len(valid)
