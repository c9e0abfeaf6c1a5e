// The content of a profile, whichever profiler made it. Ids are the profiler's. Missing facts are empty, 0 or
// none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/recording/recording.hpp"

namespace gangway::profile {

using recording::Index;
using recording::kNone;

// For a stream, context or device that the profile does not name. Correlation id 0: none.
inline constexpr std::uint32_t kUnknown = UINT32_MAX;

// Bounds of times, so that differences do not overflow.
inline constexpr std::int64_t kLatestTime = 4'000'000'000'000'000'000;

// Longer profiles are treated as damaged: one year in ns.
inline constexpr std::int64_t kLongestProfile = 365LL * 24 * 3600 * 1'000'000'000;

struct Process {
  std::uint32_t pid = 0;
  std::vector<std::string> command;  // as far as known
};

struct Thread {
  Index process = 0;
  std::uint32_t tid = 0;
  std::string name;
};

// Times are in ns with an arbitrary common origin.
struct Call {
  std::int64_t begin = 0, end = 0;
  Index thread = 0, function = 0;
  std::uint32_t correlation = 0;
  std::int32_t result = 0;
};

// Direction of a copy. `to_device` and `to_host` are used if the profile does not give the host's kind of
// memory.
enum class Direction : std::uint8_t { by_kinds, to_device, to_host };

struct Transfer {
  Bytes bytes;
  recording::MemoryKind from = recording::MemoryKind::unknown, to = recording::MemoryKind::unknown;
  Direction direction = Direction::by_kinds;
};

// GPU work. Works of a graph's nodes share the correlation id of the graph's launch.
struct Work {
  std::int64_t begin = 0, end = 0;
  Index process = kNone;  // none: unknown
  Index gpu = 0;
  std::uint32_t context = kUnknown, stream = kUnknown;
  std::uint32_t correlation = 0;
  recording::WorkKind kind = recording::WorkKind::kernel;
  Index shape = 0;          // row of launches or transfers; for graphs, the number
  std::uint32_t graph = 0;  // graph that contains it as a node; 0: none or unknown
  std::uint64_t node = 0;   // likewise
};

// A call recorded an event.
struct EventRecord {
  Index process = kNone;
  std::uint32_t correlation = 0, context = kUnknown, stream = kUnknown;
  std::uint64_t event = 0;
  std::uint64_t synchronisation = 0;  // distinguishes recordings of the event; 0: unknown
};

enum class WaitKind : std::uint8_t { event, stream_for_event, stream, context };

// What a call waited for, or made a stream wait for.
struct Wait {
  Index process = kNone;
  std::uint32_t correlation = 0;
  WaitKind kind = WaitKind::context;
  std::uint32_t context = kUnknown, stream = kUnknown;
  std::uint64_t event = 0, synchronisation = 0;
  std::uint32_t recorded_by = 0;  // correlation id of the recording call; 0: unknown
};

struct Range {
  Index thread = 0, name = 0;
  std::int64_t begin = 0;
  std::optional<std::int64_t> end;
};

struct Stream {
  Index process = kNone;
  std::uint32_t context = kUnknown, number = kUnknown;
  recording::StreamKind kind = recording::StreamKind::blocking;
  std::int32_t priority = 0;
};

struct MemoryChange {
  std::int64_t at = 0;
  Index process = 0, gpu = 0;
  recording::MemoryKind kind = recording::MemoryKind::device;
  std::int64_t bytes = 0;  // negative: released
};

struct Profile {
  std::string source;                 // kind and version
  std::optional<std::int64_t> epoch;  // of time 0, ns since 1970
  recording::About about;             // host and versions, as far as known
  std::vector<recording::Gpu> gpus;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<recording::Function> functions;
  std::vector<recording::Launch> launches;
  std::vector<Transfer> transfers;
  std::vector<Stream> streams;  // those with more facts than their numbers
  std::vector<Call> calls;      // in any order; only functions found in recordings
  std::vector<Work> works;      // likewise
  std::vector<EventRecord> events;
  std::vector<Wait> waits;
  std::vector<recording::RangeName> range_names;
  std::vector<Range> ranges;
  std::vector<MemoryChange> memory;
  std::int64_t lost = 0;  // senseless rows
};

}  // namespace gangway::profile
