"""Share-a-GPU's evaluation on a machine with a GPU and nvcc, in parts; those that are done are not done again.

measure_share_a_gpu.py OUT [PART ...]     all parts if none is named; GANGWAY: the program; LIMIT: seconds, after which no further part begins (480);
SCALE: of all footprints, 1 for five times Table I's, as in experiments/live/share-a-gpu-programs.yaml; HORIZON: of each run, as in the files if not
given. Worth keeping of OUT are report.txt and its archives; what is in work is in OUT.work."""

import concurrent.futures
import os
import re
import subprocess

from evaluation import GANGWAY, LIVE, ROOT, WORK, make, measured, need, pack, run, simulated
from measure import Daemon, finish, say, start, steps

PROGRAMS = ROOT + "/examples/share_a_gpu"
SCALE, HORIZON = float(os.environ.get("SCALE", "1")), os.environ.get("HORIZON", "")
# Clients: program, GiB, what more it is told, and Table I's seconds on a K40c.
TABLE1 = {"BFS": ("bfs", 6.45, [], 0.395), "Gaussian": ("gaussian", 4.31, [], 327.45), "Kmeans": ("kmeans", 4.91, [], 0.064),
          "matMul": ("matmul", 26.48, ["--rounds", "8"], 54.198), "matTrans": ("mattrans", 26.53, [], 0.179),
          "dxtc": ("dxtc", 11.13, ["--rounds", "16"], 20.75), "StringSort": ("stringsort", 15, [], 0.203)}
LONG = {"long-matTrans": ("mattrans", 26.53, ["--rounds", "200"]), "long-StringSort": ("stringsort", 15, ["--rounds", "8"]),
        "long-dxtc": ("dxtc", 11.13, ["--rounds", "48"]), "long-Gaussian": ("gaussian", 4.31, ["--rounds", "2"]),
        "first": ("mattrans", 24, ["--rounds", "200"]), "second": ("mattrans", 24, ["--rounds", "200"])}
FIGURES = ["fig5", "fig6", "fig7", "slices", "fig9", "fig10"]
TOOLS = ["memcheck", "racecheck", "initcheck", "synccheck"]
PARTS = ["machine", "compile", "alone", "sanitize", "same", "record", "figure:fig7", "figure:slices", "figure:fig6", "figure:fig5", "figure:fig9",
         "figure:fig10", "simulate"]


def of(client):
    return (TABLE1.get(client) or LONG[client])[:3]


def command(client, *more):
    program, gib, arguments = of(client)
    return [f"{PROGRAMS}/{program}", "--gib", f"{gib * SCALE:.4g}", *arguments, *more]


def part_machine():
    say(subprocess.run("nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; free -g | head -2; nproc; uname -r", shell=True,
                       capture_output=True, text=True).stdout.strip())


def part_compile():
    make(PROGRAMS)


def part_alone():
    """Jobs of each program alone, without Gangway."""
    for client, (*_, seconds) in TABLE1.items():
        out, err, code = finish(start(command(client, "--jobs", "4")), 90)
        found = re.search(r"([\d.]+) \(median\)", err)
        say(f"{client}: exit {code}, {found[1] if found else err[-200:].strip()} ms; Table I {seconds * 1000:g} ms; {out.strip()}")


def part_sanitize():
    """compute-sanitizer on each program, natively and as a client whose memory moves: no error, and the same output."""
    daemon = Daemon("rr", f"{WORK}/sanitize.csv", "--memory", "managed", "--param", "quantum=20 ms")

    def check(client):
        """A line for each run."""
        small = [f"{PROGRAMS}/{of(client)[0]}", "--gib", "0.001", "--jobs", "1"]
        plain, err, code = finish(start(small), 60)
        found = [f"{client}: exit {code}: {err[-200:].strip()}"] if code != 0 else []
        for tool in TOOLS:
            checked = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *small]
            for where, words in ("natively", checked), ("as a client", daemon.program(checked)):
                out, err, code = finish(start(words), 60)
                ours = [line for line in out.splitlines() if line.startswith("=====")]
                printed = "".join(line + "\n" for line in out.splitlines() if line not in ours)
                summary = "; ".join(line.strip("= ") for line in ours if "SUMMARY" in line)
                found.append(f"{client}: {tool} {where}: exit {code}, {summary or ours[:3]}" +
                             ("" if printed == plain else f", OTHER OUTPUT: {printed[-300:]} {err[-300:]}"))
        return found

    with concurrent.futures.ThreadPoolExecutor(len(TABLE1)) as pool:
        for found in pool.map(check, TABLE1):
            say("\n".join(found))
    say(daemon.end().rstrip())


def part_same():
    """All seven at once, which do not fit together: they print what they print alone, though their memory goes and comes."""
    jobs = {client: str({"BFS": 8, "Kmeans": 12, "matTrans": 30}.get(client, 3)) for client in TABLE1}
    alone = {client: finish(start(command(client, "--jobs", jobs[client])), 90) for client in TABLE1}
    log = f"{WORK}/same.csv"
    daemon = Daemon("microkernel-rr", log, "--param", "blocks=job", "--param", "slice=1 s")
    running = {client: start(daemon.program(command(client, "--jobs", jobs[client]), "--jobs", "nvtx:job")) for client in TABLE1}
    ours = {client: finish(process, 200) for client, process in running.items()}
    say(daemon.end().rstrip())
    came = {name: len(values) for (step, name), values in steps(log).items() if step == "came"}
    for client in TABLE1:
        (a, a_err, a_code), (b, b_err, b_code) = alone[client], ours[client]
        same = a == b and a_code == b_code == 0
        say(f"{client}: {a.strip()}: {'same' if same else f'DIFFERS: {b.strip()} exit {a_code}, {b_code}: {a_err[-200:]} {b_err[-200:]}'}, "
            f"came {came.get(of(client)[0], 0)} times")


def settings():
    """Of all files: footprints at this scale."""
    words = []
    for client in {**TABLE1, **LONG}:
        program, gib, arguments = of(client)
        run = ", ".join([f"./{program}", "--gib", f"{gib * SCALE:.4g}", *arguments, "--jobs", "1000000000"])
        words += ["--set", f"workload.clients.{client}.command.run=[{run}]", "--set", f"workload.clients.{client}.memory={gib * SCALE * 1024:.0f} MiB"]
    return words + (["--set", f"horizon={HORIZON}"] if HORIZON else [])


def file_of(name):
    return f"{LIVE}/share-a-gpu-{name}.yaml"


def part_figure(name):
    measured(file_of(name), name, *settings())


def part_record():
    """Each program alone; of `second` the recording is that of `first`."""
    os.makedirs(WORK + "/recordings", exist_ok=True)
    for client in {**TABLE1, **LONG}:
        path = f"{WORK}/recordings/{client}.rec"
        if client == "second" or os.path.exists(path + ".gz"):
            continue
        jobs = "3" if client in LONG or client in ("Gaussian", "matMul", "dxtc") else "12"
        need([GANGWAY, "record", "--force", "--jobs", "nvtx:job", "--skip", "1", "--out", path, "--", *command(client, "--jobs", jobs, "--check", "1000000")])
        need(["gzip", "-9nf", path])
    pack("recordings")


def part_simulate():
    """The same files with the recordings, and how far off that was."""
    recorded = []
    for client in {**TABLE1, **LONG}:
        recorded += ["--set", f"workload.clients.{client}.recording={WORK}/recordings/{'first' if client == 'second' else client}.rec.gz"]
    for name in FIGURES:
        simulated(file_of(name), name, *settings(), *recorded)
    pack("simulated")


if __name__ == "__main__":
    run(globals(), PARTS)
