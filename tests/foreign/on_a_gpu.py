"""Runs what only a machine with an NVIDIA GPU can tell of foreign programs, each part in at most ten minutes.

    python tests/foreign/on_a_gpu.py mhas_v2 --frontend ~/cudnn-frontend    # cudnn-frontend's largest file, all of it
    python tests/foreign/on_a_gpu.py rest --frontend ~/cudnn-frontend       # its other files and notebooks, sampled
    python tests/foreign/on_a_gpu.py beside --seed 19                       # 300 programs beside cudnn-frontend
    python tests/foreign/on_a_gpu.py chains --seed 19                       # 300 chains of operations, as in layers
    python tests/foreign/on_a_gpu.py sigpy --sigpy ~/sigpy                  # SigPy's convolutions on CuPy's arrays

It fetches nothing: the checkouts are given; PyTorch, CuPy, pytest, looseversion and, for `beside` and `chains`,
nvidia-cudnn-frontend with cuDNN are installed. Parts of a file run side by side in processes. The exit status is 0
where everything passed and all ran; what each process printed is in the folder of ``--logs``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
EACH = 60  # seconds for one test
SHARDS = 6  # processes for one file
COUNTS = re.compile(r"^all +(\d+) +(\d+) +(\d+)", re.M)  # passed, failed, skipped, in run.py's table
REST = {  # names of files, and how many processes share each
    "^test_mhas\\.py": 3,
    "^test_conv_fuzzer": 3,
    "^test_matmul_fuzzer": 3,
    "^test_(sdpa_|cudnn_sdpa_op|flexible)": 1,
    "^test_(matmul_bias|low_prec|moe_|wgrads|silu|slice|apply_rope|kernel_cache|deviceless|block_scale)": 1,
    "^test_(conv_(?!fuzzer)|batchnorm|instancenorm|layernorm|rmsnorm)": 1,
    "ipynb$": 1,
}
SAMPLED = {"^test_mhas\\.py": 60, "^test_conv_fuzzer": 6, "^test_matmul_fuzzer": 60}  # one of so many tests


def suite(asked: argparse.Namespace, only: str, stride: int, first: int) -> list[str]:
    """Return the command that runs one of `stride` tests of cudnn-frontend's files."""
    command = [sys.executable, str(HERE / "run.py"), str(asked.frontend), "--device", asked.device, "--only", only]
    command += ["--limit", str(asked.seconds), "--each", str(EACH)]
    return [*command, "--stride", str(stride), "--first", str(first)]


def commands(asked: argparse.Namespace) -> dict[str, list[str]]:
    """Return what runs side by side, by a name for the log."""
    if asked.part == "mhas_v2":
        return {f"mhas_v2.{i}": suite(asked, r"^test_mhas_v2\.py", SHARDS, i) for i in range(SHARDS)}
    if asked.part == "rest":
        found = {}
        for number, (only, shares) in enumerate(REST.items()):
            stride = SAMPLED.get(only, 1)
            for share in range(shares):
                first = share * max(stride // shares, 1)
                found[f"rest.{number}.{share}"] = suite(asked, only, stride, first)
        return found
    if asked.part == "sigpy":
        program = str(HERE / "cupy13.py")
        return {"sigpy": [sys.executable, program, "--sigpy", str(asked.sigpy), "--seconds", str(asked.seconds * 0.8)]}
    drawn = [sys.executable, str(HERE / "beside_cudnn.py"), "--count", str(asked.count), "--seed", str(asked.seed)]
    chains = ["--chains"] if asked.part == "chains" else []
    out = ["--seconds", str(asked.seconds * 0.8), "--out", str(asked.logs / f"{asked.part}.json")]
    return {asked.part: [*drawn, *chains, *out]}


def run(made: dict[str, list[str]], logs: Path, limit: float) -> bool:
    """Run commands side by side for so many seconds; return whether all ended well and nothing was left out."""
    logs.mkdir(parents=True, exist_ok=True)
    began, whole, total = time.monotonic(), True, [0, 0, 0]
    paths = {name: logs / f"{name}.log" for name in made}
    running = {}
    for name, command in made.items():
        with paths[name].open("w") as log:
            more = ["--logs", str(logs / name)] if command[1].endswith("run.py") else []
            running[name] = subprocess.Popen([*command, *more], stdout=log, stderr=subprocess.STDOUT)
    for name, process in running.items():
        try:
            process.wait(max(1.0, limit + 30 - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        text = paths[name].read_text(errors="replace")
        counts = COUNTS.search(text)
        if counts:
            total = [before + int(now) for before, now in zip(total, counts.groups(), strict=True)]
        complete = process.returncode == 0 and "the time was over" not in text
        whole &= complete
        print(
            f"{name}: {'ended' if complete else f'ENDED WITH {process.returncode}, or the time was over'}", flush=True
        )
        print(text[-1500:] if not (complete and counts) else counts[0])
    if any(total):
        print("together: {} passed, {} failed, {} skipped".format(*total))
    print(f"{time.monotonic() - began:.0f} s; what each process printed is in {logs}")
    return whole


def main() -> int:
    """Run a part; return 0 where all of it ran and passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("mhas_v2", "rest", "beside", "chains", "sigpy"))
    parser.add_argument("--frontend", type=Path, help="checkout of cudnn-frontend")
    parser.add_argument("--sigpy", type=Path, help="checkout of SigPy")
    parser.add_argument("--count", type=int, default=300, help="drawn programs")
    parser.add_argument("--seed", type=int, default=19, help="of the drawn programs")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu tries the suites without a GPU")
    parser.add_argument("--seconds", type=float, default=560, help="for the part; no test begins after 4/5 of them")
    parser.add_argument("--logs", type=Path, default=Path("foreign-logs"))
    asked = parser.parse_args()
    needed = {"mhas_v2": "frontend", "rest": "frontend", "sigpy": "sigpy"}.get(asked.part)
    if needed and getattr(asked, needed) is None:
        parser.error(f"{asked.part} needs --{needed} CHECKOUT")
    return 0 if run(commands(asked), asked.logs, asked.seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
