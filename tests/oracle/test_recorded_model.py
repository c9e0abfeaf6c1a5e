#!/usr/bin/python3
"""Schedules worked out by hand from sim/recorded/README.md, in the comments; run with plain /usr/bin/python3.

The model must agree with each, and so must the program when $GANGWAY names it.
"""
import os
import pathlib
import sys
import tempfile

import by_hand
from compare_recorded import expected
from comparison import run_gangway
from recorded_files import GRAPHS, Recorder
from recorded_parts import CONTEXT, DEVICE, GRAPH, NON_BLOCKING, PAGEABLE, STREAM
from recorded_workloads import experiment

SLICED = {"worth": "0 ns", "block_time": "0 ns", "default": "slice"}
DEVICE_FILE = {"kind": "device", "version": 1, "name": "by-hand", "source": "made up", "sms": 1, "arbitration": "mps",
               "sm": {"threads": 1024, "blocks": 1, "registers": 65536, "shared_memory": "48 KiB"}, "memory": "1 GiB"}


FOUR_BLOCKS = {**DEVICE_FILE, "sm": {**DEVICE_FILE["sm"], "blocks": 4}}  # have room at once


def sliced(**times):
    return {**DEVICE_FILE, "arbitration": "native-timeslice",
            "time_slice": {key: f"{time} ns" for key, time in {"switch": 0, **times}.items()}}


def commands(launch, evict, notice, device=DEVICE_FILE):
    return {**device, "commands": {"launch": f"{launch} ns", "evict": f"{evict} ns", "notice": f"{notice} ns",
                                        "pending_work": "0 ns"}}


def check(programs, wanted, device=None, policy="passthrough", grant=None, terms=None, **clients):
    """`programs`: recordings by client, `clients`: more of the clients, `terms`: of the experiment; `wanted`: (release, start, finish) of jobs by client."""
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for name, program in programs.items():
            path = pathlib.Path(folder) / f"{name}.rec"
            program.write(path)
            more = dict(clients.get(name, {}))
            recording = {"file": str(path), **more.pop("recording", {})}
            rows.append({"name": name, "repeat": {"jobs": len(wanted[name])}, **more, "recording": recording})
        workload = {"kind": "workload", "version": 1, "name": "by-hand", "source": "made up", "clients": rows}
        spec = experiment(workload, device or DEVICE_FILE, policy, grant, **(terms or {}))
        played = {"model": {key: job[:4] for key, job in expected(spec).items()}}
        if "GANGWAY" in os.environ:
            runs = run_gangway(os.environ["GANGWAY"], spec, pathlib.Path(folder))
            played["gangway"] = runs if isinstance(runs, str) else next(iter(runs.values()))
    jobs_wanted = {(name, number): (*job, "finished")[:4] for name, jobs in wanted.items() for number, job in enumerate(jobs)}
    for who, jobs in played.items():
        assert jobs == jobs_wanted, f"{who}\n got      {jobs}\n expected {jobs_wanted}"


def one_kernel(length, blocks=4, **more):
    """Submitted at 0, it runs from 10, and is waited for until 2 behind its end."""
    recorder = Recorder(**more)
    recorder.launches = [("_Z1kv", blocks, 32, 16)]
    recorder.job(0, length + 12, [recorder.kernel(0, 5, 0, 10, length), recorder.wait(6, length + 6, STREAM, 0)])
    return recorder


def two_streams():
    """Two jobs, each a kernel, an event, a kernel in another stream 2 behind that, and a copy that the host waits for."""
    recorder = Recorder(streams=(NON_BLOCKING, NON_BLOCKING))
    for at in (0, 1000):
        calls = [recorder.kernel(at, 5, 0, at + 10, 100), recorder.record(at + 6, 1, 0)]
        calls.append(recorder.wait_event(at + 8, 1, 1, calls[1]))
        calls.append(recorder.kernel(at + 10, 5, 1, at + 112, 50))
        calls.append(recorder.copy(at + 20, 190, 1, at + 170, 30, (DEVICE, PAGEABLE, 0)))
        recorder.job(at, 210, calls)
    return recorder


def test_two_streams_and_an_event():
    check({"a": two_streams()}, {"a": [(0, 10, 210), (1000, 1010, 1210)]})
    # Twice as long: 10 to 210, 212 to 312, and the copy 8 behind, 320 to 350, which the host sees 10 later.
    check({"a": two_streams()}, {"a": [(0, 10, 360), (1150, 1160, 1510)]}, a={"recording": {"scale": {"kernels": 2}}})
    # Half: 10 to 60, 62 to 87, 95 to 125.
    check({"a": two_streams()}, {"a": [(0, 10, 135), (925, 935, 1060)]}, a={"recording": {"scale": {"kernels": 0.5}}})


def test_queue_of_requests():
    # Between two of its jobs the program itself takes 790.
    check({"a": two_streams()}, {"a": [(0, 10, 210), (100, 1010, 1210), (200, 2010, 2210)]},
          a={"repeat": {"jobs": 3, "period": "100 ns"}})


def graph():
    recorder = Recorder()
    call = recorder.call(0, 5, GRAPHS)
    recorder.work(call, 0, 10, 100, GRAPH)
    recorder.job(0, 112, [call, recorder.wait(6, 106, STREAM, 0)])
    return recorder


def test_graph_is_one_kernel():
    # a from 10 to 40, b from 47 to 77, a from 87 (its slice counts from 84) to 114, b from 124 to 144, a from 152 to 195.
    check({"a": graph(), "b": one_kernel(50)}, {"a": [(0, 10, 197)], "b": [(0, 47, 146)]},
          sliced(length=30, switch=5, stop=2, resume=3))


def test_two_contexts_of_one_program():
    # As above, but the turns are those of the program's two contexts. Its host waits for both, one after the other.
    recorder = Recorder(streams=((0, NON_BLOCKING), (1, NON_BLOCKING)), contexts=2)
    recorder.job(0, 114, [recorder.kernel(0, 5, 0, 10, 100), recorder.kernel(5, 5, 1, 15, 50),
                          recorder.wait(11, 101, CONTEXT, 0), recorder.wait(113, 1, CONTEXT, 1)])
    check({"a": recorder}, {"a": [(0, 10, 199)]}, sliced(length=30, switch=5, stop=2, resume=3))


def synchronous_copy():
    recorder = Recorder()
    recorder.job(0, 112, [recorder.copy(0, 112, 0, 10, 100, (PAGEABLE, DEVICE, 0))])
    return recorder


def test_synchronous_copies():
    check({"a": synchronous_copy()}, {"a": [(0, None, 112)]})
    # Both from 60 on, at half the speed: a has 50 left until 160, then b 50.
    check({"a": synchronous_copy(), "b": synchronous_copy()}, {"a": [(0, None, 162)], "b": [(50, None, 212)]},
          b={"arrive": "50 ns"})


def test_lingering_context_leaves_with_its_slice():
    # a's kernel ends at 38. It leaves at 40 with its slice, before its next one is due at 41: b from 43 to 63, a from 68.
    recorder = Recorder()
    recorder.job(0, 53, [recorder.kernel(0, 5, 0, 10, 28), recorder.kernel(31, 5, 0, 41, 10), recorder.wait(36, 17, STREAM, 0)])
    check({"a": recorder, "b": one_kernel(20)}, {"a": [(0, 10, 80)], "b": [(0, 43, 65)]}, sliced(length=30, switch=5, linger=4))


def test_full_stream():
    # The first of 256 kernels in the stream ends at 2010; the call that has waited since 1280 begins then.
    recorder = Recorder()
    calls = [recorder.kernel(5 * number, 5 if number < 256 else 30_000, 0, 10 + 2000 * number, 2000) for number in range(257)]
    recorder.job(0, 31_280, calls)
    check({"a": recorder}, {"a": [(0, 10, 2015)]})


def test_evicted_grant():
    # a is granted at 4, its kernel runs from 14 to 114. b asks at 30, so the gate closes at 31, and Left is told at 116;
    # a's next submission waits from 124 on. b runs from 130 to 180 and is over at 182, a is granted again at 184: 198 to 298.
    recorder = Recorder()
    recorder.job(0, 232, [recorder.kernel(0, 5, 0, 10, 100), recorder.wait(6, 106, STREAM, 0),
                          recorder.kernel(120, 5, 0, 130, 100), recorder.wait(126, 106, STREAM, 0)])
    check({"a": recorder, "b": one_kernel(50)}, {"a": [(0, 14, 300)], "b": [(30, 130, 182)]}, commands(4, 1, 2), "piv",
          {"of": "job"}, b={"arrive": "30 ns", "priority": 1})


def test_room_behind_a_kernel_with_a_form():
    # 256 works are behind the first kernel until it ends at 5010; the last call, which it keeps waiting, begins then.
    recorder = Recorder()
    calls = [recorder.kernel(5 * number, 5, 0, 10 if number == 0 else 5010 + number, 5000 if number == 0 else 1) for number in range(258)]
    recorder.job(0, 1290, calls)
    check({"a": recorder}, {"a": [(0, 10, 5015)]}, commands(0, 0, 0), "fcfs", {"of": "job"},
          a={"recording": {"forms": {**SLICED, "default": "loop"}}})


TWO_WAVES = {"name": "pkm", "params": {"slice": "block-tasks", "block_tasks": 2}}


def test_slices_let_an_urgent_client_in():
    # Four waves of 25, two a slice. a's rest opens its gate at 4; its kernel stands from 14 on, and Left is told at 16. Its
    # slice begins at 20, ends at 70, and is told at 72. b, which waits since 30, is granted the rest; a's gate closes at 73,
    # b's opens at 76, and is closed again at 77, for a waits. b's kernel runs from 86 to 136; at 138 Left is told, and b
    # over. a's other slice begins at 142 and ends at 192.
    check({"a": one_kernel(100), "b": one_kernel(50)}, {"a": [(0, 20, 194)], "b": [(30, 86, 138)]}, commands(4, 1, 2), TWO_WAVES,
          {"forms": "worth"}, a={"recording": {"forms": SLICED}}, b={"arrive": "30 ns", "priority": 1})


def test_slices_of_two_clients_that_take_turns():
    # a's rest opens its gate at 4; the kernel that is not sliced runs from 14 to 54, and the host goes on at 56. b waits
    # since 70, so the rest ends with `idle` at 50054, told at 50056. a's gate closes at 50057, b's opens at 50060; its kernel
    # stands from 50070 on, told at 50072; its slice is due at 50079, and runs, behind a switch, from 50084 to 50134, told at
    # 50136. The next one begins at 50143 and ends at 50193; b is over at 50195. a's submission comes to the closed gate at
    # 50206, which opens at 50210; the kernel stands from 50220 on (Left at 50222), is due at 50229, runs from 50234 to 50284
    # (Left at 50286) and from 50293 to 50343.
    recorder = Recorder()
    recorder.launches = [("_Z0kv", 4, 32, 16), ("_Z1kv", 4, 32, 16)]
    recorder.job(0, 50314, [recorder.kernel(0, 5, 0, 10, 40), recorder.wait(6, 46, STREAM, 0),
                            recorder.kernel(50202, 5, 0, 50212, 100), recorder.wait(50208, 106, STREAM, 0)])
    forms = {**SLICED, "default": "gate", "kernels": {"_Z1kv": {"name": "slice"}}}
    check({"a": recorder, "b": one_kernel(100)}, {"a": [(0, 14, 50345)], "b": [(70, 50084, 50195)]},
          commands(4, 1, 2, sliced(length=1000, switch=5)), TWO_WAVES, {"forms": "worth"},
          {"mechanism": {"name": "slice", "params": {"slice_cost": "3 ns"}}}, a={"priority": 1, "recording": {"forms": forms}},
          b={"arrive": "70 ns", "recording": {"forms": SLICED}})


def two_kernels():
    """A job of a kernel of 100 in four blocks, and one of 20 behind it."""
    recorder = Recorder()
    recorder.launches = [("_Z0kv", 4, 32, 16), ("_Z1kv", 4, 32, 16)]
    recorder.job(0, 134, [recorder.kernel(0, 5, 0, 10, 100), recorder.kernel(5, 5, 0, 112, 20), recorder.wait(11, 123, STREAM, 0)])
    return recorder


ALL = {"name": "pkm", "params": {"slice": "block-tasks", "block_tasks": 4}}
FIRST = {"recording": {"forms": {**SLICED, "default": "gate", "kernels": {"_Z0kv": "slice"}}}}


def test_a_client_without_further_jobs_does_not_wait():
    # a's last job ends at 196 while the policy takes it to wait: the rest of b, from 214 on, keeps its gate open.
    recorder = Recorder()
    recorder.job(0, 74, [recorder.kernel(0, 5, 0, 10, 50), recorder.kernel(20, 5, 0, 62, 10), recorder.wait(26, 48, STREAM, 0)])
    check({"a": two_kernels(), "b": recorder}, {"a": [(0, 72, 196)], "b": [(50, 214, 278)]}, commands(30, 1, 2), ALL,
          {"forms": "worth"}, a=FIRST, b={"arrive": "50 ns", "priority": 1})


def test_the_launch_of_a_job_that_is_over_closes_no_gate():
    recorder = Recorder()
    recorder.launches = [("_Z0kv", 4, 32, 16), ("_Z1kv", 4, 32, 16)]
    recorder.job(0, 118, [recorder.kernel(0, 5, 0, 10, 50), recorder.wait(6, 56, STREAM, 0), recorder.kernel(96, 5, 0, 106, 10),
                          recorder.wait(102, 16, STREAM, 0)])
    check({"a": two_kernels(), "b": recorder}, {"a": [(0, 72, 196), (1000196, 1000268, 1000392)], "b": [(50, 246, 356)]},
          commands(30, 1, 2), ALL, {"forms": "worth"}, a={"repeat": {"jobs": 2, "think": "1 ms"}, **FIRST},
          b={"arrive": "50 ns", "priority": 1, **FIRST})


def test_an_eviction_behind_the_end_of_a_job_comes_too_late():
    # a's host has finished its job at 1004, which is told at 1104; its quantum ends at 1014.
    recorder = Recorder()
    recorder.job(0, 1000, [recorder.kernel(0, 5, 0, 10, 10000), recorder.call(5, 995)])
    check({"a": recorder, "b": one_kernel(50)}, {"a": [(0, 14, 1004)], "b": [(500, 10019, 10071)]},
          commands(4, 1, 100, sliced(length=100000, switch=5)), {"name": "rr", "params": {"quantum": "1 us"}}, {"of": "job"},
          a={"recording": {"forms": {**SLICED, "default": "loop"}}}, b={"arrive": "500 ns"})


def test_every_submission_traps():
    # For 3 each, at the same time; b's kernel then waits for a's to be through with its turn.
    device = {**sliced(length=1000, switch=5), "access": {"interception": "3 ns"}}
    check({"a": one_kernel(100), "b": one_kernel(50)}, {"a": [(0, 13, 115)], "b": [(0, 118, 170)]}, device, "trap-per-request")


def test_killed_for_a_long_kernel():
    # a's slice ends at 1000, when it has 2000 before it; it is overdue 1501 later, and b's submission goes through.
    policy = {"name": "disengaged-timeslice", "params": {"slice": "1 us", "limit": "1500 ns"}}
    wanted = {"a": [(0, 10, None, "killed")], "b": [(0, 2511, 2563)]}
    check({"a": one_kernel(3000), "b": one_kernel(50)}, wanted, policy=policy)


def test_where_least_is_used():
    # Two requests within 100 use all of the first GPU; b uses 100 of 212 of the second one, so c is there, too.
    repeats = {"a": {"releases": ["1000 ns", "1100 ns"]}, "b": {"jobs": 1, "think": "100 ns"}, "c": {"releases": ["1002 ns"]}}
    clients = {name: {"repeat": repeat} for name, repeat in repeats.items()}
    clients["b"]["arrive"] = "1001 ns"
    check({"a": one_kernel(100), "b": one_kernel(100), "c": one_kernel(50)},
          {"a": [(1000, 1010, 1112), (1100, 2110, 2212)], "b": [(1001, 1011, 1113)], "c": [(1002, 1116, 1168)]},
          {**sliced(length=1000, switch=5), "gpus": 2}, terms={"place": "least-used"}, **clients)


def test_a_limit_ends_with_the_jobs_of_who_imposed_it():
    two_long_kernels, with_tail = Recorder(), Recorder()
    two_long_kernels.job(0, 2020, [two_long_kernels.kernel(0, 5, 0, 10, 1000), two_long_kernels.kernel(5, 5, 0, 1012, 1000),
                                   two_long_kernels.wait(11, 2009, STREAM, 0)])
    with_tail.job(0, 562, [with_tail.kernel(0, 5, 0, 10, 50), with_tail.wait(6, 56, STREAM, 0)])
    # b's kernel is over at 60, its grant at 160, and a's first kernel runs from 170. The second one may be submitted when b's job is over, at
    # 562; it follows the first at 1172, is over at 2172, and is seen 8 later.
    check({"a": two_long_kernels, "b": with_tail}, {"a": [(1, 170, 2180)], "b": [(0, 10, 562)]}, commands(0, 0, 0), "piv",
          {"of": "job", "idle": "100 ns", "in_flight": 1}, a={"arrive": "1 ns"}, b={"priority": 1})


def test_a_small_kernel_waits_for_the_last_wave_of_another():
    # a's three waves of 100 begin at 10, 110 and 210, the last one of two blocks only. b's kernel, due at 30, begins beside that one.
    check({"a": one_kernel(300, 10), "b": one_kernel(50, 1)}, {"a": [(0, 10, 312)], "b": [(20, 210, 262)]}, FOUR_BLOCKS, b={"arrive": "20 ns"})
    # If the last wave is full there is room for it behind a's kernel.
    check({"a": one_kernel(300, 12), "b": one_kernel(50, 1)}, {"a": [(0, 10, 312)], "b": [(20, 310, 362)]}, FOUR_BLOCKS, b={"arrive": "20 ns"})


def test_a_kernel_begins_in_the_room_that_is_there():
    # a leaves room for one block until 110. Of b's six (two waves: groups of 31, 30, 31, 30) one begins at 30, at 61 and at 91; at 110 the
    # other three do, beside the one that ends at 122, and end at 140. c's block, due at 40, comes after them, and has room from 122 on.
    check({"a": one_kernel(100, 3), "b": one_kernel(61, 6), "c": one_kernel(20, 1)},
          {"a": [(0, 10, 112)], "b": [(20, 30, 142)], "c": [(30, 122, 144)]}, FOUR_BLOCKS, b={"arrive": "20 ns"}, c={"arrive": "30 ns"})


def test_who_comes_first_begins_first():
    two_at_once = Recorder(streams=(NON_BLOCKING, NON_BLOCKING))
    two_at_once.job(0, 122, [two_at_once.kernel(0, 5, 0, 10, 100), two_at_once.kernel(5, 5, 1, 20, 100), two_at_once.wait(11, 111, CONTEXT, 0)])
    programs = {"a": two_at_once, "b": one_kernel(50)}
    # Each kernel fills the GPU. a's second one does not wait for its first, but for b's, which comes at 15 and runs from 110.
    check(programs, {"a": [(0, 10, 262)], "b": [(5, 110, 162)]}, FOUR_BLOCKS, b={"arrive": "5 ns"})
    # Of the two that come at 20, a's is the first: it ends at 120.
    check(programs, {"a": [(0, 10, 122)], "b": [(10, 120, 172)]}, FOUR_BLOCKS, b={"arrive": "10 ns"})


def test_kernels_of_a_graph_come_one_after_the_other():
    # Of 100 the nodes take 34 and 66. b's two blocks, due at 30, begin at 44, before two of the second node's four; its other two begin
    # when b's have ended, at 94, and end 66 later.
    nodes = graph()
    nodes.nodes = [(0, 10), (0, 20)]
    check({"a": nodes, "b": one_kernel(50, 2)}, {"a": [(0, 10, 162)], "b": [(20, 44, 96)]}, FOUR_BLOCKS, b={"arrive": "20 ns"})


if __name__ == "__main__":
    sys.exit(by_hand.run(globals()))
