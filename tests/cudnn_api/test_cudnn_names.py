"""portadnn.cudnn has the names, the arguments and the values of cuDNN, as the guide and the mapping table have them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from enum import IntEnum

import pytest
from chapter4 import PLACES
from test_mapping import GUIDE, agrees

import portadnn as dnn
from portadnn import cudnn
from portadnn.c_names.generate import FOLDERS, generate
from portadnn.c_names.generate.front_end import returned
from portadnn.c_names.refused import reason
from portadnn.errors import DnnError
from portadnn.mapping import table

FUNCTIONS = {name: f for name, f in table().functions.items() if f.library == "cudnn"}
ENUMERATIONS = {
    e.cudnn: {v.cudnn: v.number for v in e.values if v.cudnn and v.number is not None}
    for e in table().enumerations
    if e.cudnn
}


def taken(name: str) -> list[str]:
    return [p.name for p in FUNCTIONS[name].parameters if not returned(name, p)]


def given_back(name: str) -> list[str]:
    return [p.name for p in FUNCTIONS[name].parameters if returned(name, p)]


def parameters(name: str) -> list[str]:
    return [p.name for p in inspect.signature(getattr(cudnn, name)).parameters.values() if p.kind is not p.KEYWORD_ONLY]


@pytest.mark.parametrize("library", FOLDERS)
def test_generated_files_are_up_to_date(library):
    folder = FOLDERS[library]
    found = {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    assert found == generate(library), "run python -m portadnn.c_names.generate"


def test_all_functions_of_the_guide_and_of_the_table_are_there():
    assert len(PLACES) == 124
    assert {name for name, _ in PLACES} <= FUNCTIONS.keys()
    assert {row.cudnn.name for row in table().rows if row.cudnn} == FUNCTIONS.keys()
    assert all(callable(getattr(cudnn, name)) for name in FUNCTIONS)
    assert set(FUNCTIONS) <= set(cudnn.__all__) <= set(dir(cudnn))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_and_documentation_are_the_tables(name):
    function = getattr(cudnn, name)
    assert function.__name__ == name
    own = parameters(name)
    extra = own[len(taken(name)) :]  # what later versions append
    assert own[: len(taken(name))] == taken(name)
    assert not extra or extra == ["later"] or set(extra) <= {p.name for p in FUNCTIONS[name].latest}
    assert FUNCTIONS[name].c in function.__doc__
    assert all(result in function.__doc__ for result in given_back(name))


@pytest.mark.parametrize(
    ("section", "function", "kind", "told"), [(s, f, k[0] if k else "", k[1:]) for s, f, *k in GUIDE]
)
def test_parameters_are_those_that_the_guide_prints(section, function, kind, told):
    """In their order where the guide has one; those that C fills are returned."""
    assert f"guide {section}" in FUNCTIONS[function].history
    if kind == "as":
        assert parameters(function) == parameters(told[0])
        return
    own = [name.lower() for name in parameters(function) if name in taken(function)]
    results = [name.lower() for name in given_back(function)]
    wanted = [name for name in told if not any(agrees(name, result) for result in results if name != "?")]
    if kind == "=":
        for _ in range(len(wanted) - len(own)):  # names that the text has lost may be results'
            wanted.remove("?")
        assert len(own) == len(wanted)
        assert all(map(agrees, wanted, own)), f"{own} is not {wanted}"
    else:
        assert all(name == "?" or any(agrees(name, other) for other in own) for name in wanted)


def test_enumerations_have_cudnns_values():
    for name, values in ENUMERATIONS.items():
        kind = getattr(cudnn, name)
        assert issubclass(kind, IntEnum)
        for value, number in values.items():
            assert getattr(cudnn, value) == number
            assert isinstance(getattr(cudnn, value), kind)
    assert cudnn.CUDNN_DATA_BFLOAT16 is cudnn.cudnnDataType_t.CUDNN_DATA_BFLOAT16
    assert cudnn.CUDNN_POOLING_AVERAGE == cudnn.CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING  # an old name
    assert hash(cudnn.CUDNN_DATA_HALF) == 2
    assert cudnn.cudnnDataType["CUDNN_DATA_HALF"] is cudnn.CUDNN_DATA_HALF  # as other wrappers spell it


def test_other_names_are_no_attributes():
    for name in ("cudnnConvolutionSideways", "CUDNN_DATA_TRIPLE", "numpy_"):
        with pytest.raises(AttributeError, match=name):
            getattr(cudnn, name)
    assert not [name for name in cudnn.__all__ if not name.startswith(("cudnn", "CUDNN_"))]


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS if "Not supported" in (getattr(cudnn, name).__doc__ or "")]
)
def test_what_cannot_be_served_says_why(name):
    why = reason(name)
    assert why != "portadnn has nothing like it"
    with pytest.raises(dnn.NotSupported) as caught:
        getattr(cudnn, name)(*range(len(parameters(name))))
    assert str(caught.value) == f"{name}: {why}"
    with pytest.raises(TypeError):
        getattr(cudnn, name)(*range(99))


def test_nothing_that_portadnn_computes_is_refused():
    refused = {name for name in FUNCTIONS if "Not supported" in getattr(cudnn, name).__doc__}
    assert not [name for name in refused if table().by_cudnn[name].portadnn]
    assert not refused & {name for name, _ in PLACES}


def test_errors_are_cudnns():
    assert cudnn.cudnnError is DnnError
    assert cudnn.cudnnStatusBadParam is dnn.BadParam
    with pytest.raises(cudnn.cudnnError) as caught:
        cudnn.cudnnSetTensor4dDescriptor(cudnn.cudnnCreateTensorDescriptor(), 0, 0, -1, 1, 1, 1)
    error = caught.value
    assert (error.status, error.call, error.argument) == (3, "cudnnSetTensor4dDescriptor", "dims[0]")
    assert cudnn.cudnnGetErrorString(error.status) == "CUDNN_STATUS_BAD_PARAM"
    assert cudnn.cudnnGetErrorString(12345) == "CUDNN_UNKNOWN_STATUS"


def test_versions():
    assert cudnn.cudnnGetVersion() == cudnn.CUDNN_VERSION == 5005
    assert [cudnn.cudnnGetProperty(part) for part in range(3)] == [5, 0, 5]
    assert cudnn.cudnnGetCudartVersion() >= 0
    assert cudnn.cudnnOpsInferVersionCheck() is None


def test_star_import_gives_every_name():
    names: dict = {}
    exec("from portadnn.cudnn import *", names)
    assert FUNCTIONS.keys() | {value for values in ENUMERATIONS.values() for value in values} <= names.keys()


def test_importing_it_reads_no_table():
    code = (
        "import sys, portadnn, portadnn.cudnn\n"
        "late = ('portadnn.mapping', 'portadnn.ops.', 'portadnn.cudnn.')\n"
        "assert not [m for m in sys.modules if m.startswith(late)]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
