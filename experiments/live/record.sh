#!/bin/sh
# Records Throttle as programs.yaml has it, on a GPU that nobody else uses: record.sh [FOLDER]. GANGWAY is the program `gangway`, THROTTLE
# the compiled examples/live/throttle_program.cu.
set -eu
out=$(realpath -m "${1:-$(dirname "$0")/h100}")
gangway=$(realpath "${GANGWAY:-build/release/gangway}")
throttle=$(realpath "${THROTTLE:-examples/live/throttle}")
mkdir -p "$out"

record() {  # name, requests, what Throttle is told; jobs: of which NVTX range
  name=$1 requests=$2
  shift 2
  "$gangway" record --force --jobs "nvtx:${jobs:-request}" --skip 10 --out "$out/$name.rec" -- "$throttle" "$@" --requests "$requests"
  gzip -9nf "$out/$name.rec"
}

for us in 19 47 115 283 694 1150 1700; do record "throttle-${us}us" 1000 "$us"; done
record throttle-11500us 150 11500
for share in 2 4 6 8; do jobs=round record "sleeps-${share}0" 1000 115 --sleep "0.$share"; done
for mib in 2 8 32; do record "copies-${mib}mib" 500 500 --copy "$mib"; done
record watchful 1000 115 --watched small
record idler 1000 115 --watched idle
record endless 3001 115 --long-at 3000 --long 6
record hoarder 200 115 --hoard 63
record two-contexts 1000 115 --contexts 2
record eight-contexts 500 115 --contexts 8
