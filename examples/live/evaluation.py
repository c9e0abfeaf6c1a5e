"""What the scripts share that measure a paper's evaluation, in parts: folders, commands that must succeed, an experiment's run, the list of parts.

OUT (the first argument) gets report.txt and archives; what is in work is in OUT.work. GANGWAY: the program; LIMIT: seconds, after which no further part
begins (480)."""

import os
import shutil
import subprocess
import sys
import time

import measure
from measure import CALM, HERE, OUT, main, say

ROOT = os.path.realpath(os.path.join(HERE, "../.."))
LIVE = ROOT + "/experiments/live"
WORK = os.path.abspath(OUT) + ".work"
GANGWAY = measure.GANGWAY = os.path.abspath(measure.GANGWAY)  # programs run in other folders
BEGAN, LIMIT = time.monotonic(), float(os.environ.get("LIMIT", "480"))
os.environ["GANGWAY_CACHE"] = CALM["GANGWAY_CACHE"] = WORK + "/cache"
os.environ.setdefault("GANGWAY_DATA", ROOT)


def need(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    return done.stdout


def pack(name):
    """A folder of the work, for the way home."""
    shutil.make_archive(f"{OUT}/{name}", "gztar", f"{WORK}/{name}")


def make(folder):
    os.makedirs(WORK + "/cache", mode=0o700, exist_ok=True)
    need(["make", "-C", folder, "-j", str(os.cpu_count())])


def play(file, out, *options):
    """Runs an experiment, says how it ended; False if it failed."""
    done = subprocess.run([GANGWAY, "run", file, "--out", out, "--force", *options], capture_output=True, text=True)
    name = os.path.basename(file).removesuffix(".yaml")
    say(f"{name}{' (sim)' if '--world' not in options else ''}: exit {done.returncode}\n{done.stdout[-2500:].rstrip()}\n{done.stderr[-600:].rstrip()}".rstrip())
    return done.returncode == 0


def measured(file, name, *options):
    if not play(file, f"{WORK}/figures/{name}", "--world", "live", *options):
        raise RuntimeError("no results")
    pack("figures")


def simulated(file, name, *options):
    """And how far off that was of what was measured."""
    if play(file, f"{WORK}/simulated/{name}", *options) and os.path.exists(f"{WORK}/figures/{name}/clients.csv"):
        done = subprocess.run([GANGWAY, "compare", f"{WORK}/simulated/{name}", f"{WORK}/figures/{name}"], capture_output=True, text=True)
        say(done.stdout[-2500:].rstrip() + done.stderr[-300:])


def run(parts, all_parts):
    """Those named after OUT, else all; `parts`: globals of the script."""
    os.makedirs(WORK, exist_ok=True)
    for part in sys.argv[2:] or all_parts:
        if time.monotonic() - BEGAN > LIMIT:
            say(f"not begun for lack of time: {part}")
            continue
        main(parts, [part])
