"""The mapping table against the two guides' texts, against portadnn, and against itself; and ``portadnn map``."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import chapter4
import pytest
from typer.testing import CliRunner

import portadnn as dnn
from portadnn.cli.main import app
from portadnn.enums import DnnEnum
from portadnn.mapping import Parameter, compare, reading, table
from portadnn.mapping.text import VALUE_COLUMNS, thing, usage

HERE = Path(__file__).parent
TABLE = table()
BY_NAME = {row.cudnn.name: row for row in TABLE.rows if row.cudnn}
DIRECTIONS = {"in", "out", "inout"}


def lines(name):
    """Return the lines of a data file."""
    text = (HERE / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


GUIDE = [
    line.split() for line in lines("guide_parameters.txt")
]  # of the cuDNN v5 user guide: section, name, kind, names
# Of the MIOpen porting guide: row, name, declarations of parameters.
PORTING = [re.fullmatch(r"(\d+) (\w+)\((.*)\)", line).groups() for line in lines("porting_rows.txt")]


def names(parameters):
    return [parameter.name.lower() for parameter in parameters]


def agrees(text, name):
    """Say whether a name of the guide's text, which may be cut off or another, is the table's name."""
    text = text.lower().rpartition("/")[2]
    return text == "?" or text == name or (text.endswith("*") and name.startswith(text[:-1]))


# Both guides --------------------------------------------------------------------------------------


def test_the_lists_of_the_guides_are_whole():
    assert len(GUIDE) == len({name for _, name, *_ in GUIDE}) == 124
    assert [section for section, *_ in GUIDE] == [f"4.{n}" for n in range(1, 125)]
    assert [name for _, name, *_ in GUIDE] == [name for name, _ in chapter4.PLACES]
    assert {int(row) for row, *_ in PORTING} == set(range(1, 56))


@pytest.mark.parametrize(("section", "name"), [line[:2] for line in GUIDE], ids=[line[1] for line in GUIDE])
def test_functions_of_the_guide(section, name):
    """Each is a row of its own, in its section, and stands where chapter 4's test finds it in portadnn."""
    row = BY_NAME[name]
    assert row.cudnn.section == section
    assert row.cudnn.headers[0] == "5.0.4"
    assert row.portadnn == (dict(chapter4.PLACES)[name],) or name.endswith("WorkspaceSize")
    assert dict(chapter4.PLACES)[name] in row.portadnn


@pytest.mark.parametrize(("name", "kind", "told"), [(n, k[0] if k else "", k[1:]) for _, n, *k in GUIDE])
def test_parameters_are_the_guides(name, kind, told):
    parameters = names(TABLE.functions[name].parameters)
    if kind == "as":
        assert TABLE.functions[name].parameters == TABLE.functions[told[0]].parameters
    elif kind == "=":
        assert len(told) == len(parameters)
        assert all(map(agrees, told, parameters)), (told, parameters)
    elif kind == "~":
        assert len(told) == len(parameters)
        for text in told:
            assert any(agrees(text, parameter) for parameter in parameters), text
    else:
        assert name in {f"cudnn{verb}SpatialTransformerDescriptor" for verb in ("Create", "Destroy")}


PORTED = {"pad_y": "pad_w", "bnscalebiasdiffdesc": "dbnscalebiasdesc"}  # the porting guide's names, cuDNN's header's
PORTED |= {"resultbnscalediff": "dbnscaleresult", "resultbnbiasdiff": "dbnbiasresult"}


def declared(text):
    """Return the names and the types, but for const, of declarations of parameters."""
    found = [re.fullmatch(r"(.*?)(\w+)", part).groups() for part in text.split(", ")]
    return [(name.lower(), "".join(kind.replace("const ", "").split())) for kind, name in found]


@pytest.mark.parametrize(("number", "name", "told"), [(int(row), *rest) for row, *rest in PORTING])
def test_rows_of_the_porting_guide(number, name, told):
    (row,) = [r for r in TABLE.find(name) if r.guide_row == number and (r.name.startswith("cudnn") or not r.cudnn)][:1]
    assert name in row.names
    if name.startswith("miopen"):
        assert row.miopen[0].name == name
        assert ", ".join(p.c for p in row.miopen[0].parameters) == told
    else:
        ours = declared(", ".join(p.c for p in row.cudnn.parameters))
        assert [(PORTED.get(text, text), kind) for text, kind in declared(told)] == ours


def test_rows_name_the_same_pairs_as_the_porting_guide():
    pairs = {}
    for number, name, _ in PORTING:
        pairs.setdefault(int(number), set()).add(name)
    for number, told in pairs.items():
        rows = [row for row in TABLE.rows if row.guide_row == number]
        ours = {name for row in rows for name in ((row.cudnn.name,) if row.cudnn else ()) + row.also}
        ours |= {row.miopen[0].name for row in rows if row.miopen}
        assert told <= ours, number


def test_what_the_porting_guide_says_miopen_lacks_came_later():
    """Its key differences: no Nd calls, transform, dropout, RNNs; and divisive normalisation to this day."""
    for name in ("miopenTransformTensor", "miopenDropoutForward", "miopenRNNForwardTraining"):
        assert TABLE.functions[name].since not in (None, "1.0.0")
    for name in ("cudnnDivisiveNormalizationForward", "cudnnDivisiveNormalizationBackward"):
        assert not BY_NAME[name].miopen


# The table itself ---------------------------------------------------------------------------------


def test_every_function_is_well_formed_and_used():
    used = Counter(function.name for row in TABLE.rows for function in (row.cudnn, *row.miopen) if function)
    assert set(used) == set(TABLE.functions)
    assert all(count == 1 for name, count in used.items() if name.startswith("cudnn"))
    for function in TABLE.functions.values():
        assert function.name.startswith(function.library)
        for parameters in (function.parameters, *(change.parameters for change in function.changes)):
            assert len(set(names(parameters))) == len(parameters), function.name
            for p in parameters:
                assert p.direction in DIRECTIONS
                assert re.fullmatch(r"[A-Za-z_]\w*", p.name)
                assert re.fullmatch(
                    r"(const )?(unsigned long long|unsigned int|\w+)(( \*\*?)?(\[\])?|\* const \*)", p.type
                ), p
                if p.type.startswith("const ") and p.type[-1] in "*]":
                    assert p.direction == "in", (function.name, p)
                if p.direction != "in" and p.type[-1] not in "*]":
                    kinds = ("Descriptor_t", "Performance_t", "Pack_t", "Plan_t", "Args_t", "Options_t", "Problem_t")
                    assert p.type.endswith(kinds), (function.name, p)


def test_versions_are_in_order():
    def key(version):
        return [int(n) for n in re.findall(r"\d+", version)] if version[0].isdigit() else [99]

    for function in TABLE.functions.values():
        first, last = function.headers
        assert key(first) <= key(last)
        dates = [v for v in (function.since, function.deprecated, function.removed) if v]
        assert dates == sorted(dates, key=key), function.name
        if function.since:
            assert key(function.since)[0] <= key(first)[0] or function.library == "cudnn"
        for change in function.changes:
            assert change.after == "porting guide" or key(change.after) < key(change.version)
            assert change.parameters != function.parameters


def test_renamed_parameters_exist():
    for row in TABLE.rows:
        if not row.renamed:
            continue
        ours = {p.name for s in (row.cudnn.parameters, *(c.parameters for c in row.cudnn.changes)) for p in s}
        theirs = {p.name for f in row.miopen for s in (f.parameters, *(c.parameters for c in f.changes)) for p in s}
        assert set(row.renamed) <= ours, row.name
        assert {name for names in row.renamed.values() for name in names} <= theirs, row.name


def test_notes_have_known_sources_and_speak_of_arguments_that_exist():
    for item in (*TABLE.rows, *TABLE.enumerations):
        for note in item.notes:
            assert note.text.endswith(".")
            assert all(part.split()[0] in TABLE.sources for part in note.source.split("; ")), note.source
            assert note.rule is None or re.fullmatch(r"[ASV]\d\d", note.rule)
            if note.argument:
                functions = (*([item.cudnn] if item.cudnn else []), *item.miopen)
                signatures = [s for f in functions for s in (f.parameters, *(c.parameters for c in f.changes))]
                assert note.argument in {p.name for s in signatures for p in s}, (item.name, note.argument)


def test_every_pair_and_every_signature_has_a_source():
    for row in TABLE.rows:
        assert (row.source is not None) == bool(row.cudnn and row.miopen)
        if row.guide_row and row.source:
            assert row.source == f"porting-guide row {row.guide_row}"
        told = [row.source] if row.source else []
        told += [function.source for function in (row.cudnn, *row.miopen) if function]
        for source in "; ".join(told).split("; "):
            assert source.split()[0] in TABLE.sources


def test_every_name_of_portadnn_exists():
    for row in TABLE.rows:
        for name in row.portadnn:
            assert name.partition(".")[0] in dnn.__all__
            assert thing(name) is not None
            assert usage(name).startswith(name)


def test_unknown_fields_are_refused(tmp_path, monkeypatch):
    """A misspelt field of the data does not pass unnoticed."""
    text = 'title = "T"\norder = 1\n[cudnn.cudnnX]\nsection_ = "1"\nheaders = ["5", "5"]\nparameters = []\n'
    (tmp_path / "x.toml").write_text(text)
    (tmp_path / "sources.toml").write_text("")
    monkeypatch.setattr(reading, "FOLDER", tmp_path)
    with pytest.raises(TypeError, match="section_"):
        reading.table.__wrapped__()


# Differences --------------------------------------------------------------------------------------


def parameters(*words):
    return [Parameter(name, "int", "in") for name in words]


@pytest.mark.parametrize(
    ("ours", "theirs", "renamed", "dropped", "added", "reordered"),
    [
        ("a b c", "a b c", {}, "", "", ""),
        ("a b c", "A B C", {}, "", "", ""),
        ("a b c", "a c", {}, "b", "", ""),
        ("a c", "a b c", {}, "", "b", ""),
        ("a b c d e", "a d b c e", {}, "", "", "d"),
        ("a b c d e", "a c d e b", {}, "", "", "b"),
        ("a b c", "x c b", {"a": ("y", "x")}, "", "", "c"),
        ("", "a", {}, "", "a", ""),
    ],
)
def test_compare(ours, theirs, renamed, dropped, added, reordered):
    found = compare(parameters(*ours.split()), parameters(*theirs.split()), renamed)
    assert (found.dropped, found.added) == (tuple(dropped.split()), tuple(added.split()))
    assert found.reordered == tuple(reordered.split())
    assert dict(found.renamed) == ({"a": "x"} if renamed else {})


@pytest.mark.parametrize(
    ("name", "dropped", "added", "reordered"),
    [
        ("cudnnConvolutionForward", "", "", "workSpace workSpaceSizeInBytes"),
        ("cudnnConvolutionBackwardData", "", "", "dyDesc dy workSpace workSpaceSizeInBytes"),
        ("cudnnConvolutionBackwardFilter", "", "", "dyDesc dy workSpace workSpaceSizeInBytes"),
        ("cudnnGetConvolutionForwardWorkspaceSize", "algo", "", "wDesc"),
        ("cudnnSetTensor4dDescriptor", "format", "", ""),
        ("cudnnSetConvolution2dDescriptor", "", "", "mode"),
        ("cudnnSoftmaxForward", "algo mode", "", ""),
        ("cudnnPoolingForward", "", "do_backward workSpace workSpaceSize", ""),
        ("cudnnPoolingBackward", "", "workspace", ""),
        ("cudnnLRNCrossChannelForward", "lrnMode", "do_backward workspace", ""),
        ("cudnnSetLRNDescriptor", "", "mode", ""),
        ("cudnnSetActivationDescriptor", "reluNanOpt reluCeiling", "activAlpha activBeta activPower", ""),
        ("cudnnOpTensor", "opTensorDesc", "tensorOp", ""),
        ("cudnnBatchNormalizationForwardTraining", "", "", ""),
        ("cudnnRNNBackwardWeights", "", "", "dwDesc dw"),
        ("cudnnSetDropoutDescriptor", "", "use_mask state_evo rng_mode", ""),
    ],
)
def test_differences_of_the_guides(name, dropped, added, reordered):
    """What the porting guide's rows show to the eye."""
    found = TABLE.differences(BY_NAME[name])
    assert (" ".join(found.dropped), " ".join(found.added)) == (dropped, added)
    assert found.reordered == tuple(reordered.split())


def test_types_that_do_not_correspond():
    found = TABLE.differences(BY_NAME["cudnnConvolutionForward"])
    assert found.retyped == {"wDesc": ("const cudnnFilterDescriptor_t", "const miopenTensorDescriptor_t")}
    assert TABLE.differences(BY_NAME["cudnnDivisiveNormalizationForward"]) is None


# Values -------------------------------------------------------------------------------------------


def test_value_maps_have_portadnns_numbers():
    """Every enumeration of portadnn has its map, each member its value, with cuDNN's number and name."""
    mapped = {e.portadnn: e for e in TABLE.enumerations if e.portadnn}
    ours = {
        name for name in dnn.__all__ if isinstance(getattr(dnn, name), type) and issubclass(getattr(dnn, name), DnnEnum)
    }
    assert ours == set(mapped)
    for name, enumeration in mapped.items():
        kind = getattr(dnn, name)
        found = {  # of an enumeration that only MIOpen has, MIOpen's number and name
            value.portadnn: (value.number, value.cudnn) if enumeration.cudnn else (value.miopen_number, value.miopen)
            for value in enumeration.values
            if value.portadnn
        }
        assert found == {member.name: (member.value, member.c_name) for member in kind}


def test_values_are_unique_and_whole():
    for enumeration in TABLE.enumerations:
        for value in enumeration.values:
            assert value.cudnn or value.miopen
            assert (value.cudnn is None) == (value.number is None)
            assert (value.miopen is None) == (value.miopen_number is None)
        cudnn = [value.cudnn for value in enumeration.values if value.cudnn]
        assert len(cudnn) == len(set(cudnn))
        miopen = {value.miopen: value.miopen_number for value in enumeration.values if value.miopen}
        assert all(value.miopen_number == miopen[value.miopen] for value in enumeration.values if value.miopen)
        lonely = [value.miopen for value in enumeration.values if value.miopen and not value.cudnn]
        assert len(lonely) == len(set(lonely))


@pytest.mark.parametrize(
    ("cudnn", "number", "miopen", "miopen_number"),
    [
        ("CUDNN_DATA_FLOAT", 0, "miopenFloat", 1),
        ("CUDNN_DATA_HALF", 2, "miopenHalf", 0),
        ("CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING", 1, "miopenPoolingAverageInclusive", 2),
        ("CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING", 2, "miopenPoolingAverage", 1),
        ("CUDNN_CROSS_CORRELATION", 1, "miopenConvolution", 0),
        ("CUDNN_CONVOLUTION", 0, None, None),
        ("CUDNN_ACTIVATION_SIGMOID", 0, "miopenActivationLOGISTIC", 1),
        ("CUDNN_LRN_CROSS_CHANNEL_DIM1", 0, "miopenLRNCrossChannel", 1),
        ("CUDNN_STATUS_NOT_SUPPORTED", 9, "miopenStatusNotImplemented", 6),
        ("CUDNN_FWD_MODE_TRAINING", 1, "miopenRNNTraining", 0),
        (None, None, "miopenTranspose", 1),
    ],
)
def test_values_that_are_easily_mistaken(cudnn, number, miopen, miopen_number):
    (enumeration,) = (e for e in TABLE.find(cudnn or miopen) if not hasattr(e, "guide_row"))
    (value,) = (v for v in enumeration.values if (v.cudnn, v.miopen) == (cudnn, miopen))
    assert (value.number, value.miopen_number) == (number, miopen_number)


# The command --------------------------------------------------------------------------------------


def invoke(*arguments, code=0):
    result = CliRunner().invoke(app, ["map", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result.output


def test_a_row_stands_side_by_side():
    text = invoke("cudnnConvolutionForward")
    for part in ("cudnnConvolutionForward", "miopenConvolutionForward", "workSpaceSizeInBytes", "guide 4.45", "row 21"):
        assert part in text
    assert re.search(r"9 .*void \*workSpace .*12 .*void \*workSpace", text)
    assert "convolution_forward(handle, x, w, conv, y, alpha=" in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("miopenConvolutionBackwardWeights", "cudnnConvolutionBackwardFilter"),
        ("convolution_forward", "cudnnConvolutionForward"),
        ("CUDNNPOOLINGFORWARD", "miopenPoolingForward"),
        ("cudnnnBatchNormalizationForwardInference", "with three n"),
        ("CUDNN_POOLING_MAX", "miopenPoolingMax"),
        ("miopenDataType_t", "CUDNN_DATA_HALF"),
        ("miopenLRNGetWorkSpaceSize", "cuDNN has none"),
        ("cudnnSpatialTfSamplerForward", "MIOpen has none"),
        ("cudnnSetConvolutionGroupCount", "since 7.0.5"),
    ],
)
def test_any_name_is_found(name, part):
    assert part in " ".join(invoke(name).split())


def test_every_name_can_be_drawn():
    """What the drawing pairs is what the differences pair."""
    from portadnn.cli import map as cli_map

    for row in TABLE.rows:
        for other in row.miopen or (None,):
            grid = cli_map._side_by_side(TABLE, row, other)
            drawn = [*grid.columns[1].cells, *grid.columns[4].cells]
            wanted = Counter(p.c for f in (row.cudnn, other) if f for p in f.parameters)
            assert Counter(cell.replace("\\[", "[") for cell in drawn if cell) == wanted


def test_unknown_names_get_suggestions():
    assert "did you mean cudnnConvolutionForward" in " ".join(invoke("cudnnConvolutionForwrd", code=1).split())
    assert "expected a name of the mapping table, got 'zzz'" in " ".join(invoke("zzz", code=1).split())


@pytest.mark.parametrize(
    "arguments", [[], ["cudnnCreate", "--all"], ["--all", "--format", "pdf"], ["cudnnCreate", "--format", ""]]
)
def test_wrong_calls_are_refused(arguments):
    assert "Usage" in invoke(*arguments, code=2)


def test_json_has_everything():
    written = json.loads(invoke("--all", "--format", "json"))
    rows = [row for topic in written["topics"] for row in topic["rows"]]
    assert [row["cudnn"]["name"] for row in rows if row["cudnn"]] == [r.cudnn.name for r in TABLE.rows if r.cudnn]
    (forward,) = (row for row in rows if row["cudnn"] and row["cudnn"]["name"] == "cudnnConvolutionForward")
    assert forward["cudnn"]["parameters"][1] == {"name": "alpha", "type": "const void *", "direction": "in"}
    assert forward["differences"][0]["reordered"] == ["workSpace", "workSpaceSizeInBytes"]
    assert sum(len(topic["enumerations"]) for topic in written["topics"]) == len(TABLE.enumerations)


def test_html_is_well_formed():
    page = ElementTree.fromstring(invoke("--all", "--format", "html").removeprefix("<!DOCTYPE html>"))
    grids = page.findall(".//{*}table")
    assert sum(len(grid.findall(".//{*}tr")) - 1 for grid in grids) == len(TABLE.rows) + sum(
        len(e.values) for e in TABLE.enumerations
    )
    for grid in grids:
        width = len(grid.findall(".//{*}tr")[0])
        assert all(len(line) == width for line in grid.findall(".//{*}tr"))
    text = "".join(page.itertext())
    assert all(name in text for _, name, *_ in GUIDE)
    assert all(name in text for _, name, _ in PORTING if name.startswith("miopen"))


def test_markdown_tables_are_regular():
    text = invoke("--all")
    assert all(name in text for _, name, *_ in (*GUIDE, *PORTING) if "cudnnn" not in name)
    count = 0
    for line in text.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            assert len(cells) in (4, len(VALUE_COLUMNS)), line
            assert line.count("`") % 2 == 0
            count += not set(line) <= set("|-")
    headers = len({row.topic for row in TABLE.rows}) + len(TABLE.enumerations)
    assert count == len(TABLE.rows) + sum(len(e.values) for e in TABLE.enumerations) + headers


@pytest.mark.parametrize("form", ["md", "json", "html"])
def test_one_row_as_a_file(form):
    text = invoke("cudnnPoolingForward", "--format", form)
    assert "miopenPoolingForward" in text
    assert "cudnnPoolingBackward" not in text
