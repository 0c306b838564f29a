#!/usr/bin/env bash
# The main job in one run: a real load, three repeats, each measured, one file at the end.
# `make demo` builds everything and calls this. Environment:
#   GPU_BENCH  gpu-bench          DUTY  the built workloads/duty.c
#   MOCK       the mock driver's libnvidia-ml.so.1, for hosts without a GPU
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${GPU_BENCH:?names gpu-bench; make demo sets it}"
: "${DUTY:?names the built duty program; make demo sets it}"
: "${MOCK:?names the mock driver; make demo sets it}"

cd "$here/.."
rm -rf demo
mkdir demo

if [[ -e /dev/nvidiactl || -e /dev/dxg ]]; then
    echo "demo: a kernel keeps the GPU busy for 60 % of the time and holds 2 GiB"
    load=(--device gpu --vram-mib 2048)
else
    echo "demo: no NVIDIA device here. The mock driver plays one, whatever the load does; the load keeps a CPU busy for 60 % of the time"
    export GPU_PROBE_NVML_LIBRARY=$MOCK
    export NVMLMOCK_SCENARIO=$here/workloads/demo_scenario.txt
    load=(--device cpu --vram-mib 64)
fi

status=0
"$GPU_BENCH" run --file demo/benchmark.tsv --repeats 3 --name duty --work-dir demo/work -- \
    "$DUTY" --busy-ms 300 --idle-ms 200 --cycles 5 "${load[@]}" || status=$?
[[ -e demo/benchmark.tsv ]] || exit "$status"

echo
echo "demo/benchmark.tsv:"
if command -v column >/dev/null; then
    column -t -s $'\t' demo/benchmark.tsv
else
    cat demo/benchmark.tsv
fi

traces=(demo/work/*/*/.fusion/trace.json)
if [[ -e ${traces[0]} ]]; then
    echo
    echo "one of the traces behind it: ${traces[0]}"
fi
exit "$status"
