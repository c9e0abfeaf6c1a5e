#!/usr/bin/python3
"""Schedules worked out by hand from sim/channels/README.md, in the comments; run with plain /usr/bin/python3.

The model must agree with each, and so must the program when $GANGWAY names it; then also on some hundred random
cases.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import by_hand
from channel_model import ChannelModel
from channel_workloads import experiment
from comparison import expected_of, run_gangway

RANDOM_CASES = 400


def device(**access):
    return {"kind": "device", "version": 1, "name": "by-hand", "source": "made up", "sms": 1,
            "sm": {"threads": 1024, "blocks": 1, "registers": 65536, "shared_memory": "48 KiB"},
            "arbitration": "direct", "access": access}


def with_copies(gpu, h2d="0 ns", d2h="0 ns", **more):
    """Engines that copy a byte in a ns, behind these latencies; `more` of all copying, such as a bus."""
    return {**gpu, "memory": "1 GiB", "copy": {"h2d": {"bandwidth": "1 GB/s", "latency": h2d},
                                              "d2h": {"bandwidth": "1 GB/s", "latency": d2h}, **more}}


def kernel(time, **more):
    return {"block_tasks": 1, "block": [32], "time": f"{time} ns", **more}


def client(name, *kernels, arrive=0, **more):
    return {"name": name, "arrive": f"{arrive} ns", **more,
            "kernels": [{"name": f"k{i}", **kernel} for i, kernel in enumerate(kernels)]}


def check(clients, gpu, policy, expected, horizon=None, **more):
    """`expected`: of jobs (client, number) their (start, finish, outcome)."""
    workload = {"kind": "workload", "version": 1, "name": "by-hand", "source": "made up", "clients": clients, **more}
    name, params = policy if isinstance(policy, tuple) else (policy, {})
    entry = {"name": name, "label": "p", **({"params": params} if params else {})}
    played = {"model": expected_of(ChannelModel(workload, gpu, entry, horizon).run())}
    if "GANGWAY" in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            spec = experiment([workload], [gpu], [entry], horizon, 1, 1)
            runs = run_gangway(os.environ["GANGWAY"], spec, pathlib.Path(folder))
            played["gangway"] = runs if isinstance(runs, str) else runs[0, "p", 0]
    for who, jobs in played.items():
        got = jobs if isinstance(jobs, str) else {key: job[1:] for key, job in jobs.items()}
        assert got == expected, f"{who}\n got      {got}\n expected {expected}"


def done(start, finish):
    return start, finish, "finished"


REFUSED = (None, None, "out of resources")
TRAPS = "trap-per-request"


def test_turns_of_a_queue():
    # a has 3 requests in its channel at 0, all of one turn: a 0..30; the switch takes 5: b 35..45.
    clients = [client("a", kernel(10, count=3), blocking=False), client("b", kernel(10))]
    check(clients, device(switch="5 ns"), "passthrough", {("a", 0): done(0, 30), ("b", 0): done(35, 45)})
    # One request a turn: a 0..10, b 15..25, a 30..40 and 40..50.
    check(clients, device(switch="5 ns", turns="request"), "passthrough",
          {("a", 0): done(0, 50), ("b", 0): done(15, 25)})


def test_graphics_yield_as_long_as_their_turn_was():
    # a draws: two frames of 10 + 10, all of them 0..40. Then b has 40 ns before the next frames: requests of 15, 40..85.
    drawing = client("a", kernel(10, count=2), blocking=False, frames_in_flight=2, repeat={"jobs": 4, "think": "0 ns"})
    check([drawing, client("b", kernel(15), repeat={"jobs": 4, "think": "0 ns"})], device(), "passthrough",
          {("a", 0): done(0, 20), ("a", 1): done(20, 40), ("a", 2): done(85, 105), ("a", 3): done(105, 125),
           ("b", 0): done(40, 55), ("b", 1): done(55, 70), ("b", 2): done(70, 85), ("b", 3): done(125, 140)})
    # Nobody else waits: b's next request comes at 63. a's turn is 55..95, then b's.
    check([drawing, client("b", kernel(15, gap="8 ns"), repeat={"jobs": 2, "think": "0 ns"})], device(), "passthrough",
          {("a", 0): done(0, 20), ("a", 1): done(20, 40), ("a", 2): done(55, 75), ("a", 3): done(75, 95),
           ("b", 0): done(40, 55), ("b", 1): done(95, 110)})


def test_graphics_work_off_their_turn_with_other_requests_only():
    # a and b draw: 0..4 and 4..8, and each then owes 4, of which b's 4 are nothing. c runs 8..12. Then a 12..16, b 16..20.
    drawing = {"blocking": False, "frames_in_flight": 2, "repeat": {"jobs": 2, "think": "0 ns"}}
    clients = [client("a", kernel(4), **drawing), client("b", kernel(4), **drawing),
               client("c", kernel(1), repeat={"jobs": 5, "think": "0 ns"})]
    check(clients, device(turns="request"), "passthrough",
          {("a", 0): done(0, 4), ("a", 1): done(12, 16), ("b", 0): done(4, 8), ("b", 1): done(16, 20),
           **{("c", n): done(8 + n, 9 + n) for n in range(4)}, ("c", 4): done(20, 21)})


def test_next_channel_is_the_one_after_the_last():
    # Channels of a stand beside each other: a/0 0..10, a/1 10..30, b 30..40.
    check([client("a", kernel(10), kernel(20, channel=1), blocking=False, channels=2), client("b", kernel(10))],
          device(turns="request"), "passthrough", {("a", 0): done(0, 30), ("b", 0): done(30, 40)})


def test_host():
    # The host computes 5, submits; 0-based: 5..15. Its host_work is over at 5 + 30 = 35; then gap 0, 35..45.
    check([client("a", kernel(10, gap="5 ns", host_work="30 ns"), kernel(10), blocking=False)], device(),
          "passthrough", {("a", 0): done(5, 45)})


def test_frames_in_flight():
    # Two at 0; 0 ends at 10 and job 2 is released at 13; job 1 runs 10..20, job 2 20..30; 3 is released at 23: 30..40.
    check([client("a", kernel(10), repeat={"jobs": 4, "think": "3 ns"}, frames_in_flight=2)], device(), "passthrough",
          {("a", 0): done(0, 10), ("a", 1): done(10, 20), ("a", 2): done(20, 30), ("a", 3): done(30, 40)})


def test_who_leaves():
    # b comes at 20, after its leave: only its first job. Of a's two at 0 one finishes at 10: the next would come at 13, late.
    workload = {"arrivals": {"gap": "20 ns", "order": "listed"}}
    clients = [client("a", kernel(10), repeat={"jobs": 4, "think": "3 ns"}, frames_in_flight=2, leave="12 ns"),
               client("b", kernel(10), repeat={"jobs": 4, "think": "3 ns"}, frames_in_flight=2, leave="12 ns")]
    for one in clients:
        del one["arrive"]
    check(clients, device(), "passthrough", {("a", 0): done(0, 10), ("a", 1): done(10, 20), ("b", 0): done(20, 30)}, **workload)


def test_traps():
    # 10 * (1 + 0.25) = 12.5, nearest 13: 13..23, then a trap until 36: 36..46.
    check([client("a", kernel(10, count=2), trivial_requests=0.25)], device(interception="10 ns"), TRAPS,
          {("a", 0): done(13, 46)})


def test_trapped_time():
    # The first request's predecessor did not trap (there is none): 0..10; the second's did: 10..13.
    check([client("a", kernel(10, trapped_time="3 ns", count=2))], device(), TRAPS, {("a", 0): done(0, 13)})


def test_trapped_time_has_the_jitter_of_time():
    # Seed 1 draws the factor 0.95582: 1000 is 956; and 1 ns is floor(0.956 + 0.5) = 1, which is also the least.
    check([client("a", kernel(1000), kernel(1000, trapped_time="1 ns"))], device(), TRAPS,
          {("a", 0): done(0, 957)}, jitter={"kernel_time": "20 %"})
    # 118 is floor(112.79 + 0.5) = 113 and 10 is floor(9.558 + 0.5) = 10.
    check([client("a", kernel(118), kernel(118, trapped_time="10 ns"))], device(), TRAPS,
          {("a", 0): done(0, 113 + 10)}, jitter={"kernel_time": "20 %"})


def test_kernels_run_in_their_original_form():
    check([client("a", kernel(100, transformation_overhead=1.5))], device(), "passthrough", {("a", 0): done(0, 100)})


def test_channels_run_out():
    # a takes 2 of 3, b's kernels use 2 and 1 is left; c asks for 4, gets 1 and uses 1.
    clients = [client("a", kernel(10), channels=2), client("b", kernel(10, channel=1), channels=2, arrive=1),
               client("c", kernel(10), channels=4, arrive=2), client("d", kernel(10), arrive=3)]
    check(clients, device(channels=3), "passthrough",
          {("a", 0): done(0, 10), ("b", 0): REFUSED, ("c", 0): done(10, 20), ("d", 0): REFUSED})
    # One each, for 3 clients at once: d comes when a has gone.
    clients = [client("a", kernel(10), channels=2), client("b", kernel(10), arrive=1), client("c", kernel(10), arrive=2),
               client("d", kernel(10), arrive=10), client("e", kernel(10), arrive=11)]
    check(clients, device(channels=3), (TRAPS, {"channels": 1}),
          {("a", 0): done(0, 10), ("b", 0): done(10, 20), ("c", 0): done(20, 30), ("d", 0): done(30, 40),
           ("e", 0): REFUSED})


def test_first_token_goes_to_the_first():
    for name in ("timeslice", "disengaged-timeslice"):
        check([client("a", kernel(10)), client("b", kernel(10))], device(), (name, {"slice": "1 us"}),
              {("a", 0): done(0, 10), ("b", 0): done(10, 20)})


def test_overuse():
    # a has the token until 1000 and overruns by 1500 (900..2500), which is above the slice: b 2500..3500, idle after
    # 2510; a is passed over once (500 left), b 3500..4500, then a 4500..4510.
    check([client("a", kernel(900), kernel(1600), kernel(10)), client("b", kernel(10), repeat={"jobs": 2, "period": "9 us"})],
          device(), ("disengaged-timeslice", {"slice": "1 us"}),
          {("a", 0): done(0, 4510), ("b", 0): done(2500, 2510), ("b", 1): done(9000, 9010)})


def test_overdue():
    # a never ends; drained at 1000, it is killed at 1000 + 2000 + 1.
    check([client("a", kernel(10, never_ends=0)), client("b", kernel(10))], device(),
          ("disengaged-timeslice", {"slice": "1 us", "limit": "2 us"}),
          {("a", 0): (0, None, "killed"), ("b", 0): done(3001, 3011)})


def test_copies():
    # a copies in 0..7 (5 bytes behind 2), computes until 10; its kernel runs 20..30 behind b's, then 33..43 its copy out.
    clients = [client("a", kernel(10, gap="3 ns"), copy_in="5 B", copy_out="10 B"), client("b", kernel(20))]
    check(clients, with_copies(device(), "2 ns", "3 ns"), "passthrough", {("a", 0): done(20, 43), ("b", 0): done(0, 20)})


def test_variables_are_copied():
    # Inputs of 5 and 7 are copied in, outputs of 7 and 9 out: 12..22, 38.
    variables = [{"name": "u", "size": "5 B"}, {"name": "v", "size": "7 B", "output": True},
                 {"name": "w", "size": "9 B", "input": False, "output": True}, {"name": "x", "size": "100 B", "input": False}]
    check([client("a", kernel(10), variables=variables)], with_copies(device()), "passthrough", {("a", 0): done(12, 38)})


def test_copy_out_waits_for_all_requests():
    # Both are submitted at 0 and run 0..20; the copy is over at 25 and the next job, released at 0, begins then.
    check([client("a", kernel(10, count=2), blocking=False, copy_out="5 B", repeat={"jobs": 2, "think": "1 ns"},
                  frames_in_flight=2)], with_copies(device()), "passthrough", {("a", 0): done(0, 25), ("a", 1): done(25, 50)})


def test_copies_trap():
    # A trap until 10, copy until 15, a trap of 10 * (1 + 0.5) until 30, 30..40, a trap until 50, copy until 55.
    check([client("a", kernel(10), copy_in="5 B", copy_out="5 B", trivial_requests=0.5)],
          with_copies(device(interception="10 ns")), TRAPS, {("a", 0): done(30, 55)})
    # The copy trapped, so the kernel runs for 3 only.
    check([client("a", kernel(10, trapped_time="3 ns"), copy_in="5 B")], with_copies(device(interception="10 ns")), TRAPS,
          {("a", 0): done(25, 28)})


def test_copies_on_a_bus():
    # b copies in 1000 from 0, a out 600 from 100; at 3/4 each, b's last 900 take 1200 and a's 600 take 800: a ends at 900.
    # Then b has 900 - 600 = 300 left: 1200, and runs.
    check([client("a", kernel(100), copy_out="600 B"), client("b", kernel(10), copy_in="1000 B")],
          with_copies(device(), bus="1500 MB/s"), "passthrough", {("a", 0): done(0, 900), ("b", 0): done(1200, 1210)})


def test_drain_of_a_copy():
    # b gets the token at 1000 and copies 1000..3500, which overruns its slice by 1500: a 3500..3600; then b is passed
    # over once at 4500, and at 5500 its kernel, which has trapped at 3500, begins. It exits, and a has the token at 6000.
    clients = [client("a", kernel(100), repeat={"jobs": 3, "period": "3 us"}), client("b", kernel(10), copy_in="2500 B")]
    check(clients, with_copies(device()), ("disengaged-timeslice", {"slice": "1 us", "limit": "1 us"}),
          {("a", 0): done(0, 100), ("a", 1): done(3500, 3600), ("a", 2): done(6000, 6100), ("b", 0): done(5500, 5510)})


def test_kill_while_copying():
    # a's first request runs from 3500 for ever, while the next frame is copied in until 7000. Drained from 4000, a is
    # killed at 6001; then b copies, behind the whole latency, until 8051.
    clients = [client("a", kernel(10, never_ends=0), blocking=False, copy_in="1500 B", frames_in_flight=3,
                      repeat={"jobs": 3, "think": "1 ns"}), client("b", kernel(10), copy_in="50 B")]
    killed = (None, None, "killed")
    check(clients, with_copies(device(), "2 us"), ("disengaged-timeslice", {"slice": "4 us", "limit": "2 us"}),
          {("a", 0): (3500, None, "killed"), ("a", 1): killed, ("a", 2): killed, ("b", 0): done(8051, 8061)})


def test_used_while_others_drain():
    # Free run 0..1000: a 0..300, b ..400, a ..700, b ..800, a ..1100, b ..1200. What traps at 1110 does not undo that
    # a used it: sampled from 1200, a 1200..1500, trap, 1510..1810. Then b is: 1810..1910, 1920..2020, 2030..2130.
    fair = "disengaged-fair-queueing", {"sampling": "1 us", "free_run": 1}
    check([client("a", kernel(300, count=5)), client("b", kernel(100, count=6))], device(interception="10 ns"), fair,
          {("a", 0): done(0, 1810), ("b", 0): done(300, 2130)})


def test_who_gets_its_demand_is_not_low():
    # Only b (of 760) is sampled: it is given 3050 = 1 * T and is not low, a has no size and is. So b is not ahead.
    fair = "disengaged-fair-queueing", {"sampling": "1 us", "requests": 1, "free_run": 2, "subset": 1}
    clients = [client("a", kernel(385, gap="69 ns"), repeat={"jobs": 12, "think": "78 ns"}), client("b", kernel(760, count=14))]
    for seed in (1, 2):
        workload = {"kind": "workload", "version": 1, "name": "by-hand", "source": "made up", "clients": clients}
        entry = {"name": fair[0], "label": "p", "params": fair[1]}
        model = expected_of(ChannelModel(workload, device(), entry, 6000, seed).run())
        if "GANGWAY" in os.environ:
            with tempfile.TemporaryDirectory() as folder:
                spec = experiment([workload], [device()], [entry], 6000, seed, 1)
                runs = run_gangway(os.environ["GANGWAY"], spec, pathlib.Path(folder))
            assert runs[0, "p", 0] == model, f"seed {seed}\n got      {runs[0, 'p', 0]}\n expected {model}"


def test_who_comes_in_the_instant_of_the_last_drain():
    # The free run of 2000 is over when b's first request ends, at 3200, when a submits again. It drained at 2000, when nothing of it
    # waited, so it is low however long its trap is, and b goes on.
    fair = "disengaged-fair-queueing", {"sampling": "1 us", "free_run": 1, "statistics": "vendor"}
    clients = [client("a", kernel(100), repeat={"jobs": 2, "period": "3200 ns"}), client("b", kernel(3100, count=2))]
    check(clients, device(), fair, {("a", 0): done(0, 100), ("a", 1): done(3200, 3300), ("b", 0): done(100, 6400)})
    check(clients, device(interception="1 ns"), fair,
          {("a", 0): done(0, 100), ("a", 1): done(3201, 3301), ("b", 0): done(100, 6401)})


def test_random_cases():
    if "GANGWAY" not in os.environ:
        return
    script = pathlib.Path(__file__).with_name("compare_channels.py")
    done = subprocess.run([sys.executable, str(script), "--cases", str(RANDOM_CASES)], stdout=subprocess.PIPE, universal_newlines=True)
    assert done.returncode == 0, done.stdout


if __name__ == "__main__":
    sys.exit(by_hand.run(globals()))
