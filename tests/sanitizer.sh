#!/usr/bin/env bash
# Run every small problem, and threads that share a handle, on CUDA under compute-sanitizer: memcheck (reads and writes
# outside of buffers, misaligned addresses) and racecheck (races in shared memory). Needs an NVIDIA GPU; PYTHON names
# the interpreter, and PORTADNN_THREADS_SECONDS says how long threads are at work.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$here/../.venv/bin/python}

for tool in ${TOOLS:-memcheck racecheck}; do
    echo "== $tool"
    # CuPy's pool hands out pieces of large allocations, in which overruns go unseen: one allocation per array
    for program in "run_small_problems.py cuda" "thread_storm.py cuda ${PORTADNN_THREADS_SECONDS:-60}"; do
        # shellcheck disable=SC2086  # a file and its arguments
        PORTADNN_NO_POOL=1 compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all \
            "$python" "$here"/$program
    done
done
