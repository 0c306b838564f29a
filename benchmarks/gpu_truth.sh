#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: what is true there, beside what gpu-probe says, in about five
# minutes. It needs no network and no privileges, and leaves the device's settings alone.
#
#   gpu_truth.sh [--out DIR] [--seconds N] [--limit N] [STAGE...]
#
#   --out DIR      where results.jsonl, table.txt and log.txt go (default: $OUT, or out/gpu_truth)
#   --seconds N    length of each load (default: 12)
#   --limit N      seconds for everything (default: 570); what comes later is not started
#   STAGE          facts duty-0 duty-10 duty-30 duty-60 duty-100 ramp pair train (default: all)
#
# Environment:
#   PYTHON                  a Python >= 3.10 that has pynvml (default: .venv/bin/python, else python3)
#   BUILD                   where the built programs are (default: build/dev); what is missing is built
#   GPU_TRUTH_NVML_LIBRARY  a libnvidia-ml.so.1 and
#   GPU_TRUTH_CUDA_LIBRARY  a libcuda.so.1 in place of the machine's own: to try this script
#
# Exit status: 0 every check was met, 1 one was not or a stage failed, 2 called wrongly, 3 no device.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
out=${OUT:-$root/out/gpu_truth}
seconds=12
total=570
all=(facts duty-0 duty-10 duty-30 duty-60 duty-100 ramp pair train)
stages=()

usage() {
    sed -n '2,/^set /{/^set /d; s/^# \{0,1\}//; p}' "${BASH_SOURCE[0]}"
}

while (($# > 0)); do
    case $1 in
    --out | --seconds | --limit)
        (($# > 1)) || { echo "gpu_truth.sh: $1 needs a value" >&2; exit 2; }
        case $1 in
        --out) out=$2 ;;
        --seconds) seconds=$2 ;;
        --limit) total=$2 ;;
        esac
        shift 2
        ;;
    --help) usage; exit 0 ;;
    *)
        [[ " ${all[*]} " == *" $1 "* ]] || { echo "gpu_truth.sh: no stage '$1'; see --help" >&2; exit 2; }
        stages+=("$1")
        shift
        ;;
    esac
done
for value in "$seconds" "$total"; do
    [[ $value =~ ^[1-9][0-9]*$ ]] || { echo "gpu_truth.sh: '$value' is not a whole number from 1" >&2; exit 2; }
done
((${#stages[@]})) || stages=("${all[@]}")

build=${BUILD:-$root/build/dev}
if [[ -z ${PYTHON:-} ]]; then
    PYTHON=$root/.venv/bin/python
    [[ -x $PYTHON ]] || PYTHON=python3
fi

# Libraries that were named stand in for a device.
devices=(/dev/nvidiactl /dev/nvidia-caps /dev/dxg /dev/nvhost-ctrl-gpu)
if [[ -z ${GPU_TRUTH_NVML_LIBRARY:-}${GPU_TRUTH_CUDA_LIBRARY:-} ]] && ! ls -d "${devices[@]}" 2>/dev/null | grep -q .; then
    echo "gpu_truth.sh: no NVIDIA device here (no ${devices[0]}): nothing was measured" >&2
    exit 3
fi

# What is missing is built, so that a copy of the build directory saves the time and the tools.
for program in duty vram_ramp train; do
    [[ -x $build/$program ]] || make -C "$root" --silent workloads || exit 1
done
for program in gpu-probe gpu-probe-nvml; do
    [[ -x $build/$program ]] || make -C "$root" --silent mock >/dev/null || exit 1
done

libraries=
if [[ -n ${GPU_TRUTH_NVML_LIBRARY:-} ]]; then
    export GPU_PROBE_NVML_LIBRARY=$GPU_TRUTH_NVML_LIBRARY
    libraries=$(dirname "$GPU_TRUTH_NVML_LIBRARY")
fi
if [[ -n ${GPU_TRUTH_CUDA_LIBRARY:-} ]]; then
    libraries=$libraries${libraries:+:}$(dirname "$GPU_TRUTH_CUDA_LIBRARY")
fi
if [[ -n $libraries ]]; then
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi

mkdir -p "$out" || exit 1
results=$out/results.jsonl
log=$out/log.txt
rm -f "$results" "$log" "$out/table.txt"
{
    uname -sr
    "$PYTHON" --version
    nvidia-smi || echo "no nvidia-smi"
    "$build/gpu-probe" --check
} >"$log" 2>&1

# A stage may take three times its loads, and half a minute for contexts; it fails alone.
for stage in "${stages[@]}"; do
    case $stage in
    facts) limit=$((seconds + 90)) command=("$here/nvml_facts.py" --duty "$build/duty") ;;
    train) limit=$((seconds * 12 + 60)) command=("$here/gpu_stages.py" train) ;;
    *) limit=$((seconds * 3 + 30)) command=("$here/gpu_stages.py" "$stage") ;;
    esac
    left=$((total - SECONDS))
    if ((left < 1)); then
        "$PYTHON" "$here/gpu_summary.py" "$results" --ended "$stage" "not started"
        continue
    fi
    limit=$((limit < left ? limit : left))
    if [[ $stage != facts ]]; then
        command+=(--gpu-probe "$build/gpu-probe" --build "$build")
    fi
    echo "gpu_truth.sh: $stage" >&2
    echo "== $stage" >>"$log"
    timeout -k 5 "$limit" "$PYTHON" "${command[@]}" --seconds "$seconds" --out "$results" >>"$log" 2>&1
    status=$?
    if ((status != 0 && status != 3)); then # 3: its rows say why
        "$PYTHON" "$here/gpu_summary.py" "$results" --ended "$stage" "$status"
    fi
done

"$PYTHON" "$here/gpu_summary.py" "$results" >"$out/table.txt"
status=$?
cat "$out/table.txt"
echo "gpu_truth.sh: results in $out" >&2
exit "$status"
