// What the injected library writes of one process for `gangway record`: consecutive records, each a multiple
// of 8 bytes, in machine byte order. A killed process may leave a partial last record. Times are nanoseconds
// of CUPTI's clock. Ids are CUPTI's, except those of texts, functions and shapes, which a record defines
// before their first use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gangway::spool {

inline constexpr std::uint32_t kVersion = 2;
inline constexpr const char* kFolder = "GANGWAY_SPOOL";       // environment variables of the recorded program
inline constexpr const char* kCupti = "GANGWAY_SPOOL_CUPTI";  // path of the library
inline constexpr const char* kExtent = "GANGWAY_SPOOL_EXTENT";  // one of:
inline constexpr const char* kEverything = "everything";        // with graphs as launched
inline constexpr const char* kGraphNodes = "graph nodes";       // graph nodes instead of whole graphs

enum class Type : std::uint16_t {
  begin = 1,
  text,
  function,
  shape,
  call,
  kernel,
  copy,
  memset,
  graph,
  sync,
  event,
  memory,
  marker,
  stream,
  context,
  device,
  thread,
  trouble,
  lost,
  end,
};

struct Head {
  Type type{};
  std::uint16_t size = 0;  // of the record, with head and text
  std::uint32_t spare = 0;
};

// Its text: the command line's words, each followed by a 0.
struct Begin {
  static constexpr Type kType = Type::begin;
  Head head{};
  std::uint32_t version = 0, cupti = 0;  // cuptiGetVersion(); 0 if not loaded
  std::uint32_t pid = 0, parent = 0;
  std::uint64_t time = 0;
};

struct Text {
  static constexpr Type kType = Type::text;
  Head head{};
  std::uint32_t id = 0, length = 0;
};

struct Function {
  static constexpr Type kType = Type::function;
  Head head{};
  std::uint32_t id = 0, kind = 0;  // recording::CallKind
  std::uint32_t name = 0, spare = 0;
};

struct Shape {
  static constexpr Type kType = Type::shape;
  Head head{};
  std::uint32_t id = 0, name = 0;
  std::uint32_t grid[3]{}, block[3]{}, cluster[3]{};
  std::uint32_t registers = 0, static_shared = 0, dynamic_shared = 0, local = 0;  // bytes; local: per thread
  std::uint32_t launch_type = 0;
};

struct Call {
  static constexpr Type kType = Type::call;
  Head head{};
  std::uint32_t function = 0, correlation = 0, thread = 0, result = 0;
  std::uint64_t begin = 0, end = 0;
};

// Common to kernels, copies and memsets.
struct Work {
  std::uint32_t correlation = 0, device = 0, context = 0, stream = 0;
  std::uint64_t begin = 0, end = 0;
  std::uint64_t node = 0;  // of a graph; 0: none
  std::uint32_t graph = 0, spare = 0;
};

struct Kernel {
  static constexpr Type kType = Type::kernel;
  Head head{};
  Work work{};
  std::uint32_t shape = 0, spare = 0;
};

struct Copy {
  static constexpr Type kType = Type::copy;
  Head head{};
  Work work{};
  std::uint64_t bytes = 0;
  std::uint8_t kind = 0, from = 0, to = 0, asynchronous = 0;  // CUPTI's kinds of copies and memories
  std::uint32_t to_device = 0;
};

struct Memset {
  static constexpr Type kType = Type::memset;
  Head head{};
  Work work{};
  std::uint64_t bytes = 0;
  std::uint32_t memory = 0, spare = 0;
};

struct Graph {
  static constexpr Type kType = Type::graph;
  Head head{};
  Work work{};
};

struct Sync {
  static constexpr Type kType = Type::sync;
  Head head{};
  std::uint32_t correlation = 0, kind = 0;  // CUPTI's types of synchronization
  std::uint32_t context = 0, stream = 0;
  std::uint64_t event = 0;  // identifies the recording of an event
};

struct Event {
  static constexpr Type kType = Type::event;
  Head head{};
  std::uint32_t correlation = 0, context = 0, stream = 0, spare = 0;
  std::uint64_t event = 0;
};

struct Memory {
  static constexpr Type kType = Type::memory;
  Head head{};
  std::uint32_t correlation = 0, device = 0, kind = 0, released = 0;
  std::uint64_t address = 0, bytes = 0, time = 0;
};

struct Marker {
  static constexpr Type kType = Type::marker;
  Head head{};
  std::uint32_t id = 0, thread = 0;
  std::uint32_t ends = 0, name = 0, domain = 0, spare = 0;  // name and domain 0: none
  std::uint64_t time = 0;
};

struct Stream {
  static constexpr Type kType = Type::stream;
  Head head{};
  std::uint32_t context = 0, id = 0, flag = 0;
  std::int32_t priority = 0;
};

struct Context {
  static constexpr Type kType = Type::context;
  Head head{};
  std::uint32_t id = 0, device = 0, null_stream = 0, spare = 0;
};

struct Device {
  static constexpr Type kType = Type::device;
  Head head{};
  std::uint32_t id = 0, name = 0;
  std::uint32_t sms = 0, major = 0, minor = 0, clock_khz = 0, l2 = 0, copy_engines = 0;
  std::uint64_t memory = 0, bandwidth_kb = 0;  // bytes; kB/s
  std::uint8_t uuid[16] = {};                  // of the GPU, or the part of one that the process sees as one
};

struct Thread {
  static constexpr Type kType = Type::thread;
  Head head{};
  std::uint32_t id = 0, name = 0;
};

// Why nothing, or not everything, is recorded, as text for people.
struct Trouble {
  static constexpr Type kType = Type::trouble;
  Head head{};
  std::uint32_t length = 0, spare = 0;
};

// Records lost by CUPTI or this library.
struct Lost {
  static constexpr Type kType = Type::lost;
  Head head{};
  std::uint64_t records = 0;
};

// The process ended regularly.
struct End {
  static constexpr Type kType = Type::end;
  Head head{};
  std::uint64_t time = 0;
};

}  // namespace gangway::spool
