#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {

void streams() {
  kernels();
  CUstream s = nullptr;
  Line("wrong flags") << cuStreamCreate(&s, 2) << cuStreamCreateWithPriority(&s, 4, 0);
  int least = 9, greatest = 9, priority = 9;
  Line("priorities") << cuCtxGetStreamPriorityRange(&least, &greatest) << least << greatest;
  for (const int wanted : {0, -1, -5, -100, 100}) {
    need(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, wanted), "cuStreamCreateWithPriority");
    Line("priority " + std::to_string(wanted))
        << cuStreamGetPriority(s, &priority) << priority << cuStreamDestroy(s);
  }
  unsigned flags = 9;
  s = new_stream();
  const CUstream blocking = new_stream(CU_STREAM_DEFAULT);
  Line("flags") << cuStreamGetFlags(s, &flags) << flags << cuStreamGetFlags(blocking, &flags) << flags;
  Line("flags of NULL, legacy, per-thread")
      << cuStreamGetFlags(nullptr, &flags) << flags << cuStreamGetFlags(CU_STREAM_LEGACY, &flags) << flags
      << cuStreamGetFlags(CU_STREAM_PER_THREAD, &flags) << flags;
  Line("priority of NULL") << cuStreamGetPriority(nullptr, &priority) << priority;
  unsigned long long one = 0, two = 0;
  Line("numbers") << cuStreamGetId(s, &one) << cuStreamGetId(blocking, &two) << (one != two);
  Line("destroy NULL, legacy, per-thread") << cuStreamDestroy(nullptr) << cuStreamDestroy(CU_STREAM_LEGACY)
                                           << cuStreamDestroy(CU_STREAM_PER_THREAD);
  const CUdeviceptr word = new_words(), other_word = new_words();
  {
    Hold hold(s);
    const CUresult first = mix(s, word, 1), second = mix(blocking, other_word, 2);
    const CUresult waited = cuStreamSynchronize(blocking);
    Line("streams run side by side") << first << second << waited << cuStreamQuery(s)
                                     << cuStreamQuery(blocking);
    hold.release();
    Line("results") << cuStreamSynchronize(s) << cuStreamQuery(s) << value_of(word) << value_of(other_word);
  }
  for (Word k = 1; k <= 20; ++k) need(mix(s, word, k), "mix");
  Line("in order") << value_of(word);
  const CUevent event = new_event();
  need(cuMemsetD32(word, 0, 1), "cuMemsetD32");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  {
    Hold hold(s);
    need(mix(s, word, 1), "mix");
    need(cuEventRecord(event, s), "cuEventRecord");
    need(cuStreamWaitEvent(blocking, event, 0), "cuStreamWaitEvent");
    need(mix(blocking, word, 2), "mix");
    Line("an event holds a stream back") << cuStreamQuery(blocking) << cuEventQuery(event);
    const CUresult destroyed = cuEventDestroy(event);
    hold.release();
    Line("even when it is destroyed") << destroyed << value_of(word);
  }
  {
    const CUevent again = new_event();
    Hold hold(s);
    need(cuEventRecord(again, blocking), "cuEventRecord");
    const CUstream third = new_stream();
    need(cuStreamWaitEvent(third, again, 0), "cuStreamWaitEvent");
    need(cuEventRecord(again, s), "cuEventRecord");
    Line("a later record does not count") << cuStreamSynchronize(third) << cuEventQuery(again);
    need(cuStreamWaitEvent(third, again, 0), "cuStreamWaitEvent");
    Line("a later wait does") << cuStreamQuery(third);
    hold.release();
    Line("until it is done") << cuStreamSynchronize(third);
  }
  Line("wait for what was never recorded") << cuStreamWaitEvent(s, new_event(), 0) << cuStreamSynchronize(s);
  Line("wait with wrong flags") << cuStreamWaitEvent(s, new_event(), 8);
  {
    Hold hold(s);
    need(cuMemsetD32Async(word, 5, 1, s), "cuMemsetD32Async");
    const CUresult destroyed = cuStreamDestroy(s);
    hold.release();
    Line("a stream's work goes on when it is destroyed") << destroyed << value_of(word);
  }
}

void legacy_streams() {
  const CUstream a = new_stream(CU_STREAM_DEFAULT), b = new_stream(CU_STREAM_DEFAULT), apart = new_stream();
  const CUdeviceptr word = new_words(), other_word = new_words();
  {
    Hold hold(a);
    Line("a blocking stream is held: legacy, per-thread, other, apart")
        << cuStreamQuery(nullptr) << cuStreamQuery(CU_STREAM_PER_THREAD) << cuStreamQuery(b)
        << cuStreamQuery(apart);
    need(mix(nullptr, word, 1), "mix");
    Line("the legacy stream waits for it") << cuStreamQuery(nullptr) << cuStreamQuery(CU_STREAM_LEGACY);
    Line("and the others for the legacy one")
        << mix(b, word, 2) << cuStreamQuery(b) << mix(CU_STREAM_PER_THREAD, other_word, 3)
        << cuStreamQuery(CU_STREAM_PER_THREAD);
    Line("but not those apart") << cuStreamQuery(apart) << cuStreamSynchronize(apart);
    hold.release();
    need(cuStreamSynchronize(b), "cuStreamSynchronize");
  }
  Line("results") << value_of(word) << value_of(other_word);
  need(cuMemsetD32(word, 0, 1), "cuMemsetD32");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  {
    Hold hold(nullptr);
    Line("the legacy stream is held: blocking, apart, per-thread")
        << cuStreamQuery(a) << cuStreamQuery(apart) << cuStreamQuery(CU_STREAM_PER_THREAD);
    need(mix(a, word, 1), "mix");
    Line("a blocking stream waits") << cuStreamQuery(a);
    need(mix(apart, word, 7), "mix");
    Line("one apart does not") << cuStreamSynchronize(apart) << cuStreamQuery(a);
    hold.release();
    Line("result") << value_of(word);
  }
  need(cuMemsetD32(word, 0, 1), "cuMemsetD32");
  {
    Hold hold(apart);
    Line("one apart is held: legacy goes on")
        << mix(nullptr, word, 1) << cuStreamSynchronize(nullptr) << cuStreamQuery(apart);
    hold.release();
  }
  {
    Hold hold(CU_STREAM_PER_THREAD);
    CUresult of_other = CUDA_SUCCESS;
    const CUresult of_same = cuStreamQuery(CU_STREAM_PER_THREAD);
    on_thread([&] { return of_other = cuStreamQuery(CU_STREAM_PER_THREAD); });
    Line("each thread has its own") << of_same << of_other;
    need(mix(nullptr, word, 1), "mix");
    Line("legacy waits for it") << cuStreamQuery(nullptr);
    hold.release();
  }
  Line("end") << value_of(word);
}

void events() {
  kernels();
  CUevent event = nullptr;
  Line("wrong flags") << cuEventCreate(&event, 64);
  Line("interprocess with timing") << cuEventCreate(&event, CU_EVENT_INTERPROCESS);
  const CUevent start = new_event(CU_EVENT_DEFAULT), end = new_event(CU_EVENT_DEFAULT), plain = new_event();
  const CUstream s = new_stream();
  float milliseconds = -1;
  Line("never recorded: query, synchronize, elapsed")
      << cuEventQuery(start) << cuEventSynchronize(start) << cuEventElapsedTime(&milliseconds, start, end);
  {
    Hold hold(s);
    need(cuEventRecord(start, s), "cuEventRecord");
    need(cuEventRecord(end, s), "cuEventRecord");
    need(cuEventRecord(plain, s), "cuEventRecord");
    Line("not over: query, elapsed") << cuEventQuery(end) << cuEventElapsedTime(&milliseconds, start, end);
    hold.release();
  }
  Line("over: synchronize, query, elapsed")
      << cuEventSynchronize(end) << cuEventQuery(end) << cuEventElapsedTime(&milliseconds, start, end)
      << (milliseconds >= 0);
  Line("without timing") << cuEventSynchronize(plain) << cuEventElapsedTime(&milliseconds, start, plain);
  const std::uint64_t duration = 20000000;
  need(cuEventRecord(start, s), "cuEventRecord");
  need(launch(kernels().spin, s, {&duration}), "spin");
  need(cuEventRecord(end, s), "cuEventRecord");
  need(cuEventSynchronize(end), "cuEventSynchronize");
  const CUresult result = cuEventElapsedTime(&milliseconds, start, end);
  Line("a kernel of 20 ms takes 20 ms") << result << (milliseconds >= 19.9F);
  Line("record in legacy") << cuEventRecord(end, nullptr) << cuEventSynchronize(end);
  Line("record external outside of a capture") << cuEventRecordWithFlags(end, s, CU_EVENT_RECORD_EXTERNAL);
  Line("record with wrong flags") << cuEventRecordWithFlags(end, s, 16);
  Line("destroy") << cuEventDestroy(end);
}

}  // namespace gangway::conformance
