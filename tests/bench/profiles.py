"""Profiles of a million rows, in both formats that `gangway import` reads: a training loop whose steps launch kernels, copy, record and
wait for events, and end with a wait. Half of the rows are calls, half is what the GPU did for them, or ranges."""

import gzip
import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
from made_profiles import DTOH, EVENT_SYNC, Kineto, Nsys  # noqa: E402

KERNELS = 95  # in a step, beside a copy, an event, a wait for it and a range
ROWS_OF_STEP = 2 * KERNELS + 2 + 2 + 2 + 1
NAMES = [f"void at::native::vectorized_elementwise_kernel<4, at::native::Functor{i}<float>, std::array<char*, 3> >(int, Functor{i}<float>)"
         for i in range(200)]


def export(path, rows):
    """Of Nsight Systems, with so many rows or a few more."""
    n, at = Nsys("2025"), 1_000_000
    for step in range(rows // ROWS_OF_STEP + 1):
        begin = at
        for k in range(KERNELS):
            n.kernel(at, at + 3_000, at + 6_000, at + 9_500, name=NAMES[(7 * k + step) % 200], mangled=f"_Z{k}kernelv")
            at += 4_000
        n.copy(at, at + 4_000, at + 7_000, at + 9_000, kind=DTOH)
        n.record(at + 5_000, at + 6_000, 7, event=5, eventSyncId=step + 1)
        n.sync(at + 7_000, at + 20_000, EVENT_SYNC, event=5, eventSyncId=step + 1)
        at += 30_000
        n.range(f"step {step}", begin - 500, at)
    n.write(path)


def trace(path, rows):
    """Of PyTorch's profiler; the events of its operators come on top, as they do in real traces."""
    event = ('{{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}.{:03}, "dur": {}.{:03}, "args": {{"External id": {c}, {}}}}},\n')

    def line(category, name, pid, tid, begin, end, args, c):
        return event.format(category, name, pid, tid, begin // 1000, begin % 1000, (end - begin) // 1000, (end - begin) % 1000, args, c=c)

    at, c = 5_000_000_000, 0
    with gzip.open(path, "wt", compresslevel=1) as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85017493504, "numSms": 132}],\n'
                  f'"baseTimeNanoseconds": {Kineto.BASE}, "traceEvents": [\n')
        for step in range(rows // ROWS_OF_STEP + 1):
            begin = at
            for k in range(KERNELS):
                c += 1
                out.write(line("cpu_op", "aten::add_", 1234, 1234, at - 500, at + 3_200, '"Input Dims": [[8, 512, 768], []], "Ev Idx": 17', c))
                out.write(line("cuda_runtime", "cudaLaunchKernel", 1234, 1234, at, at + 3_000, f'"cbid": 211, "correlation": {c}', c))
                out.write(line("kernel", NAMES[(7 * k + step) % 200], 0, 7, at + 6_000, at + 9_500,
                               f'"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": {c}, "registers per thread": 32, '
                               '"shared memory": 0, "blocks per SM": 5.818182, "warps per SM": 23.272728, "grid": [768, 1, 1], '
                               '"block": [128, 1, 1], "est. achieved occupancy %": 36, "graph id": 0, "graph node id": 0', c))
                at += 4_000
            c += 3
            out.write(line("cuda_runtime", "cudaMemcpyAsync", 1234, 1234, at, at + 4_000, f'"cbid": 41, "correlation": {c - 2}', c))
            out.write(line("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 0, 7, at + 7_000, at + 9_000,
                           f'"device": 0, "context": 1, "stream": 7, "correlation": {c - 2}, "bytes": 4096', c))
            out.write(line("cuda_runtime", "cudaEventRecord", 1234, 1234, at + 5_000, at + 6_000, f'"cbid": 135, "correlation": {c - 1}', c))
            out.write(line("cuda_runtime", "cudaEventSynchronize", 1234, 1234, at + 7_000, at + 20_000, f'"cbid": 137, "correlation": {c}', c))
            out.write(line("cuda_sync", "Event Sync", 0, 7, at + 7_000, at + 20_000,
                           '"cuda_sync_kind": "Event Sync", "stream": -1, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": '
                           f'{c - 1}, "wait_on_cuda_event_id": 5, "correlation": {c}, "device": 0, "context": 1', c))
            at += 30_000
            out.write(line("user_annotation", f"ProfilerStep#{step}", 1234, 1234, begin - 500, at, '"Ev Idx": 1', c))
        out.write('{"ph": "M", "name": "process_name", "pid": 1234, "tid": 0, "ts": 0, "args": {"name": "python3"}}], "traceName": "trace"}\n')


if __name__ == "__main__":
    {"nsys": export, "torch": trace}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
