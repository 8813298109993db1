"""Time a public model whose layers portadnn computes beside PyTorch's own, in turns in one process.

``python -m portadnn.benchmarks.pytorch`` times inference of ResNet-50 in float32 NCHW on the CPU;
``--device cuda --dtype float16 --channels-last --train`` a training step on a GPU. Needs torch and torchvision.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Any


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m portadnn.benchmarks.pytorch", description=__doc__)
    made.add_argument("--model", default="resnet50", help="a function of torchvision.models")
    made.add_argument("--backend", default="auto", help="what computes the substituted layers")
    made.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    made.add_argument("--dtype", default="float32", choices=["float16", "bfloat16", "float32"])
    made.add_argument("--batch", type=int, default=8)
    made.add_argument("--size", type=int, default=224, help="height and width of the images")
    made.add_argument("--channels-last", action="store_true", help="NHWC")
    made.add_argument("--train", action="store_true", help="forward, backward and SGD; otherwise inference")
    made.add_argument("--compile", default="", help="a backend of torch.compile for the substituted model, as portadnn")
    made.add_argument(
        "--fuse", action="store_true", help="substitute(fuse=True): convolutions compute norms and activations"
    )
    made.add_argument("--whole", action="store_true", help='substitute(fuse="whole"): the traced code, in one go')
    made.add_argument("--graph", action="store_true", help="replay each step, of both, as a CUDA graph of PyTorch's")
    made.add_argument("--find", action="store_true", help="torch.backends.cudnn.benchmark, for both")
    made.add_argument("--rounds", type=int, default=7, help="rounds of both, in turns")
    made.add_argument("--steps", type=int, default=0, help="steps of a round; by default 10 on a GPU, 1 on a CPU")
    made.add_argument("--profile", action="store_true", help="print the device's kernels of the substituted model")
    return made


def step_of(model: Any, args: argparse.Namespace, substituted: bool) -> Any:
    """Return a function that makes one step of a model."""
    import torch

    format = torch.channels_last if args.channels_last else torch.contiguous_format
    dtype = getattr(torch, args.dtype)
    model = model.to(args.device, dtype, memory_format=format).train(args.train)
    x = torch.randn(args.batch, 3, args.size, args.size, device=args.device, dtype=dtype).to(memory_format=format)
    labels = torch.randint(1000, (args.batch,), device=args.device)
    if substituted:
        from portadnn.torch import substitute

        substituted_model = substitute(model, args.backend, fuse="whole" if args.whole else args.fuse)
        if args.device == "cuda":
            substituted_model.prepare(x)  # kernels side by side, not one after the other in the first step
    if args.compile == "portadnn":
        from portadnn.torch import compile_backend  # noqa: F401  # registers it where the entry point is not installed
    run = torch.compile(model, backend=args.compile) if args.compile and substituted else model
    if not args.train:

        def infer() -> None:
            with torch.no_grad():
                run(x)

        return infer
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def train() -> None:
        optimiser.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(run(x).float(), labels).backward()
        optimiser.step()

    return train


def graphed(step: Any) -> Any:
    """Return a step that replays a CUDA graph of it."""
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def replay() -> None:
        _ = step  # keeps the tensors that the graph reads and writes
        graph.replay()

    return replay


def timed(step: Any, steps: int, device: str) -> tuple[float, float]:
    """Return wall and processor seconds of a step."""
    import torch

    wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
    wait()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - wall) / steps, (time.process_time() - cpu) / steps


def host_seconds(step: Any, steps: int, device: str) -> float:
    """Return the seconds that the host takes to issue a step."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return (time.perf_counter() - start) / steps


def main(argv: list[str] | None = None) -> None:
    """Time both and print one line of JSON."""
    import torch
    import torchvision

    args = parser().parse_args(argv)
    torch.backends.cudnn.benchmark = args.find
    torch.manual_seed(0)
    make = getattr(torchvision.models, args.model)
    sides = {"torch": step_of(make(), args, False), "portadnn": step_of(make(), args, True)}
    if args.graph:
        sides = {name: graphed(step) for name, step in sides.items()}
    steps = args.steps or (10 if args.device == "cuda" else 1)
    for step in sides.values():
        for _ in range(3):
            step()
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, step in sides.items():
            times[name].append(timed(step, steps, args.device))
    wall = {name: statistics.median(one for one, _ in found) for name, found in times.items()}
    cpu = {name: statistics.median(one for _, one in found) for name, found in times.items()}
    print(
        json.dumps(
            {
                "what": vars(args),
                "device": torch.cuda.get_device_name() if args.device == "cuda" else "cpu",
                "torch": torch.__version__,
                "seconds": wall,
                "cpu_seconds": cpu,
                "host_seconds": {name: host_seconds(step, 3, args.device) for name, step in sides.items()},
                "speed": wall["torch"] / wall["portadnn"],
                "cpu_speed": cpu["torch"] / cpu["portadnn"],
            }
        )
    )
    if args.profile:
        kind = torch.profiler.ProfilerActivity
        with torch.profiler.profile(activities=[kind.CUDA, kind.CPU]) as profile:
            for _ in range(3):
                sides["portadnn"]()
            if args.device == "cuda":
                torch.cuda.synchronize()
        key = "self_cuda_time_total" if args.device == "cuda" else "self_cpu_time_total"
        print(profile.key_averages().table(sort_by=key, row_limit=30, max_name_column_width=70))


if __name__ == "__main__":
    main()
