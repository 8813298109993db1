"""Functions that are neither the program's nor the libraries': memory, containers, smart pointers, and unknown ones."""

from __future__ import annotations

import re
from dataclasses import replace

from ..model import symbols
from ..model.state import Thing
from ..program import Cast, Constant, Expression, Invocation, Lambda, Member, Name, Operation
from ..values import UNKNOWN, Value, items, known, pointer, thing, unknown
from . import types
from .containers import Containers
from .memory import parent_of, written
from .texts import argument_texts

_ALLOCATES = re.compile(  # through the address of a pointer; the size is the second argument
    r"^(?:cuda|hip)(?:Malloc|MallocManaged|MallocHost|HostAlloc|HostMalloc|MallocAsync|ExtMallocWithFlags|MallocFromPoolAsync)$"
)
_RETURNS_MEMORY = {"malloc": (0,), "calloc": (0, 1), "realloc": (1,), "aligned_alloc": (1,), "alloca": (0,),
                   "valloc": (0,), "clCreateBuffer": (2,), "xmalloc": (0,), "xcalloc": (0, 1)}  # fmt: skip
_FREES = re.compile(r"^(?:free|(?:cuda|hip)(?:Free|FreeHost|FreeAsync|HostFree)|clReleaseMemObject)$")
_GETTER = re.compile(
    r"^(?:get|is|has|num|size|length|shape|dim|data|gpu_data|cpu_data|count|width|height|channels|batch|begin|end|front|back|"
    r"ptr|raw|at|sqrt|ceil|floor|pow|exp|log|abs|fabs|accumulate|to_string|c_str|mutable_|const_|offset|stride|max|min)",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"check|assert|print|log|report|error|handle_?(?:status|error)|get|size|memcpy|memset|sync|launch|copy|fill|free|"
    r"string|time|compare|equal|random|init_data|num_|count|show|dump|write|save|lock|^is_|^has_",
    re.IGNORECASE,
)
_READS = re.compile(  # BLAS without results on the host: what it is given stays
    r"^(?:cu|hip|roc)blas_?(?:lt_?)?\w*?(?:gemm|gemv|ger|axpy|scal|geam|dgmm|symm|symv|syrk|trsm|trmm|matmul|copy|swap)",
    re.IGNORECASE,
)
_SAME_VALUE = frozenset(
    {
        "make_optional",
        "optional",
        "move",
        "forward",
        "ref",
        "cref",
        "as_const",
        "raw_pointer_cast",
        "device_pointer_cast",
        "addressof",
    }
)
_TYPE = re.compile(
    r"^(?:T|[A-Z][A-Za-z]*Type|[DS][Tt]ype|\w+_t(?:ype)?|[Rr]eal|[Ss]calar)$"
)  # that a template stands for: Dtype(0)
_LOADS = re.compile(r"sym|proc|load|resolve|import|lookup", re.IGNORECASE)  # dlsym, GetProcAddress
_SMART_NAME = re.compile(r"_ptr\s*<")
_LIMITS = {
    "epsilon": {"float": 2.0**-23, "double": 2.0**-52},
    "min": {"float": 2.0**-126, "double": 2.0**-1022},
}
_SEARCHES = frozenset({"find_if", "find", "lower_bound", "max_element", "min_element", "find_if_not"})
_THREADS = frozenset({"thread", "jthread", "async", "pthread_create"})


class Outside(Containers):
    """Follows what functions of other libraries do to what the checker looks at."""

    def outside(self, call: Invocation, name: str, use: str) -> Value:
        """Follow a call of a function that is neither the program's nor a library's."""
        if isinstance(call.callee, Member):
            return self._outside_method(call, call.callee)
        short = types.simple(name)
        if call.new:
            return self._new(call, name)
        if _ALLOCATES.match(short) and len(call.arguments) >= 2:
            return self._allocate(call)
        if short in _RETURNS_MEMORY:
            return self._returned_memory(call, short)
        if short == "memset" and len(call.arguments) == 3 and self._zeroed(call):
            return UNKNOWN
        if _FREES.match(short) and call.arguments:
            return self._free(call)
        if short in ("make_unique", "make_shared"):
            return self._made(call, name)
        if short in ("make_pair", "pair") and len(call.arguments) == 2:
            return self._pair(call)
        if short in ("make_tuple", "tie") and call.arguments:
            return items(self.evaluate(argument) for argument in call.arguments)
        if short == "invoke" and call.arguments:
            return self.invoke(Invocation(call.arguments[0], call.arguments[1:], call.span, call.text), use)
        if short == "bind" and call.arguments and (bound := self._bound_call(call)) is not None:
            return self.invoke(bound, "checked")
        if short == "apply" and len(call.arguments) == 2 and (parts := self._of_tuple(call.arguments[1])):
            return self.invoke(Invocation(call.arguments[0], parts, call.span, call.text), use)
        if short in _SEARCHES and call.arguments and (found := self._searched(call)) is not None:
            return found
        if short == "visit" and len(call.arguments) == 2:
            return self.visit(call)
        if short == "get" and len(call.arguments) == 1 and (place := self.place_of_call(call)) is not None:
            return self.value_at(place)
        if call.arguments and types.is_smart(
            self.index.resolved(name if "<" in name else _with_arguments(call, short))
        ):
            return self._held(call)
        if short in ("max", "min") and len(call.arguments) == 2:
            return self._extreme(call, short)
        if short in _LIMITS and "numeric_limits" in call.text and (limit := self._limit(call.text, short)) is not None:
            return limit
        if short in _SAME_VALUE and len(call.arguments) == 1:
            return self._same(call.arguments[0], address=short == "addressof")
        if len(call.arguments) == 1 and isinstance(call.arguments[0], Constant) and self._is_type(short):
            return replace(self.evaluate(call.arguments[0]), type="")
        if short in _THREADS:
            return self.start_thread(call.arguments, pthread=short == "pthread_create")
        return self._unfollowed(call, short)

    def _of_tuple(self, argument: Expression) -> tuple[Expression, ...]:
        """Return the parts of a tuple, each as a variable of its own; none where they are not known."""
        value = self.evaluate(argument)
        result = []
        for part in value.data if value.kind == "items" else ():
            name = f"part~{self.fresh()}"
            self.frame.scopes[0][name] = name
            self.state.variables[name] = part
            result.append(Name(name, argument.span))
        return tuple(result)

    def _zeroed(self, call: Invocation) -> bool:
        """Whether ``memset`` makes numbers 0: floating-point ones, which stand for nothing that comes later."""
        target, byte, _ = (self.evaluate(argument) for argument in call.arguments)
        if target.kind not in ("pointer", "thing", "unknown") or target.data is None or not byte.is_null:
            return False
        self.zero(self.behind(target, ""))
        return True

    def _bound_call(self, call: Invocation) -> Invocation | None:
        """Return the call that ``std::bind(f, x)`` or ``std::bind(&Class::method, object, x)`` keeps for later."""
        function, *rest = call.arguments
        function = function.operands[0] if isinstance(function, Operation) else function
        if not isinstance(function, Name):
            return None
        later = any(isinstance(one, Name) and re.fullmatch(r"_\d", types.simple(one.name)) for one in rest)
        if self.index.is_library(types.simple(function.name)) and not later:
            return None
        if not rest or types.owner_of(function.name) not in self.index.classes:
            return Invocation(function, tuple(rest), call.span, call.text)
        object_ = rest[0].operands[0] if isinstance(rest[0], Operation) and rest[0].operator == "&x" else rest[0]
        method = Member(object_, types.simple(function.name), function.span)
        return Invocation(method, tuple(rest[1:]), call.span, call.text)

    def _is_type(self, name: str) -> bool:
        """Whether what looks like a call's function is a number's type: ``DATA_T one = DATA_T(1);``."""
        if _TYPE.match(name):
            return True
        if self.index.kind_of(name) or self.index.class_of(name) is not None:
            return False
        return name in self.index.aliases or any(types.bare(self.types.get(p, "")) == name for p in self.frame.declared)

    def loaded(self, call: Invocation, short: str) -> Value | None:
        """Return the library's function that a call loads by its name; None where it loads none."""
        if not _LOADS.search(short):
            return None
        name = next((a.value for a in call.arguments if isinstance(a, Constant) and isinstance(a.value, str)), "")
        if not self.index.is_library(name):
            return None
        for argument in call.arguments:
            self.evaluate(argument)
        return unknown(name)

    def start_thread(self, arguments: tuple[Expression, ...], *, pthread: bool = False) -> Value:
        """Follow the function that another thread runs."""
        rest = arguments[2:] if pthread else arguments
        start = next((i for i, argument in enumerate(rest) if isinstance(argument, Name | Lambda | Operation)), None)
        for argument in rest if start is None else rest[:start]:
            self.evaluate(argument)
        if start is None:
            return UNKNOWN
        first = rest[start]
        if isinstance(first, Operation) and first.operands and isinstance(first.operands[0], Name):
            first = first.operands[0]
        outer = self.thread
        self.thread = first.name if isinstance(first, Name) else f"{self.frame.label}, another thread"
        try:
            if isinstance(first, Lambda):
                self.follow_lambda(first)
            elif isinstance(first, Name):
                self.invoke(Invocation(first, tuple(rest[start + 1 :]), first.span), "checked")
        finally:
            self.thread = outer
        return UNKNOWN

    # Memory -----------------------------------------------------------------------------------------------------

    def memory(self, name: str, size: Value) -> Value:
        """Return new memory of a size."""
        id_ = f"{name}@m{self.fresh()}"
        many = self.loops > 0 and "[" in name
        self.state.things[id_] = Thing(id_, "memory", written(name), None, {"size": size}, many=many)
        return symbols.with_origins(thing(id_, "void *"), size)

    def _allocate(self, call: Invocation) -> Value:
        target = self.evaluate(call.arguments[0])
        size = self.evaluate(call.arguments[1])
        for argument in call.arguments[2:]:
            self.evaluate(argument)
        if target.kind == "pointer":
            self.write(str(target.data), self.memory(str(target.data), size))
        elif target.kind == "unknown" and target.data is not None:
            path = str(target.data)
            self.write(path, self.memory(path, size))
        return unknown(f"status~{self.fresh()}", "")

    def _returned_memory(self, call: Invocation, short: str) -> Value:
        values = [self.evaluate(argument) for argument in call.arguments]
        places = _RETURNS_MEMORY[short]
        if max(places) >= len(values):
            return UNKNOWN
        size = values[places[0]]
        for place in places[1:]:
            size = symbols.operate("*", size, values[place])
        if short == "clCreateBuffer" and len(values) > 4:
            self._forget_arguments([values[4]])
        return self.memory(short, size)

    def _free(self, call: Invocation) -> Value:
        for argument in call.arguments:
            value = self.evaluate(argument)
            for option in value.options:
                old = self.state.things.get(option.data) if option.kind == "thing" else None
                if old is not None and old.kind == "memory":
                    self.state.things[old.id] = replace(old, destroyed=self.numbers, certain=value.kind == "thing")
        return UNKNOWN

    def _new(self, call: Invocation, name: str) -> Value:
        for argument in call.arguments:
            self.evaluate(argument)
        element = name.removesuffix("[]")
        path = f"new {types.simple(element)}~{self.fresh()}"
        self.types[path] = name
        return pointer(path, types.bare(element))

    def _made(self, call: Invocation, name: str) -> Value:
        inner = types.template_argument(name)
        class_ = self.index.class_of(inner)
        path = f"new {types.simple(inner)}~{self.fresh()}"
        self.types[path] = inner
        if class_ is not None:
            self.construct(path, class_.name, call.arguments)
        else:
            for argument in call.arguments:
                self.evaluate(argument)
        return pointer(path, inner)

    def _pair(self, call: Invocation) -> Value:
        path = f"make_pair~{self.fresh()}"
        for name, argument in zip(("first", "second"), call.arguments, strict=True):
            value = self.evaluate(argument)
            place = self.place(argument) if isinstance(argument, Name | Member) else None
            if place is not None and self.class_at(place) is not None:
                value = unknown(place, self.types[place])  # the object: its members are found there
            self.types[f"{path}.{name}"] = self.types.get(place or "", "") or value.type
            self.write(f"{path}.{name}", value)
        return unknown(path)

    def _searched(self, call: Invocation) -> Value | None:
        """Return where ``std::find_if`` and the like point: to any element."""
        values = [self.evaluate(argument) for argument in call.arguments]
        array = re.sub(r"\[[^\[\]]*\]$", "", str(values[0].data)) if values[0].kind == "pointer" else ""
        if not array or not types.pointee(self.types.get(array, "")):
            return None
        return pointer(self.element_path(array, UNKNOWN), types.pointee(self.types[array]))

    def _held(self, call: Invocation) -> Value:
        """Return what ``std::unique_ptr<T, D>(pointer)`` holds."""
        values = [self.evaluate(argument) for argument in call.arguments]
        self.keep(values[0])
        return values[0]

    # Small functions --------------------------------------------------------------------------------------------

    def _limit(self, name: str, short: str) -> Value | None:
        """Return what ``std::numeric_limits<T>::epsilon()`` is, of float and double."""
        type_ = types.bare(types.template_argument(name))
        type_ = self.index.number_type(self.frame.generic.get(type_, types.bare(self.index.resolved(type_))))
        number = _LIMITS[short].get(type_)
        return None if number is None else known(number, type_)

    def _extreme(self, call: Invocation, short: str) -> Value:
        a, b = self.evaluate(call.arguments[0]), self.evaluate(call.arguments[1])
        larger = symbols.truth(symbols.operate(">=" if short == "max" else "<=", a, b))
        if larger is not None:
            return symbols.with_origins(a if larger else b, a, b)
        return symbols.with_origins(unknown(symbols.combine(short, (a, b)), a.type or b.type), a, b)

    def _same(self, argument: Expression, *, address: bool) -> Value:
        if address:
            path = self.place(argument)
            return UNKNOWN if path is None else pointer(path, self.types.get(path, ""))
        return self.evaluate(argument)

    # Methods of containers and smart pointers ---------------------------------------------------------------------

    def _outside_method(self, call: Invocation, callee: Member) -> Value:
        name = types.simple(callee.name)
        own = self.place(callee.base)
        base = self.evaluate(callee.base) if own is None else self.value_at(own)
        path = own if own is not None else self.behind(base, "")
        type_ = self.types.get(path, "")
        if own is not None and types.is_smart(type_):
            handled = self.smart(call, name, own, base)
            if handled is not None:
                return handled
        if types.is_array(type_):
            return self.container(call, name, path, type_)
        if types.is_map(type_):
            return self.map_method(call, name, path)
        if (given := self.method_of_value(call, name, base, own)) is not None:
            return given
        values = [self.evaluate(argument) for argument in call.arguments]
        if name in ("get", "data", "handle", "desc", "raw") and not values:
            inner = self.index.kind_of(type_)
            if inner and own is not None:
                return base
        texts = argument_texts(call)
        if _HARMLESS.search(name) is None and _GETTER.match(name) is None:
            self._forget_arguments(values)
        key = symbols.combine(f"{path}.{name}", values) if path else None
        stable = _GETTER.match(name) is not None or not texts
        return unknown(key if stable and key else f"{path}.{name}~{self.fresh()}")

    # Unknown functions --------------------------------------------------------------------------------------------

    def _unfollowed(self, call: Invocation, name: str) -> Value:
        if isinstance(call.callee, Name) and (local := self.frame.path_of(call.callee.name)) is not None:
            self.read(local)
        values = []
        for argument in call.arguments:
            value = self.evaluate(argument)
            values.append(value)
            self._filled(value)
            self.forget_length(value)
        harmless = _HARMLESS.search(name) is not None
        if _READS.match(name):
            return unknown(f"{name}~{self.fresh()}")
        if not harmless:
            self._forget_arguments(values)
        else:
            self._forget_outputs(call, values)
        stable = _GETTER.match(name) is not None
        key = symbols.combine(name, values) if stable else f"{name}~{self.fresh()}"
        result = unknown(key)
        return symbols.with_origins(result, *values) if stable else result

    def _filled(self, value: Value) -> None:
        """Note of memory that something was given it that may fill it: a copy, a kernel."""
        for option in value.options:
            old = self.state.things.get(option.data) if option.kind == "thing" else None
            if old is not None and old.kind == "memory":
                self.state.things[old.id] = replace(old, fields={**old.fields, "filled": known(True)})

    def _forget_arguments(self, values: list[Value]) -> None:
        why = str(self.fresh())
        for value in values:
            self.lose(value)
            for option in value.options:
                if option.kind == "pointer":
                    self.forget(self._whole(str(option.data)), why=why)

    def _forget_outputs(self, call: Invocation, values: list[Value]) -> None:
        """Forget what a function that does no harm to descriptors may have written to: addresses taken for the call."""
        why = str(self.fresh())
        for argument, value in zip(call.arguments, values, strict=True):
            inner = argument.value if isinstance(argument, Cast) else argument
            taken = isinstance(inner, Operation) and inner.operator == "&x"
            if taken and value.kind == "pointer" and not self._holds_thing(str(value.data)):
                self.forget(self._whole(str(value.data)), why=why)

    def _whole(self, path: str) -> str:
        """Return the array of a number that something gets the address of: it gets those behind it, too."""
        type_ = self.types.get(path, "")
        holds = self.index.kind_of(type_) or self.index.class_of(type_) is not None
        return parent_of(path) if path.endswith("]") and not holds else path

    def _holds_thing(self, path: str) -> bool:
        value = self.state.variables.get(path)
        return value is not None and any(option.kind == "thing" for option in value.options)


def _with_arguments(call: Invocation, short: str) -> str:
    """Return a call's name with the template arguments that are written there."""
    text = call.text.partition("(")[0]
    return text.strip() if "<" in text and _SMART_NAME.search(text) else short
