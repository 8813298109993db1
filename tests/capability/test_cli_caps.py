"""`portadnn caps`: the matrix in every form, and who takes a problem."""

import json
import xml.etree.ElementTree as ET

import pytest
from typer.testing import CliRunner

from portadnn import capability
from portadnn.capability.features import features
from portadnn.cli.main import app
from portadnn.operation import operations

GROUPED = "convolution_forward x=f32:1x4x8x8 w=f32:4x2x3x3 groups=2"


def caps(*arguments, code=0):
    result = CliRunner().invoke(app, ["caps", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output if code == 0 else result.output + result.stderr


def test_every_operation_has_a_line_and_every_table_a_column():
    text = caps()
    header = text.splitlines()[1]
    for name in capability.table_names():
        assert name in header
    for op in operations():
        assert f" {op} " in text


def test_an_operation_shows_features_and_reasons():
    text = caps("--op", "softmax_forward", "--backend", "reference,miopen-1")
    (line,) = (line for line in text.splitlines() if "dtype=f16" in line and "│" in line)
    assert [cell.strip() for cell in line.split("│")[1:-1]] == ["dtype=f16", "yes", "no"]
    assert "- miopen-1: mode=instance: no: no softmax modes" in text
    assert "pooling_forward" not in text


def test_limits_of_a_whole_operation_stand_in_its_first_row():
    rows = {r["feature"]: r["answers"]["cuda"]["answer"] for r in read("--op", "lrn_cross_channel_forward")["features"]}
    assert rows["plain"] == "limits"
    assert rows["dtype=f16"] == "yes"
    assert rows["size=large"] == "no"


def read(*arguments):
    return json.loads(caps("--format", "json", *arguments))


def test_json_has_every_feature_with_its_problem():
    found = read("--op", "pooling_*", "--op", "softmax_forward")
    names = {(row["op"], row["feature"]) for row in found["features"]}
    ops = ("pooling_backward", "pooling_forward", "softmax_forward")
    assert names == {(op, feature.name) for op in ops for feature in features(op)}
    first = found["features"][0]
    assert first["line"].startswith("pooling_backward y=f32:")
    assert set(first["answers"]) == set(found["tables"])
    strided = next(r for r in found["features"] if r["op"] == "softmax_forward" and r["feature"] == "layout=strided")
    assert strided["answers"]["miopen-1"]["effect"] == ["wrong"]
    assert strided["answers"]["miopen-1"]["source"]


def _can_be_searched(page):
    """The elements that the page's script asks for are there, and each table has a head and a body."""
    ids = {element.get("id") for element in page.iter()}
    assert {"words", "jump", "counted", "theme"} <= ids
    assert all(
        [part.tag.rpartition("}")[2] for part in table] == ["thead", "tbody"] for table in page.findall(".//{*}table")
    )
    assert {option.get("value") for option in page.findall(".//{*}option")} - {""} <= ids


def test_html_is_well_formed_and_markdown_has_the_reasons():
    page = ET.fromstring(caps("--format", "html", "--op", "softmax_*").partition("\n")[2])
    assert {cell.get("class") for cell in page.findall(".//{*}td")} == {"yes", "limits", "no"}
    _can_be_searched(page)
    text = caps("--format", "md", "--op", "softmax_*", "--backend", "miopen-1")
    assert "| mode=instance | no |" in text
    assert "- miopen-1: mode=instance: no: no softmax modes: it computes MODE\\_CHANNEL" in text


def test_why_names_engines_and_their_reasons():
    text = caps("--why", GROUPED, "--backend", "reference,miopen-1")
    assert "reference, NumPy" in text
    assert "definition (IMPLICIT_GEMM): takes it" in text
    assert "miopen-1: no: no groups" in text
    assert "its table alone was asked" in text
    text = caps("--why", GROUPED, "--backend", "reference", "--algo", "fft")
    assert "definition (IMPLICIT_GEMM): takes it" in text, "the definition is what every algorithm computes"


def test_why_of_graphs():
    """Engines of graphs are asked, and the documentation of other libraries; where no device is, a usual one."""
    attention = "sdpa Q=f16:2x8x128x64 K=f16:2x2x256x64 V=f16:2x2x256x64 O=f16:2x8x128x64 right_bound=0"
    text = caps("--why", attention, "--backend", "reference,miopen-1,cudnn-9")
    assert "definition: takes it" in text and "miopen-1: no: it has no graphs" in text
    assert "cudnn-9: limits: [flash attention, forward: device]" in text, "the device is unknown"
    assert "hipdnn: limits: [flash2-device]" in caps("--why", attention), "all libraries are asked"
    found = json.loads(caps("--why", attention, "--format", "json", "--backend", "opencl,cuda"))
    assert found["problem"] == attention
    for opinion in found["opinions"]:
        engines = {each["engine"]: each["why_not"] for each in opinion["engines"]}
        assert opinion["answer"] == "yes" and engines["flash_attention"] is None
        assert "PG-ENGINE-002" in engines["resample"]


def test_why_says_what_no_backend_takes():
    text = caps("--why", "convolution_forward x=f32:1x4x8 w=f32:4x4x3")
    assert "portadnn takes no such problem: x.dims: expected 4 or 5 dims" in text
    assert "miopen-1: no: only 4-D tensors" in text


def test_why_as_json():
    found = json.loads(caps("--why", GROUPED, "--format", "json", "--backend", "reference,miopen-1"))
    assert found["problem"].startswith(GROUPED.partition(" ")[0])
    ours, theirs = found["opinions"]
    assert ours["engines"] == [{"engine": "definition (IMPLICIT_GEMM)", "why_not": None}]
    assert theirs["answer"] == "no" and theirs["engines"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--op", "nonsense"], "activation_backward"),
        (["--backend", "nothing"], "miopen-1"),
        (["--format", "pdf"], "md, json or html"),
        (["--algo", "fft"], "--why"),
        (["--why", GROUPED, "--format", "md"], "--why"),
        (["--why", "matmul A=f32:1x2x3 B=f32:1x3x2 C=f32:1x2x2", "--algo", "fft"], "algo"),
        (["--why", GROUPED, "--algo", "algo_9"], "IMPLICIT_GEMM"),
        (["--why", "softmax_forward x=f32:1x2x3x4 algorithm=log mode=channel", "--algo", "fft"], "no algorithms"),
        (["--why", "nonsense"], "an operation"),
        (["--why", "convolution_forward x=f32:1x4x8x8 w=f32:4x3x3x3"], "4 channels"),
    ],
)
def test_wrong_calls_say_what_is_expected(arguments, message):
    result = CliRunner().invoke(app, ["caps", *arguments], env={"COLUMNS": "400"})
    assert result.exit_code != 0
    assert message in result.output + result.stderr
