#!/usr/bin/env bash
# Run the small problems, and calls on random views, under oclgrind, which simulates an OpenCL 1.2 device and reports
# reads and writes outside of buffers and data races. Both schedules, and what is chosen within 256 work-items; fails on any report. PYTHON names the interpreter (.venv/bin/python by default).
# Work-groups are slow to simulate: kernels run once for each set of branches, with the GPU schedule in two processes.
# Convolutions, the slowest, have each branch, type and small number of each kernel, not each combination.
#
# Not used: --uninitialized, which stops at LLVM's `freeze` in optimised code and takes half-filled vectors for
# uninitialised ones in other code; --check-api, which reports PyOpenCL's own queries. Kernels are compiled without
# optimisation, because oclgrind 21.10 lacks an intrinsic (usub.sat) that the optimiser makes of some.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$here/../../.venv/bin/python}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

check() { # check NAME SCHEDULE PROGRAM [OPTION ...]
    local out=$logs/$1.out log=$logs/$1.log status=0
    PORTADNN_SCHEDULE=$2 PORTADNN_CACHE_DIR='' oclgrind --data-races --max-errors 20 \
        --build-options -O0 --log "$log" "$python" "$here/../$3" "${@:4}" >"$out" 2>&1 || status=$?
    {
        echo "== $1"
        cat "$out"
        cat "$log" 2>/dev/null || true
    } >"$logs/$1.report"
    [ "$status" = 0 ] && ! [ -s "$log" ] && grep -q 'Oclgrind' "$out"
}

failed=0
problems() { check "$1" "$2" run_small_problems.py opencl "${@:3}"; }
views() { check "$1" "$2" memory_bounds --backend opencl "${@:3}"; }
processes=()
problems gpu-convolutions gpu --once --convolutions & processes+=($!)
problems gpu-others gpu --once --others & processes+=($!)
problems cpu cpu --once & processes+=($!)
PORTADNN_TEST_PERSONA=small problems persona gpu --once --others --persona & processes+=($!)
views views-gpu gpu --once --count 20 & processes+=($!)
views views-cpu cpu --count 120 & processes+=($!)
for process in "${processes[@]}"; do
    wait "$process" || failed=1
done
grep -hv '^NOT REACHED' "$logs"/gpu-*.report
cat "$logs/cpu.report" "$logs/persona.report" "$logs"/views-*.report
missed=$(grep -h '^NOT REACHED' "$logs"/gpu-*.out | sort | uniq -d)
[ -z "$missed" ] || { echo "$missed" && failed=1; }
exit "$failed"
