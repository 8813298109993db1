#!/usr/bin/env bash
# Run the small problems under oclgrind, which simulates an OpenCL 1.2 device and reports reads and writes outside of
# buffers and data races. Both schedules; fails on any report. PYTHON names the interpreter (.venv/bin/python by default).
# Work-groups are slow to simulate: with the GPU schedule, kernels run once for each set of branches.
#
# Not used: --uninitialized, which stops at LLVM's `freeze` in optimised code and takes half-filled vectors for
# uninitialised ones in other code; --check-api, which reports PyOpenCL's own queries. Kernels are compiled without
# optimisation, because oclgrind 21.10 lacks an intrinsic (usub.sat) that the optimiser makes of some.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$here/../../.venv/bin/python}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

check() { # check SCHEDULE [--once]
    local out=$logs/$1.out log=$logs/$1.log status=0
    PORTADNN_SCHEDULE=$1 PORTADNN_CACHE_DIR='' oclgrind --data-races --max-errors 20 \
        --build-options -O0 --log "$log" "$python" "$here/../run_small_problems.py" opencl "${@:2}" >"$out" 2>&1 || status=$?
    {
        echo "== $1 schedule"
        cat "$out"
        cat "$log" 2>/dev/null || true
    } >"$logs/$1.report"
    [ "$status" = 0 ] && ! [ -s "$log" ] && grep -q 'Oclgrind' "$out"
}

failed=0
check cpu & cpu=$!
check gpu --once & gpu=$!
wait "$cpu" || failed=1
wait "$gpu" || failed=1
cat "$logs"/*.report
exit "$failed"
