"""Capability tables: their format, what they say, and that no rule of a foreign library's table is idle."""

import dataclasses
import importlib.util
import re
import subprocess
import sys
import textwrap

import capability_facts
import pytest

import portadnn as dnn
from portadnn import capability, mapping
from portadnn.capability.features import Feature, features
from portadnn.capability.rules import is_fact
from portadnn.capability.text import effects_of
from portadnn.enums import ConvolutionFwdAlgo
from portadnn.operation import operations
from portadnn.problem import every_problem, parse, parse_line
from portadnn.registry import backend_names

STATED = tuple(capability_facts.FACTS)
FOREIGN = tuple(name for name in STATED if name not in backend_names())
X = "f32:1x3x8x8"
CONVOLUTION = f"convolution_forward x={X} w=f32:4x3x3x3"


def table_of(text):
    return capability.read('title = "a table"\n' + textwrap.dedent(text), "made up")


def rule(**values):
    lines = [f"{key} = {value}" for key, value in {"op": '"*"', **values}.items()]
    return "[[rule]]\n" + "\n".join(lines) + "\n"


YES = rule(answer='"yes"')


# the format


def no(**conditions):
    return rule(answer='"no"', reason='"because"', source='"somewhere"', **conditions)


def limits(**conditions):
    return rule(answer='"limits"', reason='"up to there"', source='"elsewhere"', **conditions)


@pytest.mark.parametrize(
    ("conditions", "line", "holds"),
    [
        ({"dtype": '"f16"'}, "softmax_forward x=f16:1x2x3x4", True),
        ({"dtype": '"f16"'}, "softmax_forward x=f32:1x2x3x4", False),
        ({"dtype": '["f16", "bf16"]'}, "softmax_forward x=bf16:1x2x3x4", True),
        ({"dtype": '"!= f32"'}, "batch_normalization_forward_training x=f16:2x3x4x5", True),
        ({"rank": '"> 4"'}, "softmax_forward x=f32:1x2x3x4x5", True),
        ({"rank": "4"}, "softmax_forward x=f32:1x2x3x4x5", False),
        ({"layout": '"nhwc"'}, f"{CONVOLUTION}:nhwc", True),
        ({"layout": '"strided"'}, f"{CONVOLUTION}:nhwc", False),
        ({"layout": '"strided"'}, "softmax_forward x=f32:1x2x3x4/48,24,8,2", True),
        ({"mixed_layouts": "true"}, f"{CONVOLUTION}:nhwc", True),
        ({"mixed_layouts": "true"}, "batch_normalization_forward_training x=f32:2x3x4x5:nhwc", False),
        ({"x.layout": '"nhwc"'}, f"{CONVOLUTION}:nhwc", False),
        ({"w.layout": '"nhwc"'}, f"{CONVOLUTION}:nhwc", True),
        ({"filter.layout": '"nhwc"'}, f"{CONVOLUTION}:nhwc", True),
        ({"stride": '"!= 1"'}, f"{CONVOLUTION} stride=1,2", True),
        ({"stride": '"!= 1"'}, CONVOLUTION, False),
        ({"filter_size": '"!= 3"'}, CONVOLUTION, False),
        ({"padding": '">= filter_size"'}, f"{CONVOLUTION} padding=2,2", False),
        ({"padding": '">= filter_size"'}, f"{CONVOLUTION} padding=2,3", True),
        ({"padded_size": '"> 12"'}, f"{CONVOLUTION} padding=2,2", False),
        ({"padded_size": '"> 12"'}, f"{CONVOLUTION} padding=2,3", True),
        ({"beta": '"!= 0"'}, f"{CONVOLUTION} beta=1", True),
        ({"beta": '"!= 0"'}, CONVOLUTION, False),
        ({"mode": '"convolution"'}, f"{CONVOLUTION} mode=convolution", True),
        ({"groups": '"> 1"'}, "convolution_forward x=f32:1x4x8x8 w=f32:4x2x3x3 groups=2", True),
        ({"depthwise": "true"}, "convolution_forward x=f32:1x4x8x8 w=f32:4x2x3x3 groups=2", False),
        ({"depthwise": "true"}, "convolution_forward x=f32:1x4x8x8 w=f32:4x1x3x3 groups=4", True),
        ({"lrn_n": '"even"'}, "lrn_cross_channel_forward x=f32:2x7x3x5 lrn_n=4", True),
        ({"lrn_n": '"even"'}, "lrn_cross_channel_forward x=f32:2x7x3x5 lrn_n=5", False),
        ({"empty": "true"}, "softmax_forward x=f32:0x2x3x4", True),
        ({"zero_stride": "true"}, "softmax_forward x=f32:2x2x3x4/0,12,4,1 y=f32:2x2x3x4", True),
        ({"overlapping": "true"}, "softmax_forward x=f32:2x2x3x4/12,12,4,1 y=f32:2x2x3x4", True),
        ({"overlapping": "true"}, "softmax_forward x=f32:2x2x3x4", False),
        ({"elements": '"> 24"'}, "softmax_forward x=f32:1x2x3x4", False),
        ({"elements": '"> 23"'}, "softmax_forward x=f32:1x2x3x4", True),
        ({"present": '"indices"'}, "reduce_tensor a=f32:2x3x5x8 c=f32:2x3x5x1 operation=add", False),
        ({"differing": '"b"'}, "op_tensor a=f32:2x3x5x7 b=f32:1x3x1x1 c=f32:2x3x5x7 operation=mul", True),
        ({"differing": '"a"'}, "op_tensor a=f32:2x3x5x7 b=f32:1x3x1x1 c=f32:2x3x5x7 operation=mul", False),
        ({"window_size": "6"}, "pooling_forward x=f32:1x1x9x9 mode=max window=2,3", True),
        ({"x.hw_packed": "false"}, "softmax_forward x=f32:2x2x3x4/48,24,4,1 y=f32:2x2x3x4", False),
        ({"x.chw_packed": "false"}, "softmax_forward x=f32:2x2x3x4/48,24,4,1 y=f32:2x2x3x4", True),
        ({"x.packed": "false"}, "softmax_forward x=f32:2x2x3x4/48,12,4,1 y=f32:2x2x3x4", True),
        ({"x.w_stride": '"!= 1"'}, "softmax_forward x=f32:2x2x3x4:nhwc", True),
        ({"x.c": "2"}, "softmax_forward x=f32:2x2x3x4:nhwc", True),
        (
            {"batches": '"> 1"'},
            "rnn_forward_inference x=f32:3x3x1 w=f32:50x1x1 hidden_size=5 mode=rnn_relu batch_sizes=2,1",
            True,
        ),
    ],
)
def test_a_rule_speaks_of_the_problems_of_which_its_conditions_hold(conditions, line, holds):
    table = table_of(YES + no(**conditions))
    assert table.judge(*parse_line(line)).answer == ("no" if holds else "yes")


def test_no_wins_over_limits_and_limits_over_yes():
    problem = parse(CONVOLUTION)
    assert table_of(YES).judge(problem) == capability.Verdict("yes")
    limited = table_of(limits() + YES).judge(problem)
    assert (limited.answer, limited.reason, limited.source) == ("limits", "up to there", "elsewhere")
    refused = table_of(no(rank="4", dtype='"f32"') + limits() + YES).judge(problem)
    assert (refused.answer, refused.reason, refused.source) == ("no", "because", "somewhere")
    assert refused.feature == "* rank=4 dtype=f32"
    assert [rule.answer for rule in refused.rules] == ["no"]


def test_what_no_rule_says_yes_to_is_a_no():
    verdict = table_of(limits()).judge(parse(CONVOLUTION))
    assert (verdict.answer, verdict.reason) == ("no", "the table says nothing of it")


def test_limits_refuse_what_lies_beyond_them():
    table = table_of(limits(beyond="[{ stride = '!= 1' }, { dilation = '!= 1', rank = 4 }]") + YES)
    assert table.judge(parse(CONVOLUTION)).answer == "limits"
    assert table.judge(parse(f"{CONVOLUTION} stride=2,1")).answer == "no"
    assert table.judge(parse(f"{CONVOLUTION} dilation=2,1")).answer == "no"


def test_exceptions_are_not_spoken_of():
    table = table_of(no(unless="[{ dtype = 'f32' }, { rank = 4, algo = 'fft' }]") + YES)
    assert table.judge(parse(CONVOLUTION)).answer == "yes"
    half = parse(CONVOLUTION.replace("f32", "f16"))
    assert table.judge(half).answer == "no"
    assert table.judge(half, algo=ConvolutionFwdAlgo.FFT).answer == "yes"


def test_what_is_not_known_of_a_device_makes_limits():
    table = table_of(no(**{"device.kind": '"cpu"'}) + YES)
    answers = [table.judge(parse(CONVOLUTION), device=d).answer for d in ({"kind": "gpu"}, {"kind": "cpu"}, {}, None)]
    assert answers == ["yes", "no", "limits", "limits"]
    table = table_of(limits(beyond="{ device.fp64 = false }") + YES)
    answers = [table.judge(parse(CONVOLUTION), device=d).answer for d in ({"fp64": True}, {"fp64": False}, None)]
    assert answers == ["limits", "no", "limits"]


def test_algorithms_are_those_that_a_table_takes():
    table = table_of(rule(answer='"yes"', algo='["none", "fft"]') + rule(answer='"yes"', algo='"gemm"', rank='"> 4"'))
    assert table.algorithms("convolution_forward") == ("FFT",)
    problem = parse(CONVOLUTION)
    assert table.judge(problem).answer == "yes"
    assert table.judge(problem, algo=ConvolutionFwdAlgo.FFT).answer == "yes"
    assert table.judge(problem, algo=ConvolutionFwdAlgo.DIRECT).reason == "the table says nothing of it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = ", "TOML"),
        ("[[rule]]\nop = '*'", "'answer' in every rule"),
        ("[[rule]]\nanswer = 'yes'", "'op' in every rule"),
        (rule(answer='"maybe"'), "yes"),
        (rule(answer='"no"', reason='"r"'), "reason and source"),
        (rule(answer='"no"', source='"r"'), "reason and source"),
        (rule(answer='"yes"', reason='"r"', source='"s"'), "reason and source"),
        (no(effect='"bad"'), "refused"),
        (rule(answer='"yes"', effect='"wrong"'), "effect"),
        (no(beyond="{ rank = 4 }"), "beyond"),
        ("include = ['other']", "include"),
        ("rank = 4", "rank"),
    ],
)
def test_what_is_no_table_is_refused(text, message):
    with pytest.raises(dnn.BadParam, match=re.escape(message)):
        table_of(text)


def test_a_table_has_a_title():
    with pytest.raises(dnn.BadParam, match="title"):
        capability.read(YES, "made up")


def test_there_is_no_table_of_an_unknown_name():
    with pytest.raises(dnn.BadParam, match="miopen-1"):
        capability.table("miopen-0")


# what is in the tables


@pytest.fixture(params=capability.table_names())
def table(request):
    return capability.table(request.param)


def test_every_rule_speaks_of_something(table):
    for entry in table.rules:
        kinds = [kind for op, kind in every_problem().items() if entry.names(op)]
        assert kinds, f"{entry.feature}: no such operation"
        for pattern in entry.ops:
            named = dataclasses.replace(entry, ops=(pattern.removeprefix("!"),))
            assert any(named.names(op) for op in every_problem()), pattern
        for condition in (*entry.conditions, *(c for case in (*entry.unless, *entry.beyond) for c in case)):
            assert any(is_fact(condition.name, kind) for kind in kinds), f"{entry.feature}: no fact {condition.name}"


def test_every_source_is_listed(table):
    for entry in table.rules:
        for source in filter(None, entry.source.split("; ")):
            assert source.split()[0] in table.sources, source


def test_runnable_tables_are_those_of_backends(table):
    assert table.runnable is (table.name in backend_names())


def parsed(row):
    answer, reason, line, *algo = row
    op = line.split()[0]
    feature = Feature(op, "", "", line, operations()[op].algorithms.parse(algo[0]) if algo else None)
    return answer, reason, feature.problem, feature.scalars, feature.algo


def told(verdict):
    """Return a verdict's answer, and what comes of asking anyway where the call is not simply refused."""
    return " ".join((verdict.answer, *effects_of(verdict)))


def misses(table, rows):
    """Return the rows with which a table does not agree."""
    wrong = []
    for answer, reason, problem, scalars, algo in rows:
        verdict = table.judge(problem, scalars, algo=algo)
        if told(verdict) != answer or reason not in verdict.reason:
            wrong.append(f"{problem}: {verdict}")
    return wrong


@pytest.mark.parametrize("name", STATED)
def test_tables_say_what_documents_and_sources_do(name):
    assert misses(capability.table(name), map(parsed, capability_facts.FACTS[name])) == []


@pytest.mark.parametrize("name", STATED)
def test_tables_speak_of_every_operation_and_algorithm(name):
    table = capability.table(name)
    found = {op: table.judge(features(op)[0].problem, features(op)[0].scalars).answer for op in operations()}
    said = capability_facts.PLAIN[name]
    assert found == {op: answer for answer, ops in said.items() for op in ops.split()}
    algorithms = {op: " ".join(table.algorithms(op)) for op, record in operations().items() if record.algorithms}
    assert algorithms == capability_facts.ALGORITHMS[name]


def without_parts(rule):
    """Yield the rule without each of its parts, and None for the table without the rule."""
    yield None
    for i, condition in enumerate(rule.conditions):
        others = rule.conditions[:i] + rule.conditions[i + 1 :]
        yield dataclasses.replace(rule, conditions=others)
        for wanted in condition.wanted if len(condition.wanted) > 1 else ():
            less = dataclasses.replace(condition, wanted=tuple(w for w in condition.wanted if w != wanted))
            yield dataclasses.replace(rule, conditions=(*others, less))
    for op in rule.ops if len(rule.ops) > 1 else ():
        yield dataclasses.replace(rule, ops=tuple(other for other in rule.ops if other != op))
    for i in range(len(rule.unless)):
        yield dataclasses.replace(rule, unless=rule.unless[:i] + rule.unless[i + 1 :])
    if rule.effect != "refused":
        yield dataclasses.replace(rule, effect="refused")


def idle_parts(table, rows):
    """Yield the rules and parts of rules without which the table agrees with all rows.

    A backend's are those of its own file and of the mapping table, which stand first; the files that it includes are
    others' as well.
    """
    file = capability.tables.files()[table.name].read_text("utf-8")
    own = file.count("[[rule]]") + len(mapping.table().rules[table.name]) if table.runnable else None
    for i, rule in enumerate(table.rules[:own]):
        for less in without_parts(rule):
            left = () if less is None else (less,)
            mine = [row for row in rows if any(one.names(row[2].op) for one in (rule, *left))]
            changed = dataclasses.replace(table, rules=table.rules[:i] + left + table.rules[i + 1 :])
            if not misses(changed, mine):
                yield f"{rule.feature}: {rule.answer}, and with less: {less and less.feature}"


@pytest.mark.parametrize("name", STATED)
def test_no_part_of_a_table_is_idle(name):
    rows = [parsed(row) for row in capability_facts.FACTS[name]]
    for answer, ops in capability_facts.PLAIN[name].items():
        rows += [(answer, "", features(op)[0].problem, features(op)[0].scalars, None) for op in ops.split()]
    assert list(idle_parts(capability.table(name), rows)) == []


def test_facts_are_of_every_foreign_table():
    assert set(FOREIGN) == set(capability.table_names()) - set(backend_names())


def test_importing_portadnn_reads_no_table():
    assert importlib.util.find_spec("portadnn.capability.tables")
    code = "import sys, portadnn; print('portadnn.capability.tables' in sys.modules, 'tomllib' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["False", "False"]
