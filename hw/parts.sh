# shellcheck shell=bash
# ./dev hw: everything a machine with an NVIDIA GPU can show, in parts of at most ten minutes, in one folder. Sourced by ./dev.
# hw/README.md has the parts.

hw() {
  local out=out/hw binaries=build/release list= seed= chosen=() failed=()
  while [ $# -gt 0 ]; do
    case "$1" in
      --out) out=$2; shift 2 ;;
      --build) binaries=$2; shift 2 ;;  # made elsewhere with -DGANGWAY_PORTABLE=ON
      --list) list=1; shift ;;
      --seed) seed=$2; shift 2 ;;  # of the kernels, mixes and loops that are drawn
      -*) echo "dev hw: unknown option '$1'" >&2; exit 2 ;;
      *) chosen+=("$1"); shift ;;
    esac
  done
  local known=" $(hw_parts names | tr '\n' ' ') " name
  for name in "${chosen[@]}"; do
    [[ $known == *" $name "* ]] || { echo "dev hw: unknown part '$name' (./dev hw --list has them)" >&2; exit 2; }
  done
  if [ -n "$list" ]; then
    for name in $known; do echo "$name$([ ! -e "$out/$name.done" ] || echo ' (done)')"; done
    return
  fi
  [[ $seed =~ ^[0-9]*$ ]] || { echo "dev hw: --seed '$seed': expected a whole number" >&2; exit 2; }
  if [ -e "$out/random/seed" ] && [ "${seed:-$(cat "$out/random/seed")}" != "$(cat "$out/random/seed")" ]; then
    echo "dev hw: --seed $seed: $out has kernels drawn from seed $(cat "$out/random/seed"); another --out" >&2
    exit 2
  fi
  nvidia-smi -L >/dev/null 2>&1 || { echo "dev hw: no NVIDIA GPU here (nvidia-smi -L says so)" >&2; exit 1; }
  [ "$binaries" != build/release ] || { need "${run_packages[@]}" "${test_packages[@]}"; build release; }
  mkdir -p "$out"
  export GANGWAY_DATA=$PWD GANGWAY_GPU=1
  hw_parts run
  if ! $python -c 'import matplotlib' 2>/dev/null; then
    say "no figures: $python has no matplotlib"
  elif ! hw_figures >"$out/figures.log" 2>&1; then
    failed+=(figures)
    tail -n 3 "$out/figures.log" >&2
  fi
  $python analysis/hw_report.py "$out"
  [ ${#failed[@]} -eq 0 ] || { say "failed: ${failed[*]}"; exit 1; }
}

# All parts in their order: tells their names, or runs those that were chosen and are not done.
hw_parts() {
  local mode=$1 tool file experiment workload calibration
  hw_part tests '' "$binaries/tests/gangway_gpu_tests" "[gpu]~[outputs]"
  for tool in basic flag-copy microkernel proxy proxy-adaptive slice write-value; do
    hw_part "outputs-$tool" '' "$binaries/tests/gangway_gpu_tests" "[outputs]" -c "$tool"
  done
  hw_part faults '' "$binaries/tests/gangway_gpu_tests" "[fault]"
  hw_part conformance '' "$binaries/tests/gangway_tests" "[conformance]"
  for tool in memcheck racecheck synccheck initcheck; do  # all forms of every kernel, evicted and not, at small sizes
    hw_part $tool '' compute-sanitizer --tool $tool --error-exitcode 9 "$binaries/tests/gangway_gpu_tests" "[small]"
  done
  hw_part calibrate '' hw_calibrate "$out/calibration"
  for experiment in mix priorities; do
    hw_part $experiment-predict calibrate hw_play "experiments/h200/$experiment.yaml" calibration sim
    hw_part $experiment-measure calibrate hw_play "experiments/h200/$experiment.yaml" calibration cuda
    hw_part $experiment-compare "$experiment-predict $experiment-measure" hw_compare $experiment \
      --fail-above ntt_p50=0.05,ntt_p90=0.12,antt=0.04,stp=0.04,dntt=0.12,ranking=0
  done
  hw_part random-draw '' hw_draw
  hw_part calibrate-random random-draw hw_calibrate "$out/calibration-random" --workload "$out/random/random-kernels.yaml"
  for experiment in random-open random-loops; do  # measured twice: so far is the chip from itself
    file=$out/random/$experiment.yaml
    hw_part $experiment-predict calibrate-random hw_play "$file" calibration-random sim
    hw_part $experiment-measure calibrate-random hw_play "$file" calibration-random cuda
    hw_part $experiment-again calibrate-random hw_play "$file" calibration-random cuda again
    hw_part $experiment-compare "$experiment-predict $experiment-measure $experiment-again" hw_compare_twice $experiment
  done
  for file in experiments/chip/frs-*.yaml; do  # a calibration for each workload, once
    workload=$(hw_workload "$file")
    hw_part "calibrate-$workload" '' hw_calibrate "$out/calibration-$workload" --workload "$workload"
  done
  for file in experiments/chip/*.yaml; do
    experiment=$(basename "${file%.yaml}")
    calibration=calibration
    [[ $experiment != frs-* ]] || calibration=calibration-$(hw_workload "$file")
    hw_part "$experiment-predict" "calibrate${calibration#calibration}" hw_play "$file" "$calibration" sim
    hw_part "$experiment-measure" "calibrate${calibration#calibration}" hw_play "$file" "$calibration" cuda
    hw_part "$experiment-compare" "$experiment-predict $experiment-measure" hw_compare "$experiment"
  done
  hw_part bound calibrate hw_bound
  hw_part rules-predict '' hw_rules sim
  hw_part rules-measure '' hw_rules cuda
  hw_part rules 'rules-predict rules-measure' hw_judge_rules
}

# hw_part NAME NEEDS COMMAND...: its output goes to NAME.log, NAME.done says that it worked, parts.csv how long it took. A part that fails
# holds up those that need it, and no others.
hw_part() {
  local name=$1 needs=$2 other began result=done
  shift 2
  if [ "$mode" = names ]; then
    [[ " ${told:-} " == *" $name "* ]] || echo "$name"
    told="${told:-} $name"
    return
  fi
  [ ${#chosen[@]} -eq 0 ] || [[ " ${chosen[*]} " == *" $name "* ]] || return 0
  [ -e "$out/$name.done" ] && { say "$name: done before"; return; }
  [[ " ${failed[*]} " == *" $name "* ]] && return
  for other in $needs; do
    [ -e "$out/$other.done" ] || { say "$name: needs $other"; failed+=("$name"); return; }
  done
  say "$name"
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,clocks_event_reasons.active \
    --format=csv,noheader >>"$out/clocks.csv"
  began=$SECONDS
  if "$@" >"$out/$name.log" 2>&1; then
    touch "$out/$name.done"
  else
    result=failed
    failed+=("$name")
    tail -n 15 "$out/$name.log" >&2
    say "$name failed: all of it is in $out/$name.log"
  fi
  [ -e "$out/parts.csv" ] || echo part,result,seconds >"$out/parts.csv"
  echo "$name,$result,$((SECONDS - began))" >>"$out/parts.csv"
}

hw_workload() { sed -n 's/^workload: *\([A-Za-z0-9_.-]*\) *\(#.*\)\{0,1\}$/\1/p' "$1"; }

hw_calibrate() {  # hw_calibrate FOLDER [options]
  local folder=$1
  shift
  "$binaries/gangway" calibrate --out "$folder" --name "${GANGWAY_GPU_NAME:-h200}" --force "$@"
}

# Kernels, mixes and loops, from the seed that was given or one that is drawn itself.
hw_draw() {
  mkdir -p "$out/random"
  [ -e "$out/random/seed" ] || echo "${seed:-$((RANDOM * 32768 + RANDOM))}" >"$out/random/seed"
  $python experiments/random/draw.py --seed "$(cat "$out/random/seed")" "$out/random"
}

# hw_play FILE CALIBRATION WORLD [FOLDER]: with what was measured. Paths in an experiment are relative to its file. Without timelines: those of
# native clients hold millions of blocks.
hw_play() {
  local file=$1 calibration=$out/$2 world=$3 folder=${4:-$3} measured sets
  measured=$(realpath --no-symlinks --relative-to="$(dirname "$file")" "$calibration")
  sets=(--set "device=$measured/device.yaml")
  case "$(hw_workload "$file")" in
    '' | chip-*) ;;  # kernels of its own, which last as long as it says on any GPU
    *) sets+=(--set "workload=$measured/workload.yaml") ;;
  esac
  ! grep -q 'useful:' "$file" ||
    sets+=(--set "mechanism.params.useful=$(sed -n 's/^ *"useful": \([0-9.]*\),*$/\1/p' "$calibration/calibration.json")")
  "$binaries/gangway" run "$file" --world "$world" --out "$out/$(basename "${file%.yaml}")/$folder" "${sets[@]}"
}

hw_compare() {  # hw_compare EXPERIMENT [limits]
  local folder=$out/$1
  shift
  "$binaries/gangway" compare "$folder/sim" "$folder/cuda" --json >"$folder/compare.json" &&
    "$binaries/gangway" compare "$folder/sim" "$folder/cuda" "$@"
}

# Also what the device was the first time against the second.
hw_compare_twice() {
  local folder=$out/$1
  "$binaries/gangway" compare "$folder/cuda" "$folder/again" --json >"$folder/again.json" &&
    "$binaries/gangway" compare "$folder/cuda" "$folder/again" && hw_compare "$1"
}

# Task sets of the calibrated kernels, held against their bounds, with costs that a virtual machine mostly keeps. Cut off before ten minutes
# are over: the part then counts as failed, and the next ./dev hw resumes it.
hw_bound() {
  timeout --foreground --signal=INT --kill-after=20 570 \
    "$binaries/gangway" bound --world cuda --draw 200 --from "$out/calibration" --out "$out/bound" --run 0.5 --margin 2 \
    --cost 'lateness=100 us' --cost 'issue=35 us' --cost 'change=25 us'
}

hw_rules() {  # the experiments that show a rule each
  local file name channels
  for file in experiments/rules/*.yaml; do
    name=$(basename "${file%.yaml}")
    channels=$(sed -n 's/^set: {device.channels: \([0-9]*\)}$/\1/p' "$file")
    CUDA_DEVICE_MAX_CONNECTIONS=${channels:-8} "$binaries/gangway" run "$file" --world "$1" --out "$out/rules/$1/$name" --trace || return 1
  done
}
hw_judge_rules() { $python analysis/rules.py "$out/rules/sim" "$out/rules/cuda" --json "$out/rules/rules.json" --record "$out/rules/recorded"; }

# Of whatever is there and has none yet.
hw_figures() {
  local folder
  for folder in "$out"/*/; do
    if [ -e "$folder/sim/summary.csv" ] && [ -e "$folder/cuda/summary.csv" ]; then
      [ "$folder/compare-metrics.png" -nt "$folder/cuda/summary.csv" ] ||
        $python analysis/compare.py "$folder/sim" "$folder/cuda" --out "$folder" || return 1
    elif [ -e "$folder/calibration.json" ]; then
      [ "$folder/kernels.png" -nt "$folder/calibration.json" ] || $python analysis/calibration.py "$folder" || return 1
    fi
  done
  [ ! -e "$out/rules/rules.json" ] || [ "$out/rules/rules.png" -nt "$out/rules/rules.json" ] ||
    $python analysis/rules.py "$out/rules/sim" "$out/rules/cuda" --out "$out/rules"
}
