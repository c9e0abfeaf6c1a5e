// Reads Chrome traces of PyTorch's profiler (Kineto), event by event.
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

// The relevant entries of "args". Numbers are none if missing or not whole.
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
  bool has_begin = false, senseless = false;  // a time that is not a number or out of range

  std::optional<std::int64_t> operator[](Argument a) const { return arguments[static_cast<std::size_t>(a)]; }
  void clear();
};

struct ChromeTrace {
  std::optional<std::int64_t> base;  // of its times, ns since 1970
  std::int64_t cupti = 0;            // version
  struct Device {
    std::int64_t id = -1;
    recording::Gpu gpu;
  };
  std::vector<Device> devices;
};

// Calls `each` with each event, which it may move from, in file order. Throws InputError with the line if the
// file is not JSON or not a trace.
ChromeTrace read_chrome_trace(const std::filesystem::path& file,
                              const std::function<void(ChromeEvent&)>& each);

// JSON microseconds in ns, rounded to nearest; none if not a number or out of range. Doubles lack the digits
// for times since 1970.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

}  // namespace gangway::profile
