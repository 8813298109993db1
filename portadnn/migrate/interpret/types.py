"""What the text of a C++ type tells."""

from __future__ import annotations

import functools
import re

_WORDS = re.compile(
    r"\b(?:const|constexpr|volatile|static|struct|class|enum|inline|typename|mutable|extern|register|auto)\b"
)
_SMART = re.compile(r"(?:[\w:]*::)?(?:unique_ptr|shared_ptr|weak_ptr|scoped_ptr|intrusive_ptr)\s*<")
_MAPS = re.compile(r"(?:[\w:]*::)?(?:map|unordered_map|multimap|flat_map|flat_hash_map|node_hash_map|hash_map)\s*<")
_ARRAYS = re.compile(r"(?:[\w:]*::)?(?:vector|array|device_vector|host_vector|deque|list|initializer_list|span)\s*<")

_DEEPEST = 32  # pointers to pointers, and containers of containers


@functools.cache
def bare(type_: str) -> str:
    """Return a type without qualifiers and references: ``"T *"`` for ``const T*&``."""
    text = _WORDS.sub(" ", type_).replace("&", " ").replace("*", " * ")
    return re.sub(r"\s+", " ", text).strip()


@functools.cache
def pointee(type_: str) -> str:
    """Return what a pointer, smart pointer or container of this type holds; "" where it is none of them."""
    text = bare(type_)
    if text.endswith("*"):
        return text[:-1].strip()
    if text.endswith("]"):
        return text[: text.rindex("[")].strip()
    if is_smart(text) or is_array(text):
        return template_argument(text)
    if is_map(text):
        return f"std::pair<{', '.join(template_arguments(text)[:2])}>"
    return ""


@functools.cache
def innermost(type_: str) -> str:
    """Return what is behind all pointers and in all containers of a type; of a map the pair of key and value."""
    for _ in range(_DEEPEST):
        inner = pointee(type_)
        if not inner or is_pair(inner):
            return inner or type_
        type_ = inner
    return type_


@functools.cache
def template_argument(type_: str) -> str:
    """Return the first argument of a template: ``int`` of ``std::vector<int>``."""
    start = type_.find("<")
    depth = 0
    for i in range(start, len(type_)) if start >= 0 else ():
        if type_[i] in "<(":
            depth += 1
        elif type_[i] in ">)":
            depth -= 1
        if depth == 0 or (depth == 1 and type_[i] == ","):
            return bare(type_[start + 1 : i])
    return ""


@functools.cache
def is_smart(type_: str) -> bool:
    """Whether it is a smart pointer."""
    return _SMART.match(bare(type_)) is not None and not type_.rstrip().endswith(("*", "]"))


@functools.cache
def is_array(type_: str) -> bool:
    """Whether it is a container of the standard library, or of thrust."""
    return _ARRAYS.match(bare(type_)) is not None and not type_.rstrip().endswith(("*", "]"))


@functools.cache
def is_fixed_array(type_: str) -> bool:
    """Whether it is a ``std::array``."""
    return re.match(r"(?:std::)?array\s*<", bare(type_)) is not None and is_array(type_)


@functools.cache
def is_map(type_: str) -> bool:
    """Whether it is a map of the standard library, or one like it."""
    return _MAPS.match(bare(type_)) is not None and not type_.rstrip().endswith(("*", "]"))


@functools.cache
def is_pair(type_: str) -> bool:
    """Whether it is a ``std::pair``."""
    return re.match(r"(?:std::)?pair\s*<", bare(type_)) is not None and not type_.rstrip().endswith(("*", "]"))


@functools.cache
def template_arguments(type_: str) -> tuple[str, ...]:
    """Return a template's arguments: ``int`` and ``float`` of ``std::map<int, float>``."""
    start = type_.find("<")
    result, depth, last = [], 0, start + 1
    for i in range(max(start, 0), len(type_) if start >= 0 else 0):
        depth += (type_[i] in "<(") - (type_[i] in ">)")
        if depth == 0 or (depth == 1 and type_[i] == ","):
            result.append(type_[last:i].strip())
            last = i + 1
        if depth == 0:
            break
    return tuple(result)


@functools.cache
def is_device_array(type_: str) -> bool:
    """Whether it is a container of memory on a device."""
    return "device_vector" in type_ and is_array(type_)


@functools.cache
def simple(name: str) -> str:
    """Return the last part of a qualified name, without template arguments."""
    depth = 0
    last = 0
    end = len(name)
    for i, letter in enumerate(name):
        if letter == "<":
            if depth == 0:
                end = i
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == ":" and depth == 0:
            last, end = i + 1, len(name)
    return name[last:end].strip()


@functools.cache
def owner_of(name: str) -> str:
    """Return the class or namespace before the last part of a qualified name, without template arguments."""
    depth = 0
    for i in range(len(name) - 1, 0, -1):
        if name[i] == ">":
            depth += 1
        elif name[i] == "<":
            depth -= 1
        elif depth == 0 and name[i - 1 : i + 1] == "::":
            return simple(name[: i - 1])
    return ""
