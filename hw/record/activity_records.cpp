#include "hw/record/activity_records.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "hw/record/recorder.hpp"

namespace gangway::spool {
namespace {

constexpr std::size_t kBuffer = 256u << 10;  // what a killed program loses at most of a thread's records
constexpr std::size_t kKeptBuffers = 64;

template <typename Record>
const Record& as(const CUpti_Activity* record) {
  return *reinterpret_cast<const Record*>(record);
}

template <typename Record>
bool work(const Record& r, Work& out) {
  if (r.start == 0 || r.end == 0) {
    ++recorder->unfinished;
    return false;
  }
  out = {.correlation = r.correlationId,
         .device = r.deviceId,
         .context = r.contextId,
         .stream = r.streamId,
         .begin = r.start,
         .end = r.end,
         .node = 0,
         .graph = r.graphId};
  if constexpr (requires { r.graphNodeId; }) out.node = r.graphNodeId;
  return true;
}

void keep(const CUpti_ActivityKernel10& r) {
  Kernel kernel;
  if (!work(r, kernel.work)) return;
  Spool& spool = recorder->spool;
  const auto u = [](auto n) { return static_cast<std::uint32_t>(n); };
  Shape shape;
  shape.name = spool.text(r.name);
  const std::uint32_t grid[] = {u(r.gridX), u(r.gridY), u(r.gridZ)};
  const std::uint32_t block[] = {u(r.blockX), u(r.blockY), u(r.blockZ)};
  const std::uint32_t cluster[] = {r.clusterX, r.clusterY, r.clusterZ};
  std::memcpy(shape.grid, grid, sizeof grid);
  std::memcpy(shape.block, block, sizeof block);
  std::memcpy(shape.cluster, cluster, sizeof cluster);
  shape.registers = r.registersPerThread;
  shape.static_shared = u(r.staticSharedMemory);
  shape.dynamic_shared = u(r.dynamicSharedMemory);
  shape.local = r.localMemoryPerThread;
  shape.launch_type = r.launchType;
  kernel.shape = spool.shape(shape);
  spool.put(kernel);
}

template <typename Record>
void keep_copy(const Record& r) {
  Copy copy;
  if (!work(r, copy.work)) return;
  copy.bytes = r.bytes;
  copy.kind = r.copyKind;
  copy.from = r.srcKind;
  copy.to = r.dstKind;
  copy.asynchronous = (r.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0;
  if constexpr (requires { r.dstDeviceId; })
    copy.to_device = r.dstDeviceId;
  else
    copy.to_device = r.deviceId;
  recorder->spool.put(copy);
}

void keep(const CUpti_ActivityMemset4& r) {
  Memset memset;
  if (!work(r, memset.work)) return;
  memset.bytes = r.bytes;
  memset.memory = r.memoryKind;
  recorder->spool.put(memset);
}

void keep(const CUpti_ActivityGraphTrace2& r) {
  Graph graph;
  if (work(r, graph.work)) recorder->spool.put(graph);
}

void keep(const CUpti_ActivitySynchronization2& r) {
  if (r.returnValue != CUDA_SUCCESS) return;
  recorder->spool.put(Sync{.correlation = r.correlationId,
                           .kind = r.type,
                           .context = r.contextId,
                           .stream = r.streamId,
                           .event = r.cudaEventSyncId});
}

void keep(const CUpti_ActivityCudaEvent2& r) {
  recorder->spool.put(Event{.correlation = r.correlationId,
                            .context = r.contextId,
                            .stream = r.streamId,
                            .event = r.cudaEventSyncId});
}

void keep(const CUpti_ActivityMemory4& r) {
  recorder->spool.put(
      Memory{.correlation = r.correlationId,
             .device = r.deviceId,
             .kind = static_cast<std::uint32_t>(r.memoryKind),
             .released = r.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
             .address = r.address,
             .bytes = r.bytes,
             .time = r.timestamp});
}

void keep(const CUpti_ActivityMarker2& r) {
  if ((r.flags & (CUPTI_ACTIVITY_FLAG_MARKER_START | CUPTI_ACTIVITY_FLAG_MARKER_END)) == 0) return;
  Spool& spool = recorder->spool;
  const std::uint32_t name = spool.text(r.name), domain = spool.text(r.domain);
  spool.thread(r.objectId.pt.threadId);
  spool.put(Marker{.id = r.id,
                   .thread = r.objectId.pt.threadId,
                   .ends = (r.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0,
                   .name = name,
                   .domain = domain,
                   .time = r.timestamp});
}

void keep(const CUpti_ActivityDevice5& r) {
  Spool& spool = recorder->spool;
  const std::uint32_t name = spool.text(r.name);
  Device device{.id = r.id,
                .name = name,
                .sms = r.numMultiprocessors,
                .major = r.computeCapabilityMajor,
                .minor = r.computeCapabilityMinor,
                .clock_khz = r.coreClockRate,
                .l2 = r.l2CacheSize,
                .copy_engines = r.numMemcpyEngines,
                .memory = r.globalMemorySize,
                .bandwidth_kb = r.globalMemoryBandwidth};
  std::memcpy(device.uuid, r.isMigEnabled != 0 ? r.migUuid.bytes : r.uuid.bytes, sizeof device.uuid);
  spool.put(device);
}

void keep(const CUpti_Activity* record) {
  Spool& spool = recorder->spool;
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return keep(as<CUpti_ActivityKernel10>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return keep_copy(as<CUpti_ActivityMemcpy6>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return keep_copy(as<CUpti_ActivityMemcpyPtoP4>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return keep(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return keep(as<CUpti_ActivityGraphTrace2>(record));
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return keep(as<CUpti_ActivitySynchronization2>(record));
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return keep(as<CUpti_ActivityCudaEvent2>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return keep(as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_MARKER:
      return keep(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_STREAM: {
      const auto& r = as<CUpti_ActivityStream>(record);
      return spool.put(Stream{.context = r.contextId,
                              .id = r.streamId,
                              .flag = static_cast<std::uint32_t>(r.flag),
                              .priority = static_cast<std::int32_t>(r.priority)});
    }
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
      const auto& r = as<CUpti_ActivityContext3>(record);
      return spool.put(Context{.id = r.contextId, .device = r.deviceId, .null_stream = r.nullStreamId});
    }
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return keep(as<CUpti_ActivityDevice5>(record));
    default:
      return;
  }
}

}  // namespace

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = nullptr;
  *size = *most_records = 0;
  {
    const std::lock_guard lock(recorder->buffers_mutex);
    if (!recorder->buffers.empty()) {
      *buffer = recorder->buffers.back();
      recorder->buffers.pop_back();
    }
  }
  if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::calloc(1, kBuffer));
  if (*buffer != nullptr) *size = kBuffer;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  if (recorder->recording) {
    const std::lock_guard lock(recorder->mutex);
    CUpti_Activity* record = nullptr;
    while (recorder->cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) keep(record);
    std::size_t dropped = 0;
    recorder->cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
    const std::uint64_t lost = dropped + std::exchange(recorder->unfinished, 0);
    if (lost > 0) recorder->spool.put(Lost{.records = lost});
    recorder->spool.write();
  }
  std::memset(buffer, 0, valid);  // CUPTI was told that it gets zeros
  const std::lock_guard lock(recorder->buffers_mutex);
  if (recorder->buffers.size() < kKeptBuffers)
    recorder->buffers.push_back(buffer);
  else
    std::free(buffer);
}

}  // namespace gangway::spool
