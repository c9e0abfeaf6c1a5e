"""Runs the measurements of hw/live/README.md on a machine with a GPU, in parts; those that are done are not done again.

measure.py OUT [PART ...]     GANGWAY: the program; BIN: folder of the compiled examples"""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GANGWAY = os.environ.get("GANGWAY", "build/release/gangway")
BIN = os.environ.get("BIN", HERE)
OUT = sys.argv[1]
PYTHON = sys.executable
CALM = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false", TRANSFORMERS_VERBOSITY="error", PYTHONUNBUFFERED="1")
PROGRAMS = {"static": [f"{BIN}/static_runtime"],
            **{name: [PYTHON, f"{HERE}/programs.py", name]
               for name in ("eager", "graph", "train", "triton", "jax", "cupy", "compiled", "fft")}}


class Daemon:
    def __init__(self, policy, log=None, *options):
        self.folder = tempfile.mkdtemp(prefix="gangway-")
        self.socket = self.folder + "/socket"
        self.out = open(self.folder + "/out", "w+")
        command = [GANGWAY, "serve", "--policy", policy, "--socket", self.socket, *options]
        if log:
            command += ["--log", log]
        self.process = subprocess.Popen(command, stdout=self.out, stderr=subprocess.STDOUT)
        for _ in range(500):
            if os.path.exists(self.socket) or self.process.poll() is not None:
                break
            time.sleep(0.01)

    def program(self, command, *options):
        return [GANGWAY, "exec", "--socket", self.socket, *options, "--", *command]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.out.seek(0)
        text = self.out.read()
        shutil.rmtree(self.folder)
        return text


def start(command, env=CALM, **more):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, cwd=HERE, **more)


def finish(process, limit):
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return "TIMEOUT " + out, err, -1
    return out, err, process.returncode


def say(text):
    print(text, flush=True)
    with open(OUT + "/report.txt", "a") as f:
        f.write(text + "\n")


def part_machine():
    say(subprocess.run("nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu --format=csv,noheader; "
                       "nproc; uname -r", shell=True, capture_output=True, text=True).stdout.strip())


def part_counts():
    """The same output alone and under the daemon, and every record of the driver in the gate."""
    cupti = next(iter(sorted(glob.glob("/usr/local/cuda*/targets/*/lib/libcupti.so.13"))), None)
    daemon = Daemon("fcfs")
    running = {}

    def begin(name):
        counts = f"{OUT}/counts-{name}.txt"
        counting = dict(CALM, CUDA_INJECTION64_PATH=f"{BIN}/libgangway-count.so", GANGWAY_COUNTS=counts,
                        LD_LIBRARY_PATH=os.path.dirname(cupti or "") + ":" + os.environ.get("LD_LIBRARY_PATH", ""))
        running[name] = (start(PROGRAMS[name]), start(daemon.program(PROGRAMS[name])),
                         start(daemon.program(PROGRAMS[name]), counting), counts)

    def end(name):
        native, ours, counted, counts = running[name]
        a, b, c = finish(native, 150), finish(ours, 150), finish(counted, 150)
        same = a[0] == b[0] == c[0] and a[2] == b[2] == c[2]
        say(f"== {name}: {a[0].strip()} exit {a[2]}: {'same' if same else 'DIFFERS: ' + b[0].strip() + ' exit ' + str(b[2]) + ' / ' + c[0].strip()}")
        if not same or a[2] != 0:
            say("   native: " + a[1][-300:] + "\n   ours: " + b[1][-300:] + "\n   counted: " + c[1][-300:])
        if os.path.exists(counts):
            say(open(counts).read().rstrip())

    names = list(PROGRAMS)
    for first in range(0, len(names), 3):
        for name in names[first:first + 3]:
            begin(name)
        for name in names[first:first + 3]:
            end(name)
    say(daemon.end().rstrip())


def part_cost():
    for options in ((), ("--in-flight", "8")):
        daemon = Daemon("piv", None, *options)
        others = []
        if options:  # somebody more urgent has to be there
            others.append(start(daemon.program([f"{BIN}/urgent", "100000", "60000"], "--priority", "5")))
            time.sleep(3)
        out, err, code = finish(start(daemon.program([f"{BIN}/cost", "3000"])), 100)
        say(f"cost {' '.join(options) or 'unlimited'} (exit {code})\n{out.rstrip()}{err[-300:]}")
        for other in others:
            other.terminate()
            other.wait()
        daemon.end()


def steps(log):
    """The daemon's log: values in us by (step, client)."""
    values = {}
    with open(log) as f:
        for line in f:
            fields = line.rstrip("\n").split(",")
            if len(fields) == 5 and fields[0].isdigit():
                values.setdefault((fields[1], fields[3]), []).append(int(fields[4]) / 1e3)
    return values


def spread(values):
    values = sorted(values)
    at = lambda q: values[min(len(values) - 1, int(q * len(values)))]
    return f"n {len(values)} p50 {at(.5):.1f} p90 {at(.9):.1f} p99 {at(.99):.1f} most {values[-1]:.1f} us"


def show_log(log):
    woken = {}
    for (step, name), values in sorted(steps(log).items()):
        if step.startswith("woken_within_"):
            woken.setdefault(name, []).append((int(step.rsplit("_", 1)[1]), int(values[0] * 1e3)))
        elif step in ("closed", "drained", "returned"):
            say(f"   {step:9} {name:8} {spread(values)}")
    for name, buckets in woken.items():
        say(f"   open -> submitting, {name}: " + ", ".join(f"<{b / 1e3:.1f} us: {n}" for b, n in sorted(buckets)))


def part_riskiest(jobs=1000, gap="30"):
    native, _, _ = finish(start([f"{BIN}/riskiest", "8"]), 60)
    say("alone, no daemon: " + native.strip())
    end = OUT + "/urgent.done"
    for policy in ("none", "piv"):
        few = jobs if policy == "piv" else 150
        if os.path.exists(end):
            os.remove(end)
        risky, urgent = [f"{BIN}/riskiest", "150", end], [f"{BIN}/urgent", str(few), gap, end]
        daemon = None
        if policy != "none":
            daemon = Daemon(policy, f"{OUT}/riskiest-{policy}.csv", "--in-flight", "8")
            risky, urgent = daemon.program(risky), daemon.program(urgent, "--priority", "5")
        processes = [start(risky), start(urgent)]
        for name, process in zip(("riskiest", "urgent"), processes):
            out, err, code = finish(process, 200)
            say(f"{policy}: {out.strip()} (exit {code}) {err[-300:].strip()}")
        if daemon:
            say(daemon.end().rstrip())
            show_log(f"{OUT}/riskiest-{policy}.csv")


SETTINGS = {
    "none": None,
    "dts": ("disengaged-timeslice",),
    "dts-5ms": ("disengaged-timeslice", "--param", "slice=5 ms"),
    "piv-any": ("piv",), "piv-8": ("piv", "--in-flight", "8"), "piv-2": ("piv", "--in-flight", "2"),
    "piv-any-overlap": ("piv", "--overlap"), "piv-8-overlap": ("piv", "--in-flight", "8", "--overlap"),
    "piv-2-overlap": ("piv", "--in-flight", "2", "--overlap"),
    "piv-4-overlap": ("piv", "--in-flight", "4", "--overlap"), "piv-4": ("piv", "--in-flight", "4"),
    "piv-5-overlap": ("piv", "--in-flight", "5", "--overlap"), "piv-6-overlap": ("piv", "--in-flight", "6", "--overlap"),
}


def part_pair(setting, alone="6", together="20"):
    folder = tempfile.mkdtemp(prefix="phases-")
    serve = [PYTHON, f"{HERE}/serve.py", folder, alone, together]
    train = [PYTHON, f"{HERE}/train.py", folder, alone, together]
    daemon = None
    log = f"{OUT}/pair-{setting}.csv"
    if SETTINGS[setting]:
        policy, *options = SETTINGS[setting]
        daemon = Daemon(policy, log, *options)
        serve, train = daemon.program(serve, "--priority", "5", "--name", "serve"), daemon.program(train, "--name", "train")
    processes = {"serve": start(serve), "train": start(train)}
    found = {}
    for name, process in processes.items():
        out, err, code = finish(process, 150)
        if code != 0:
            say(f"{setting} {name}: exit {code}: {out[-300:]} {err[-600:]}")
        for line in out.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                found[name + " " + row["phase"]] = row
    say(f"== {setting}")
    for key, row in found.items():
        say(f"   {key}: {json.dumps(row)}")
    try:
        a, b = found["serve serve alone"], found["serve together"]
        t, u = found["train train alone"], found["train together"]
        say(f"   ratios: p50 {b['p50'] / a['p50']:.2f} p99 {b['p99'] / a['p99']:.2f} training {u['steps_per_second'] / t['steps_per_second']:.3f}")
    except KeyError:
        pass
    for path in glob.glob(folder + "/requests-together.npy"):
        shutil.copy(path, f"{OUT}/requests-{setting}.npy")
    shutil.rmtree(folder)
    if daemon:
        say(daemon.end().rstrip())
        show_log(log)


def main(parts, named):
    os.makedirs(OUT, exist_ok=True)
    for part in named:
        done = f"{OUT}/done-{part}"
        if os.path.exists(done):
            continue
        began = time.time()
        name, _, argument = part.partition(":")
        try:
            parts["part_" + name](*([argument] if argument else []))
            open(done, "w").close()
        except Exception as error:  # the other parts are worth having
            say(f"{part} failed: {error!r}")
        say(f"-- {part}: {time.time() - began:.1f} s")


if __name__ == "__main__":
    main(globals(), sys.argv[2:])
