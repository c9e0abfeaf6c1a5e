"""Measures kernels that leave before their end on a machine with a GPU, in parts; those that are done are not done again.

evict.py OUT [PART ...]     GANGWAY: the program; BIN: folder of the compiled examples (what is missing there is compiled)"""

import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measure
from measure import BIN, GANGWAY, HERE, OUT, Daemon, finish, say, spread, start, steps

CACHE = OUT + "/cache"
os.environ["GANGWAY_CACHE"] = os.path.abspath(CACHE)
measure.CALM["GANGWAY_CACHE"] = os.environ["GANGWAY_CACHE"]
NVCC = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
os.environ["PATH"] = os.path.dirname(NVCC) + ":" + os.environ["PATH"]
PROGRAMS = ("ordinary", "riskiest", "long_kernels", "urgent")
FILES, KERNELS = 10, 50  # of the program with 500 kernels


def many(folder):
    """A program of 500 kernels in ten files, of which it launches each once."""
    for file in range(FILES):
        with open(f"{folder}/many{file}.cu", "w") as out:
            for k in range(KERNELS):
                out.write(f"__global__ void k{file}_{k}(unsigned* p, unsigned n) {{ unsigned v = p[threadIdx.x];\n"
                          f"for (unsigned i = 0; i < n; ++i) v = v * {1664525 + 8 * k}u + {k + file}u; p[threadIdx.x] = v; }}\n")
            out.write(f"void all{file}(unsigned* p) {{\n" + "".join(f"k{file}_{k}<<<1, 32>>>(p, 3);\n" for k in range(KERNELS)) + "}\n")
    with open(f"{folder}/main.cu", "w") as out:
        out.write("#include <cstdio>\n" + "".join(f"void all{f}(unsigned*);\n" for f in range(FILES)) +
                  "int main() { unsigned *p, h = 0; cudaMalloc(&p, 128); cudaMemset(p, 0, 128);\n" +
                  "".join(f"all{f}(p);\n" for f in range(FILES)) +
                  'cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); printf("%u\\n", h); }\n')
    return sorted(glob.glob(folder + "/*.cu"))


def part_build():
    os.makedirs(BIN, exist_ok=True)
    for name in PROGRAMS:
        if not os.path.exists(f"{BIN}/{name}"):
            subprocess.run([NVCC, "-arch=sm_90", "-std=c++17", "-o", f"{BIN}/{name}", f"{HERE}/{name}.cu", "-lcuda"], check=True)
    if not os.path.exists(BIN + "/many"):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([NVCC, "-arch=sm_90", "-std=c++17", "-t", "0", "-o", BIN + "/many", *many(folder)], check=True)


def part_prepare():
    began = time.time()
    done = subprocess.run([GANGWAY, "prepare", *(f"{BIN}/{name}" for name in PROGRAMS)], capture_output=True, text=True)
    say(f"prepare: exit {done.returncode}, {time.time() - began:.1f} s\n{done.stdout.rstrip()}\n{done.stderr.rstrip()}")


def serve(policy, *options, log=None):
    """A daemon that is told how things stand while programs run."""
    return Daemon(policy, log, *options)


def counts(daemon):
    done = subprocess.run([GANGWAY, "status", "--json", "--socket", daemon.socket], capture_output=True, text=True)
    return json.loads(done.stdout)["clients"] if done.returncode == 0 else []


def watch(daemon, process, limit):
    """Until the process ends: the last that was seen of each client."""
    seen, end = {}, time.time() + limit
    while process.poll() is None and time.time() < end:
        for client in counts(daemon):
            seen[client["name"]] = client
        time.sleep(0.02)
    return seen


def show_counts(seen):
    for name, c in seen.items():
        say(f"   {name}: {c['submissions']} submissions, {c['launches_in_forms']} launches in forms, "
            f"{c['slices']} slices, {c['evictions']} evictions, "
            f"kernels with forms {c['kernels_with_forms']}, without {c['kernels_without_forms']}")


def part_correct():
    """The same output as alone, with evictions at random moments."""
    correct(("piv", "--forms", "all"), ("frs", "--forms", "all"), ("piv", "--forms", "worth", "--overlap"),
            ("disengaged-timeslice", "--param", "slice=2 ms", "--forms", "all"))


def correct(*policies):
    command = [f"{BIN}/ordinary", "100"]  # a second or two
    alone = finish(start(command), 100)
    say(f"alone: exit {alone[2]}, {len(alone[0].splitlines())} lines {alone[1][-200:].strip()}")
    for policy, *options in policies:
        daemon = serve(policy, *options)
        other = start(daemon.program([f"{BIN}/urgent", "100000", "2"], "--name", "urgent", "--priority", "5"))
        for _ in range(200):  # it works before the program begins
            if any(client["jobs"] > 3 for client in counts(daemon)):
                break
            time.sleep(0.05)
        program = start(daemon.program(command, "--name", "ordinary"))
        seen = watch(daemon, program, 60)
        out, err, code = finish(program, 5)
        other.terminate()
        finish(other, 10)
        say(f"{policy} {' '.join(options)}: {'SAME' if (out, code) == (alone[0], alone[2]) else 'DIFFERS: ' + out[-400:]} {err[-300:].strip()}")
        show_counts(seen)
        daemon.end()


def part_riskiest(times="1000"):
    """The hardest order of work, with its long kernel's blocks of 500 us, until it has been evicted so often, or for 100 s."""
    riskiest(times, 100, OUT + "/riskiest-forms.csv", "piv", "--forms", "all")


def riskiest(times, seconds, log, policy, *options):
    daemon = serve(policy, *options, log=log)
    end = OUT + "/evicted.done"
    if os.path.exists(end):
        os.remove(end)
    risky = start(daemon.program([f"{BIN}/riskiest", str(seconds + 10), end, "500"], "--name", "riskiest"))
    other = start(daemon.program([f"{BIN}/urgent", "100000", "15"], "--name", "urgent", "--priority", "5"))
    seen, limit = {}, time.time() + seconds
    while risky.poll() is None and time.time() < limit:
        for client in counts(daemon):
            seen[client["name"]] = client
        if seen.get("riskiest", {}).get("evictions", 0) >= int(times):
            break
        time.sleep(0.1)
    open(end, "w").close()
    out, err, code = finish(risky, 30)
    other.terminate()
    finish(other, 10)
    say(f"riskiest under {policy}: {out.strip()} (exit {code}) {err[-300:].strip()}")
    show_counts(seen)
    say(daemon.end().rstrip())
    measure.show_log(log)


SLICED = ["--forms", "all", "--param", "slice=block-tasks", "--param", "block_tasks=264"]


def part_slices():
    """Kernels in slices: the same outputs, the hardest order of work, and an urgent program that waits for a slice at most."""
    correct(("pkm", *SLICED), ("microkernel-rr", "--forms", "all", "--param", "state=resident", "--param", "blocks=profiled", "--param", "slice=2 ms"))
    riskiest("300", 30, OUT + "/riskiest-slices.csv", "pkm", *SLICED)
    for latency in ("1 ms", "0.125 ms"):
        beside(f"urgent beside 50 ms, pkm of {latency}", "pkm", ["--forms", "worth", "--param", f"latency={latency}"], spin(10, 50), URGENT)


def beside(label, policy, options, long, urgent, mps=False, seconds=6):
    """An urgent program beside one with long kernels; policy None: no daemon."""
    log = f"{OUT}/{label.replace(' ', '-')}.csv"
    end = f"{OUT}/long.done"
    if os.path.exists(end):
        os.remove(end)
    long = [*long, end]
    daemon = serve(policy, *options, log=log) if policy else None
    if daemon:
        program = start(daemon.program(long, "--name", "long"))
    else:
        program = start(long)
    time.sleep(1.5)  # its first launches are learnt from
    other = start(daemon.program(urgent, "--name", "urgent", "--priority", "5") if daemon else urgent)
    seen = watch(daemon, other, seconds + 30) if daemon else {}
    out, err, code = finish(other, seconds + 30)
    open(end, "w").close()
    long_out, long_err, long_code = finish(program, 30)
    say(f"{label}: {out.strip()} (exit {code}) {err[-200:].strip()}\n   {long_out.strip()} (exit {long_code}) {long_err[-200:].strip()}")
    show_counts(seen)
    if daemon:
        daemon.end()
        for (step, name), values in sorted(steps(log).items()):
            if name == "long" and step in ("closed", "told", "left", "drained", "returned"):
                say(f"   order to {step}: {spread(values)}")


TINY = [f"{BIN}/long_kernels", "tiny", "6", "15000"]
URGENT = [f"{BIN}/urgent", "300", "15"]


def spin(block_us, kernel_ms, kind="spin"):
    return [f"{BIN}/long_kernels", kind, "100", str(block_us), str(kernel_ms)]


def part_handover():
    say("tiny alone: " + finish(start(TINY), 30)[0].strip())
    daemon = serve("piv", "--forms", "worth")
    say("tiny alone under the daemon: " + finish(start(daemon.program(TINY)), 30)[0].strip())
    daemon.end()
    for block, kernel in ((10, 50), (100, 50)):
        beside(f"tiny beside {block} us blocks, forms", "piv", ["--forms", "worth"], spin(block, kernel), TINY)
    beside("tiny beside 10 us blocks of arithmetic, forms", "piv", ["--forms", "worth"], spin(10, 50, "work"), TINY)
    beside("tiny beside 10 us blocks, forms, overlap", "piv", ["--forms", "worth", "--overlap"], spin(10, 50), TINY)


def part_urgent():
    say("urgent alone: " + finish(start(URGENT), 30)[0].strip())
    beside("urgent beside 50 ms, no daemon", None, [], spin(10, 50), URGENT)
    beside("urgent beside 50 ms, piv, no forms", "piv", ["--forms", "none"], spin(10, 50), [f"{BIN}/urgent", "100", "15"])
    beside("urgent beside 50 ms, piv, forms", "piv", ["--forms", "worth"], spin(10, 50), URGENT)
    beside("urgent beside 50 ms, piv, forms, overlap", "piv", ["--forms", "worth", "--overlap"], spin(10, 50), URGENT)


def part_mps():
    folder = tempfile.mkdtemp(prefix="mps-")
    for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
        os.environ[name] = measure.CALM[name] = folder
    if subprocess.run(["nvidia-cuda-mps-control", "-d"], capture_output=True).returncode != 0:
        return say("MPS does not start here")
    try:
        say("MPS: tiny alone: " + finish(start(TINY), 30)[0].strip())
        say("MPS: urgent alone: " + finish(start(URGENT), 30)[0].strip())
        beside("MPS: tiny beside 10 us blocks, forms", "piv", ["--forms", "worth"], spin(10, 50), TINY)
        beside("MPS: tiny beside 10 us blocks of arithmetic, forms", "piv", ["--forms", "worth"], spin(10, 50, "work"), TINY)
        beside("MPS: urgent beside 50 ms, piv, forms", "piv", ["--forms", "worth"], spin(10, 50), URGENT)
        beside("MPS: urgent beside 50 ms of arithmetic, piv, forms", "piv", ["--forms", "worth"], spin(10, 50, "work"), URGENT)
    finally:
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, capture_output=True)
        for name in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
            del os.environ[name], measure.CALM[name]


def part_start(times="7"):
    def seconds(command):
        took = []
        for _ in range(int(times)):
            began = time.monotonic()
            out, err, code = finish(start(command), 60)
            took.append(time.monotonic() - began)
            if code != 0:
                say(f"start: exit {code} {err[-300:]}")
        return statistics.median(took)

    command = [BIN + "/many"]
    native = seconds(command)
    daemon = serve("piv", "--forms", "none")
    without = seconds(daemon.program(command))
    daemon.end()
    daemon = serve("piv", "--forms", "worth")
    unprepared = seconds(daemon.program(command))
    began = time.monotonic()
    subprocess.run([GANGWAY, "prepare", BIN + "/many"], capture_output=True)
    preparing = time.monotonic() - began
    prepared = seconds(daemon.program(command))
    daemon.end()
    say(f"start with 500 kernels, s, medians of {times}: native {native:.3f}, under the daemon without forms {without:.3f}, "
        f"unprepared {unprepared:.3f}, prepared {prepared:.3f} (preparing took {preparing:.1f})")


def part_overhead():
    """Launches of kernels that are never evicted, natively, behind the look-alike, and in forms."""
    def times(policy_options):
        command = [f"{BIN}/long_kernels", "cost", "1.2"]
        daemon = serve("piv", *policy_options) if policy_options is not None else None
        program = start(daemon.program(command, "--name", "cost") if daemon else command)
        seen = watch(daemon, program, 60) if daemon else {}
        out, err, code = finish(program, 60)
        show_counts(seen)
        if daemon:
            daemon.end()
        if code != 0:
            say(f"cost: exit {code} {err[-300:]}")
        return {line.split()[1]: float(line.split()[2]) for line in out.splitlines() if line.startswith("cost ")}

    rows = [times(None), times(["--forms", "none"]), times(["--forms", "worth"]), times(["--forms", "all"]), times(None)]
    for name in rows[0]:
        native = min(rows[0][name], rows[4].get(name, rows[0][name]))
        say(f"   {name}: native {rows[0][name]:.2f} / {rows[4].get(name, 0):.2f} us; without forms {rows[1].get(name, 0) / native:.4f}, "
            f"worth {rows[2].get(name, 0) / native:.4f}, all {rows[3].get(name, 0) / native:.4f}")


ALL = ("build", "machine", "prepare", "correct", "riskiest", "slices", "handover", "urgent", "start", "overhead", "mps")


def main():
    os.makedirs(OUT, exist_ok=True)
    for part in sys.argv[2:] or ALL:
        done = f"{OUT}/done-{part}"
        if os.path.exists(done):
            continue
        began = time.time()
        name, _, argument = part.partition(":")
        try:
            (globals().get("part_" + name) or getattr(measure, "part_" + name))(*([argument] if argument else []))
            open(done, "w").close()
        except Exception as error:  # the other parts are worth having
            say(f"{part} failed: {error!r}")
        say(f"-- {part}: {time.time() - began:.1f} s")


if __name__ == "__main__":
    main()
