"""Runs the same random sequences on the stand-in directly and through the look-alike in front of it, and compares
what the program saw and what the driver saw: calls, arguments, results, order.

    compare.py PROGRAM STANDIN_FOLDER [--lookalike FILE] [--count 10000]

Without a look-alike the sequences run twice on the stand-in: what they print must not depend on timing. A
look-alike finds the stand-in as libgangway-real-cuda.so.1."""
import argparse
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What the look-alike may ask the driver for itself: it changes nothing.
ITS_OWN = {"cuCtxGetCurrent", "cuStreamQuery", "cuStreamIsCapturing", "cuStreamGetCtx", "cuThreadExchangeStreamCaptureMode", "cuDriverGetVersion"}
# What it may answer without asking.
ANSWERED = {"cuGetProcAddress_v2"}
CALL = re.compile(r"(\d+) (\w+)\((.*)\) -> (\d+)")
EVENT = re.compile(r"event#\d+")
PROGRAM_S_EVENTS = "3"
TIMING = {"cuStreamQuery", "cuEventQuery"}


def run(program, folders, log, first, count):
    environment = dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, folders)), STANDIN_LOG=str(log), TSAN_OPTIONS="halt_on_error=1")
    done = subprocess.run([program, str(first), str(count)], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: {program} ended with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout.splitlines()


def calls(log):
    """The main thread's calls in order; a query's answer counts only as an answer. Events have the numbers that the
    program's own would have alone; calls about others' are left out."""
    events = {}
    with open(log) as lines:
        for line in lines:
            thread, name, arguments, result = CALL.fullmatch(line.strip()).groups()
            if thread != "1" or name in ANSWERED:
                continue
            if name == "cuEventCreate":
                event, flags = arguments.split(", ")
                if flags != PROGRAM_S_EVENTS:
                    continue
                events[event] = f"event {len(events) + 1}"
            named = EVENT.findall(arguments)
            if any(event not in events for event in named):
                continue
            yield name, EVENT.sub(lambda found: events[found.group()], arguments), "0" if name in TIMING and result == "600" else result


def differences(direct, through):
    for number, (a, b) in enumerate(itertools.zip_longest(direct, through), 1):
        if a != b:
            yield f"item {number}: directly {a}, through the look-alike {b}"


def without_its_own(direct, through):
    """The calls that came through, less those which the look-alike put between."""
    wanted = next(direct, None)
    for call in through:
        if call != wanted and call[0] in ITS_OWN:
            continue
        yield call
        wanted = next(direct, None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("standin", type=pathlib.Path)
    parser.add_argument("--lookalike", type=pathlib.Path)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=10000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        direct_log, through_log = pathlib.Path(folder, "direct"), pathlib.Path(folder, "through")
        standin = options.standin.resolve() / "libcuda.so.1"
        os.symlink(standin, pathlib.Path(folder, "libgangway-real-cuda.so.1"))
        os.symlink(options.lookalike.resolve() if options.lookalike else standin, pathlib.Path(folder, "libcuda.so.1"))
        direct = run(options.program, [options.standin], direct_log, options.first, options.count)
        through = run(options.program, [folder], through_log, options.first, options.count)
        found = list(itertools.islice(differences(direct, through), 5)) or \
            list(itertools.islice(differences(calls(direct_log), without_its_own(calls(direct_log), calls(through_log))), 5))
        seen = sum(1 for _ in calls(direct_log))
    if found:
        sys.exit("\n".join(["compare.py: not the same:"] + found))
    print(f"{len(direct)} sequences, {seen} calls: the same")


if __name__ == "__main__":
    main()
