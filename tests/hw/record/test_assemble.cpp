// Spools made by hand, and the recordings that they must give.
#include <fstream>

#include "hw/record/assemble.hpp"
#include "hw/record/graph_nodes.hpp"
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/jobs.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"

using namespace gangway;
using namespace gangway::spool;
using gangway::testing::TemporaryFolder;

namespace {

namespace fs = std::filesystem;
using recording::CallKind;
using recording::kNone;
using recording::OrderKind;
using recording::Recording;
using recording::WorkKind;

constexpr std::uint64_t kOrigin = 1'000'000;

// Writes records as the injected library does.
class MadeSpool {
 public:
  // `gpu`: the first byte of its UUID; 0: nothing is told of it.
  explicit MadeSpool(std::uint32_t pid, std::uint64_t time = kOrigin, std::uint8_t gpu = 0) {
    Begin begin;
    begin.version = kVersion;
    begin.cupti = 130'001;
    begin.pid = pid;
    begin.parent = 1;
    begin.time = time;
    put(begin, std::string("./app\0two words\0", 16));
    text(1, "kernel_a");
    text(2, "A GPU");
    text(3, "cudaLaunchKernel_v7000");
    text(4, "cudaStreamSynchronize_v3020");
    text(5, "step");
    text(6, "cudaEventRecord_v3020");
    text(7, "cudaStreamWaitEvent_v3020");
    text(8, "cuLaunchKernelEx");
    text(9, "main thread");
    function(1, CallKind::kernel, 3);
    function(2, CallKind::synchronize, 4);
    function(3, CallKind::record, 6);
    function(4, CallKind::wait_event, 7);
    function(5, CallKind::kernel, 8);
    Device device;
    device.name = 2;
    device.sms = 132;
    device.uuid[0] = gpu;
    put(device);
    Shape shape;
    shape.id = 1;
    shape.name = 1;
    shape.grid[0] = shape.grid[1] = shape.grid[2] = 1;
    shape.block[0] = 32;
    shape.block[1] = shape.block[2] = 1;
    put(shape);
    Context context;
    context.id = 1;
    context.null_stream = 7;
    put(context);
    Thread thread;
    thread.id = pid;
    thread.name = 9;
    put(thread);
    pid_ = pid;
  }

  template <typename Record>
  void put(Record record, const std::string& behind = "") {
    const std::size_t size = (sizeof record + behind.size() + 7) / 8 * 8;
    record.head = {Record::kType, static_cast<std::uint16_t>(size), 0};
    std::string bytes(reinterpret_cast<const char*>(&record), sizeof record);
    bytes += behind;
    bytes.resize(size);
    bytes_ += bytes;
  }
  void call(std::uint32_t function, std::uint32_t correlation, std::uint64_t begin, std::uint64_t end,
            std::uint32_t thread = 0) {
    Call call;
    call.function = function;
    call.correlation = correlation;
    call.thread = thread != 0 ? thread : pid_;
    call.begin = kOrigin + begin;
    call.end = kOrigin + end;
    put(call);
  }
  static Work work(std::uint32_t correlation, std::uint32_t stream, std::uint64_t begin, std::uint64_t end) {
    Work work;
    work.correlation = correlation;
    work.context = 1;
    work.stream = stream;
    work.begin = kOrigin + begin;
    work.end = kOrigin + end;
    return work;
  }
  void kernel(std::uint32_t correlation, std::uint32_t stream, std::uint64_t begin, std::uint64_t end,
              std::uint32_t graph = 0, std::uint64_t node = 0) {
    Kernel kernel;
    kernel.work = work(correlation, stream, begin, end);
    kernel.work.graph = graph;
    kernel.work.node = node;
    kernel.shape = 1;
    put(kernel);
  }
  void sync(std::uint32_t correlation, std::uint32_t kind, std::uint32_t stream, std::uint64_t event) {
    Sync sync;
    sync.correlation = correlation;
    sync.kind = kind;
    sync.context = 1;
    sync.stream = stream;
    sync.event = event;
    put(sync);
  }
  void event(std::uint32_t correlation, std::uint32_t stream, std::uint64_t event) {
    Event e;
    e.correlation = correlation;
    e.context = 1;
    e.stream = stream;
    e.event = event;
    put(e);
  }
  void memory(std::uint64_t address, std::uint64_t bytes, bool released, std::uint64_t time) {
    Memory m;
    m.kind = 3;
    m.address = address;
    m.bytes = bytes;
    m.released = released;
    m.time = kOrigin + time;
    put(m);
  }
  void marker(std::uint32_t id, bool ends, std::uint64_t time) {
    Marker m;
    m.id = id;
    m.thread = pid_;
    m.ends = ends;
    m.name = ends ? 0 : 5;
    m.time = kOrigin + time;
    put(m);
  }
  void end() { put(End{}); }

  const std::string& bytes() const { return bytes_; }
  void write(const fs::path& folder, const std::string& name, std::size_t size = SIZE_MAX) const {
    std::ofstream(folder / name, std::ios::binary) << bytes_.substr(0, size);
  }

 private:
  void text(std::uint32_t id, const std::string& text) {
    Text t;
    t.id = id;
    t.length = static_cast<std::uint32_t>(text.size());
    put(t, text);
  }
  void function(std::uint32_t id, CallKind kind, std::uint32_t name) {
    Function f;
    f.id = id;
    f.kind = static_cast<std::uint32_t>(kind);
    f.name = name;
    put(f);
  }

  std::string bytes_;
  std::uint32_t pid_ = 0;
};

Recording assembled(const fs::path& folder) {
  Recording r = assemble(read_spools(folder));
  check_recording(r, "assembled");
  return r;
}

}  // namespace

TEST_CASE("records of one process are joined by their correlation") {
  MadeSpool spool(50);
  // As they come: works before their calls, threads mixed.
  spool.kernel(11, 13, 100, 130);
  spool.kernel(15, 13, 130, 160);
  spool.call(2, 16, 60, 170);
  spool.sync(16, 3, 13, 0);
  spool.call(1, 11, 10, 20);
  spool.call(5, 15, 40, 50);
  spool.marker(1, false, 5);
  spool.marker(1, true, 175);
  spool.memory(64, 4096, false, 1);
  spool.memory(64, 0, true, 200);
  spool.end();
  const TemporaryFolder folder;
  spool.write(folder.path, "50.0");
  Recording r = assembled(folder.path);
  CHECK(r.about.origin == static_cast<std::int64_t>(kOrigin));
  CHECK(r.about.cupti == "130001");
  CHECK(r.about.lost == 0);
  REQUIRE(r.processes.size() == 1);
  CHECK(r.processes[0].command == std::vector<std::string>{"./app", "two words"});
  CHECK(r.processes[0].finished);
  REQUIRE(r.calls.size() == 3);
  CHECK(r.calls[0].begin == Time{10});
  CHECK(r.calls[1].begin == Time{40});
  CHECK(r.functions[r.calls[1].function].name == "cuLaunchKernelEx");
  CHECK(r.calls[2].length == Duration{110});
  REQUIRE(r.works.size() == 2);
  CHECK(r.works[0].call == 0);
  CHECK(r.works[0].begin == Time{100});
  CHECK(r.works[1].length == Duration{30});
  CHECK(r.launches.size() == 1);
  CHECK(r.launches[0].kernel == "kernel_a");
  CHECK(r.threads[0].name == "main thread");
  CHECK(r.gpus[0].sms == 132);
  REQUIRE(r.ranges.size() == 1);
  CHECK(r.ranges[0].length == Duration{170});
  REQUIRE(r.memory.size() == 2);
  CHECK(r.memory[1].bytes == -4096);
  REQUIRE(r.orders.size() == 1);
  CHECK(r.orders[0].kind == OrderKind::stream);
  cut_jobs(r, {});
  REQUIRE(r.jobs.size() == 1);
  CHECK(r.jobs[0].begin == Time{10});
  CHECK(r.jobs[0].length == Duration{160});
}

TEST_CASE("an event is known by its recording") {
  MadeSpool spool(50);
  spool.call(1, 1, 0, 5);
  spool.kernel(1, 13, 10, 20);
  spool.call(3, 2, 6, 8);
  spool.event(2, 13, 41);
  spool.call(4, 3, 10, 12);
  spool.sync(3, 2, 14, 41);
  spool.call(4, 4, 14, 16);  // in a capture
  spool.sync(4, 2, 14, 0);
  spool.call(2, 5, 20, 30);
  spool.sync(5, 1, UINT32_MAX, 41);
  spool.call(2, 6, 31, 32);
  spool.sync(6, 1, UINT32_MAX, 99);
  spool.call(2, 7, 33, 40);
  spool.sync(7, 4, UINT32_MAX, UINT32_MAX);
  const TemporaryFolder folder;
  spool.write(folder.path, "50.0");
  const Recording r = assembled(folder.path);
  REQUIRE(r.orders.size() == 5);
  CHECK(r.orders[0].kind == OrderKind::record);
  CHECK(r.orders[1].kind == OrderKind::wait_event);
  CHECK(r.orders[1].recorded == 1);
  CHECK(r.streams[r.orders[1].place].number == 14);
  CHECK(r.orders[2].kind == OrderKind::event);
  CHECK(r.orders[2].recorded == 1);
  CHECK(r.orders[3].recorded == kNone);
  CHECK(r.orders[4].kind == OrderKind::context);
}

TEST_CASE("calls inside calls are theirs, and what belongs to no call is counted") {
  MadeSpool spool(50);
  spool.call(1, 1, 0, 50);
  spool.call(5, 2, 10, 20);  // the driver's function behind it
  spool.call(5, 3, 10, 20, 51);
  spool.kernel(2, 13, 60, 70);
  spool.kernel(3, 13, 70, 80);
  spool.kernel(77, 13, 80, 90);
  Lost lost;
  lost.records = 4;
  spool.put(lost);
  const TemporaryFolder folder;
  spool.write(folder.path, "50.0");
  const Recording r = assembled(folder.path);
  REQUIRE(r.calls.size() == 2);
  REQUIRE(r.works.size() == 2);
  CHECK(r.works[0].call == 0);
  CHECK(r.works[1].call == 1);
  CHECK(r.about.lost == 5);
  CHECK_FALSE(r.processes[0].finished);
}

TEST_CASE("processes are in the order of their beginning, each with its own numbers") {
  const TemporaryFolder folder;
  for (const std::uint32_t pid : {60U, 50U}) {
    MadeSpool spool(pid, kOrigin + (pid == 60 ? 0 : 3));
    spool.call(1, 1, pid, pid + 5);
    spool.kernel(1, 7, 100, 110);
    spool.write(folder.path, std::to_string(pid) + ".0");
  }
  const Recording r = assembled(folder.path);
  REQUIRE(r.processes.size() == 2);
  CHECK(r.processes[0].pid == 60);
  CHECK(r.processes[1].began == Time{3});
  REQUIRE(r.streams.size() == 2);
  CHECK(r.streams[0].kind == recording::StreamKind::null);
  CHECK(r.contexts[r.streams[r.works[0].stream].context].process == 1);
  CHECK(r.functions.size() == 1);
  CHECK(r.launches.size() == 1);
  CHECK(r.gpus.size() == 1);
}

TEST_CASE("processes may see GPUs by other numbers") {
  const TemporaryFolder folder;
  std::uint64_t later = 0;
  // All call theirs 0. Of the last two nothing is told.
  for (const std::uint8_t gpu : std::vector<std::uint8_t>{3, 4, 3, 0, 0}) {
    const std::uint32_t pid = 50 + static_cast<std::uint32_t>(later);
    MadeSpool spool(pid, kOrigin + later++, gpu);
    spool.call(1, 1, 10, 15);
    spool.kernel(1, 7, 100, 110);
    spool.write(folder.path, std::to_string(pid) + ".0");
  }
  const Recording r = assembled(folder.path);
  CHECK(r.gpus.size() == 3);
  std::vector<recording::Index> used;
  for (const recording::Context& context : r.contexts) used.push_back(context.gpu);
  CHECK(used == std::vector<recording::Index>{0, 1, 0, 2, 2});
}

TEST_CASE("a spool that ends at any byte is read up to there") {
  MadeSpool spool(50);
  for (std::uint32_t k = 1; k < 8; ++k) {
    spool.call(1, k, 10 * k, 10 * k + 5);
    spool.kernel(k, 13, 100 + 10 * k, 105 + 10 * k);
  }
  spool.end();
  std::size_t before = 0;
  for (std::size_t size = 0; size <= spool.bytes().size(); ++size) {
    const TemporaryFolder folder;
    spool.write(folder.path, "50.0", size);
    const Recording r = assembled(folder.path);
    CHECK(r.works.size() >= before);
    before = r.works.size();
  }
  CHECK(before == 7);
}

TEST_CASE("graphs get the medians of their nodes from a second pass") {
  MadeSpool first(50);
  for (const std::uint32_t correlation : {1U, 2U, 3U}) {
    first.call(1, correlation, 100 * correlation, 100 * correlation + 5);
    Graph graph;
    graph.work = MadeSpool::work(correlation, 13, 100 * correlation + 10, 100 * correlation + 90);
    graph.work.graph = correlation == 2 ? 9 : 4;
    first.put(graph);
  }
  MadeSpool second(70);
  // Graph 30 is the first one there: three launches of two nodes in two lanes.
  std::uint64_t at = 1000;
  for (const std::uint32_t correlation : {5U, 6U, 7U}) {
    const std::uint64_t longer = correlation == 6 ? 50 : correlation;
    second.kernel(correlation, 16, at + 20, at + 20 + longer, 30, 101);
    second.kernel(correlation, 13, at, at + 10, 30, 100);
    at += 1000;
  }
  const TemporaryFolder folder, folder2;
  first.write(folder.path, "50.0");
  second.write(folder2.path, "70.0");
  Recording r = assembled(folder.path);
  REQUIRE(r.graphs.size() == 2);
  CHECK(r.works[2].shape == 0);
  CHECK(add_nodes(r, read_spools(folder2.path)) == 1);
  check_recording(r, "with nodes");
  REQUIRE(r.nodes.size() == 2);
  CHECK(r.nodes[0].graph == 0);
  CHECK(r.nodes[0].after == Duration{0});
  CHECK(r.nodes[0].lane == 0);
  CHECK(r.nodes[1].after == Duration{20});
  CHECK(r.nodes[1].length == Duration{7});
  CHECK(r.nodes[1].lane == 1);
  CHECK(r.nodes[1].launches == 3);
  CHECK(r.launches.size() == 1);
}

TEST_CASE("a spool of another version is refused") {
  MadeSpool spool(50);
  Begin begin;
  begin.version = kVersion + 1;
  const TemporaryFolder folder;
  spool.put(begin);
  spool.write(folder.path, "50.0");
  CHECK_THROWS_AS(read_spools(folder.path), RunError);
}

TEST_CASE("functions are told apart by their names") {
  using recording::call_kind;
  CHECK(call_kind("cuLaunchKernelEx_ptsz") == CallKind::kernel);
  CHECK(call_kind("cudaLaunchKernelExC_v11060") == CallKind::kernel);
  CHECK(call_kind("cudaLaunchHostFunc_v10000") == CallKind::host_function);
  CHECK(call_kind("cuMemcpyHtoDAsync_v2") == CallKind::copy);
  CHECK(call_kind("cudaMemcpy2DAsync_v3020") == CallKind::copy);
  CHECK(call_kind("cuMemsetD32_v2") == CallKind::memset);
  CHECK(call_kind("cudaGraphLaunch_v10000") == CallKind::graph);
  CHECK(call_kind("cudaGraphInstantiate_v10000") == CallKind::other);
  CHECK(call_kind("cudaDeviceSynchronize_v3020") == CallKind::synchronize);
  CHECK(call_kind("cuCtxSynchronize") == CallKind::synchronize);
  CHECK(call_kind("cudaEventQuery_v3020") == CallKind::query);
  CHECK(call_kind("cudaEventRecordWithFlags_v11010") == CallKind::record);
  CHECK(call_kind("cuStreamWaitEvent") == CallKind::wait_event);
  CHECK(call_kind("cuStreamWaitValue32_v2") == CallKind::memory_word);
  CHECK(call_kind("cudaMalloc_v3020") == CallKind::other);
  CHECK_FALSE(call_kind("cudaGetDevice_v3020"));
  CHECK_FALSE(call_kind("cuStreamGetCaptureInfo"));
  CHECK_FALSE(call_kind("nvtxRangePush"));
}
