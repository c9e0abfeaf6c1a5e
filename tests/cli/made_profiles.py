"""Profiles made by hand, in the formats of several versions.

Nsight Systems' exporter cannot be run where these tests are made: the tables are written after NVIDIA's "SQLite Schema
Reference" (of 2021.5 and of today) and after schemas that others published of their exports, one of them of schema 3.16.1. The
years are names of three stages; which column came with which version is not known exactly. Of each table only columns that
concern programs on GPUs are here. The traces of PyTorch's profiler are written after libkineto's sources and a trace in its
repository, of versions of 2021 and of 2025."""

import gzip
import json
import sqlite3

PID, TID = 1234, 1234
MEMORY_KINDS = ["PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC", "UNKNOWN"]
PAGEABLE, PINNED, DEVICE = range(3)
HTOD, DTOH = 1, 2
EVENT_SYNC, WAIT_EVENT, STREAM_SYNC, CONTEXT_SYNC = range(1, 5)

_WORK_2021 = "start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL"
_WORK_2023 = _WORK_2021.replace(" INT ", " INTEGER ")
_WORK_2025 = _WORK_2023.replace("streamId", "greenContextId INTEGER, streamId")
_SHAPE = ("registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, "
          "blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
          "localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER")
_ENUM = "(id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)"

SCHEMAS = {
    # Everything is an INT and nothing NULL; no mangled names, no globalPid of kernels, no tables that name kinds.
    "2021": {
        "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start INT NOT NULL, end INT NOT NULL, eventClass INT NOT NULL, globalTid INT NOT NULL, "
                                       "correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL",
        "CUPTI_ACTIVITY_KIND_KERNEL": _WORK_2021 + ", correlationId INT NOT NULL, demangledName INT NOT NULL, shortName INT NOT NULL, "
                                      "launchType INT NOT NULL, cacheConfig INT NOT NULL, " + _SHAPE.replace("INTEGER", "INT"),
        "CUPTI_ACTIVITY_KIND_MEMCPY": _WORK_2021 + ", correlationId INT NOT NULL, bytes INT NOT NULL, copyKind INT NOT NULL, "
                                      "srcKind INT NOT NULL, dstKind INT NOT NULL",
        "CUPTI_ACTIVITY_KIND_MEMSET": _WORK_2021 + ", correlationId INT NOT NULL, value INT NOT NULL, bytes INT NOT NULL, memKind INT NOT NULL",
        "NVTX_EVENTS": "start INT NOT NULL, end INT NOT NULL, eventType INT NOT NULL, rangeId INT NOT NULL, text TEXT, globalTid INT NOT NULL, "
                       "textId INT, domainId INT NOT NULL",
        "TARGET_INFO_CUDA_GPU": "deviceId INT NOT NULL, name TEXT NOT NULL, computeCapabilityMajor INT NOT NULL, computeCapabilityMinor INT NOT NULL, "
                                "coreClockRate INT NOT NULL, numMultiprocessors INT NOT NULL",
    },
    # The first with META_DATA_EXPORT and NULLs.
    "2023": {
        "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
        "ThreadNames": "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
        "PROCESSES": "globalPid INTEGER, pid INTEGER, name TEXT",
        "META_DATA_EXPORT": "name TEXT NOT NULL, value TEXT",
        "META_DATA_CAPTURE": "name TEXT NOT NULL, value TEXT",
        "TARGET_INFO_SESSION_START_TIME": "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
        "TARGET_INFO_GPU": "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, "
                           "totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, uuid TEXT, chipName TEXT, "
                           "asyncEngines INTEGER, computeMajor INTEGER, computeMinor INTEGER",
        "TARGET_INFO_CUDA_DEVICE": "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER",
        "TARGET_INFO_SYSTEM_ENV": "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL",
        "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, "
                                       "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
        "CUPTI_ACTIVITY_KIND_KERNEL": _WORK_2023 + ", correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "
                                      "shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, " + _SHAPE
                                      + ", graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER",
        "CUPTI_ACTIVITY_KIND_MEMCPY": _WORK_2023 + ", correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, "
                                      "deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, graphNodeId INTEGER",
        "CUPTI_ACTIVITY_KIND_MEMSET": _WORK_2023 + ", correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, "
                                      "graphNodeId INTEGER, memKind INTEGER",
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _WORK_2023 + ", correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, "
                                               "eventId INTEGER NOT NULL",
        "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, "
                                          "correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL",
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _WORK_2023 + ", correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL, "
                                           "graphExecId INTEGER NOT NULL",
        "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color INTEGER, "
                       "text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER",
        "CUDA_GPU_MEMORY_USAGE_EVENTS": "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
                                        "address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, "
                                        "memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, streamId INTEGER",
        "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
                                         "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL",
        "TARGET_INFO_CUDA_STREAM": "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL, "
                                   "contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL",
        "ENUM_CUDA_MEM_KIND": _ENUM[1:-1], "ENUM_CUPTI_SYNC_TYPE": _ENUM[1:-1], "ENUM_CUPTI_STREAM_TYPE": _ENUM[1:-1],
        "ENUM_NSYS_EVENT_TYPE": _ENUM[1:-1], "ENUM_CUDA_KERNEL_LAUNCH_TYPE": _ENUM[1:-1],
    },
}
SCHEMAS["2025"] = {
    **SCHEMAS["2023"],
    "CUPTI_ACTIVITY_KIND_KERNEL": SCHEMAS["2023"]["CUPTI_ACTIVITY_KIND_KERNEL"].replace(_WORK_2023, _WORK_2025)
    + ", graphId INTEGER, clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": SCHEMAS["2023"]["CUPTI_ACTIVITY_KIND_MEMCPY"].replace(_WORK_2023, _WORK_2025) + ", graphId INTEGER",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": _WORK_2025 + ", correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, "
                                           "syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
                                      "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL, "
                                      "eventSyncId INTEGER",
}


def global_id(pid, tid=0):
    return 1 << 48 | pid << 24 | tid


class Nsys:
    """An export. Rows are dictionaries; columns that the version does not have are left out, others are NULL, or 0 where that is
    not allowed."""

    def __init__(self, version="2023"):
        self.version, self.schema = version, SCHEMAS[version]
        self.rows = {table: [] for table in self.schema}
        self.strings, self.correlation = {}, 0
        if version == "2021":
            self.put("TARGET_INFO_CUDA_GPU", deviceId=0, name="Tesla V100-SXM2-16GB", computeCapabilityMajor=7, computeCapabilityMinor=0,
                     coreClockRate=1_530_000, numMultiprocessors=80)
            return
        self.put("TARGET_INFO_GPU", id=0, name="NVIDIA H100 80GB HBM3", l2CacheSize=50 << 20, totalMemory=85_017_493_504,
                 clockRate=1_980_000_000, smCount=132, asyncEngines=3, computeMajor=9, computeMinor=0)
        self.put("META_DATA_EXPORT", name="EXPORT_SCHEMA_VERSION", value={"2023": "3.1.6", "2025": "3.16.1"}[version])
        self.put("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000)
        self.put("TARGET_INFO_SYSTEM_ENV", devStateName="cpu", name="CpuDescription", value="a CPU")
        self.put("TARGET_INFO_SYSTEM_ENV", devStateName="cpu", name="CpuCores", value="16")
        for number, kind in enumerate(MEMORY_KINDS):
            self.put("ENUM_CUDA_MEM_KIND", id=number, name="CUDA_MEMOPR_MEMORY_KIND_" + kind)
        for number, kind in enumerate(["UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"]):
            self.put("ENUM_CUPTI_SYNC_TYPE", id=number, name="CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" + kind)
        for number, kind in enumerate(["UNKNOWN", "DEFAULT", "NON_BLOCKING", "NULL"]):
            self.put("ENUM_CUPTI_STREAM_TYPE", id=number, name="CUPTI_ACTIVITY_STREAM_CREATE_FLAG_" + kind)
        for number, name in ((34, "NvtxMark"), (59, "NvtxPushPopRange"), (60, "NvtxStartEndRange"), (75, "NvtxDomainCreate")):
            self.put("ENUM_NSYS_EVENT_TYPE", id=number, name=name)
        for number, kind in enumerate(["UNKNOWN", "REGULAR", "COOPERATIVE_SINGLE_DEVICE", "COOPERATIVE_MULTI_DEVICE"]):
            self.put("ENUM_CUDA_KERNEL_LAUNCH_TYPE", id=number, name="CUDA_KERNEL_LAUNCH_TYPE_" + kind)

    def put(self, table, **row):
        if table in self.rows:
            self.rows[table].append(row)

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def call(self, name, begin, end, pid=PID, tid=TID, result=0):
        self.correlation += 1
        self.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=begin, end=end, globalTid=global_id(pid, tid), correlationId=self.correlation,
                 nameId=self.string(name), returnValue=result)
        return self.correlation

    def work(self, table, correlation, begin, end, stream, pid=PID, context=1, **rest):
        self.put("CUPTI_ACTIVITY_KIND_" + table, start=begin, end=end, correlationId=correlation, streamId=stream, contextId=context,
                 globalPid=global_id(pid), **rest)

    def kernel(self, begin, end, runs, ends, stream=7, name="void add<float>(float*, int)", mangled="_Z3addIfEvPT_i", pid=PID, tid=TID, **rest):
        correlation = self.call("cudaLaunchKernel_v7000", begin, end, pid, tid)
        self.kernel_of(correlation, runs, ends, stream, name, mangled, pid, **rest)
        return correlation

    def kernel_of(self, correlation, runs, ends, stream=7, name="void add<float>(float*, int)", mangled="_Z3addIfEvPT_i", pid=PID, **rest):
        self.work("KERNEL", correlation, runs, ends, stream, pid, demangledName=self.string(name), shortName=self.string(name.split("<")[0]),
                  mangledName=self.string(mangled), launchType=1, registersPerThread=40, gridX=800, gridY=2, gridZ=1, blockX=512, blockY=1,
                  blockZ=1, staticSharedMemory=16, dynamicSharedMemory=32, localMemoryPerThread=8, **rest)

    def copy(self, begin, end, runs, ends, stream=7, function="cudaMemcpyAsync_v3020", bytes=4096, kind=DTOH, src=DEVICE, dst=PINNED, pid=PID):
        correlation = self.call(function, begin, end, pid)
        self.work("MEMCPY", correlation, runs, ends, stream, pid, bytes=bytes, copyKind=kind, srcKind=src, dstKind=dst)
        return correlation

    def sync(self, begin, end, kind=STREAM_SYNC, stream=7, pid=PID, tid=TID, event=0, eventSyncId=0, context=1):
        name = {EVENT_SYNC: "cudaEventSynchronize_v3020", WAIT_EVENT: "cudaStreamWaitEvent_v3020", STREAM_SYNC: "cudaStreamSynchronize_v3020",
                CONTEXT_SYNC: "cudaDeviceSynchronize_v3020"}[kind]
        correlation = self.call(name, begin, end, pid, tid)
        self.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=begin, end=end, correlationId=correlation, globalPid=global_id(pid), syncType=kind,
                 contextId=context, streamId=0xFFFFFFFF if kind == CONTEXT_SYNC else stream, eventId=event, eventSyncId=eventSyncId)
        return correlation

    def record(self, begin, end, stream, event, eventSyncId=0, pid=PID):
        correlation = self.call("cudaEventRecord_v3020", begin, end, pid)
        self.put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", correlationId=correlation, globalPid=global_id(pid), contextId=1, streamId=stream,
                 eventId=event, eventSyncId=eventSyncId)
        return correlation

    def range(self, text, begin, end, pid=PID, tid=TID, domain=0, registered=False):
        self.put("NVTX_EVENTS", start=begin, end=end, eventType=59, text=None if registered else text,
                 textId=self.string(text) if registered else None, globalTid=global_id(pid, tid), domainId=domain)

    def write(self, path):
        path.unlink(missing_ok=True)
        self.rows["StringIds"] = [{"id": number, "value": text} for text, number in self.strings.items()]
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("BEGIN")
        for table, schema in self.schema.items():
            columns = [column.strip() for column in schema.split(",")]
            # Tables are only there if they have rows.
            if not self.rows[table]:
                continue
            quoted = ['"{}" {}'.format(*column.split(" ", 1)) for column in columns]
            database.execute(f'CREATE TABLE {table} ({", ".join(quoted)})')
            names = [column.split(" ", 1)[0] for column in columns]
            filling = [("" if "TEXT" in column else 0) if "NOT NULL" in column else None for column in columns]
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})",
                                 ([row.get(name, fill) for name, fill in zip(names, filling)] for row in self.rows[table]))
        database.execute("COMMIT")
        database.close()
        return path


class Kineto:
    """A trace. Times are given in ns. `version`: 2021 has whole microseconds and other categories; 2025 has a base and fractions."""

    BASE = 1_743_521_598_000_000_000

    def __init__(self, version=2025):
        self.version, self.events, self.correlation = version, [], 0
        self.devices = [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85_017_493_504, "computeMajor": 9, "computeMinor": 0,
                         "maxThreadsPerBlock": 1024, "regsPerBlock": 65536, "warpSize": 32, "numSms": 132}]
        self.events += [{"name": "process_name", "ph": "M", "ts": 0, "pid": PID, "tid": 0, "args": {"name": "python3"}},
                        {"name": "process_labels", "ph": "M", "ts": 0, "pid": PID, "tid": 0, "args": {"labels": "CPU"}},
                        {"name": "thread_name", "ph": "M", "ts": 0, "pid": PID, "tid": TID, "args": {"name": "thread 1234 (python3)"}}]

    def category(self, name):
        if self.version > 2021:
            return name
        return {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "cuda_runtime": "Runtime", "user_annotation": "Operator",
                "cpu_op": "Operator"}.get(name, name)

    def event(self, category, name, begin, end, pid, tid, **args):
        scale = (lambda ns: ns // 1000) if self.version == 2021 else (lambda ns: Decimals(ns))
        self.events.append({"ph": "X", "cat": self.category(category), "name": name, "pid": pid, "tid": tid, "ts": scale(begin),
                            "dur": scale(end - begin) if self.version > 2021 else end // 1000 - begin // 1000, "args": args})

    def call(self, name, begin, end, pid=PID, tid=TID, category="cuda_runtime"):
        self.correlation += 1
        self.event("cpu_op", "aten::op", begin, end, pid, tid, **{"External id": self.correlation, "Input Dims": [[8, [1]], []]})
        self.event(category, name, begin, end, pid, tid, **{"External id": self.correlation, "cbid": 211, "correlation": self.correlation})
        return self.correlation

    def kernel_of(self, correlation, runs, ends, stream=7, name="void add<float>(float*, int)", graph=0, node=0, device=0):
        self.event("kernel", name, runs, ends, device, stream, **{
            "queued": 0, "device": device, "context": 1, "stream": stream, "correlation": correlation, "registers per thread": 40,
            "shared memory": 48, "blocks per SM": 12.121212, "warps per SM": 193.93939, "grid": [800, 2, 1], "block": [512, 1, 1],
            "est. achieved occupancy %": 75, "graph id": graph, "graph node id": node})

    def kernel(self, begin, end, runs, ends, stream=7, pid=PID, tid=TID, device=0, **rest):
        correlation = self.call("cudaLaunchKernel", begin, end, pid, tid)
        self.kernel_of(correlation, runs, ends, stream, device=device, **rest)
        return correlation

    def copy(self, begin, end, runs, ends, stream=7, function="cudaMemcpyAsync", words="Memcpy DtoH (Device -> Pinned)"):
        correlation = self.call(function, begin, end)
        self.event("gpu_memcpy", words, runs, ends, 0, stream, **{
            "device": 0, "context": 1, "stream": stream, "correlation": correlation, "bytes": 4096, "memory bandwidth (GB/s)": 7.2})
        return correlation

    def sync(self, function, begin, end, kind=None, stream=-1, **args):
        """`kind`: as newer versions say it; without, there is only the call."""
        correlation = self.call(function, begin, end)
        if kind:
            self.event("cuda_sync", kind, begin, end, 0, stream, cuda_sync_kind=kind, stream=stream, correlation=correlation, device=0,
                       context=1, **args)
        return correlation

    def range(self, name, begin, end, tid=TID):
        self.event("user_annotation", name, begin, end, PID, tid, **{"External id": 1})

    def text(self):
        base = {} if self.version == 2021 else {"baseTimeNanoseconds": self.BASE, "cupti_version": 26, "displayTimeUnit": "ms"}
        return Decimals.dump({"schemaVersion": 1, "deviceProperties": self.devices, **base, "traceEvents": self.events, "traceName": "trace"})

    def write(self, path):
        with (gzip.open if path.suffix == ".gz" else open)(path, "wt") as file:
            file.write(self.text())
        return path


class Decimals(int):
    """Nanoseconds that are written as microseconds, with all their digits."""

    @staticmethod
    def dump(value):
        if isinstance(value, Decimals):
            return f"{int(value) // 1000}.{int(value) % 1000:03}"
        if isinstance(value, dict):
            return "{" + ",\n".join(json.dumps(key) + ": " + Decimals.dump(item) for key, item in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(map(Decimals.dump, value)) + "]"
        return json.dumps(value)
