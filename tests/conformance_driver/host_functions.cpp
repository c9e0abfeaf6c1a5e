#include <atomic>

#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {
namespace {

struct Notes {
  std::vector<Word> seen;
  CUresult inside = CUDA_SUCCESS;
};

CUdevice device_found = 0;
CUdeviceptr memory_found = 0;
CUstream stream_found = nullptr;

void note(void* user, Word k) { static_cast<Notes*>(user)->seen.push_back(k); }

}  // namespace

void host_functions() {
  kernels();
  const CUstream s = new_stream(), other = new_stream();
  const CUevent event = new_event();
  Notes notes;
  void* page = nullptr;
  need(cuMemHostAlloc(&page, 4096, 0), "cuMemHostAlloc");
  auto* shared = static_cast<Word*>(page);
  *shared = 1;
  const auto word = reinterpret_cast<CUdeviceptr>(page);
  {
    Hold hold(s);
    const CUresult launched = cuLaunchHostFunc(
        s, [](void* u) { note(u, 1); }, &notes);
    Line("waits for its turn") << launched << cuStreamQuery(s) << static_cast<unsigned>(notes.seen.size());
    hold.release();
    need(cuStreamSynchronize(s), "cuStreamSynchronize");
    Line("then runs") << notes.seen;
  }
  need(mix(s, word, 2), "mix");
  need(cuLaunchHostFunc(
           s, [](void* u) { *static_cast<Word*>(u) += 100; }, shared),
       "cuLaunchHostFunc");
  need(mix(s, word, 3), "mix");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  Line("in order with kernels") << *shared;
  need(cuLaunchHostFunc(
           s, [](void* u) { note(u, 2); }, &notes),
       "cuLaunchHostFunc");
  need(cuEventRecord(event, s), "cuEventRecord");
  need(cuStreamWaitEvent(other, event, 0), "cuStreamWaitEvent");
  need(cuLaunchHostFunc(
           other, [](void* u) { note(u, 3); }, &notes),
       "cuLaunchHostFunc");
  need(cuStreamSynchronize(other), "cuStreamSynchronize");
  Line("in order over streams") << notes.seen;
  Line("null") << cuLaunchHostFunc(s, nullptr, nullptr) << cuStreamAddCallback(s, nullptr, nullptr, 0);
  const auto callback = [](CUstream, CUresult status, void* u) { note(u, static_cast<Word>(status) + 10); };
  Line("callback") << cuStreamAddCallback(s, callback, &notes, 0) << cuStreamSynchronize(s) << notes.seen;
  Line("callback with flags") << cuStreamAddCallback(s, callback, &notes, 1);
  const auto calls = [](void* u) { static_cast<Notes*>(u)->inside = cuCtxSynchronize(); };
  need(cuLaunchHostFunc(s, calls, &notes), "cuLaunchHostFunc");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  Line("a driver call within: synchronize") << notes.inside;
  static CUstream asked = nullptr;
  asked = other;
  need(cuLaunchHostFunc(
           s, [](void* u) { static_cast<Notes*>(u)->inside = cuStreamQuery(asked); }, &notes),
       "cuLaunchHostFunc");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  Line("a driver call within: query") << notes.inside;
  need(cuLaunchHostFunc(
           s,
           [](void* u) {
             CUcontext c;
             static_cast<Notes*>(u)->inside = cuCtxGetCurrent(&c);
           },
           &notes),
       "cuLaunchHostFunc");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  Line("a driver call within: current") << notes.inside;
  static CUevent recorded = nullptr;
  static CUdeviceptr memory = 0;
  recorded = event;
  memory = word;
  static CUresult (*const calls_within[])() = {
      [] { return cuCtxSetCurrent(primary()); },     [] { return cuCtxGetDevice(&device_found); },
      [] { return cuEventQuery(recorded); },         [] { return cuEventSynchronize(recorded); },
      [] { return cuEventRecord(recorded, asked); }, [] { return cuStreamSynchronize(asked); },
      [] { return mix(asked, memory, 1); },          [] { return cuMemsetD32Async(memory, 1, 1, asked); },
      [] { return cuMemAlloc(&memory_found, 64); },  [] { return cuStreamCreate(&stream_found, 0); },
      [] { return cuDeviceGetCount(&device_found); }};
  Line within(
      "driver calls within: set current, device, query and synchronize an event, record, synchronize, "
      "launch, set, alloc, stream, count");
  for (const auto& within_call : calls_within) {
    static CUresult found = CUDA_SUCCESS;
    need(cuLaunchHostFunc(
             s, [](void* u) { found = (*static_cast<CUresult (*const*)()>(u))(); },
             const_cast<CUresult (**)()>(&within_call)),
         "cuLaunchHostFunc");
    need(cuStreamSynchronize(s), "cuStreamSynchronize");
    within << found;
  }
}

void values() {
  kernels();
  const CUstream s = new_stream(), other = new_stream();
  const CUdeviceptr word = new_words(4), result = new_words();
  Line("write") << cuStreamWriteValue32(s, word, 7, 0)
                << cuStreamWriteValue64(s, word + 8, (std::uint64_t{5} << 32) + 6, 0) << read(word, 4);
  Line("misaligned, null") << cuStreamWriteValue32(s, word + 2, 7, 0)
                           << cuStreamWriteValue64(s, word + 4, 7, 0) << cuStreamWriteValue32(s, 0, 7, 0)
                           << cuStreamWaitValue32(s, word + 1, 7, 0);
  const struct {
    const char* name;
    unsigned flags;
    Word start, enough, wanted;
  } waits[] = {{"at least", CU_STREAM_WAIT_VALUE_GEQ, 4, 6, 5},
               {"at least, around", CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0U, 2, 1},
               {"equal", CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5},
               {"and", CU_STREAM_WAIT_VALUE_AND, 8, 4, 6},
               {"nor", CU_STREAM_WAIT_VALUE_NOR, 0xffffffffU, 0xf0ffffffU, 0xf0000000U}};
  for (const auto& wait : waits) {
    need(cuMemsetD32(word, wait.start, 1), "cuMemsetD32");
    need(cuMemsetD32(result, 1, 1), "cuMemsetD32");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    const CUresult waited = cuStreamWaitValue32(s, word, wait.wanted, wait.flags);
    need(mix(s, result, 3), "mix");
    const CUresult before = cuStreamQuery(s);
    const CUresult written = cuStreamWriteValue32(other, word, wait.enough, 0);
    Line(std::string("wait: ") + wait.name)
        << waited << before << written << cuStreamSynchronize(s) << value_of(result);
  }
  need(cuMemsetD32(word, 0, 4), "cuMemsetD32");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  CUstreamBatchMemOpParams batch[3] = {};
  batch[0].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  batch[0].waitValue.address = word;
  batch[0].waitValue.value = 1;
  batch[0].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  batch[1].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  batch[1].writeValue.address = word + 4;
  batch[1].writeValue.value = 8;
  batch[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  batch[2].writeValue.address = word + 8;
  batch[2].writeValue.value64 = 9;
  const CUresult submitted = cuStreamBatchMemOp(s, 3, batch, 0);
  const CUresult before = cuStreamQuery(s);
  Line("batch") << submitted << before << cuStreamWriteValue32(other, word, 1, 0) << cuStreamSynchronize(s)
                << read(word, 4);
  Line("batch of none, too many") << cuStreamBatchMemOp(s, 0, batch, 0)
                                  << cuStreamBatchMemOp(s, 257, batch, 0);
  batch[0].waitValue.operation = static_cast<CUstreamBatchMemOpType>(7);
  Line("batch of unknown kind") << cuStreamBatchMemOp(s, 1, batch, 0);
}

}  // namespace gangway::conformance
