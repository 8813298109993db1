"""Run random programs with cudnn-frontend and with portadnn.graph, and tell where one takes what the other refuses.

``python tests/foreign/beside_cudnn.py --count 300 --out FILE`` on a machine with an NVIDIA GPU, PyTorch, cuDNN and
the package nvidia-cudnn-frontend. Each library runs in processes of its own, since a wrong program may end one.
``--only portadnn.graph --device cpu`` runs the programs with portadnn alone, anywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
from drawn_programs import Program, channels_last, program, row_major

LIBRARIES = ("cudnn", "portadnn.graph")
Answer = dict[str, Any]  # number, stage, error, message
FINE = ("equal", "both refuse", "deliberate")
WRONG = ("only cuDNN takes it", "only portadnn takes it", "portadnn is off")
DELIBERATE = (  # stage and message of a refusal of cuDNN's, and why portadnn takes the program
    ("create_execution_plans", "no engine", "cuDNN has no engine for it; portadnn runs every valid graph"),
    ("build_operation_graph", "NOT_SUPPORTED", "cuDNN has no engine for the type; portadnn runs every valid graph"),
    ("build_operation_graph", "detail::finalize", "types and strides that cuDNN's operations refuse, computed here"),
    ("validate", "stride for the last dimension", "heads of attention with gaps"),
    ("build_plans", "COMPILATION_FAIL", "cuDNN cannot compile its own kernel for it"),
    ("execute", "misaligned address", "cuDNN's vectors need strides that are multiples of them; the process ends"),
    ("execute", "received null", "a plan here that needs no workspace"),
    ("execute", "CUDNN_STATUS_NOT_SUPPORTED", "cuDNN's kernel refuses the type when it is launched; computed here"),
)
REFUSED = (  # a rule by which portadnn refuses what cuDNN takes, and why
    ("PG-NODE-008", "the dims of an output contradict its operation; cuDNN writes past them or leaves some out"),
    ("PG-POINTWISE-005", "the dims of an output contradict its operation; cuDNN writes past them or leaves some out"),
    ("PG-REDUCE-002", "the dims of an output contradict its operation; cuDNN writes past them or leaves some out"),
    ("PG-GRAPH-007", "a result goes nowhere; cuDNN computes nothing, or writes to no address"),
    ("PG-PACK-004", "a buffer is shorter than its tensor; cuDNN reads or writes past it"),
    ("PG-TENSOR-004", "a tensor without elements, which cuDNN's attention alone takes"),
)
OFF = (  # a program that both take, by its kind, what is unusual, and dims of a tensor; and what cuDNN does
    ("pointwise", "a rank more", 5, "of five dims cuDNN 9.19 writes 16 elements"),
    ("conv", "a stride of 0", 4, "cuDNN's numbers are others where a stride is 0"),
    ("gated", "a stride of 0", 3, "cuDNN's numbers are others where a stride is 0"),
)
SAME = {"HALF": 2e-2, "BFLOAT16": 6e-2, "FLOAT": 1e-2}  # of the largest number: TF32 and other orders of sums


def resolved(value: Any, library: Any, tensors: dict[str, Any]) -> Any:
    """Return an argument: a tensor by its name, a member of an enumeration, or itself."""
    if not isinstance(value, str):
        return value
    if value in tensors:
        return tensors[value]
    kind, _, member = value.partition(".")
    return getattr(getattr(library, kind), member) if member else value


def elements(dims: list[int], strides: list[int]) -> int:
    """Return how many elements a tensor spans, gaps included; 1 where it has none."""
    if min(dims) <= 0:
        return 1
    return 1 + sum((size - 1) * step for size, step in zip(dims, strides, strict=True))


class Run:
    """One program with one library; `stage` says how far it came."""

    def __init__(self, library: Any, drawn: Program, device: str) -> None:
        import torch

        self.torch, self.library, self.program, self.device = torch, library, drawn, device
        self.stage = "graph"
        self.tensors: dict[str, Any] = {}

    def build(self, handle: Any) -> Any:
        """Return the graph with its plan."""
        types, member = self.program["types"], self.library.data_type
        given = {f"{name}_data_type": getattr(member, kind) for name, kind in types.items()}
        graph = self.library.pygraph(handle=handle, **given)
        for name, said in self.program["tensors"].items():
            more = {"is_pass_by_value": True} if "value" in said else {}
            more |= {key: said[key] for key in ("stride", "uid") if key in said}
            kind = getattr(member, said["data_type"])
            self.tensors[name] = graph.tensor(name=said.get("name", name), dim=said["dim"], data_type=kind, **more)
        self.stage = "calls"
        for call in self.program["calls"]:
            arguments = {k: resolved(v, self.library, self.tensors) for k, v in call["arguments"].items()}
            found = getattr(graph, call["method"])(**arguments)
            found = found if isinstance(found, (list, tuple)) else [found]
            self.tensors.update(zip(call["results"], found, strict=False))
        for name, dims in self.program.get("dims", {}).items():
            self.tensors[name].set_dim(dims).set_stride(self.strides_of(dims))
        for name, said in self.program["outputs"].items():
            made = self.tensors[name].set_output(True).set_data_type(getattr(member, said["data_type"]))
            if "dim" in said:
                made.set_dim(said["dim"]).set_stride(self.strides_of(said["dim"]))
        for stage in ("validate", "build_operation_graph", "create_execution_plans", "check_support", "build_plans"):
            self.stage = stage
            modes = [self.library.heur_mode.A, self.library.heur_mode.FALLBACK]
            getattr(graph, stage)(*([modes] if stage == "create_execution_plans" else []))
        return graph

    def strides_of(self, dims: list[int]) -> list[int]:
        """Return strides of an output: channels last for four dims that are images."""
        images = self.program["kind"] not in ("pointwise", "reduction", "attention", "own_softmax")
        return channels_last(dims) if images and len(dims) == 4 else row_major(dims)

    def array(self, name: str, said: dict[str, Any]) -> Any:
        """Return an input on the device: the same numbers for each library."""
        torch, dims = self.torch, said["dim"]
        if "value" in said:
            return torch.full(dims, said["value"], dtype=torch.float32)
        strides = said.get("stride") or row_major(dims)
        made = torch.Generator().manual_seed(1000 * self.program["number"] + int(name[1:]))
        flat = torch.rand(elements(dims, strides), generator=made) - 0.5
        if "below" in said:
            flat = 1 + (flat + 0.5) * (said["below"] - 1)
        if said.get("positive"):
            flat = flat.abs() + 0.5
        if said["data_type"] in ("INT8", "BOOLEAN"):
            flat = flat * 6
        flat = flat.to(DTYPES(torch)[said["data_type"]]).to(self.device)
        if self.program.get("flat") or min(dims) <= 0:
            return flat
        return flat.as_strided(dims, strides)

    def execute(self, graph: Any, handle: Any) -> dict[str, Any]:
        """Return the outputs as float32."""
        torch, self.stage = self.torch, "execute"
        pack, outputs = {}, {}
        for name, said in self.program["tensors"].items():
            if name != self.program.get("left_out"):
                pack[self.tensors[name]] = self.array(name, said)
        for name, said in self.program["outputs"].items():
            dims, strides = self.tensors[name].get_dim(), self.tensors[name].get_stride()
            flat = torch.zeros(elements(dims, strides), dtype=DTYPES(torch)[said["data_type"]], device=self.device)
            pack[self.tensors[name]] = outputs[name] = flat.as_strided(dims, strides)
        space = torch.empty(max(graph.get_workspace_size(), 1), dtype=torch.uint8, device=self.device)
        graph.execute(pack, None if self.program.get("workspace") else space, handle=handle)
        if self.device == "cuda":
            torch.cuda.synchronize()
        return {name: array.float().cpu().numpy() for name, array in outputs.items()}


def DTYPES(torch: Any) -> dict[str, Any]:
    """Return torch's types by cuDNN's names."""
    names = {"HALF": "float16", "BFLOAT16": "bfloat16", "FLOAT": "float32", "DOUBLE": "float64"}
    names |= {"INT8": "int8", "INT32": "int32", "BOOLEAN": "bool"}
    return {name: getattr(torch, kind) for name, kind in names.items()}


def work(arguments: argparse.Namespace) -> None:
    """Run programs with one library; write a line before each and one after, and outputs to files."""
    library = importlib.import_module(arguments.only)
    handle = library.create_handle()
    folder = Path(arguments.folder)
    with (folder / f"{arguments.only}.{arguments.first}.jsonl").open("a") as journal:
        for number in range(arguments.first, arguments.count, arguments.step):
            drawn = program(number, arguments.seed, arguments.chains)
            run = Run(library, drawn, arguments.device)
            journal.write(json.dumps({"number": number, "stage": "crashed", "error": "", "message": ""}) + "\n")
            journal.flush()
            said: dict[str, Any] = {"number": number, "stage": "done", "error": "", "message": ""}
            try:
                results = run.execute(run.build(handle), handle)
                np.savez(folder / f"{arguments.only}.{number}.npz", **results)
            except Exception as error:
                said.update(stage=run.stage, error=type(error).__name__, message=str(error)[:300])
            journal.write(json.dumps(said) + "\n")
            journal.flush()
            if arguments.device == "cuda" and not alive():
                sys.exit(1)  # every later program would fail; another process goes on


def alive() -> bool:
    """Tell whether the GPU still works for this process, which a kernel that writes to a wrong address ends."""
    import torch

    with contextlib.suppress(Exception):
        torch.cuda.synchronize()
        return True
    return False


def started(name: str, first: int, arguments: argparse.Namespace, folder: str) -> subprocess.Popen[bytes]:
    """Start a process for every `jobs`-th program from `first` on."""
    words = ["--only", name, "--first", first, "--step", arguments.jobs, "--count", arguments.count]
    words += ["--seed", arguments.seed, "--device", arguments.device, "--folder", folder] + [
        "--chains"
    ] * arguments.chains
    log = (Path(folder) / f"{name}.{first}.log").open("ab")
    environment = {**os.environ, "PORTADNN_BACKEND": "cuda" if arguments.device == "cuda" else "opencl"}
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, words)], stdout=log, stderr=subprocess.STDOUT, env=environment
    )


def answers(name: str, folder: str) -> dict[int, Answer]:
    """Return what a library answered, by number."""
    found: dict[int, Answer] = {}
    for path in Path(folder).glob(f"{name}.*.jsonl"):
        for line in path.read_text().splitlines():
            said = json.loads(line)
            found[said["number"]] = said
    return found


def run_all(names: tuple[str, ...], arguments: argparse.Namespace, folder: str) -> list[dict[int, Answer]]:
    """Run all programs with libraries; a process that ends early is started again behind its last program."""
    end = time.monotonic() + arguments.seconds
    waiting = {(name, i): started(name, i, arguments, folder) for i in range(arguments.jobs) for name in names}
    while waiting and time.monotonic() < end:
        for (name, place), process in list(waiting.items()):
            if process.poll() is None:
                continue
            del waiting[name, place]
            done = [n for n in answers(name, folder) if n % arguments.jobs == place % arguments.jobs]
            following = (max(done) if done else place) + arguments.jobs
            if process.returncode and following < arguments.count:
                waiting[name, following] = started(name, following, arguments, folder)
        for process in list(waiting.values())[:1]:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
    for process in waiting.values():
        process.kill()
        process.wait()
    found = [answers(name, folder) for name in names]
    if waiting:  # the program that a process was at is not run
        for answer in found:
            for number in [
                n for n, said in answer.items() if said["stage"] == "crashed" and n + arguments.jobs not in answer
            ]:
                del answer[number]
    return found


def difference(one: Any, other: Any) -> float:
    """Return the largest difference of outputs, relative to the largest number of each."""
    worst = 0.0
    for name in one:
        want, got = (np.asarray(found[name], np.float64).squeeze() for found in (one, other))
        if want.shape != got.shape:
            return float("inf")
        finite = np.isfinite(want)
        if not np.array_equal(finite, np.isfinite(got)):
            return float("inf")
        if finite.any():
            largest = max(np.abs(want[finite]).max(), 1e-3)
            worst = max(worst, float(np.abs(want[finite] - got[finite]).max() / largest))
    return worst


def judged(drawn: Program, folder: str) -> tuple[str, list[float]]:
    """Compare what both computed; where they differ, the definitions in NumPy decide."""
    theirs, ours = (dict(np.load(Path(folder) / f"{name}.{drawn['number']}.npz")) for name in LIBRARIES)
    kinds = [drawn["types"].get("io", "FLOAT"), *(said["data_type"] for said in drawn["outputs"].values())]
    allowed = max(SAME.get(kind, 1e-2) for kind in kinds)
    found = [difference(theirs, ours)]
    if found[0] <= allowed:
        return "equal", found
    library = importlib.import_module(LIBRARIES[1])
    handle = library.create_handle("reference")
    run = Run(library, drawn, "cpu")
    defined = run.execute(run.build(handle), handle)
    found += [difference(defined, theirs), difference(defined, ours)]
    return ("portadnn is off" if found[2] > allowed else "cuDNN is off"), found


def fits(drawn: Program, kind: str, fault: str, rank: int) -> bool:
    """Tell whether a program is of a kind, has that fault, and a tensor of so many dims."""
    ranks = {len(said["dim"]) for said in drawn["tensors"].values()}
    return (drawn["kind"], drawn["fault"]) == (kind, fault) and rank in ranks


def compared(found: list[dict[int, Answer]], arguments: argparse.Namespace, folder: str) -> list[dict[str, Any]]:
    """Return a row for each program that both ran."""
    rows = []
    for number in range(arguments.count):
        if any(number not in answer for answer in found):
            continue  # the time was over
        drawn = program(number, arguments.seed, arguments.chains)
        theirs, ours = (answer[number] for answer in found)
        row = {"number": number, "kind": drawn["kind"], "fault": drawn["fault"], "cudnn": theirs, "portadnn": ours}
        took = [said["stage"] == "done" for said in (theirs, ours)]
        if all(took):
            row["verdict"], row["differences"] = judged(drawn, folder)
            off = [why for *one, why in OFF if row["verdict"] == "cuDNN is off" and fits(drawn, *one)]
            row.update({"verdict": "deliberate", "why": off[:1]} if off else {})
        elif took[0]:
            known = [why for rule, why in REFUSED if f"[{rule}]" in ours["message"]]
            row["verdict"], row["why"] = ("deliberate" if known else "only cuDNN takes it"), known[:1]
        elif not took[1]:
            row["verdict"] = "both refuse"
        else:
            known = [why for stage, words, why in DELIBERATE if stage == theirs["stage"] and words in theirs["message"]]
            row["verdict"], row["why"] = ("deliberate" if known else "only portadnn takes it"), known[:1]
        rows.append(row)
    return rows


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=6, help="processes of each library")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no program after so many")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=LIBRARIES)
    parser.add_argument("--chains", action="store_true", help="draw chains of operations, as layers have them")
    for name in ("first", "step"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    if arguments.folder:
        work(arguments)
        return 0
    names = (arguments.only,) if arguments.only else LIBRARIES
    with tempfile.TemporaryDirectory() as folder:
        found = run_all(names, arguments, folder)
        for name in names:  # what they print
            texts = [path.read_text(errors="replace").strip() for path in Path(folder).glob(f"{name}.*.log")]
            print(name, "\n".join(filter(None, texts))[-500:])
        if arguments.only:
            print(Counter((said["stage"], said["error"]) for said in found[0].values()))
            for said in found[0].values():
                drawn = program(said["number"], arguments.seed, arguments.chains)
                if said["stage"] != "done" and not drawn["fault"]:
                    print(drawn["kind"], said)
            return 0
        rows = compared(found, arguments, folder)
    counts = Counter(row["verdict"] for row in rows)
    print(len(rows), json.dumps(counts))
    print(json.dumps(Counter(why for row in rows for why in row.get("why", ()))))
    for row in rows:
        if row["verdict"] not in FINE:
            print(json.dumps(row)[:600])
    if arguments.out:
        arguments.out.write_text(json.dumps({"counts": counts, "rows": rows}, indent=1) + "\n")
    return 1 if any(counts[verdict] for verdict in WRONG) else 0


if __name__ == "__main__":
    sys.exit(main())
