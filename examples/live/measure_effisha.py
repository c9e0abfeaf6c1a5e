"""EffiSha's evaluation on a machine with a GPU and nvcc, in parts; those that are done are not done again.

measure_effisha.py OUT [PART ...]     all parts if none is named; GANGWAY: the program; LIMIT: seconds, after which no further
part begins (480). Worth keeping of OUT are report.txt and its archives (three); what is in work is in OUT.work."""

import os
import re
import statistics
import subprocess
import time

from evaluation import GANGWAY, LIVE, ROOT, WORK, make, measured, need, pack, run, simulated
from measure import HERE, OUT, Daemon, finish, say, spread, start, steps

SHOC = ROOT + "/examples/shoc"
# Table 3: clients, and their times on a K40m in ms.
PROGRAMS = {"NeuralNet": 14.25, "Sort": 5.46, "Reduction": 2.06, "MD5Hash": 3.29, "MD": 13.8, "Scan": 1.41, "Triad": 1.22, "Stencil2D": 28.4, "FFT": 1.17,
            "Spmv": 4.57, "BFS": 5.99}
PARTS = ["machine", "compile", "prepare", "lengths", "same", "sliced", "overhead", "slices", "latency", "record", "figure:fig14-group", "figure:fig14-sjf", "figure:fig13",
         "figure:fig12", "figure:fig15", "figure:fig10", "figure:fig11", "figure:fig9", "simulate"]


def binary(client):
    return f"{SHOC}/{client.lower()}"


def median_ms(err):
    found = re.search(r"([\d.]+) \(median\)", err)
    if not found:
        raise RuntimeError(err[-300:])
    return float(found[1])


def part_machine():
    say(subprocess.run("nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader; nproc; uname -r", shell=True,
                       capture_output=True, text=True).stdout.strip())


def part_compile():
    make(SHOC)
    need(["nvcc", "-O2", "-arch=native", "-cudart", "static", "-o", f"{HERE}/throttle", f"{HERE}/throttle_program.cu", "-lcuda"])


def part_prepare():
    say(need([GANGWAY, "prepare", *(binary(client) for client in PROGRAMS)])[-600:].rstrip())


def part_lengths():
    """Jobs of each program alone, without Gangway, and the scale that would make them as long as Table 3's."""
    for client, ms in PROGRAMS.items():
        out, err, code = finish(start([binary(client), "--jobs", "30", "--check", "1000000"]), 60)
        if code != 0:
            say(f"{client}: exit {code}: {err[-300:].strip()}")
            continue
        found = median_ms(err)
        say(f"{client}: {found:.3f} ms, Table 3 {ms}: --scale {ms / found:.3f}")


def part_same():
    """All together: as the driver has it, and under piv with different priorities, where they are evicted all the time. Same outputs."""
    def lines(begin):
        running = {client: begin([binary(client), "--jobs", "24", "--check", "3", "--think", "2"], n) for n, client in enumerate(PROGRAMS)}
        return {client: finish(process, 150) for client, process in running.items()}

    native = lines(lambda command, n: start(command))
    log = f"{WORK}/same.csv"
    daemon = Daemon("piv", log, "--forms", "all")
    ours = lines(lambda command, n: start(daemon.program(command, "--priority", str(n % 6), "--jobs", "nvtx:job")))
    say(daemon.end().rstrip())
    evictions = {name: len(values) for (step, name), values in steps(log).items() if step == "drained"}
    for client in PROGRAMS:
        (a, a_err, a_code), (b, b_err, b_code) = native[client], ours[client]
        same = a == b and a_code == b_code == 0
        say(f"{client}: {a.strip()}: {'same' if same else f'DIFFERS: {b.strip()} exit {a_code}, {b_code}: {a_err[-200:]} {b_err[-200:]}'}, "
            f"evicted {evictions.get(client.lower(), 0)} times")


def part_sliced(blocks="132"):
    """All together under pkm, each kernel in slices of so many blocks: the same outputs as alone."""
    daemon = Daemon("pkm", f"{WORK}/sliced.csv", "--forms", "all", "--param", "slice=block-tasks", "--param", f"block_tasks={blocks}")
    began = {client: start(daemon.program([binary(client), "--jobs", "12", "--check", "3", "--think", "2"], "--priority", str(n % 6), "--jobs", "nvtx:job"))
             for n, client in enumerate(PROGRAMS)}
    ours = {client: finish(process, 150) for client, process in began.items()}
    say(daemon.end().rstrip())
    slices = {name: len(values) for (step, name), values in steps(f"{WORK}/sliced.csv").items() if step == "sliced"}
    for client in PROGRAMS:
        alone, _, alone_code = finish(start([binary(client), "--jobs", "12", "--check", "3"]), 60)
        out, err, code = ours[client]
        same = out == alone and code == alone_code == 0
        say(f"{client}: {'same' if same else f'DIFFERS: {alone.strip()}; {out.strip()} exit {code}: {err[-200:]}'}, {slices.get(client.lower(), 0)} slices")


def part_slices(clients=",".join(PROGRAMS)):
    """Fig. 11 by the daemon alone: each program under pkm, by the latency that its slices allow; and the cost of a slice that this
    tells. slices.csv has it, too."""
    ratios, rows = {}, ["client,latency,ms,slices"]
    for client in clients.split(","):
        alone, times, counts = None, [], []
        for latency in (None, "1 ms", "0.5 ms", "0.25 ms", "0.125 ms", "0.0625 ms"):
            log = f"{WORK}/slices.csv"
            daemon = Daemon("passthrough" if latency is None else "pkm", log,
                            *([] if latency is None else ["--forms", "worth", "--param", f"latency={latency}"]))
            out, err, code = finish(start(daemon.program([binary(client), "--jobs", "40", "--check", "1000000"], "--jobs", "nvtx:job")), 60)
            daemon.end()
            if code != 0:
                raise RuntimeError(f"{client}: exit {code}: {err[-300:]}")
            count = len(steps(log).get(("sliced", client.lower()), [])) / 40
            rows.append(f"{client},{latency or ''},{median_ms(err):.3f},{count:.0f}")
            if latency is None:
                alone = median_ms(err)
                continue
            times.append(median_ms(err))
            counts.append(count)
            ratios.setdefault(latency, []).append(times[-1] / alone)
        say(f"{client}: {alone:.3f} ms, in slices {', '.join(f'{t:.3f} ({n:.0f})' for t, n in zip(times, counts))}"
            + (f"; {1000 * (times[-1] - times[0]) / (counts[-1] - counts[0]):.1f} us a slice" if counts[-1] > counts[0] else ""))
    for latency, found in ratios.items():
        say(f"slices of {latency}: mean {statistics.mean(found) - 1:+.1%}, most {max(found) - 1:+.1%}")
    say("printed: at 0.0625 ms 45 % in the mean, at most 98 %")
    with open(f"{OUT}/slices.csv", "w") as file:
        file.write("\n".join(rows) + "\n")


def part_overhead(rounds="1"):
    """Fig. 10: each program alone under piv, with kernels that can leave and without, in turns; nobody evicts them."""
    ratios = []
    for client in PROGRAMS:
        times = {"none": [], "worth": []}
        for _ in range(int(rounds)):
            for forms, found in times.items():
                daemon = Daemon("piv", None, "--forms", forms)
                out, err, code = finish(start(daemon.program([binary(client), "--jobs", "60", "--check", "1000000"], "--jobs", "nvtx:job")), 60)
                daemon.end()
                if code != 0:
                    raise RuntimeError(f"{client}: exit {code}: {err[-300:]}")
                found.append(median_ms(err))
        ratio = min(times["worth"]) / min(times["none"])
        ratios.append(ratio)
        say(f"{client}: {min(times['none']):.3f} ms, with forms {min(times['worth']):.3f}: {ratio - 1:+.2%}")
    say(f"overhead: mean {statistics.mean(ratios) - 1:+.2%} (printed 4 %), geometric mean {statistics.geometric_mean(ratios) - 1:+.2%}, "
        f"most {max(ratios) - 1:+.2%} (printed 8 %)")


def part_latency(seconds="2"):
    """Fig. 13: from the order to evict until nothing runs, by the daemon's log; an urgent program comes every 10 ms."""
    for client in PROGRAMS:
        log = f"{WORK}/latency-{client}.csv"
        daemon = Daemon("piv", log, "--forms", "worth")
        process = start(daemon.program([binary(client), "--jobs", "1000000000"], "--jobs", "nvtx:job"))
        time.sleep(5)  # its data, and its first launches
        urgent = start(daemon.program([f"{HERE}/throttle", "100", "--requests", str(int(float(seconds) * 100)), "--sleep", "0.99"], "--priority", "9",
                                      "--jobs", "nvtx:request"))
        out, err, code = finish(urgent, 30)
        process.terminate()
        finish(process, 10)
        daemon.end()
        found = steps(log).get(("drained", client.lower()), [])
        say(f"{client}: " + (spread(found) if found else f"no eviction; urgent: exit {code} {err[-200:]}"))


def part_record():
    need(["sh", f"{LIVE}/record.sh", WORK + "/recordings", "effisha"],
         env=dict(os.environ, GANGWAY=GANGWAY, SHOC=SHOC), cwd=ROOT)
    pack("recordings")


def file_of(name):
    return f"{LIVE}/effisha-{name}.yaml"


def part_figure(name):
    measured(file_of(name), name)


def part_simulate():
    """The same files with these recordings, and how far off that was."""
    recorded = []
    for client in PROGRAMS:
        recorded += ["--set", f"workload.clients.{client}.recording.file={WORK}/recordings/effisha-{client.lower()}.rec.gz"]
    for name in ("fig9", "fig10", "fig11", "fig12", "fig13", "fig14-group", "fig14-sjf", "fig15"):
        simulated(file_of(name), name, *recorded)
    pack("simulated")


if __name__ == "__main__":
    run(globals(), PARTS)
