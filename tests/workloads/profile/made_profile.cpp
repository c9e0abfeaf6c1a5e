#include "tests/workloads/profile/made_profile.hpp"

#include <fstream>
#include <stdexcept>

#include "models/database.hpp"
#include "models/recording/file.hpp"

namespace gangway::testing {

// Process 1234 and its thread 1234: 1 << 48 | 1234 << 24 | 1234. Times begin at 5 s.
const char* const kNsysExport = R"sql(
CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync_v3020'), (3, 'cudaEventRecord_v3020'),
  (4, 'cudaStreamWaitEvent_v3020'), (5, 'cudaStreamSynchronize_v3020'), (6, 'cudaGraphLaunch_v10000'),
  (7, 'cudaDeviceSynchronize_v3020'), (8, 'void add<float>(float *, int)'), (9, '_Z3addIfEvPT_i'), (10, 'main'),
  (11, 'cudaGetDevice_v3020');
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
  (5000000000, 5000000300, 0, 281495679796434, 1, 1, 0, NULL), (5000000320, 5000000330, 0, 281495679796434, 90, 11, 0, NULL),
  (5000000400, 5000000600, 0, 281495679796434, 2, 2, 0, NULL), (5000000700, 5000000750, 0, 281495679796434, 3, 3, 0, NULL),
  (5000000800, 5000000840, 0, 281495679796434, 4, 4, 0, NULL), (5000000900, 5000001100, 0, 281495679796434, 5, 1, 0, NULL),
  (5000001200, 5000005700, 0, 281495679796434, 6, 5, 0, NULL), (5000008000, 5000008400, 0, 281495679796434, 7, 6, 0, NULL),
  (5000008500, 5000009500, 0, 281495679796434, 8, 7, 0, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
  (5000001000, 5000004000, 0, 1, NULL, 7, 1, 281495679795200, 8, 8, 9, 40, 800, 2, 1, 512, 1, 1, 16, 32, 8, NULL),
  (5000005000, 5000005500, 0, 1, NULL, 13, 5, 281495679795200, 8, 8, 9, 40, 100, 1, 1, 512, 1, 1, 16, 32, 8, NULL),
  (5000009000, 5000009100, 0, 1, NULL, 7, 7, 281495679795200, 8, 8, 9, 40, 800, 2, 1, 512, 1, 1, 16, 32, 8, 51),
  (5000009120, 5000009300, 0, 1, NULL, 7, 7, 281495679795200, 8, 8, 9, 40, 800, 2, 1, 512, 1, 1, 16, 32, 8, 53);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER,
  dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5000004200, 5000004900, 0, 1, 7, 2, 281495679795200, 4096, 2, 2, 1);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER,
  memKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (5000009050, 5000009080, 0, 1, 9, 7, 281495679795200, 0, 64, 52, 2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL,
  eventId INTEGER NOT NULL, eventSyncId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
  (5000000800, 5000000840, 0, 1, 13, 4, 281495679795200, 2, 5, NULL), (5000001200, 5000005700, 0, 1, 13, 6, 281495679795200, 3, 0, NULL),
  (5000008500, 5000009500, 0, 1, 4294967295, 8, 281495679795200, 4, 0, NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 3, 281495679795200, 5);
CREATE TABLE NVTX_EVENTS(start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER,
  domainId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (4999999900, 5000005800, 59, 'step 1', 281495679796434, NULL, 0);
CREATE TABLE TARGET_INFO_GPU(id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100', 85017493504, 132);
CREATE TABLE ThreadNames(nameId INTEGER NOT NULL, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (10, 281495679796434);
CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (281495679795200, 1234, 'app');
)sql";

const char* const kTorchTrace =
    R"json({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100",
 "totalGlobalMem": 85017493504, "computeMajor": 9, "computeMinor": 0, "numSms": 132}],
"displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
{"ph": "M", "name": "process_name", "pid": 1234, "tid": 0, "ts": 0, "args": {"name": "app"}},
{"ph": "M", "name": "thread_name", "pid": 1234, "tid": 1234, "ts": 0, "args": {"name": "main"}},
{"ph": "X", "cat": "user_annotation", "name": "step 1", "pid": 1234, "tid": 1234, "ts": 4999999.900, "dur": 5.900, "args": {"External id": 1}},
{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1234, "tid": 1234, "ts": 4999999.950, "dur": 1, "args": {"Input Dims": [[8, 8], []], "stream": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1234, "tid": 1234, "ts": 5000000.000, "dur": 0.300, "args": {"External id": 2, "cbid": 211, "correlation": 1}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1234, "tid": 1234, "ts": 5000000.400, "dur": 0.200, "args": {"correlation": 2}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 1234, "tid": 1234, "ts": 5000000.700, "dur": 0.050, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "pid": 1234, "tid": 1234, "ts": 5000000.800, "dur": 0.040, "args": {"correlation": 4}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1234, "tid": 1234, "ts": 5000000.900, "dur": 0.200, "args": {"correlation": 5}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "pid": 1234, "tid": 1234, "ts": 5000001.200, "dur": 4.500, "args": {"correlation": 6}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1234, "tid": 1234, "ts": 5000008.000, "dur": 0.400, "args": {"correlation": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1234, "tid": 1234, "ts": 5000008.500, "dur": 1, "args": {"correlation": 8}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 13, "ts": 5000000.800, "dur": 0.040, "args": {"cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 3, "wait_on_cuda_event_id": 5, "stream": 13, "correlation": 4, "device": 0, "context": 1}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1000013, "ts": 5000001.200, "dur": 4.500, "args": {"cuda_sync_kind": "Stream Sync", "stream": 13, "correlation": 6, "device": 0, "context": 1}},
{"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 5000008.500, "dur": 1, "args": {"cuda_sync_kind": "Context Sync", "stream": -1, "correlation": 8, "device": 0, "context": 1}},
{"ph": "X", "cat": "kernel", "name": "void add<float>(float *, int)", "pid": 0, "tid": 7, "ts": 5000001.000, "dur": 3.000, "args": {"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 1, "registers per thread": 40, "shared memory": 48, "blocks per SM": 12.1, "grid": [800, 2, 1], "block": [512, 1, 1], "est. achieved occupancy %": 75, "graph id": 0, "graph node id": 0}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoH (Device -> Pinned)", "pid": 0, "tid": 7, "ts": 5000004.200, "dur": 0.700, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 2, "bytes": 4096, "memory bandwidth (GB/s)": 5.85}},
{"ph": "X", "cat": "kernel", "name": "void add<float>(float *, int)", "pid": 0, "tid": 13, "ts": 5000005.000, "dur": 0.500, "args": {"device": 0, "context": 1, "stream": 13, "correlation": 5, "registers per thread": 40, "shared memory": 48, "grid": [100, 1, 1], "block": [512, 1, 1]}},
{"ph": "X", "cat": "kernel", "name": "void add<float>(float *, int)", "pid": 0, "tid": 7, "ts": 5000009.000, "dur": 0.100, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 7, "registers per thread": 40, "shared memory": 48, "grid": [800, 2, 1], "block": [512, 1, 1], "graph id": 6, "graph node id": 51}},
{"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 9, "ts": 5000009.050, "dur": 0.030, "args": {"device": 0, "context": 1, "stream": 9, "correlation": 7, "bytes": 64, "graph id": 6, "graph node id": 52}},
{"ph": "X", "cat": "kernel", "name": "void add<float>(float *, int)", "pid": 0, "tid": 7, "ts": 5000009.120, "dur": 0.180, "args": {"device": 0, "context": 1, "stream": 7, "correlation": 7, "registers per thread": 40, "shared memory": 48, "grid": [800, 2, 1], "block": [512, 1, 1], "graph id": 6, "graph node id": 53}},
{"ph": "s", "id": 1, "pid": 1234, "tid": 1234, "ts": 5000000.000, "cat": "ac2g", "name": "ac2g"}
], "traceName": "trace.json"
}
)json";

std::filesystem::path write_export(const std::filesystem::path& file, const std::string& sql) {
  std::filesystem::remove(file);
  Database database(file, Database::Mode::write,
                    [](const std::string& why) { throw std::runtime_error(why); });
  database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN");
  database.run(sql.c_str());
  database.run("COMMIT");
  return file;
}

std::filesystem::path write_trace(const std::filesystem::path& file, const std::string& json) {
  std::ofstream(file, std::ios::binary) << json;
  return file;
}

recording::Recording imported(const std::string& profiler, const std::filesystem::path& file,
                              profile::ImportSettings settings) {
  settings.profiler = profiler;
  settings.file = file.string();
  settings.out = file.string() + ".rec";
  settings.replace = true;
  profile::import_profile(settings, [](const std::string&, const recording::Recording&) {});
  return recording::read_recording(settings.out);
}

}  // namespace gangway::testing
