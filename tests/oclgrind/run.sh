#!/usr/bin/env bash
# Run the small problems, and calls on random views, under oclgrind, which simulates an OpenCL 1.2 device and reports
# reads and writes outside of buffers and data races. Both schedules, and what is chosen within 256 work-items; fails on any
# report, and where kernels that were given a fault have none. PYTHON names the interpreter (.venv/bin/python by default).
# Work-groups are slow to simulate: kernels run once for each set of branches, with the GPU schedule in two processes.
# Convolutions, the slowest, have each branch, type and small number of each kernel, not each combination.
#
# Not used: --uninitialized, which stops at LLVM's `freeze` in optimised code and takes half-filled vectors for
# uninitialised ones in other code; --check-api, which reports PyOpenCL's own queries. compiler.py says what is
# optimised.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-$here/../../.venv/bin/python}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

check() { # check NAME SCHEDULE PROGRAM [OPTION ...]
    local out=$logs/$1.out log=$logs/$1.log status=0
    PORTADNN_SCHEDULE=$2 PORTADNN_CACHE_DIR='' oclgrind --data-races --max-errors 20 --log "$log" \
        "$python" "$here/../$3" "${@:4}" >"$out" 2>&1 || status=$?
    {
        echo "== $1"
        cat "$out"
        cat "$log" 2>/dev/null || true
    } >"$logs/$1.report"
    [ "$status" = 0 ] && ! [ -s "$log" ] && grep -q 'Oclgrind' "$out"
}

faults() { # reports of kernels with faults, which have to be there
    local log=$logs/faults.log status=0
    PORTADNN_SCHEDULE=gpu PORTADNN_CACHE_DIR='' oclgrind --data-races --max-errors 100000 --log "$log" \
        "$python" "$here/faults.py" "$log" >"$logs/faults.out" 2>&1 || status=$?
    { echo "== faults" && cat "$logs/faults.out"; } >"$logs/faults.report"
    return "$status"
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
faults & processes+=($!)
for process in "${processes[@]}"; do
    wait "$process" || failed=1
done
grep -hv '^NOT REACHED' "$logs"/gpu-*.report
cat "$logs/cpu.report" "$logs/persona.report" "$logs"/views-*.report "$logs/faults.report"
missed=$(grep -h '^NOT REACHED' "$logs"/gpu-*.out | sort | uniq -d)
[ -z "$missed" ] || { echo "$missed" && failed=1; }
exit "$failed"
