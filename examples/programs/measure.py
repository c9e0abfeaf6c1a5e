"""Records the programs here and runs them alone and in pairs, on a machine with a GPU that nobody else uses.

measure.py OUT PART ...    parts: try, record, pairs, all (both), mps (pairs under MPS), overhead (alone, under `gangway serve`
                           with three policies, and without it); all:200 ends before 200 s
GANGWAY is the program `gangway`; what is in OUT already is overwritten."""

import csv
import gzip
import json
import os
import signal
import statistics
import subprocess
import sys
import time

BEGAN = time.monotonic()
HERE = os.path.dirname(os.path.abspath(__file__))
GANGWAY = os.environ.get("GANGWAY", "gangway")
CALM = dict(os.environ, TRANSFORMERS_VERBOSITY="error", PYTHONDONTWRITEBYTECODE="1")

# name: how it is started, jobs to record (each recording stays below about 40,000 submissions)
PROGRAMS = {
    "resnet50-graph": (["resnet50.py", "--graph"], 1000),
    "resnet50-eager": (["resnet50.py", "--batch", "128"], 100),
    "bert-graph": (["bert.py", "--graph"], 1000),
    "bert-eager": (["bert.py", "--batch", "32"], 200),
    "gpt2-train": (["gpt2_train.py", "--warm-up", "5"], 38),
    "llama-decode": (["llama_decode.py"], 100),
    "fft-filter": (["fft_filter.py"], 600),
    "long-kernel": (["long_kernel.py"], 100),
}

# Services are also recorded at such a rate: requests that find the GPU idle take longer than those of a closed loop.
PACED = {"resnet50-graph": (60, 600), "bert-graph": (60, 600)}  # a second, jobs

# Policies under which a program alone should lose nothing.
ALONE = ("passthrough", "disengaged-timeslice", "disengaged-fair-queueing")

# The first is at the rate given (a second; None: closed loop), the second always in a closed loop; for how many seconds.
PAIRS = [
    ("resnet50-graph", None, "gpt2-train", 5),
    ("resnet50-graph", 60, "gpt2-train", 17.5),
    ("resnet50-graph", 120, "gpt2-train", 9),
    ("resnet50-graph", 120, "long-kernel", 9),
    ("resnet50-graph", 120, "fft-filter", 9),
    ("bert-graph", 120, "gpt2-train", 9),
    ("bert-graph", 120, "resnet50-eager", 9),
    ("bert-graph", None, "long-kernel", 6),
    ("resnet50-graph", None, "bert-graph", 4),
    ("llama-decode", None, "gpt2-train", 6),
    ("bert-eager", None, "fft-filter", 5),
    ("resnet50-eager", 20, "gpt2-train", 7),
    ("bert-eager", 60, "long-kernel", 6),
    ("llama-decode", 60, "long-kernel", 6),
    ("gpt2-train", None, "long-kernel", 5),
    ("resnet50-graph", 20, "long-kernel", 10),
    ("fft-filter", None, "gpt2-train", 4),
]


def say(out, text):
    print(text, flush=True)
    with open(f"{out}/report.txt", "a") as report:
        report.write(text + "\n")


class Program:
    """A process of a program: told through its standard input what to run, it answers with a line."""

    def __init__(self, out, name, more, wrapper=(), **popen):
        self.out, self.name = out, name
        self.errors = open(f"{out}/{name}.err", "a")
        self.process = subprocess.Popen([*wrapper, sys.executable, HERE + "/" + PROGRAMS[name][0][0], *PROGRAMS[name][0][1:], *more],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=CALM,
                                        start_new_session=True, **popen)

    def answer(self):
        line = self.process.stdout.readline().strip()
        if not line:
            say(self.out, f"{self.name}: ended with {self.process.wait()}")
        return line

    def run(self, options):
        if self.process.poll() is None:
            self.process.stdin.write(options + "\n")
            self.process.stdin.flush()

    def pause(self):
        os.killpg(self.process.pid, signal.SIGSTOP)

    def go_on(self):
        os.killpg(self.process.pid, signal.SIGCONT)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(120)


def collect(out, prefix):
    """The jobs of all pairs in one file, for predict.py."""
    with gzip.open(f"{out}/{prefix}pairs.csv.gz", "wt", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["pair", "program", "arrival_ns", "begin_ns", "end_ns"])
        for number, (a, _, b, _) in enumerate(PAIRS):
            for name in (a, b):
                log = f"{out}/{prefix}pair-{number:02}-{name}.jsonl"
                if os.path.exists(log):
                    with open(log, encoding="utf-8") as lines:
                        rows.writerows((number, name, job["arrival"], job["begin"], job["end"]) for job in map(json.loads, lines))


def start_all(out, names=PROGRAMS):
    began = time.monotonic()
    programs = {name: Program(out, name, ["--runs"]) for name in names}
    for program in programs.values():
        program.answer()
    say(out, f"-- programs ready after {time.monotonic() - began:.1f} s")
    return programs


def alone(out, programs, prefix, seconds=1.5):
    for name, program in programs.items():
        program.run(f"--seconds {seconds} --log {out}/{prefix}{name}.jsonl")
        say(out, f"{prefix}{name}: {program.answer()}")
    for name, rate in sorted({(a, rate) for a, rate, _, _ in PAIRS if rate}):
        program = programs[name]
        if name.endswith("-graph"):
            program.run(f"--seconds 3 --rate {rate} --seed 7 --log {out}/{prefix}{name}-{rate}.jsonl")
            say(out, f"{prefix}{name} {rate}/s: {program.answer()}")


def pairs(out, programs, prefix, limit):
    for number, (a, rate, b, seconds) in enumerate(PAIRS):
        if time.monotonic() + seconds + 1 > BEGAN + limit:
            say(out, f"{prefix}{number}: no time left")
            continue
        start = time.monotonic() + 0.1
        both = f"--start-at {start} --seconds {seconds} --log {out}/{prefix}{number:02}"
        programs[a].run(f"{both}-{a}.jsonl --seed {100 + number}" + (f" --rate {rate}" if rate else ""))
        programs[b].run(f"{both}-{b}.jsonl")
        say(out, f"{prefix}{number:02} {a} {'closed' if rate is None else f'{rate}/s'}: {programs[a].answer()} | {b}: {programs[b].answer()}")


def part_record(out, limit, names=PROGRAMS, sets=("", "-2", "-paced"), share=1.0, meanwhile=lambda: None):
    """`meanwhile` is done while graph programs are being set up for their second run."""
    began, recorded = time.monotonic(), {}
    for suffix in sets:
        for name in names if suffix != "-paced" else PACED:
            start_file = f"{out}/start-{name}{suffix}"
            nodes = ["--graph-nodes"] if name.endswith("-graph") and suffix != "-2" else []
            jobs, more = PROGRAMS[name][1], []
            if suffix == "-paced":
                rate, jobs = PACED[name]
                more = ["--rate", str(rate), "--seed", "3"]
            wrapper = [GANGWAY, "record", "--force", "--jobs", "nvtx:job", *nodes, "--out", f"{out}/{name}{suffix}.rec", "--"]
            recorded[name, suffix] = (Program(out, name, ["--jobs", str(int(jobs * share)), *more, "--start-at", start_file,
                                                          "--log", f"{out}/recorded-{name}{suffix}.jsonl"], wrapper), start_file, nodes)
    for program, _, _ in recorded.values():
        program.answer()
        program.pause()  # or it looks for its file while others are recorded
    say(out, f"-- recorded programs ready after {time.monotonic() - began:.1f} s")
    for (name, suffix), (program, start_file, _) in recorded.items():
        program.go_on()
        open(start_file, "w").close()
        say(out, f"recorded {name}{suffix}: {program.answer()}")
        time.sleep(0.3)
    other = meanwhile()
    for (name, suffix), (program, start_file, nodes) in recorded.items():
        if nodes and program.answer():  # ready again: its second run
            os.rename(f"{out}/recorded-{name}{suffix}.jsonl", f"{out}/first-{name}{suffix}.jsonl")
            open(start_file, "w").close()
            say(out, f"nodes of {name}{suffix}: {program.answer()}")
    for (name, suffix), (program, _, _) in recorded.items():
        if code := program.end():
            say(out, f"recording {name}{suffix}: exit {code}")
        if os.path.exists(f"{out}/first-{name}{suffix}.jsonl"):
            os.rename(f"{out}/first-{name}{suffix}.jsonl", f"{out}/recorded-{name}{suffix}.jsonl")
    say(out, f"-- recorded after {time.monotonic() - began:.1f} s")
    return other


def part_try(out, limit):
    programs = start_all(out)
    alone(out, programs, "try-", 0.7)
    for program in programs.values():
        program.end()
    part_record(out, limit, sets=("",), share=0.1)


def part_pairs(out, limit, prefix="", programs=None):
    programs = programs or start_all(out)
    alone(out, programs, prefix + "alone-")
    pairs(out, programs, prefix + "pair-", limit)
    collect(out, prefix)
    for program in programs.values():
        program.end()


def part_all(out, limit):
    """Recordings and pairs, with less waiting."""
    part_pairs(out, limit, programs=part_record(out, limit, meanwhile=lambda: start_all(out)))


def part_mps(out, limit):
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = CALM["CUDA_MPS_PIPE_DIRECTORY"] = f"{out}/mps"
    os.environ["CUDA_MPS_LOG_DIRECTORY"] = CALM["CUDA_MPS_LOG_DIRECTORY"] = f"{out}/mps"
    os.makedirs(f"{out}/mps", exist_ok=True)
    subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
    try:
        part_pairs(out, limit, "mps-")
    finally:
        subprocess.run(["nvidia-cuda-mps-control"], input="quit -t 1\n", text=True)
        for key in ("CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"):
            CALM.pop(key)


def mean_job(log):
    with open(log, encoding="utf-8") as lines:
        lengths = [job["end"] - job["begin"] for job in map(json.loads, lines)]
    return sum(lengths) / len(lengths)


def serve(out, policy, socket):
    with open(f"{out}/serve-{policy}.txt", "w") as log:
        daemon = subprocess.Popen([GANGWAY, "serve", "--policy", policy, "--socket", socket], stdout=log, stderr=log)
    while not os.path.exists(socket) and daemon.poll() is None:
        time.sleep(0.01)
    return daemon


def part_overhead(out, limit, seconds=0.8):
    """Each program alone, by turns without Gangway and as a client: the ratio of mean job times in each round. Under one policy after
    the other, with the same processes. After five rounds only those programs go on whose median is not certain yet. The programs
    are one group, as policies of time slices give idle clients their turns, too."""

    def certain(found):  # the median's standard error, of a normal sample
        return len(found) >= 5 and 1.25 * statistics.stdev(found) / len(found) ** 0.5 < 0.003

    socket, programs = f"{out}/socket", {}
    wrappers = {"native": (), "client": (GANGWAY, "exec", "--socket", socket, "--group", "alone", "--")}
    for number, policy in enumerate(ALONE):
        daemon = serve(out, policy, socket)
        if not programs:
            programs = {(name, kind): Program(out, name, ["--runs"], wrapper) for name in PROGRAMS for kind, wrapper in wrappers.items()}
            for program in programs.values():
                program.answer()
            say(out, f"-- programs ready after {time.monotonic() - BEGAN:.1f} s")
        else:
            time.sleep(1)  # clients look for a new daemon ten times a second
        ratios = {name: [] for name in PROGRAMS}
        until = time.monotonic() + (BEGAN + limit - time.monotonic()) / (len(ALONE) - number)
        while (names := [name for name in PROGRAMS if not certain(ratios[name])]):
            if time.monotonic() > until - len(names) * 2 * seconds - 5:
                break
            for name in names:
                means = {}
                for kind in list(wrappers)[::(1 if len(ratios[name]) % 2 else -1)]:
                    log = f"{out}/overhead-{name}-{kind}.jsonl"
                    programs[name, kind].run(f"--seconds {seconds} --log {log}")
                    programs[name, kind].answer()
                    means[kind] = mean_job(log)
                ratios[name].append(means["client"] / means["native"])
        clients = json.loads(subprocess.run([GANGWAY, "status", "--json", "--socket", socket], capture_output=True, text=True).stdout)["clients"]
        say(out, f"== {policy}, {len(clients)} clients")
        medians = {name: statistics.median(found) for name, found in ratios.items() if found}
        for name, found in ratios.items():
            if found:
                say(out, f"{name}: {medians[name]:.4f} (median of {len(found)}; {min(found):.4f} to {max(found):.4f})")
        if medians:
            say(out, f"geometric mean {statistics.geometric_mean(medians.values()):.4f}, worst {max(medians.values()):.4f}")
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(20)
    for program in programs.values():
        program.end()


PARTS = {"try": part_try, "record": part_record, "pairs": part_pairs, "all": part_all, "mps": part_mps, "overhead": part_overhead}


def main():
    out, parts = os.path.abspath(sys.argv[1]), sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    say(out, subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,temperature.gpu", "--format=csv,noheader"],
                            capture_output=True, text=True).stdout.strip())
    for part in parts:
        name, _, limit = part.partition(":")  # no pair that would be over later than so many seconds after the begin
        PARTS[name](out, float(limit or 1000))


if __name__ == "__main__":
    main()
