"""Speed as ratios measured in one run: the event queue against std::priority_queue, blocks against the bare queue, the FRS experiment against the same model in
SimPy, two threads against two processes, NEON's pairs, profiles of a million rows that are imported, look-ups of prepared kernels, what policies take of a run's time, and the peak memory. Prints each figure with its goal; nothing here is a test."""

import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXPERIMENT = os.path.join(ROOT, "experiments/frs/fig4.yaml")
MISSED = []


def show(what, value, goal, good):
    print(f"{what:<62} {value:>14}   goal {goal:<10} {'reached' if good else 'MISSED'}")
    if not good:
        MISSED.append(what)


def run_experiment(binary, folder, jobs, replications=200, seed=1):
    """The FRS experiment, 5 policies x 100 permutations x 200 seeds: jobs, seconds of the run itself."""
    done = subprocess.run(
        [binary, "run", EXPERIMENT, "--out", folder, "--force", "--jobs", str(jobs), "--seed", str(seed),
         "--set", "jobs=false", "--set", f"replications={replications}"],
        check=True, capture_output=True, text=True)
    found = re.search(r"(\d+) jobs, (\d+) events in ([\d.]+) s", done.stdout)
    return int(found[1]), float(found[3])


def best(n, measure):
    return min((measure() for _ in range(n)), key=lambda pair: pair[1])


def queue(build):
    figures = json.loads(subprocess.run([os.path.join(build, "tests/gangway_queue_bench")], check=True,
                                        capture_output=True, text=True).stdout)
    for pending, goal in (("1000", 0.6), ("100000", 0.7)):
        ours, std = figures[pending]["ours_ns"], figures[pending]["std_ns"]
        show(f"event queue, hold model, {pending} pending: {ours} ns / {std} ns", f"{ours / std:.2f}", f"<= {goal}",
             ours / std <= goal)


def timers(build):
    late = json.loads(subprocess.run([os.path.join(build, "tests/gangway_timers_bench")], check=True, capture_output=True,
                                     text=True).stdout)
    show(f"real-time timers: late by {late['p50']} ns (median), {late['largest']} ns at most; 99%", f"{late['p99']} ns",
         "<= 5,000 ns", late["p99"] <= 5_000)


def prepared(build):
    """What a program waits for as it starts whose kernels are prepared."""
    told = json.loads(subprocess.run([os.path.join(build, "tests/gangway_prepared_bench")], check=True, capture_output=True, text=True).stdout)
    show(f"{told['found']} of {told['modules']} prepared modules found, best of 5", f"{told['best_ms']:.0f} ms", "<= 100 ms",
         told["found"] == told["modules"] and told["best_ms"] <= 100)


def package(build):
    """The Python package, where it was built."""
    module, python = os.path.join(build, "python/gangway"), os.path.join(ROOT, "build/venv/bin/python")
    if not os.path.isdir(module) or not os.path.exists(python):
        print("the Python package is not built here: not measured")
        return
    environment = dict(os.environ, GANGWAY_CORE=os.path.abspath(module), PYTHONPATH=os.path.join(ROOT, "analysis"))
    told = json.loads(subprocess.run([python, "-W", "ignore", os.path.join(ROOT, "tests/bench/package.py"), os.path.join(build, "gangway")],
                                     check=True, capture_output=True, text=True, env=environment).stdout.splitlines()[-1])
    ours, theirs = told["python_s"], told["program_s"]
    show(f"an experiment from Python: {ours:.2f} s, by the program {theirs:.2f} s", f"{ours - theirs:+.2f} s", "2 % + 0.2 s",
         ours <= 1.02 * theirs + 0.2)
    show("decisions of a policy in Python", f"{told['decisions_per_s']:,.0f} /s", ">= 50,000", told["decisions_per_s"] >= 50_000)
    ratio = told["two_programs_s"] / told["dask_s"]
    show(f"Dask, two workers: {told['dask_s']:.1f} s, two processes {told['two_programs_s']:.1f} s", f"{ratio:.2f}", ">= 0.9", ratio >= 0.9)
    show("import gangway", f"{told['import_s']:.3f} s", "< 0.3 s", told["import_s"] < 0.3)


def blocks(build):
    figures = json.loads(subprocess.run([os.path.join(build, "tests/gangway_blocks_bench")], check=True, capture_output=True,
                                        text=True).stdout)
    each, bare = figures["per_block_ns"], figures["bare_queue_ns"]
    show(f"a block's end, 2,112 resident: {each} ns / a bare queue's {bare} ns", f"{each / bare:.2f}", "<= 2.5", each / bare <= 2.5)
    small, large = figures["kernel_of_10k_us"], figures["kernel_of_10m_us"]
    show(f"a kernel of 10 million blocks / of 10,000: {large} us / {small} us", f"{large / small:.2f}", "<= 2", large <= 2 * small)
    for key, what, goal in (("waves_times_real_time", "64 streams, kernels of 100 waves", 10),
                            ("unaligned_times_real_time", "64 streams, single waves out of step", 1)):
        show(f"132 SMs, {what}: times real time", f"{figures[key]:,.1f}x", f">= {goal}x", figures[key] >= goal)


def studies(binary, scratch):
    """20,000 random task sets: all bounds, and 1,000 jobs a task simulated."""
    done = subprocess.run([binary, "run", os.path.join(ROOT, "experiments/bounds/schedulability.yaml"), "--out", scratch, "--force",
                           "--jobs", "2", "--set", "sets=250"], check=True, capture_output=True, text=True)
    found = re.search(r"(\d+) task sets, (\d+) jobs in ([\d.]+) s", done.stdout)
    show(f"{found[1]} task sets, {int(found[2]) / 1e6:.0f} million jobs, two threads", f"{float(found[3]):.0f} s", "<= 180 s",
         int(found[1]) == 20_000 and float(found[3]) <= 180)


def one_core(binary, scratch, name, goal):
    """A whole experiment with one thread."""
    done = subprocess.run([binary, "run", os.path.join(ROOT, f"experiments/{name}.yaml"), "--out", scratch, "--force", "--jobs", "1"],
                          check=True, capture_output=True, text=True)
    found = re.search(r"(\d+) jobs, (\d+) events in ([\d.]+) s", done.stdout)
    show(f"{name}, {int(found[1]) / 1e6:.1f} million jobs, one core", f"{float(found[3]):.0f} s", f"<= {goal} s", float(found[3]) <= goal)


def against_simpy(binary, scratch):
    jobs, seconds = best(5, lambda: run_experiment(binary, scratch, 1))
    rate = jobs / seconds
    def simpy():
        out = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tests/oracle/bench_simpy.py"), os.path.join(ROOT, "workloads/frs-table1.yaml"),
             os.path.join(ROOT, "models/devices/titan-x-pascal.yaml"), "--permutations", "200"],
            check=True, capture_output=True, text=True).stdout
        figures = json.loads(out.splitlines()[-1])
        return figures["jobs"], figures["seconds"]
    simpy_jobs, simpy_seconds = best(3, simpy)
    simpy_rate = simpy_jobs / simpy_seconds
    show(f"FRS experiment, one core: {rate:,.0f} jobs/s / the same in SimPy {simpy_rate:,.0f}", f"{rate / simpy_rate:.0f}x", ">= 60x",
         rate / simpy_rate >= 60)


def memory(binary, scratch):
    run_experiment(binary, scratch, 1)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    show("peak memory of the largest process so far, MiB", f"{peak:.0f}", "< 100", peak < 100)


def policies(build):
    """Every experiment under every policy that is not the device's own: the share of the process's time that the policy takes."""
    files = [file for paper in ("frs", "effisha", "neon", "share-a-gpu", "all")
             for file in sorted(glob.glob(os.path.join(ROOT, "experiments", paper, "*.yaml"))) if os.path.basename(file) != "printed.yaml"]
    out = subprocess.run([os.path.join(build, "tests/gangway_policies_bench"), *files], check=True, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in out.splitlines()]
    shares = sorted(((each["at_work"] / each["looks"], f"{each['policy']} in {each['experiment']}") for each in found), reverse=True)
    for share, where in shares[:5]:
        show(f"time that a policy takes: {where}", f"{100 * share:.0f} %", "<= 30 %", share <= 0.3)
    show(f"the same, median of {len(shares)} policies in {len(files)} experiments", f"{100 * shares[len(shares) // 2][0]:.0f} %", "<= 30 %",
         shares[len(shares) // 2][0] <= 0.3)


def recorded_programs(binary, scratch):
    """60 s of two recorded programs, of about 6 million submissions, under eight policies; decoded before."""
    sys.path.insert(0, os.path.join(ROOT, "tests/oracle"))
    from recorded_files import Recorder
    from recorded_parts import STREAM

    os.makedirs(scratch)
    for name, length, kernels, jobs in (("A", 9_000, 250, 400), ("B", 7_500, 480, 200)):
        recorder, begin = Recorder(), 10_000
        for _ in range(jobs):
            calls = [recorder.kernel(begin + 4_000 * k, 3_000, 0, begin + 5_000 + (length + 1_000) * k, length) for k in range(kernels)]
            last, end = begin + 4_000 * kernels, begin + 11_000 + (length + 1_000) * kernels
            calls.append(recorder.wait(last, end - last, STREAM, 0))
            recorder.job(begin, end - begin, calls)
            begin = end + 100_000
        recorder.write(os.path.join(scratch, f"{name}.rec"))
    clients = "".join(f"    - {{name: {name}, recording: {name}.rec, repeat: {{jobs: endless}}}}\n" for name in "AB")
    with open(os.path.join(scratch, "e.yaml"), "w", encoding="utf-8") as file:
        file.write("kind: experiment\nversion: 1\nname: two\nworkload:\n  kind: workload\n  version: 1\n  name: two\n  clients:\n" + clients
                   + "device: h100\nmechanism: ideal\ngrant: {of: job, in_flight: 64}\nhorizon: 60 s\njobs: false\n"
                   + "policies: [passthrough, fcfs, sjf, srt, rr, frs, edf, stride]\n")

    def play(horizon):
        out = subprocess.run([binary, "run", "e.yaml", "--out", "out", "--force", "--jobs", "1", "--set", f"horizon={horizon}"],
                             cwd=scratch, check=True, capture_output=True, text=True).stdout
        return float(re.search(r"events in ([\d.]+) s", out)[1])

    play("1 s")
    seconds = play("60 s")
    show("60 s of two recorded programs, 8 policies, one core", f"{seconds:.0f} s", "<= 30 s", seconds <= 30)


def imports(binary, scratch):
    """Profiles of a million rows; of PyTorch's half a million more, of operators, as real traces have them."""
    os.makedirs(scratch)
    for profiler, name in (("nsys", "p.sqlite"), ("torch", "p.json.gz")):
        file = os.path.join(scratch, name)
        # In a process of its own: the memory of this one would count as that of its children.
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/bench/profiles.py"), profiler, file, "1000000"], check=True)
        began = time.perf_counter()
        process = subprocess.Popen([binary, "import", profiler, file, "--out", os.path.join(scratch, f"{profiler}.rec")], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds, peak = time.perf_counter() - began, usage.ru_maxrss / 1024
        process.returncode = os.waitstatus_to_exitcode(status)
        show(f"import {profiler}, a million rows", f"{seconds:.1f} s", "< 20 s", process.returncode == 0 and seconds < 20)
        show(f"import {profiler}, a million rows: peak memory, MiB", f"{peak:.0f}", "< 1024", peak < 1024)


def two_processes(binary, scratch):
    """Wall time of two processes with half the seeds each, against two threads with all of them."""
    def processes():
        began = time.perf_counter()
        both = [subprocess.Popen([binary, "run", EXPERIMENT, "--out", f"{scratch}-{i}", "--force", "--jobs", "1", "--seed",
                                  str(i + 1), "--set", "jobs=false", "--set", "replications=100"],
                                 stdout=subprocess.DEVNULL) for i in range(2)]
        for process in both:
            process.wait()
        return 0, time.perf_counter() - began
    def threads():
        began = time.perf_counter()
        run_experiment(binary, scratch, 2)
        return 0, time.perf_counter() - began
    rounds = [(processes()[1], threads()[1]) for _ in range(7)]
    ratio = sorted(p / t for p, t in rounds)[len(rounds) // 2]
    show("two threads against two processes (median of 7 pairs)", f"{ratio:.2f}", ">= 0.9", ratio >= 0.9)


def main():
    build = os.path.abspath(sys.argv[1])
    binary = os.path.join(build, "gangway")
    with tempfile.TemporaryDirectory() as folder:
        scratch = os.path.join(folder, "run")
        memory(binary, scratch)
        queue(build)
        timers(build)
        prepared(build)
        policies(build)
        blocks(build)
        against_simpy(binary, scratch)
        two_processes(binary, scratch)
        recorded_programs(binary, os.path.join(folder, "recorded"))
        imports(binary, os.path.join(folder, "imports"))
        package(build)
        studies(binary, os.path.join(folder, "study"))
        one_core(binary, os.path.join(folder, "pairs"), "neon/fig6", 120)
    print(f"{len(MISSED)} goals missed" if MISSED else "all goals reached")


if __name__ == "__main__":
    main()
