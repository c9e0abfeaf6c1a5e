#!/bin/sh
# Records the programs of programs.yaml (throttle) and of effisha-programs.yaml (effisha), on a GPU that nobody else uses:
# record.sh [FOLDER [PART...]]. GANGWAY is the program `gangway`, THROTTLE the compiled examples/live/throttle_program.cu, SHOC the
# folder of the compiled examples/shoc.
set -eu
out=$(realpath -m "${1:-$(dirname "$0")/h100}")
gangway=$(realpath "${GANGWAY:-build/release/gangway}")
[ $# -gt 0 ] && shift
mkdir -p "$out"

record() {  # name, and the program with its arguments; jobs: which NVTX range
  name=$1
  shift
  "$gangway" record --force --jobs "nvtx:$jobs" --skip 10 --out "$out/$name.rec" -- "$@"
  gzip -9nf "$out/$name.rec"
}

throttled() {  # name, requests, what Throttle is told
  name=$1 requests=$2
  shift 2
  record "$name" "$throttle" "$@" --requests "$requests"
}

throttle() {
  throttle=$(realpath "${THROTTLE:-examples/live/throttle}")
  jobs=request
  for us in 19 47 115 283 694 1150 1700; do throttled "throttle-${us}us" 1000 "$us"; done
  throttled throttle-11500us 150 11500
  jobs=round
  for share in 2 4 6 8; do throttled "sleeps-${share}0" 1000 115 --sleep "0.$share"; done
  jobs=request
  for mib in 2 8 32; do throttled "copies-${mib}mib" 500 500 --copy "$mib"; done
  throttled watchful 1000 115 --watched small
  throttled idler 1000 115 --watched idle
  throttled endless 3001 115 --long-at 3000 --long 6
  throttled hoarder 200 115 --hoard 63
  throttled two-contexts 1000 115 --contexts 2
  throttled eight-contexts 500 115 --contexts 8
}

effisha() {  # nothing is checked, as that would be work between jobs
  shoc=$(realpath "${SHOC:-examples/shoc}")
  jobs=job
  for program in neuralnet sort reduction md5hash md scan triad stencil2d fft spmv bfs; do
    record "effisha-$program" "$shoc/$program" --jobs 110 --check 1000000
  done
}

[ $# -gt 0 ] || set -- throttle effisha
for part; do "$part"; done
