"""Measures memory that leaves the GPU, on a machine with a GPU, in parts; those that are done are not done again.

memory.py OUT [PART ...]     GANGWAY: the program; BIN: folder of the compiled memory_program; SERVICE: instead of large_service.py

Parts: copies, swap, training, pauses, three, services, allocations, checkpoint. `three` runs under the policies that THREE names."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from service import Service, Silent

HERE = os.path.dirname(os.path.abspath(__file__))
GANGWAY = os.environ.get("GANGWAY", "build/release/gangway")
BIN = os.environ.get("BIN", HERE)
OUT = os.path.abspath(sys.argv[1])
PROGRAM = os.path.join(BIN, "memory_program")
PYTHON = sys.executable
SERVICE = os.environ.get("SERVICE", os.path.join(HERE, "large_service.py"))
CALM = dict(os.environ, TRANSFORMERS_VERBOSITY="error", PYTHONUNBUFFERED="1")
CALM.setdefault("CUDA_VISIBLE_DEVICES", "0")  # the memory of a program that sees several GPUs does not move
GIB = 1 << 30


def say(text):
    print(text, flush=True)
    with open(OUT + "/report.txt", "a") as f:
        f.write(text + "\n")


class Daemon:
    def __init__(self, name, policy, *options):
        self.folder = tempfile.mkdtemp(prefix="gangway-")
        self.socket, self.log = self.folder + "/socket", f"{OUT}/{name}.csv"
        self.out = open(f"{OUT}/{name}.out", "w+")
        memory = [] if "--memory" in options else ["--memory", "managed"]
        self.process = subprocess.Popen([GANGWAY, "serve", "--policy", policy, *memory, "--socket", self.socket, "--log", self.log, *options],
                                        stdout=self.out, stderr=subprocess.STDOUT)
        end = time.monotonic() + 120  # its process for checkpoints initialises the driver first
        while not os.path.exists(self.socket) and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def program(self, name, *command, options=(), **pipes):
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
        return subprocess.Popen([GANGWAY, "exec", "--socket", self.socket, "--name", name, *options, "--", *command], text=True, env=CALM, cwd=HERE, **pipes)

    def status(self):
        result = subprocess.run([GANGWAY, "status", "--json", "--socket", self.socket], capture_output=True, text=True, timeout=20)
        return json.loads(result.stdout) if result.returncode == 0 else {"clients": [], "memory": None}

    def memory(self):
        return {client["name"]: client["memory"] for client in self.status()["clients"]}

    def until(self, condition, limit):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if condition(self.memory()):
                return True
            time.sleep(0.1)
        say(f"   not within {limit} s: {json.dumps(self.memory())[:800]}")
        return False

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            say("   the daemon did not end")
        self.out.seek(0)
        shutil.rmtree(self.folder, ignore_errors=True)
        return self.out.read().rstrip()


def finish(process, limit):
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return "TIMEOUT " + out, err, -1
    return out, err, process.returncode


def native(*command, limit=120, **more):
    return finish(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CALM, cwd=HERE, **more), limit)


def end_programs(*programs):
    for program in programs:
        program.terminate()
    for program in programs:
        finish(program, 30)


def moves(log):
    """(time, step, client, value) of each move that is over: left and came, with the bytes of its order."""
    rows, bytes_of = [], {}
    for line in open(log):
        fields = line.strip().split(",")
        if len(fields) != 5 or fields[1] not in ("leaves", "left", "comes", "came", "failed"):
            continue
        at, step, client, name, value = int(fields[0]), fields[1], fields[2], fields[3], int(fields[4])
        if step in ("leaves", "comes"):
            bytes_of[client, name] = (at, value)
        elif step == "failed":
            rows.append((at, step, name, value, 0, at))
        elif (client, name) in bytes_of:
            rows.append((at, step, name, value, bytes_of[client, name][1], bytes_of[client, name][0]))
    return rows


def swaps(log):
    """Of each pair of moves at the same time: one out, another in. Seconds from the first order to the last end; bytes each way."""
    rows, found = moves(log), []
    outs = [row for row in rows if row[1] == "left" and row[4] > 0]
    for at, _, name, _, size, ordered in (row for row in rows if row[1] == "came" and row[4] > 0):
        partner = next((o for o in outs if o[2] != name and o[5] < at and o[0] > ordered), None)
        if partner:
            found.append(((max(at, partner[0]) - min(ordered, partner[5])) / 1e9, partner[4], size))
    return found


def both_ways():
    """GB/s each way of copies from pinned memory both ways at once, as `copies` measured them last."""
    try:
        return max(json.loads(line)["both_gb_s_each"] for line in open(OUT + "/copies.txt") if line.startswith("{"))
    except (OSError, ValueError):
        return None


def part_copies():
    say(native("nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used", "--format=csv,noheader")[0].strip())
    say(native("sh", "-c", "free -g | head -2; cat /sys/fs/cgroup/memory.max; nproc; cat /sys/kernel/mm/transparent_hugepage/enabled")[0].strip())
    out, err, code = native(PROGRAM, "copies", "16")
    say(f"== copies, exit {code}\n{out.rstrip()}{err}")
    open(OUT + "/copies.txt", "w").write(out)
    return code == 0


def part_swap():
    """Two clients of 32 GiB, of which one fits: one goes and the other comes, both ways at once."""
    size = float(os.environ.get("SWAP_GIB", "32"))
    daemon = Daemon("swap", "rr", "--param", "quantum=2 s", "--capacity", f"{size + 2} GiB", "--host-memory", f"{2 * size + 3} GiB")
    programs = [daemon.program(name, PROGRAM, "holds", str(size), "34") for name in "ab"]
    passed = {}
    while all(program.poll() is None for program in programs):
        passed.update((name, (m["passed_on"] / GIB, m["saved"] / GIB)) for name, m in daemon.memory().items())
        time.sleep(0.5)
    results = [finish(program, 150) for program in programs]
    say("== swap: passed on " + ", ".join(f"{on:.1f} of {out:.1f} GiB ({name})" for name, (on, out) in sorted(passed.items())))
    for name, (out, err, code) in zip("ab", results):
        say(f"== swap: {name} exit {code}: {' '.join(out.splitlines()[:1] + out.splitlines()[-1:])} {err.strip()}")
    text, found = daemon.end(), swaps(f"{OUT}/swap.csv")
    bus = both_ways()
    for seconds, out_bytes, in_bytes in found:
        ideal = max(out_bytes, in_bytes) / 1e9 / bus if bus else float("nan")
        say(f"   swap: {out_bytes / GIB:.2f} GiB out, {in_bytes / GIB:.2f} GiB in, {seconds:.3f} s; the copies alone {ideal:.3f} s: {seconds / ideal:.3f} times")
    say(text)
    for at, step, name, value, size_, _ in moves(f"{OUT}/swap.csv")[:24]:
        say(f"   {at / 1e9:9.3f} {name} {step} {size_ / GIB:.2f} GiB {value / 1e6:.1f} ms {size_ / max(value, 1):.2f} GB/s")
    return bool(found) and all(code == 0 for _, _, code in results)


def part_training():
    """The losses of GPT-2 training, bit by bit, alone and while its state goes and comes 100 times."""
    steps = os.environ.get("LOSS_STEPS", "220")
    alone, err, code = native(PYTHON, f"{HERE}/losses.py", steps)
    say(f"== training natively: exit {code}, {err.strip()[-200:]}")
    used = int((re.findall(r"(\d+) MiB", err) or ["6000"])[-1])
    managed = Daemon("training-alone", "rr")
    out, err, code = finish(managed.program("alone", PYTHON, f"{HERE}/losses.py", steps), 120)
    managed.end()
    say(f"   alone with managed memory: exit {code}, {err.strip()[-200:]}: {'the same bits' if out == alone else 'OTHER BITS'}")
    same = out == alone
    daemon = Daemon("training", "rr", "--param", "quantum=60 ms", "--capacity", f"{used + 1500} MiB")
    other = daemon.program("other", PROGRAM, "holds", "3", "100000")
    daemon.until(lambda m: "other" in m and m["other"]["resident"] > 2 * GIB, 30)
    training = daemon.program("training", PYTHON, f"{HERE}/losses.py", steps)
    restores = passed = 0
    while training.poll() is None and restores < 10**6:
        seen = daemon.memory().get("training", {})
        restores = seen.get("restores", restores)
        passed = seen.get("passed_on", passed)
        time.sleep(0.3)
    out, err, code = finish(training, 5)
    end_programs(other)
    say(f"   beside another, {restores} times away and back, {passed / GIB:.1f} GiB passed on: exit {code}, {err.strip()[-200:]}: "
        f"{'the same bits' if out == alone else 'OTHER BITS'}")
    say("   " + daemon.end())
    return same and out == alone and restores >= 100


def part_pauses():
    """Two training loops that do not fit together and pause for 5 ms after each step: how many steps they do in the same time as one alone."""
    size, seconds = os.environ.get("PAUSES_GIB", "40"), 40
    alone, err, code = native(PYTHON, f"{HERE}/pauses.py", size, "5", "10")
    say(f"== pauses of 5 ms, states of {size} GiB: alone {int(alone) * seconds // 10} steps in {seconds} s")
    good = code == 0
    for linger in ([], ["--linger", "1 ms"]):
        daemon = Daemon(f"pauses-{len(linger)}", "rr", "--param", "quantum=5 s", "--capacity", f"{int(size) * 3 // 2} GiB", *linger)
        programs = [daemon.program(name, PYTHON, f"{HERE}/pauses.py", size, "5", str(seconds)) for name in ("a", "b")]
        results = [finish(program, 60 + 2 * seconds) for program in programs]
        saves = sum(1 for _, step, *_ in moves(f"{OUT}/pauses-{len(linger)}.csv") if step == "left")
        good = good and all(code == 0 for _, _, code in results)
        say(f"   {' '.join(linger) or 'by default'}: {' and '.join(out.strip() for out, _, _ in results)} steps, states left {saves} times")
        say("   " + daemon.end())
    return good


def jobs_between(out, begin, end):
    """Jobs between two times of the machine's clock. Between two lines of the program they are taken as evenly spread."""
    rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    last = rows.pop()
    points = [(last["began"], 0)] + [(last["began"] + row["t"], row["jobs"]) for row in rows] + [(last["began"] + last["seconds"], last["jobs"])]
    done = 0.0
    for (t, jobs), (t_next, jobs_next) in zip(points, points[1:]):
        within = min(end, t_next) - max(begin, t)
        done += (jobs_next - jobs) * within / (t_next - t) if within > 0 else 0
    return done


def period(out):
    """When the program began to work and when it ended, by the machine's clock."""
    last = json.loads(out.splitlines()[-1])
    return last["began"], last["began"] + last["seconds"]


def part_three():
    """Three clients that do not fit together, with slices ten times what equation 1 asks for."""
    size = float(os.environ.get("THREE_GIB", "30"))
    alone_out, _, _ = native(PROGRAM, "holds", str(size), "6")
    began, ended = period(alone_out)
    alone = jobs_between(alone_out, began, ended) / (ended - began)
    slice_s = 10 * 2 * size * GIB / (both_ways() or 45) / 1e9
    say(f"== three of {size} GiB; alone {alone:.2f} jobs/s; slices of {slice_s:.2f} s")
    good = True
    for policy in os.environ.get("THREE", "microkernel-rr rr").split():
        options = {"microkernel-rr": ["--param", "blocks=job", "--param", f"slice={slice_s:.3f} s"],
                   "rr": ["--param", f"quantum={slice_s:.3f} s"]}[policy]
        # Room for two, also on a GPU that would hold all three.
        daemon = Daemon(f"three-{policy}", policy, "--capacity", f"{2 * size + 4} GiB", "--host-memory", f"{3 * size + 4} GiB", *options)
        seconds = 6 * slice_s + 20
        programs = [daemon.program(name, PROGRAM, "holds", str(size), f"{seconds:.1f}") for name in "abc"]
        began = time.monotonic()
        daemon.until(lambda m: len(m) == 3 and all(c["resident"] + c["away"] > size * GIB * 0.99 for c in m.values()), 60)
        loaded = time.monotonic() - began
        results = [finish(program, seconds + 150) for program in programs]
        text = daemon.end()
        for name, (out, err, code) in zip("abc", results):
            say(f"   {policy}: {name} exit {code}: {' '.join(out.splitlines()[:1] + out.splitlines()[-1:])} {err.strip()}")
        if any(code != 0 for _, _, code in results):
            good = False
            continue
        # From when the last one had loaded until the first one ended; then without the first time that each leaves, when host memory is taken.
        rows = moves(f"{OUT}/three-{policy}.csv")
        periods = [period(out) for out, _, _ in results]
        begin, end = max(p[0] for p in periods), min(p[1] for p in periods)
        for since, what in ((begin, "all"), (begin + 3 * slice_s, "without the first three slices")):
            jobs = [jobs_between(out, since, end) for out, _, _ in results]
            total = sum(jobs) / (end - since)
            say(f"   {policy}, {what}: {' + '.join(f'{n:.1f}' for n in jobs)} jobs in {end - since:.1f} s: {total / alone:.4f} of one alone "
                f"(all loaded after {loaded:.1f} s)")
        for at, step, name, value, size_, _ in rows[:30]:
            say(f"     {at / 1e9:9.3f} {name} {step} {size_ / GIB:.2f} GiB {value / 1e6:.1f} ms")
        say("   " + text)
    return good


def median(values):
    return sorted(values)[len(values) // 2]


def large_service(name, *, seed, around=()):
    command = [*around, PYTHON, SERVICE, os.environ.get("SERVICE_GIB", "30"), str(seed)]
    return Service(name, command, f"{OUT}/service-{name}.err", env=CALM, cwd=HERE)


def services_anew():
    """The answers of three services, each started after the one before was killed. The first round finds PyTorch on a cold disk."""
    answers, rounds = {}, ([], [])
    for seconds in rounds:
        service = None
        for seed, name in enumerate("abc"):
            began = time.monotonic()
            if service is not None:
                service.end()
            service = large_service(name, seed=seed)
            seconds.append(time.monotonic() - began)
            if answers.setdefault(name, service.first) != service.first:
                raise Silent(f"{name}: {service.first} after {answers[name]}")
        warm = [service.ask()[0] for _ in range(3)]
        service.end()
    say(f"   started anew: first answers after {', '.join(f'{s:.2f}' for s in rounds[0])} s, again {', '.join(f'{s:.2f}' for s in rounds[1])} s: "
        f"median {median(rounds[1]):.2f} s; warm {median(warm):.1f} ms")
    return answers


def services_by_turns(mechanism, answers, turns):
    """Three services on a GPU with room for two of them, asked in turn. True: each gave the native answer always, and left and came back."""
    size = float(os.environ.get("SERVICE_GIB", "30"))
    daemon = Daemon(f"services-{mechanism}", "fcfs", "--memory", mechanism, "--capacity", f"{2 * size + 2:g} GiB", "--host-memory", f"{3 * size + 6:g} GiB")
    services, waits, good = [], [], True
    try:
        for seed, name in enumerate("abc"):
            services.append(large_service(name, seed=seed, around=(GANGWAY, "exec", "--socket", daemon.socket, "--name", name, "--")))
            say(f"   {mechanism}: {name}: ready after {services[-1].ready:.2f} s")
            good = good and services[-1].first == answers[name]
        if mechanism == "managed":  # what has no pinned memory yet stays
            daemon.until(lambda m: len(m) == 3 and all(c["pinned"] > size * GIB * 0.99 for c in m.values()), 60)
        for turn in range(turns):
            for service in services:
                ms, answer = service.ask()
                waits.append(ms)
                good = good and answer == answers[service.name]
                seen = daemon.memory().get(service.name) or {}
                say(f"   {mechanism}: turn {turn}: {service.name} answers after {ms:.0f} ms{'' if answer == answers[service.name] else ', WRONG'}; "
                    f"last save {(seen.get('last_save_ns') or 0) / 1e6:.0f} ms, restore {(seen.get('last_restore_ns') or 0) / 1e6:.0f} ms")
        memory = daemon.memory()
        away = [name for name in answers if memory.get(name, {}).get("restores", 0) == 0]
        say(f"   {mechanism}: median {median(waits):.0f} ms, at most {max(waits):.0f}" + (f"; never away: {', '.join(away)}" if away else ""))
        return good and not away
    except Silent as why:
        say(f"   {mechanism}: {why}; {json.dumps(daemon.memory())[:800]}")
        return False
    finally:
        for service in services:
            service.end()
        for at, step, name, value, size_, _ in moves(f"{OUT}/services-{mechanism}.csv")[-16:]:
            say(f"     {at / 1e9:9.3f} {name} {step} {size_ / GIB:.2f} GiB {value / 1e6:.1f} ms")
        say("   " + daemon.end())


def part_services():
    """Three PyTorch services by turns: a request whose state is away, against killing one and starting the next, and against checkpoints."""
    say(f"== services of {os.environ.get('SERVICE_GIB', '30')} GiB")
    try:
        answers = services_anew()
    except Silent as why:
        say(f"   started anew: {why}")
        return False
    if len(set(answers.values())) < len(answers):
        say(f"   the services' answers do not differ: {answers}")
        return False
    return all([services_by_turns(mechanism, answers, turns) for mechanism, turns in (("managed", 3), ("checkpoint", 2))])


def part_allocations():
    """Allocation calls natively and served by Gangway, in turns, since processes differ by a factor of two; a program alone, its time."""
    daemon = Daemon("allocations", "rr")
    rounds = [], []
    for k in range(int(os.environ.get("ROUNDS", "7"))):
        ours, err, code = finish(daemon.program("ours", PROGRAM, "allocations"), 60)
        plain, native_err, native_code = native(PROGRAM, "allocations")
        if code != 0 or native_code != 0:
            say(f"== allocations, round {k}: exit {code}, natively {native_code} {err.strip()} {native_err.strip()}")
            return False
        for kept, lines in zip(rounds, (plain, ours)):
            kept.append([json.loads(line) for line in lines.splitlines()])
    say(f"== allocations: medians (least) of {len(rounds[0])} rounds, us; ours over native")
    for natively, served in zip(zip(*rounds[0]), zip(*rounds[1])):
        for key in natively[0]:
            if key == "bytes":
                continue
            a, b = sorted(row[key] for row in natively), sorted(row[key] for row in served)
            middle = len(a) // 2
            say(f"   {natively[0]['bytes']} bytes, {key}: natively {a[middle]} ({a[0]}), ours {b[middle]} ({b[0]}): "
                f"{b[middle] / max(a[middle], 1e-9):.2f} ({b[0] / max(a[0], 1e-9):.2f})")
    for k in range(2):
        plain, ours = native(PROGRAM, "holds", "8", "5")[0], finish(daemon.program("ours", PROGRAM, "holds", "8", "5"), 60)[0]
        say(f"   alone: {plain.splitlines()[-1]} natively, {ours.splitlines()[-1]} ours")
    say("   " + daemon.end())
    return True


def part_checkpoint():
    """The same state by the driver's checkpoints."""
    size = os.environ.get("SWAP_GIB", "32")
    program = subprocess.Popen([PROGRAM, "holds", size, "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    say(f"== checkpoint of {program.stdout.readline().strip()}")
    out, err, code = native(PYTHON, f"{HERE}/checkpoint.py", str(program.pid), limit=150)
    say(f"   {out.strip()} {err.strip()[-300:]} exit {code}")
    program.kill()
    program.communicate()
    return code == 0


PARTS = {name[5:]: function for name, function in list(globals().items()) if name.startswith("part_")}


def main():
    os.makedirs(OUT, exist_ok=True)
    for name in sys.argv[2:] or ["copies", "swap", "training", "pauses", "three", "services", "allocations", "checkpoint"]:
        if os.path.exists(f"{OUT}/{name}.done"):
            print(f"{name}: done before")
            continue
        began = time.monotonic()
        try:
            done = PARTS[name]()
        except Exception as error:  # the other parts can still be measured
            done = False
            say(f"   {name}: {type(error).__name__}: {error}")
        say(f"-- {name}: {'done' if done else 'NOT as expected'} in {time.monotonic() - began:.0f} s")
        if done:
            open(f"{OUT}/{name}.done", "w").close()


main()
