#!/usr/bin/python3
"""Schedules worked out by hand from sim/blocks/README.md, in the comments; run with plain /usr/bin/python3.

The model must agree with each, and so must the program, by waves and block by block, when $GANGWAY names it.
One SM that holds one block at a time, unless a case says otherwise.
"""
import os
import pathlib
import sys
import tempfile

import by_hand
from block_model import BlockModel
from block_workloads import BYTE_PER_NS, experiment
from compare_blocks import EVENTS, run_gangway

OTHERS = {"threads": 1024, "registers": 65536, "shared_memory": "48 KiB"}


def device(sms=1, blocks=1, off=(), **more):
    """Rules in `off` by their letters; all of RTSS17."""
    rules = {"rules": {"RTSS17": {rule: False for rule in off}}} if off else {}
    return {"kind": "device", "version": 1, "name": "by-hand", "source": "made up", "sms": sms,
            "sm": {"blocks": blocks, **OTHERS}, "copy": {"h2d": BYTE_PER_NS, "d2h": BYTE_PER_NS}, **rules, **more}


def turns(length, switch, order="waiting", **more):
    """A device on which contexts take turns."""
    slices = {"length": f"{length} ns", "switch": f"{switch} ns", "order": order}
    return device(arbitration="native-timeslice", time_slice=slices, **more)


def kernel(blocks, length, threads=32, **more):
    """`more` can replace the length by a time."""
    how = {} if "time" in more else {"block_task_length": f"{length} ns"}
    return {"block_tasks": blocks, "block": [threads], **how, **more}


def client(name, *kernels, arrive=0, releases=None, think=None, **more):
    """One job; or one for each release; or two with some time to think in between."""
    spec = {"name": name, **more, "kernels": [{"name": f"k{i}", **kernel} for i, kernel in enumerate(kernels)]}
    if releases is not None:
        return {**spec, "repeat": {"releases": [f"{time} ns" for time in releases]}}
    if think is not None:
        spec["repeat"] = {"jobs": 2, "think": f"{think} ns"}
    return {**spec, "arrive": f"{arrive} ns"}


def check(clients, gpu, expected):
    """`expected`: for every block that ran its (client, job, kernel, SM, begin, end), in order of their begin."""
    workload = {"kind": "workload", "version": 1, "name": "by-hand", "source": "made up", "clients": clients}
    played = {"model": BlockModel(workload, gpu).run().spans}
    if "GANGWAY" in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            for events in EVENTS:
                spec = experiment([workload], [gpu], None, events)
                points = run_gangway(os.environ["GANGWAY"], spec, pathlib.Path(folder))
                played[events] = points if isinstance(points, str) else points[0][1]
    for who, spans in played.items():
        got = spans if isinstance(spans, str) else sorted(spans.elements(), key=lambda span: (span[4], span))
        wanted = sorted(expected, key=lambda span: (span[4], span))
        assert got == wanted, f"{who}\n got      {got}\n expected {wanted}"


def test_g1_issue_order_is_file_order():
    # Both are released at 4, into one stream: a's kernel is issued first, although b's last release was earlier.
    clients = [client("a", kernel(1, 1), releases=[1, 4], stream="s"),
               client("b", kernel(1, 1), releases=[0, 4], stream="s")]
    expected = [("b", 0, "k0", 0, 0, 1), ("a", 0, "k0", 0, 1, 2), ("a", 1, "k0", 0, 4, 5), ("b", 1, "k0", 0, 5, 6)]
    check(clients, device(), expected)
    # By release, then client: were b's issued first, a's at the head of the queue and b's at the head of the
    # stream would wait for each other.
    check(clients, device(queue_order="release-all"), expected)


def test_g1_jobs_of_one_instant_are_issued_together():
    # a's two jobs of 0 before b's.
    check([client("a", kernel(1, 1), releases=[0, 0], stream="s"), client("b", kernel(1, 1), stream="s")], device(),
          [("a", 0, "k0", 0, 0, 1), ("a", 1, "k0", 0, 1, 2), ("b", 0, "k0", 0, 2, 3)])


def test_g1_off_copies_end_before_releases():
    # a waits for its copy, 0..2, and issues its kernel when that ends; b is released after that, in the same instant.
    check([client("a", kernel(1, 1), copy_in="2 B", stream="s"), client("b", kernel(1, 1), arrive=2, stream="s")],
          device(off=["G1"]), [("a", 0, "k0", 0, 2, 3), ("b", 0, "k0", 0, 3, 4)])


def test_no_time_to_think():
    # a's job 0 runs 0..1, copies out 1..3 and is finished in step 2 of the instant 3. In step 4 of it b's second
    # block is assigned, 3..5; then the instant begins again, with the release of a's job 1: 5..6.
    check([client("a", kernel(1, 1), copy_out="2 B", think=0, priority=1), client("b", kernel(2, 2), arrive=1)],
          device(priorities=2),
          [("a", 0, "k0", 0, 0, 1), ("b", 0, "k0", 0, 1, 3), ("b", 0, "k0", 0, 3, 5), ("a", 1, "k0", 0, 5, 6)])
    # So it is where the job ends with a kernel.
    check([client("a", kernel(1, 1), think=0, priority=1), client("b", kernel(1, 2))], device(priorities=2),
          [("a", 0, "k0", 0, 0, 1), ("b", 0, "k0", 0, 1, 3), ("a", 1, "k0", 0, 3, 4)])


def test_c4_off_copies_begin_after_joins():
    # g copies in 0..1 and runs 0..1, without C4 as soon as its copy begins. a's copy begins in step 4 of the
    # instant 1, where e's kernel, released at 1, is assigned too; a's joins after that.
    check([client("g", kernel(1, 1), copy_in="1 B"), client("a", kernel(1, 2), copy_in="3 B"),
           client("e", kernel(1, 3), arrive=1)], device(off=["C4"], queue_order="release-ready"),
          [("g", 0, "k0", 0, 0, 1), ("e", 0, "k0", 0, 1, 4), ("a", 0, "k0", 0, 4, 6)])


def test_r1_off_leaves_no_choice_of_sm():
    # Without limits as many blocks fit on one SM as on the other: the lowest index takes all.
    check([client("a", kernel(2, 1))], device(sms=2, off=["R1"]), 2 * [("a", 0, "k0", 0, 0, 1)])
    check([client("a", kernel(2, 1, threads=1))], device(sms=8, off=["R1"]), 2 * [("a", 0, "k0", 0, 0, 1)])


def test_r2_off_keeps_lengths():
    # 2 blocks of 512 threads fit: 3 blocks make 2 waves of 3 ns each. Without R2 all start at once, no shorter.
    check([client("a", kernel(3, None, threads=512, time="6 ns"))], device(blocks=8, off=["R2"]),
          3 * [("a", 0, "k0", 0, 0, 3)])


def test_x1_head_without_room_blocks():
    # 600 threads do not fit beside 600, the 32 of c's block would.
    clients = [client("a", kernel(2, 3, threads=600)), client("c", kernel(1, 1))]
    check(clients, device(blocks=8),
          [("a", 0, "k0", 0, 0, 3), ("a", 0, "k0", 0, 3, 6), ("c", 0, "k0", 0, 3, 4)])
    check(clients, device(blocks=8, off=["X1"]),
          [("a", 0, "k0", 0, 0, 3), ("c", 0, "k0", 0, 0, 1), ("a", 0, "k0", 0, 3, 6)])


def test_b1_in_a_queue_of_all_released():
    # Channel 0 is all there is. By release: a0, a1 (of 0), b (of 1). b's copy was issued after a1, which stands in
    # the queue since 0 but may join only at 2, when a0 has ended: the copy takes 2..5.
    check([client("a", kernel(1, 2), kernel(1, 1)), client("b", kernel(1, 1), arrive=1, copy_in="3 B")],
          device(queue_order="release-all", channels=1),
          [("a", 0, "k0", 0, 0, 2), ("a", 0, "k1", 0, 2, 3), ("b", 0, "k0", 0, 5, 6)])


def test_a2_off_passes_over_who_is_not_ready():
    # h stands at the head of the higher queue from 0, and copies until 3.
    clients = [client("h", kernel(1, 1), copy_in="3 B", priority=1), client("l", kernel(1, 1))]
    check(clients, device(queue_order="release-all", priorities=2),
          [("h", 0, "k0", 0, 3, 4), ("l", 0, "k0", 0, 4, 5)])
    check(clients, device(queue_order="release-all", priorities=2, off=["A2"]),
          [("l", 0, "k0", 0, 0, 1), ("h", 0, "k0", 0, 3, 4)])


def test_c2_copies_of_one_instant_in_client_order():
    # Both copies are asked for at 2, d's first, since its stream has the lower number; but c is before d in the file.
    check([client("a", kernel(1, 1), stream="s"), client("c", kernel(1, 1), arrive=2, copy_in="3 B"),
           client("d", kernel(1, 1), arrive=2, stream="s", copy_in="1 B")], device(),
          [("a", 0, "k0", 0, 0, 1), ("c", 0, "k0", 0, 5, 6), ("d", 0, "k0", 0, 6, 7)])


def test_t1_turn_ends_with_the_blocks_under_way():
    # a's turn is 0..3; its second block, begun before that, ends at 4. The switch takes 1: b 5..6. Back at 7, and
    # now nobody waits when the turn is over at 10.
    clients = [client("a", kernel(4, 2)), client("b", kernel(1, 1), arrive=1)]
    expected = [("a", 0, "k0", 0, 0, 2), ("a", 0, "k0", 0, 2, 4), ("b", 0, "k0", 0, 5, 6), ("a", 0, "k0", 0, 7, 9),
                ("a", 0, "k0", 0, 9, 11)]
    check(clients, turns(3, 1), expected)
    # In one context, or without T1, they are served in order.
    shared = [("a", 0, "k0", 0, begin, begin + 2) for begin in (0, 2, 4, 6)] + [("b", 0, "k0", 0, 8, 9)]
    check([{**client, "context": "c"} for client in clients], turns(3, 1), shared)
    check(clients, turns(3, 1, rules={"CUDA": {"T1": False}}), shared)


def test_t1_turns_without_a_gap():
    # a's turns are 0..4 and 4..8; b, there since 5, waits for 8, where a has 2 blocks to go.
    check([client("a", kernel(10, 1)), client("b", kernel(1, 1), arrive=5)], turns(4, 0),
          [("a", 0, "k0", 0, begin, begin + 1) for begin in (0, 1, 2, 3, 4, 5, 6, 7)] +
          [("b", 0, "k0", 0, 8, 9), ("a", 0, "k0", 0, 9, 10), ("a", 0, "k0", 0, 10, 11)])
    # By creation, that is so if a second kernel waits.
    check([client("a", kernel(10, 1), kernel(1, 1)), client("b", kernel(1, 1), arrive=5)], turns(4, 0, "creation"),
          [("a", 0, "k0", 0, begin, begin + 1) for begin in (0, 1, 2, 3, 4, 5, 6, 7)] +
          [("b", 0, "k0", 0, 8, 9), ("a", 0, "k0", 0, 9, 10), ("a", 0, "k0", 0, 10, 11), ("a", 0, "k1", 0, 11, 12)])


def test_t1_a_turn_that_has_expired():
    # a has one kernel: from 4 on, anybody may come.
    check([client("a", kernel(10, 1)), client("b", kernel(1, 1), arrive=5)], turns(4, 0, "creation"),
          [("a", 0, "k0", 0, begin, begin + 1) for begin in (0, 1, 2, 3, 4)] +
          [("b", 0, "k0", 0, 5, 6)] + [("a", 0, "k0", 0, begin, begin + 1) for begin in (6, 7, 8, 9, 10)])


def test_t1_who_follows_is_known_when_a_turn_begins():
    # b's turn begins at 4: a follows, since c, which is next to b, comes at 5.
    check([client("a", kernel(6, 1)), client("b", kernel(4, 1), arrive=1), client("c", kernel(1, 1), arrive=5)], turns(4, 0, "creation"),
          [("a", 0, "k0", 0, begin, begin + 1) for begin in (0, 1, 2, 3, 8, 9)] +
          [("b", 0, "k0", 0, begin, begin + 1) for begin in (4, 5, 6, 7)] + [("c", 0, "k0", 0, 10, 11)])


def test_t1_new_turn_after_nobody_wanted_the_device():
    # a is active still at 6, for no switch: its turn is 6..10, not 4..8.
    check([client("a", kernel(5, 1), releases=[0, 6]), client("b", kernel(1, 1), arrive=7)], turns(4, 3),
          [("a", 0, "k0", 0, begin, begin + 1) for begin in (0, 1, 2, 3, 4)] +
          [("a", 1, "k0", 0, begin, begin + 1) for begin in (6, 7, 8, 9)] +
          [("b", 0, "k0", 0, 13, 14), ("a", 1, "k0", 0, 17, 18)])


def test_t1_waits_until_what_blocks_had_is_free():
    # a's block ends at 2, its room is free at 5; b's, 5..6, at 9.
    check([client("a", kernel(2, 2)), client("b", kernel(1, 1))], turns(1, 0, delays={"block_end": "3 ns"}),
          [("a", 0, "k0", 0, 0, 2), ("b", 0, "k0", 0, 5, 6), ("a", 0, "k0", 0, 9, 11)])


def test_t1_copies_and_priorities_of_others():
    # l's turn is 0..2, however high h's priority; h's copy is under way meanwhile. Of one context h is first.
    clients = [client("l", kernel(4, 1)), client("h", kernel(1, 1), copy_in="1 B", priority=1)]
    check(clients, turns(2, 0, priorities=2),
          [("l", 0, "k0", 0, 0, 1), ("l", 0, "k0", 0, 1, 2), ("h", 0, "k0", 0, 2, 3), ("l", 0, "k0", 0, 3, 4),
           ("l", 0, "k0", 0, 4, 5)])
    check([{**client, "context": "c"} for client in clients], turns(2, 0, priorities=2),
          [("l", 0, "k0", 0, 0, 1), ("h", 0, "k0", 0, 1, 2), ("l", 0, "k0", 0, 2, 3), ("l", 0, "k0", 0, 3, 4),
           ("l", 0, "k0", 0, 4, 5)])


def test_fifo_has_a_single_queue():
    clients = [client("l", kernel(2, 1)), client("h", kernel(1, 1), priority=1)]
    check(clients, device(priorities=2, arbitration="native-fifo"),
          [("l", 0, "k0", 0, 0, 1), ("l", 0, "k0", 0, 1, 2), ("h", 0, "k0", 0, 2, 3)])
    check(clients, device(priorities=2, arbitration="native-priority"),
          [("h", 0, "k0", 0, 0, 1), ("l", 0, "k0", 0, 1, 2), ("l", 0, "k0", 0, 2, 3)])


if __name__ == "__main__":
    sys.exit(by_hand.run(globals()))
