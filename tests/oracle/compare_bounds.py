#!/usr/bin/python3
"""Compare `gangway bound` with response_bounds.py on random task sets: every value exactly equal.

    compare_bounds.py --gangway build/release/gangway [--sets 2000] [--seed 1]

A set on which the two differ stays on disk, and its path is printed.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from gmpy2 import mpq

from response_bounds import Set, Task

MOST_PIECES = 100  # beyond that, enumerating takes too long
FAR, NEAR = 1_000_000, 200  # jobs of a window of T2 that are looked at: where the program found one that closes, and else
ORDERS = ("became-head", "release-ready")


def draw_tasks(dice, threads, sms):
    single = dice.random() < 0.5
    target = mpq(dice.choice((30, 60, 80, 95, 100)), 100) * threads * max(sms, 1)
    tasks = []
    for _ in range(dice.randint(1, 5)):
        g = 1 if single else dice.choice((1, 1, 2, 3, 5, 9))
        b = dice.randint(1, min(threads, dice.choice((1, 2, threads))))
        T = mpq(dice.choice((4, 5, 6, 8, 10, 12, 15, 20, 24, 30)), dice.choice((1, 1, 1, 3, 10)))
        w = T * mpq(dice.randint(1, 21), 20) * dice.choice((1, mpq(1, 2), mpq(1, 5), mpq(1, 7)))
        tasks.append(Task(w, T, g, b))
    if dice.random() < 0.6:  # near a chosen utilisation, or exactly at it
        factor = target / sum(t.u for t in tasks)
        if dice.random() < 0.7:
            factor = max(mpq(round(factor * 20), 20), mpq(1, 20))
        if factor < 4:
            tasks = [Task(t.w * factor, t.T, t.g, t.b) for t in tasks]
    return tasks


def draw_small(dice, threads):
    """Tasks of whole numbers, of which some have windows of hundreds of jobs."""
    single = dice.random() < 0.5
    tasks = []
    for _ in range(dice.randint(2, 5)):
        w = mpq(dice.randint(1, 4))
        T = mpq(dice.randint(int(w), dice.choice((20, 44))))
        tasks.append(Task(w, T, 1 if single else dice.randint(1, 3), dice.randint(1, min(threads, dice.choice((2, 5))))))
    return tasks


def draw(dice):
    sms = dice.choice((0, 0, 0, 2, 3))
    threads = dice.randint(2, 9)
    tasks = draw_small(dice, threads) if dice.random() < 0.3 else draw_tasks(dice, threads, sms)
    return Set(tasks, threads, sms), dice.choice(ORDERS)


def to_yaml(given, order):
    device = f"{{layout: sm, sms: {given.sms}, threads: {given.threads}}}" if given.sms else f"{{layout: pool, m: {given.threads}}}"
    rows = "".join(f"  - {{name: t{i}, C: {t.C}, T: {t.T}, g: {t.g}, b: {t.b}}}\n" for i, t in enumerate(given.tasks))
    return f"kind: taskset\nversion: 1\nname: random\ndevice: {device}\norder: {order}\ntasks:\n{rows}"


def expected(given, order, theirs):
    """The bounds by name, one value per task: a fraction, or None; and lambda and B*, where T5 has them. What the program found
    says only how far to look for windows of T2."""
    n, T = range(len(given.tasks)), [t.T for t in given.tasks]
    within = lambda values: [v if v <= t else None for v, t in zip(values, T)]
    none = [None for _ in n]
    H = [given.H(i) for i in n]
    out = {"H": H, "T1b": H if all(h <= t for h, t in zip(H, T)) else none}
    out["T1"] = within(H) if order == "became-head" else none
    out["T1-closed"] = within([given.H_closed(i) for i in n]) if order == "became-head" else none
    out["T3"] = out["T3-closed"] = none
    if order == "release-ready" and not given.sms and given.T3_holds():
        if given.least is None:
            out["T3"] = out["T3-closed"] = [t.w for t in given.tasks]
        else:
            integer, closed = given.Y_integer(), given.Y_closed()
            out["T3-closed"] = [closed + given.K(i) / given.least for i in n]
            out["T3"] = none if integer is None else [integer + given.K(i) / given.least for i in n]
    out["T4"] = none
    if order == "release-ready" and not given.sms and given.T4_holds():
        out["T4"] = within([t.w for t in given.tasks])
        if given.least is not None:
            out["T4"] = [given.Y_closed() + given.K(i) / given.least for i in n]
    if order != "became-head":
        out["T2"] = none
    else:
        out["T2"] = given.T2([NEAR if value is None else FAR for value in theirs["T2"]])
    out["T5"] = out["T5-closed"] = out["T5-with-T1"] = none
    if given.least is None:
        out["T5"] = out["T5-closed"] = within([t.w for t in given.tasks])
        out["T5-with-T1"] = out["T5"] if order == "became-head" else none
    elif given.T5_holds():
        length = given.lambda_()
        backlog = given.backlog(length)
        out["T5"] = [given.T5(i, backlog) for i in n]
        out["T5-closed"] = [given.T5_closed(i, backlog) for i in n]
        if order == "became-head":
            out["T5-with-T1"] = [given.T5(i, backlog, H[i]) for i in n]
        out["lambda"], out["B*"] = [length], [backlog]
    return out


def affordable(given):
    """Whether enumerating is over soon."""
    if given.least is None:
        return True
    if given.T5_holds() and max(given.pieces(end) for end in given.ends()) > MOST_PIECES:
        return False
    if given.T3_holds() and given.U < given.least:
        Y = given.Y_closed()
        return given.pieces((given.all_work + given.U * 2 * Y) / (given.least - given.U)) < MOST_PIECES
    return True


def found(gangway, path):
    done = subprocess.run([gangway, "bound", path, "--json"], capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    value = lambda bound: mpq(bound["exact"]) if "exact" in bound else None
    out = {"stopped": set()}
    for task in report["tasks"]:
        out["stopped"].update(task["stopped"])
        for bound in task["bounds"]:
            out.setdefault(bound["bound"], []).append(value(bound))
    for bound in report["bounds"]:
        if bound["name"] == "T5":
            out.update((figure["name"], [mpq(figure["exact"])]) for figure in bound["figures"])
    out["U"], out["M*"] = mpq(report["U"]["exact"]), report["M*"]
    out["M_h"] = [task["M_h"] for task in report["tasks"]]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", required=True)
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gangway-bounds-"))
    compared, failed, offered, beyond, stopped = 0, 0, {}, 0, 0
    number = 0
    while compared < args.sets:
        number += 1
        given, order = draw(random.Random(f"{args.seed}/{number}"))
        if not affordable(given):
            continue
        compared += 1
        path = folder / f"set-{number}.yaml"
        path.write_text(to_yaml(given, order))
        theirs = found(args.gangway, path)
        ours = expected(given, order, theirs)
        ours.update({"U": given.U, "M*": given.least, "M_h": given.M})
        wrong = [name for name in ours if name not in ("H", *theirs["stopped"]) and ours[name] != theirs.get(name)]
        for name in ("T1", "T1b", "T2", "T3", "T3-closed", "T4", "T5", "T5-with-T1"):
            offered[name] = offered.get(name, 0) + any(value is not None for value in ours.get(name, []))
        beyond += any(value is not None and value > h for value, h in zip(ours.get("T2", []), ours["H"]))
        stopped += bool(theirs["stopped"])
        failed += bool(wrong)
        if wrong:
            print(f"{path}: {', '.join(f'{w}: {theirs.get(w)} instead of {ours[w]}' for w in wrong)}")
        else:
            path.unlink()
    if not failed:
        folder.rmdir()
    print(f"{compared} sets, {failed} differ; sets with a bound:", ", ".join(f"{k} {v}" for k, v in offered.items()))
    print(f"T2 above H in {beyond}; the program stopped at a step limit in {stopped}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
