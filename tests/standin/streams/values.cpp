// Memory operations in a stream: writing words and waiting for them.
#include <atomic>
#include <chrono>
#include <thread>

#include "api.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/streams/submission.hpp"

namespace gangway::standin {
namespace {

struct ValueCommand : Command {
  const char* name() const override { return "value"; }
  bool occupies_device() const override { return false; }
  bool keeps_connection() const override { return true; }
  void run() const override;

  std::vector<CUstreamBatchMemOpParams> operations;
};

bool reached(std::uint64_t found, std::uint64_t wanted, unsigned flags, bool wide) {
  switch (flags & 3U) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return wide ? static_cast<std::int64_t>(found - wanted) >= 0
                  : static_cast<std::int32_t>(static_cast<std::uint32_t>(found) -
                                              static_cast<std::uint32_t>(wanted)) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return found == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
      return (found & wanted) != 0;
    default:
      return ~(found | wanted) << (wide ? 0 : 32) != 0;
  }
}

template <class Word>
void wait_value(CUdeviceptr address, std::uint64_t wanted, unsigned flags) {
  const std::atomic_ref<Word> word(*reinterpret_cast<Word*>(address));
  while (!reached(word.load(std::memory_order_acquire), wanted, flags, sizeof(Word) == 8))
    std::this_thread::sleep_for(std::chrono::microseconds(10));
}

template <class Word>
void write_value(CUdeviceptr address, std::uint64_t value) {
  static const std::chrono::duration<double, std::micro> takes(environment_number("STANDIN_WRITE_US", 0));
  if (takes.count() > 0) std::this_thread::sleep_for(takes);
  std::atomic_ref<Word>(*reinterpret_cast<Word*>(address))
      .store(static_cast<Word>(value), std::memory_order_release);
}

void ValueCommand::run() const {
  for (const CUstreamBatchMemOpParams& o : operations) {
    switch (o.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        wait_value<std::uint32_t>(o.waitValue.address, o.waitValue.value, o.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        wait_value<std::uint64_t>(o.waitValue.address, o.waitValue.value64, o.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        write_value<std::uint32_t>(o.writeValue.address, o.writeValue.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        write_value<std::uint64_t>(o.writeValue.address, o.writeValue.value64);
        break;
      default:
        break;  // flushes and barriers: every operation here is one
    }
  }
}

void check(const CUstreamBatchMemOpParams& o) {
  switch (o.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      require(o.waitValue.address != 0 && o.waitValue.address % 4 == 0);
      break;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      require(o.waitValue.address != 0 && o.waitValue.address % 8 == 0);
      break;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
      break;
    default:
      fail(CUDA_ERROR_INVALID_VALUE);
  }
}

CUstreamBatchMemOpParams one(CUstreamBatchMemOpType type, CUdeviceptr address, cuuint64_t value,
                             unsigned flags) {
  CUstreamBatchMemOpParams o{};
  o.waitValue.operation = type;  // the same layout as writeValue
  o.waitValue.address = address;
  o.waitValue.value64 = value;
  o.waitValue.flags = flags;
  return o;
}

CUresult submit_values(CUstream handle, std::span<const CUstreamBatchMemOpParams> operations) {
  Lock lock = lock_driver();
  const auto into = stream(handle);
  for (const auto& o : operations) check(o);
  const auto command = std::make_shared<ValueCommand>();
  command->operations.assign(operations.begin(), operations.end());
  submit(lock, *into, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, command);
  return CUDA_SUCCESS;
}

}  // namespace

namespace api {

CUresult cuStreamWaitValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned flags) {
  const auto o = one(CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
  return submit_values(s, {&o, 1});
}

CUresult cuStreamWaitValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned flags) {
  const auto o = one(CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
  return submit_values(s, {&o, 1});
}

CUresult cuStreamWriteValue32_v2(CUstream s, CUdeviceptr addr, cuuint32_t value, unsigned flags) {
  const auto o = one(CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
  return submit_values(s, {&o, 1});
}

CUresult cuStreamWriteValue64_v2(CUstream s, CUdeviceptr addr, cuuint64_t value, unsigned flags) {
  const auto o = one(CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
  return submit_values(s, {&o, 1});
}

CUresult cuStreamBatchMemOp_v2(CUstream s, unsigned count, CUstreamBatchMemOpParams* paramArray,
                               unsigned flags) {
  require(count <= 256 && flags == 0 && (count == 0 || paramArray != nullptr));
  if (count == 0) return CUDA_SUCCESS;
  return submit_values(s, {paramArray, count});
}

}  // namespace api
}  // namespace gangway::standin
