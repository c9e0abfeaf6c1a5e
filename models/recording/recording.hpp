// A recording in memory: a program's use of its GPUs, call by call. README.md describes the file's tables.
// Times count from the recording's origin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/quantity.hpp"
#include "models/recording/call_kind.hpp"

namespace gangway::recording {

// Rows refer to rows of other tables by index.
using Index = std::uint32_t;
inline constexpr Index kNone = UINT32_MAX;

// How the recorded program ended.
enum class Ending : std::uint8_t { exited, killed };

struct About {
  std::vector<std::string> command;
  std::int64_t origin = 0;  // ns since 1970
  Duration length;          // wall time of the program
  Ending ending = Ending::exited;
  int code = 0;               // exit code, or the signal that killed it
  std::string jobs;           // rule that divides it, as in --jobs
  std::uint32_t skip = 0;     // first jobs, which are warm-up
  std::int64_t lost = 0;      // missing records
  std::string gangway;        // version of Gangway
  std::string cupti, driver;  // versions
  std::string cpu, system;    // of the host: model of its processors, kernel
  std::uint32_t cores = 0;    // likewise
  std::string trouble;        // other problems, one line; usually empty
  Duration unrecorded;        // median of its jobs in a run that nobody recorded; 0: not known
  std::string source;         // kind of the profile it was imported from; empty if recorded
};

// Unknown values are empty or 0.
struct Gpu {
  std::string name;
  std::uint32_t sms = 0, major = 0, minor = 0;  // compute capability
  std::uint32_t clock_khz = 0, copy_engines = 0;
  Bytes memory, l2;
};

struct Process {
  std::uint32_t pid = 0, parent = 0;
  std::vector<std::string> command;
  Time began;
  bool finished = false;  // it ended regularly, with everything written
};

struct Thread {
  Index process = 0;
  std::uint32_t tid = 0;
  std::string name;
};

struct Context {
  Index process = 0, gpu = 0;
  std::uint32_t number = 0;  // CUPTI's
};

enum class StreamKind : std::uint8_t { blocking = 0, non_blocking = 1, null = 2 };

struct Stream {
  Index context = 0;
  std::uint32_t number = 0;  // CUPTI's
  StreamKind kind = StreamKind::blocking;
  std::int32_t priority = 0;  // lower is more urgent
};

struct Function {
  std::string name;
  CallKind kind = CallKind::other;
};

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
  friend bool operator==(const Dim&, const Dim&) = default;
};

// A kernel launch.
struct Launch {
  std::string kernel;  // its name, mangled
  Dim grid, block;
  Dim cluster{0, 0, 0};                        // 0: no clusters
  std::uint32_t registers = 0;                 // per thread
  Bytes static_shared, dynamic_shared, local;  // per block; local: per thread
  bool cooperative = false;
};

// CUPTI's kinds of memory.
enum class MemoryKind : std::uint8_t {
  unknown = 0,
  pageable = 1,
  pinned = 2,
  device = 3,
  array = 4,
  managed = 5,
  device_static = 6,
  managed_static = 7,
};
inline constexpr std::uint8_t kMemoryKinds = 8;

// A copy or memset.
struct Transfer {
  Bytes bytes;
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;  // equal for a memset
  bool asynchronous = false;
};

enum class WorkKind : std::uint8_t { kernel = 0, copy = 1, memset = 2, graph = 3 };
inline constexpr std::uint8_t kWorkKinds = 4;

struct Graph {
  Index process = 0;
  std::uint32_t number = 0;  // CUPTI's
};

// From a second pass that timed graph nodes: medians over its launches.
struct GraphNode {
  Index graph = 0;
  WorkKind kind = WorkKind::kernel;
  Index shape = 0;         // a launch or a transfer, by kind
  std::uint32_t lane = 0;  // nodes of one lane run one after another
  Duration after, length;  // after: from the beginning of the graph's first node
  std::uint32_t launches = 0;
};

// A host thread's call. Calls of one thread do not overlap.
struct Call {
  Index thread = 0, function = 0;
  Time begin;
  Duration length;
  std::int32_t result = 0;  // of the function; 0: success
  Index job = kNone;
  Time end() const { return begin + length; }
};

// GPU work of a submission.
struct Work {
  Index call = 0, stream = 0;
  WorkKind kind = WorkKind::kernel;
  Index shape = 0;  // a launch, a transfer or a graph, by kind
  Time begin;
  Duration length;
  Time end() const { return begin + length; }
};

enum class OrderKind : std::uint8_t {
  context = 0,     // the host waits for all streams of a context
  stream = 1,      // for one stream
  event = 2,       // for an event
  record = 3,      // a stream records an event
  wait_event = 4,  // a stream waits for an event
};
inline constexpr std::uint8_t kOrderKinds = 5;

// What a call waited for, or makes others wait for.
struct Order {
  Index call = 0;
  OrderKind kind = OrderKind::context;
  Index place = kNone;     // of `context` a context, of `stream`, `record` and `wait_event` a stream
  Index recorded = kNone;  // of `event` and `wait_event`: the call that recorded it, if known
};

struct MemoryChange {
  Time at;
  Index gpu = 0, process = 0;
  MemoryKind kind = MemoryKind::device;
  std::int64_t bytes = 0;  // negative: released
};

struct RangeName {
  std::string domain, name;  // empty: the default domain
};

struct Range {
  Index name = 0, thread = 0;
  Time begin;
  std::optional<Duration> length;  // none: never ended
};

enum class JobKind : std::uint8_t {
  sync = 0,
  nvtx = 1,
  whole = 2,
  cut = 3,  // a piece of a program that never synchronises; it has no latency
};
inline constexpr std::uint8_t kJobKinds = 4;

// Jobs are ordered by beginning; the first `About::skip` are warm-up.
struct Job {
  JobKind kind = JobKind::sync;
  Index thread = kNone;  // none: the whole program's
  Time begin;
  Duration length;
  bool warm_up = false;
};

struct Recording {
  About about;
  std::vector<Gpu> gpus;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Context> contexts;
  std::vector<Stream> streams;
  std::vector<Function> functions;
  std::vector<Launch> launches;
  std::vector<Transfer> transfers;
  std::vector<Graph> graphs;
  std::vector<GraphNode> nodes;  // by graph, then by `after`
  std::vector<RangeName> range_names;
  std::vector<Range> ranges;         // by beginning
  std::vector<Call> calls;           // likewise
  std::vector<Work> works;           // by call
  std::vector<Order> orders;         // likewise
  std::vector<Index> beside;         // works that ran beside work not recorded here
  std::vector<MemoryChange> memory;  // by time
  std::vector<Job> jobs;

  CallKind kind(const Call& call) const { return functions[call.function].kind; }
};

}  // namespace gangway::recording
