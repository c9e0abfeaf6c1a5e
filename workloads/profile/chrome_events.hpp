// Chrome's trace format as PyTorch's profiler (Kineto) writes it, event by event.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/profile/profile.hpp"

namespace gangway::profile {

// Of "args", what recordings have. Numbers are none where they are missing or no whole numbers.
enum class Argument : std::uint8_t {
  correlation,
  stream,
  context,
  device,
  bytes,
  registers,
  shared_memory,
  graph,
  node,
  priority,
  event,
  wait_on_stream,
  wait_on_event,
  wait_on_record,
};
inline constexpr std::size_t kArguments = 14;

struct ChromeEvent {
  std::string phase, category, name;
  std::int64_t begin = 0;  // ns
  std::optional<std::int64_t> length;
  std::string process, thread;  // numbers or words
  std::array<std::optional<std::int64_t>, kArguments> arguments;
  recording::Dim grid{0, 0, 0}, block{0, 0, 0};
  std::string sync_kind, named;               // "cuda_sync_kind"; "name" in the arguments of metadata
  bool has_begin = false, senseless = false;  // a time that is no number or out of range

  std::optional<std::int64_t> operator[](Argument a) const { return arguments[static_cast<std::size_t>(a)]; }
  void clear();
};

struct ChromeTrace {
  std::optional<std::int64_t> base;  // of its times, in ns since 1970
  std::int64_t cupti = 0;            // version
  struct Device {
    std::int64_t id = -1;
    recording::Gpu gpu;
  };
  std::vector<Device> devices;
};

// Calls `each` with each event in the file's order, which it may take apart. Throws InputError, with the
// line, where the file is no JSON or no trace.
ChromeTrace read_chrome_trace(const std::filesystem::path& file,
                              const std::function<void(ChromeEvent&)>& each);

// Microseconds as JSON writes them, in ns, to the nearest; none for what is no number or out of range.
// Doubles have not enough digits for times since 1970.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

}  // namespace gangway::profile
