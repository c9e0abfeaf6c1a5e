#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"

namespace gangway::conformance {
namespace {

constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL;

int status(CUstream s) {
  CUstreamCaptureStatus found = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = cuStreamIsCapturing(s, &found);
  return result == CUDA_SUCCESS ? static_cast<int>(found) : -static_cast<int>(result);
}

// Ends a capture and says how: the result, and how many nodes the graph has, -1 for none.
void end(Line& line, CUstream s) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamEndCapture(s, &graph);
  std::size_t nodes = 0;
  if (graph != nullptr) need(cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
  line << result << (graph == nullptr ? -1 : static_cast<int>(nodes)) << status(s);
  if (graph != nullptr) need(cuGraphDestroy(graph), "cuGraphDestroy");
}

void run_once(CUgraph graph, CUstream s) {
  CUgraphExec exec = nullptr;
  need(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  need(cuGraphLaunch(exec, s), "cuGraphLaunch");
  need(cuStreamSynchronize(s), "cuStreamSynchronize");
  need(cuGraphExecDestroy(exec), "cuGraphExecDestroy");
}

void one_stream() {
  const CUstream s = new_stream();
  const CUdeviceptr word = new_words();
  std::vector<Word> host{77};
  Line("status before") << status(s);
  Line("begin") << cuStreamBeginCapture(s, global) << status(s);
  Line("work") << mix(s, word, 1) << cuMemsetD32Async(word, 5, 1, s) << mix(s, word, 2)
               << cuMemcpyDtoHAsync(host.data(), word, 4, s)
               << cuLaunchHostFunc(
                      s, [](void* u) { ++*static_cast<Word*>(u); }, host.data());
  CUstreamCaptureStatus found{};
  cuuint64_t id = 0;
  CUgraph inner = nullptr;
  const CUgraphNode* last = nullptr;
  std::size_t count = 99;
  Line("info") << cuStreamGetCaptureInfo(s, &found, &id, &inner, &last, nullptr, &count)
               << static_cast<int>(found) << (id != 0) << (inner != nullptr) << static_cast<unsigned>(count);
  CUgraph graph = nullptr;
  Line("end") << cuStreamEndCapture(s, &graph) << status(s) << (graph == inner);
  Line("nothing has run") << host << value_of(word);
  CUgraphNode nodes[8] = {};
  count = 8;
  need(cuGraphGetNodes(graph, nodes, &count), "cuGraphGetNodes");
  Line kinds("kinds of nodes");
  for (std::size_t i = 0; i < count; ++i) {
    CUgraphNodeType type{};
    need(cuGraphNodeGetType(nodes[i], &type), "cuGraphNodeGetType");
    kinds << static_cast<int>(type);
  }
  run_once(graph, s);
  Line("run once") << host << value_of(word);
  run_once(graph, s);
  Line("run twice") << host << value_of(word);
}

void several_streams() {
  const CUstream s = new_stream(), other = new_stream();
  const CUevent fork = new_event(), joined = new_event();
  const CUdeviceptr a = new_words(), b = new_words();
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  Line("fork") << cuEventRecord(fork, s) << cuStreamWaitEvent(other, fork, 0) << status(other);
  need(mix(s, a, 1), "mix");
  need(mix(other, b, 2), "mix");
  Line("join") << cuEventRecord(joined, other) << cuStreamWaitEvent(s, joined, 0) << mix(s, a, 3)
               << mix(s, b, 4);
  CUgraph graph = nullptr;
  Line("end") << cuStreamEndCapture(s, &graph) << status(s) << status(other);
  std::size_t nodes = 0, edges = 0, roots = 0;
  Line("nodes, edges, roots") << cuGraphGetNodes(graph, nullptr, &nodes)
                              << cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges)
                              << cuGraphGetRootNodes(graph, nullptr, &roots) << static_cast<unsigned>(nodes)
                              << static_cast<unsigned>(edges) << static_cast<unsigned>(roots);
  run_once(graph, s);
  Line("results") << value_of(a) << value_of(b);
  Line("an event of a capture that has ended: query, synchronize, wait")
      << cuEventQuery(fork) << cuEventSynchronize(fork) << cuStreamWaitEvent(s, fork, 0);
  Line("recorded again") << cuEventRecord(fork, s) << cuEventSynchronize(fork) << cuEventQuery(fork);
}

void external_events() {
  const CUstream s = new_stream(), other = new_stream();
  const CUevent event = new_event();
  const CUdeviceptr word = new_words();
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  const CUresult mixed = mix(s, word, 1),
                 recorded = cuEventRecordWithFlags(event, s, CU_EVENT_RECORD_EXTERNAL);
  CUgraph graph = nullptr;
  Line("record external") << mixed << recorded << cuStreamEndCapture(s, &graph);
  run_once(graph, s);
  Line("recorded by the graph") << cuStreamWaitEvent(other, event, 0) << mix(other, word, 2) << value_of(word)
                                << cuEventQuery(event);
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  const CUresult waited = cuStreamWaitEvent(s, event, CU_EVENT_WAIT_EXTERNAL);
  need(mix(s, word, 3), "mix");
  Line("wait external") << waited << cuStreamEndCapture(s, &graph);
  run_once(graph, s);
  Line("result") << value_of(word);
}

void more() {
  const CUstream s = new_stream();
  const CUdeviceptr word = new_words();
  {
    need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
    Line line("empty capture");
    end(line, s);
  }
  {
    Hold hold(s);
    need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
    Line line("capture in a busy stream");
    line << mix(s, word, 1);
    end(line, s);
    hold.release();
  }
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  need(mix(s, word, 1), "mix");
  need(cuStreamEndCapture(s, &graph), "cuStreamEndCapture");
  need(cuGraphInstantiate(&exec, graph, 0), "cuGraphInstantiate");
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  {
    Line line("launch of a graph in a capture");
    line << cuGraphLaunch(exec, s) << mix(s, word, 2);
    CUgraph outer = nullptr;
    CUgraphExec outer_exec = nullptr;
    std::size_t nodes = 0;
    line << cuStreamEndCapture(s, &outer) << cuGraphGetNodes(outer, nullptr, &nodes)
         << static_cast<unsigned>(nodes) << cuGraphInstantiate(&outer_exec, outer, 0);
    if (outer_exec != nullptr) line << cuGraphLaunch(outer_exec, s) << value_of(word);
  }
  need(cuStreamBeginCapture(s, global), "cuStreamBeginCapture");
  {
    Line line("values in a capture");
    line << cuStreamWriteValue32(s, word, 9, 0) << cuStreamWaitValue32(s, word, 9, CU_STREAM_WAIT_VALUE_EQ);
    end(line, s);
  }
  need(cuStreamBeginCapture(CU_STREAM_PER_THREAD, global), "cuStreamBeginCapture");
  {
    Line line("capture of the per-thread stream");
    line << mix(CU_STREAM_PER_THREAD, word, 1);
    end(line, CU_STREAM_PER_THREAD);
  }
  CUgraph made = nullptr;
  need(cuGraphCreate(&made, 0), "cuGraphCreate");
  Line("capture into a graph") << cuStreamBeginCaptureToGraph(s, made, nullptr, nullptr, 0, global)
                               << mix(s, word, 1) << cuStreamEndCapture(s, &graph) << (graph == made);
}

}  // namespace

void captures() {
  one_stream();
  several_streams();
  external_events();
  more();
}

void capture_errors() {
  const CUstream s = new_stream(), other = new_stream(), blocking = new_stream(CU_STREAM_DEFAULT);
  const CUevent event = new_event(), elsewhere = new_event();
  const CUdeviceptr word = new_words();
  need(cuEventRecord(elsewhere, other), "cuEventRecord");
  need(cuCtxSynchronize(), "cuCtxSynchronize");
  CUgraph graph = nullptr;
  const auto begin = [&](CUstream in, CUstreamCaptureMode mode = global) {
    need(cuStreamBeginCapture(in, mode), "cuStreamBeginCapture");
  };
  Line("begin in NULL, legacy, with a wrong mode")
      << cuStreamBeginCapture(nullptr, global) << cuStreamBeginCapture(CU_STREAM_LEGACY, global)
      << cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(3));
  Line("end without begin") << cuStreamEndCapture(s, &graph);
  const auto in_capture = [&](const std::string& name, const std::function<void(Line&)>& body) {
    begin(s);
    need(mix(s, word, 1), "mix");
    Line line(name);
    body(line);
    line << status(s);
    end(line, s);
  };
  in_capture("priority, flags, number, context of the stream", [&](Line& line) {
    int priority = 0;
    unsigned flags = 0;
    unsigned long long number = 0;
    CUcontext context = nullptr;
    line << cuStreamGetPriority(s, &priority) << cuStreamGetFlags(s, &flags) << cuStreamGetId(s, &number)
         << cuStreamGetCtx(s, &context);
  });
  in_capture("number of the stream", [&](Line& line) {
    unsigned long long number = 0;
    line << cuStreamGetId(s, &number);
  });
  in_capture("context of the stream", [&](Line& line) {
    CUcontext context = nullptr;
    line << cuStreamGetCtx(s, &context);
  });
  in_capture("begin again", [&](Line& line) { line << cuStreamBeginCapture(s, global); });
  in_capture("query of the stream", [&](Line& line) { line << cuStreamQuery(s); });
  in_capture("synchronize the stream", [&](Line& line) { line << cuStreamSynchronize(s); });
  in_capture("work after that",
             [&](Line& line) { line << cuStreamSynchronize(s) << mix(s, word, 1) << cuStreamQuery(s); });
  in_capture("synchronize the context", [&](Line& line) { line << cuCtxSynchronize(); });
  in_capture("callback", [&](Line& line) {
    line << cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
  });
  in_capture("query of a captured event",
             [&](Line& line) { line << cuEventRecord(event, s) << cuEventQuery(event); });
  in_capture("synchronize a captured event",
             [&](Line& line) { line << cuEventRecord(event, s) << cuEventSynchronize(event); });
  in_capture("wait for an event outside", [&](Line& line) { line << cuStreamWaitEvent(s, elsewhere, 0); });
  in_capture("elapsed of a captured event", [&](Line& line) {
    float milliseconds = 0;
    const CUevent timed = new_event(CU_EVENT_DEFAULT);
    line << cuEventRecord(timed, s) << cuEventElapsedTime(&milliseconds, timed, timed);
  });
  in_capture("not joined", [&](Line& line) {
    line << cuEventRecord(event, s) << cuStreamWaitEvent(other, event, 0) << mix(other, word, 1)
         << status(other);
  });
  Line("the other stream after that") << status(other) << mix(other, word, 1) << cuStreamSynchronize(other);
  in_capture("forked, nothing done, not joined",
             [&](Line& line) { line << cuEventRecord(event, s) << cuStreamWaitEvent(other, event, 0); });
  in_capture("end in the other stream", [&](Line& line) {
    line << cuEventRecord(event, s) << cuStreamWaitEvent(other, event, 0)
         << cuStreamEndCapture(other, &graph);
  });
  in_capture("end in another thread",
             [&](Line& line) { line << on_thread([&] { return cuStreamEndCapture(s, &graph); }); });
  in_capture("wrong launch", [&](Line& line) { line << launch(kernels().mix, s, {&word, &word}, 1, 2000); });
  in_capture("copy of no device memory", [&](Line& line) { line << cuMemcpyDtoDAsync(8, 16, 4, s); });
  in_capture("NULL stream while one apart captures",
             [&](Line& line) { line << mix(nullptr, word, 1) << status(nullptr); });
  in_capture("legacy waits for a captured event",
             [&](Line& line) { line << cuEventRecord(event, s) << cuStreamWaitEvent(nullptr, event, 0); });
  {
    begin(blocking);
    Line line("NULL stream while a blocking one captures: status, launch, query");
    line << status(nullptr) << status(blocking) << mix(nullptr, word, 1) << cuStreamQuery(nullptr);
    end(line, blocking);
  }
  {
    begin(blocking);
    Line line("another blocking stream while one captures");
    const CUstream third = new_stream(CU_STREAM_DEFAULT);
    line << mix(third, word, 1);
    end(line, blocking);
  }
  {
    begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
    Line line("synchronous copy while a blocking one captures, relaxed");
    line << cuMemcpyHtoD(word, &graph, 4);
    end(line, blocking);
  }
  {
    begin(s);
    begin(other);
    Line line("merge");
    line << cuEventRecord(event, s) << cuStreamWaitEvent(other, event, 0);
    end(line, s);
    end(line, other);
  }
  {
    begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    Line line("end in another thread, relaxed");
    line << mix(s, word, 1) << on_thread([&] { return cuStreamEndCapture(s, &graph); }) << status(s);
  }
  {
    const CUstream gone = new_stream();
    begin(gone);
    Line line("destroy the capturing stream");
    line << mix(gone, word, 1) << cuStreamDestroy(gone) << mix(s, word, 1) << cuStreamSynchronize(s);
  }
  {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, wrong = static_cast<CUstreamCaptureMode>(3);
    Line line("exchange of modes");
    line << cuThreadExchangeStreamCaptureMode(&mode) << static_cast<int>(mode)
         << cuThreadExchangeStreamCaptureMode(&mode) << static_cast<int>(mode)
         << cuThreadExchangeStreamCaptureMode(&wrong);
  }
  Line("all is well afterwards") << cuMemsetD32(word, 1, 1) << cuCtxSynchronize() << mix(s, word, 2)
                                 << value_of(word);
}

}  // namespace gangway::conformance
