"""A record of campaigns of ``portadnn diff``: counts by operation and target, and every case on which targets disagree.

    python -m portadnn.benchmarks.diff_record campaign-1 campaign-2 --output benchmarks/results/diff-nvidia-h200.json

reads the journals in the folders that ``portadnn diff run --output`` wrote. Known differences of other libraries
(portadnn/diff/known.toml) are counted, with an example of each; what is not known is listed whole.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from portadnn.diff import Case, Verdict
from portadnn.diff.known import known
from portadnn.diff.results import result_as_json, result_from_json
from portadnn.diff.running import algorithm
from portadnn.diff.verdict import shows

from . import record

JOURNAL = "journal.jsonl"
REASONS = 60  # of refusals, the most frequent ones
_KNOWN = re.compile(r"known difference ([\w-]+): ")


def results(folders: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """Yield the headers and the results of some campaigns, in order; a torn last line is left out."""
    for folder in folders:
        with (folder / JOURNAL).open(encoding="utf-8") as file:
            for line in file:
                try:
                    yield json.loads(line)
                except ValueError:
                    break


def explained(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result with failures that were understood since told as known, as a new run would tell them."""
    if result["verdict"] not in ("FAILED", "ERROR"):
        return result
    found = result_from_json(result)
    case = Case.parse(found.case)
    for one in found.judgements:
        if one.verdict in (Verdict.FAILED, Verdict.ERROR):
            theirs = known(
                one.target.partition("-")[0].partition(":")[0], case, shows(one), algorithm(case.problem, case.algo)
            )
            if theirs is not None:
                one.verdict, one.reason = Verdict.SKIPPED, f"known difference {theirs.id}: {theirs.why}: {one.reason}"
    if not any(one.verdict in (Verdict.FAILED, Verdict.ERROR) for one in found.judgements):
        passed = any(one.verdict is Verdict.PASSED for one in found.judgements)
        found.verdict = Verdict.PASSED if passed else Verdict.SKIPPED
    return result_as_json(found)


def condensed(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return what a record keeps of journals' lines."""
    targets: dict[str, Any] = {}
    settings: list[Any] = []
    verdicts: Counter[str] = Counter()
    problems: set[str] = set()
    table: dict[str, dict[str, Counter[str]]] = {}
    differences: dict[str, dict[str, Any]] = {}
    refusals: Counter[tuple[str, str]] = Counter()
    failures = []
    for line in lines:
        result = line.get("result")
        if result is None:
            targets.update(line.get("targets", {}))
            settings += [line["settings"]] if "settings" in line else []
            continue
        result = explained(result)
        case = result["case"]
        problems.add(case.partition(" ;")[0])
        verdicts[result["verdict"]] += 1
        for judgement in result["judgements"]:
            target, verdict, reason = (judgement[name] for name in ("target", "verdict", "reason"))
            table.setdefault(case.split(maxsplit=1)[0], {}).setdefault(target, Counter())[verdict] += 1
            known = _KNOWN.match(reason)
            if known:
                one = differences.setdefault(
                    known[1], {"cases": 0, "targets": Counter(), "example": case, "said": reason}
                )
                one["cases"] += 1
                one["targets"][target] += 1
            elif verdict == "UNSUPPORTED":
                refusals[target, reason[:160]] += 1
        if result["verdict"] in ("FAILED", "ERROR"):
            said = {j["target"]: [j["verdict"], j["engine"], j["reason"][:400]] for j in result["judgements"]}
            failures.append({"case": case, "blamed": result["blamed"], "targets": said})
    return {
        "settings": settings,
        "targets": targets,
        "cases": sum(verdicts.values()),
        "problems": len(problems),
        "verdicts": dict(verdicts),
        "operations": {
            op: {target: dict(counts) for target, counts in row.items()} for op, row in sorted(table.items())
        },
        "known": dict(sorted(differences.items())),
        "unexplained": failures,
        "refusals": [[*key, count] for key, count in refusals.most_common(REASONS)],
    }


def main(words: list[str] | None = None) -> int:
    """Write the record and print its sums; 1 where targets disagree in a way that is not known."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, help="folders of campaigns")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(words)
    found = {**record.environment(), **condensed(results(options.folders))}
    record.write(options.output, found)
    print(f"{found['cases']} cases of {found['problems']} problems: {found['verdicts']}")
    for name, one in found["known"].items():
        print(f"  {one['cases']:6} {name}")
    print(f"{len(found['unexplained'])} not explained")
    return 1 if found["unexplained"] else 0


if __name__ == "__main__":
    sys.exit(main())
