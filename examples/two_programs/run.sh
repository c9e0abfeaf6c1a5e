#!/bin/sh
# Runs the experiment beside this file, says which policies differ from fcfs by more than chance, and draws the results.
# GANGWAY: the program; OUT: the folder of the results.
set -eu
here=$(dirname "$0")
gangway=${GANGWAY:-gangway} out=${OUT:-out/two-programs}
"$gangway" run "$here/experiment.yaml" --out "$out"
"$gangway" compare "$out" --baseline fcfs --metrics latency_ns_p99,attainment
"$gangway" trace "$out" --point 2 --policy piv --out "$out/piv.json"
