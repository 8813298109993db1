"""The report in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ..._io.text import clean, count, line_of
from ..events import Place
from ..findings import ANSWERS, SEVERITIES, Answer, Finding, Severity
from ..program import Skipped
from ..report import Report
from .text import APART, apart, excerpt, work

COLOURS: dict[Severity, str] = {"E": "red", "W!": "magenta", "W": "yellow", "I": "cyan"}
BAR: dict[Answer, str] = {"same": "green", "moves": "cyan", "recipe": "yellow", "none": "red"}
WORDS: dict[Answer, str] = {
    "same": "map 1:1",
    "moves": "move arguments",
    "recipe": "need a recipe",
    "none": "no equivalent",
}
SHOWN = 3  # findings of a rule in full
REWRITES = "Rewrites: the ordinary work of the port, one example of each kind"
PORT = "portadnn port rewrites what is certain; "  # of sources
PAGE = "-o report.html has each call beside its new form"
LISTED = 10  # files that were skipped
TEXT_LINES = 12  # of a fix
LATER_LINES = 1  # of further ones of the same rule


def show(report: Report, console: Console, *, quiet: bool = False, verbose: bool = False) -> None:
    """Print a report.

    Parameters
    ----------
    report : Report
        What was found out.
    console : Console
        Where to.
    quiet : bool
        One line for each finding, and nothing else.
    verbose : bool
        Everything: each finding in full, each call, each file that was skipped.
    """
    _Terminal(report, console, verbose).quiet() if quiet else _Terminal(report, console, verbose).show()


class _Terminal:
    def __init__(self, report: Report, console: Console, verbose: bool) -> None:
        self.report = report
        self.console = console
        self.verbose = verbose
        self.width = max(console.width, 40)

    def put(self, *parts: str | tuple[str, str], wrap: bool = True, indent: int = 0) -> None:
        """Print a line of parts, plain or styled, made safe; what is too long goes on with the same indent."""
        text = Text.assemble(*(clean(part) if isinstance(part, str) else (clean(part[0]), part[1]) for part in parts))
        text.rstrip()
        fits = text.cell_len + indent <= self.width
        for line in [text] if fits or not wrap else text.wrap(self.console, max(self.width - indent, 20)):
            line.rstrip()
            self.console.print(Text(" " * indent) + line, soft_wrap=True, highlight=False)

    def quiet(self) -> None:
        """Print a line for each alarm, as compilers do."""
        for finding in self.report.alarms:
            message = line_of(finding.message)
            place = str(finding.place)
            self.put(
                f"{place}: ", (finding.severity, COLOURS[finding.severity]), f" {finding.rule}: {message}", wrap=False
            )

    def show(self) -> None:
        """Print everything that a user has to know."""
        groups = self.report.by_rule(self.report.alarms)
        for rule, findings in groups.items():
            self.group(rule, findings, SHOWN)
        rewrites = self.report.by_rule(self.report.rewritten)
        if rewrites:
            self.heading(REWRITES)
            for rule, findings in rewrites.items():
                self.rewrites(rule, findings)
            self.put("")
        if self.verbose:
            self.calls()
        self.unrecognised()
        self.skipped()
        self.summary()

    def heading(self, text: str) -> None:
        """Print a line above a part of the report."""
        self.put((text, "bold underline"))
        self.put("")

    def group(self, rule: str, findings: Sequence[Finding], shown: int) -> None:
        """Print the findings of one rule, the first ones in full."""
        severity = min((f.severity for f in findings), key=list(SEVERITIES).index)
        number = len(folded(findings))
        many = f"  ({number} times)" if number > 1 else ""
        meaning = SEVERITIES[severity].split(":")[0]
        self.put(
            (f"{severity} {rule}", f"bold {COLOURS[severity]}"),
            f" {meaning}: ",
            (self.report.title(rule), "bold"),
            many,
        )
        places = folded(findings)
        full = places if self.verbose else places[:shown]
        told: set[str] = set()
        fixes: set[str] = set()
        for here in full:
            self.finding(here, told, fixes)
        self.others([here[0] for here in places[len(full) :]], 4 * shown)
        self.put((f"portadnn explain {rule}", "dim"), indent=2)
        self.put("")

    def rewrites(self, rule: str, findings: Sequence[Finding]) -> None:
        """Print findings that only say that a call is written otherwise: one as an example, and how many there are."""
        many = f" ({count(len(findings), 'call')})"
        self.put((rule, "bold"), " ", (self.report.title(rule), "bold"), many)
        for finding in findings if self.verbose else findings[:1]:
            self.put((str(finding.place), "bold"), indent=2, wrap=False)
            self.excerpt(finding)
            self.fix(finding.fix or finding.message)
        if not self.verbose:
            self.others(findings[1:], LISTED)

    def others(self, findings: Sequence[Finding], shown: int) -> None:
        """Print where findings are that are not shown in full."""
        if not findings:
            return
        places = list({(f.place.file, f.place.line): f.place for f in findings}.values())
        listed = ", ".join(_short(place, places[0] if i else None) for i, place in enumerate(places[:shown]))
        more = f" and {len(places) - shown} more" if len(places) > shown else ""
        self.put((f"also at {listed}{more}", "dim"), indent=2)

    def finding(self, here: Sequence[Finding], told: set[str], fixes: set[str]) -> None:
        """Print the findings of a place: where, the excerpt, what, and the fix; what was told of the rule only once."""
        finding = here[0]
        possible = "possibly: " if finding.certainty == "possible" else ""
        again = self.report.repeats.get(finding.key, 0)
        times = f" ({count(again + 1, 'time')})" if again else ""
        self.put((str(finding.place), "bold"), (times, "dim"), indent=2, wrap=False)
        self.excerpt(finding)
        if finding.message not in told or finding.certainty == "possible":
            self.put(f"{possible}{finding.message}", indent=4)
        self.variants([one for one in here[1:] if one.message not in {*told, finding.message}])
        told |= {one.message for one in here}
        for place, what in finding.related:
            self.put((f"{place}: {what}", "dim"), indent=4)
        if finding.fix in fixes and not self.verbose:
            self.put(("fix: ", "green"), "as above", indent=4)
        elif finding.fix:
            self.fix(finding.fix, LATER_LINES if fixes else TEXT_LINES)
            fixes.add(finding.fix)

    def variants(self, others: Sequence[Finding]) -> None:
        """Print what else is said of a place, for other callers or branches of the preprocessor."""
        for one in others if self.verbose else others[:1]:
            self.put(("or: ", "dim"), one.message, indent=4)
        left = 0 if self.verbose else len(others) - 1
        if left > 0:
            self.put((f"and {left} more for other callers or branches (--verbose)", "dim"), indent=4)

    def excerpt(self, finding: Finding) -> None:
        """Print the line that a finding is about, and underline what is at fault."""
        found = excerpt(self.report.sources, finding.place, finding.function)
        if found is None:
            return
        number = f"{found.number:>6} │ "
        found = found.cut(self.width - len(number) - 1)
        colour = COLOURS[finding.severity]
        self.put((number, "dim"), found.text, wrap=False)
        before = cell_len(found.text[: found.start])
        under = max(1, cell_len(found.text[found.start : found.end]))
        self.put((" " * 6 + " │ ", "dim"), " " * before, ("^" * under, f"bold {colour}"), wrap=False)

    def fix(self, fix: str, most: int = TEXT_LINES) -> None:
        """Print what to write instead."""
        lines = clean(fix).rstrip().split("\n")
        shown = lines if self.verbose or len(lines) <= most + 1 else lines[:most]
        for i, line in enumerate(shown):
            self.put(("fix: " if i == 0 else "     ", "green"), line, indent=4, wrap=False)
        if len(lines) > len(shown):
            self.put((f"... {len(lines) - len(shown)} more lines (--verbose)", "dim"), indent=9)

    def calls(self) -> None:
        """Print every call with what becomes of it."""
        if not self.report.calls:
            return
        self.heading("Every call")
        for call in self.report.calls:
            answer = "not in the tables" if call.answer is None else ANSWERS[call.answer]
            style = "red" if call.answer is None else BAR[call.answer]
            self.put((str(call.place), "bold"), f" {call.function}: ", (answer, style), wrap=False)
            for line in call.becomes.split("\n"):
                self.put(line, indent=4)
            if call.note:
                self.put((call.note, "dim"), indent=4)
        self.put("")

    def unrecognised(self) -> None:
        """Print the calls that the tables do not know."""
        unknown = [call for call in self.report.calls if call.answer is None]
        if not unknown:
            return
        self.put((f"{count(len(unknown), 'call')} without an answer: the tables do not have the function", "yellow"))
        for call in unknown if self.verbose else unknown[:LISTED]:
            self.put(f"{call.place}: {call.function}", indent=2, wrap=False)
        if len(unknown) > LISTED and not self.verbose:
            self.put(f"and {len(unknown) - LISTED} more (--verbose)", indent=2)
        self.put("")

    def skipped(self) -> None:
        """Print what was not read, and comments that silence nothing."""
        skipped = self.report.skipped
        if skipped:
            self.put((f"not read, or not to its end: {count(len(skipped), 'place')}", "yellow"))
            for item in skipped if self.verbose else skipped[:LISTED]:
                self.put(where(item), item.reason, indent=2)
            if len(skipped) > LISTED and not self.verbose:
                self.put(f"and {len(skipped) - LISTED} more (--verbose)", indent=2)
            self.put("")
        for file, line, rules in self.report.unused if self.verbose else ():
            what = ", ".join(rules) or "everything"
            self.put((f"{file}:{line}: a comment that ignores {what} silences nothing", "dim"), wrap=False)

    def summary(self) -> None:
        """Print the effort, and how many findings there are of which severity."""
        report, effort = self.report, self.report.effort
        looked = f"{count(report.files, 'file')}, {count(report.lines, 'line')} in {report.seconds:.1f} s"
        if not (report.calls or report.findings or report.silenced or report.judged):
            self.put(f"No calls of cuDNN or MIOpen {'understood' if report.missing else 'found'} ({looked}).")
            return
        if effort.calls:
            self.put(
                (f"To {report.goal}: ", "bold"),
                work(effort),
            )
            self.bar()
        if report.apart:
            self.put((f"{APART}: ", "bold"), f"{apart(report.apart)}.")
        if report.judged:
            self.put(("Ported already: ", "bold"), f"{count(report.judged, 'call')} of MIOpen, judged.")
        if report.coverage:
            self.put(("Coverage: ", "bold"), f"{report.coverage}.")
        numbers = report.severities()
        alarms = sum(numbers.values())
        parts: list[str | tuple[str, str]] = []
        for severity, number in numbers.items():
            if number:
                meaning = SEVERITIES[severity].split(":")[0]
                parts += [", " if parts else "", (f"{number} {severity}", COLOURS[severity]), f" ({meaning})"]
        besides = {count(len(report.findings) - alarms, "rewrite"): len(report.findings) > alarms}
        besides[f"{len(report.silenced):,} silenced"] = bool(report.silenced)
        told = ", ".join(text for text, some in besides.items() if some)
        tail = f"{'; ' if told else ''}{told}. Looked at {looked}."
        self.put((count(alarms, "finding"), "bold"), ": " if parts else "", *parts, tail)
        if effort.calls and report.target.startswith("miopen") and not self.verbose:
            self.put((f"{PORT if effort.lines else ''}{PAGE}", "dim"))

    def bar(self) -> None:
        """Print how many calls map, move, need a recipe or have no equivalent, also as a bar."""
        effort = self.report.effort
        rows = [(WORDS[a], effort.answers[a], BAR[a]) for a in ANSWERS]
        if effort.unrecognised:
            rows.append(("without an answer", effort.unrecognised, "bright_black"))
        room = max(10, min(40, self.width - 40))
        for word, number, style in rows:
            share = effort.share(number)
            cells = round(share * room) or int(number > 0)
            self.put(f"{word:>18} {number:>6,} {share:>5.0%} ", ("█" * cells, style), indent=2, wrap=False)


def folded(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings of one rule by place: a call has several where callers or branches differ; proven ones first."""
    places: dict[tuple[str, int, int], list[Finding]] = {}
    for finding in findings:
        places.setdefault((finding.place.file, finding.place.line, finding.place.column), []).append(finding)
    return [sorted(here, key=lambda one: one.certainty != "proven") for here in places.values()]


def _short(place: Place, first: Place | None) -> str:
    return f"{place.file}:{place.line}" if first is None or first.file != place.file else f":{place.line}"


def where(item: Skipped) -> str:
    """Return where something was not read, with a colon; "" for the program as a whole."""
    place = f"{item.file}:{item.line}" if item.line else item.file
    return f"{place}: " if place else ""
