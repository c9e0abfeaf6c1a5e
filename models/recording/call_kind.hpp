// Classifies functions of CUDA's driver and runtime by name, as far as recordings distinguish them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gangway::recording {

// The numbers are those of the table `functions` (README.md).
enum class CallKind : std::uint8_t {
  other = 0,          // takes host time: allocates, loads a module, instantiates a graph
  kernel = 1,         // submissions
  graph = 2,          //
  copy = 3,           //
  memset = 4,         //
  host_function = 5,  //
  memory_word = 6,    // a stream writes or awaits a word of memory
  synchronize = 7,    // of a context, a stream or an event
  query = 8,          // of a stream or event that was found over
  record = 9,         // of an event
  wait_event = 10,    // a stream waits for an event
};
inline constexpr std::uint8_t kCallKinds = 11;

constexpr bool is_submission(CallKind kind) {
  return kind >= CallKind::kernel && kind <= CallKind::memory_word;
}

// None: not recorded. `name`: a driver or runtime function, with or without version:
// cuMemcpyHtoDAsync_v2_ptsz, cudaMemcpyAsync.
constexpr std::optional<CallKind> call_kind(std::string_view name) {
  struct Stem {
    std::string_view text;  // prefix of the name
    CallKind kind;
  };
  using enum CallKind;
  constexpr std::array stems{Stem{"LaunchHostFunc", host_function},
                             Stem{"StreamAddCallback", host_function},
                             Stem{"Launch", kernel},
                             Stem{"GraphLaunch", graph},
                             Stem{"Memcpy", copy},
                             Stem{"MemPrefetch", copy},
                             Stem{"Memset", memset},
                             Stem{"StreamWaitValue", memory_word},
                             Stem{"StreamWriteValue", memory_word},
                             Stem{"StreamBatchMemOp", memory_word},
                             Stem{"CtxSynchronize", synchronize},
                             Stem{"DeviceSynchronize", synchronize},
                             Stem{"StreamSynchronize", synchronize},
                             Stem{"EventSynchronize", synchronize},
                             Stem{"StreamQuery", query},
                             Stem{"EventQuery", query},
                             Stem{"EventRecord", record},
                             Stem{"StreamWaitEvent", wait_event},
                             Stem{"MemAlloc", other},
                             Stem{"Malloc", other},
                             Stem{"MemFree", other},
                             Stem{"Free", other},
                             Stem{"MemHost", other},
                             Stem{"HostAlloc", other},
                             Stem{"HostRegister", other},
                             Stem{"HostUnregister", other},
                             Stem{"MemCreate", other},
                             Stem{"MemMap", other},
                             Stem{"MemUnmap", other},
                             Stem{"MemRelease", other},
                             Stem{"ModuleLoad", other},
                             Stem{"ModuleUnload", other},
                             Stem{"LibraryLoad", other},
                             Stem{"LibraryUnload", other},
                             Stem{"GraphInstantiate", other},
                             Stem{"GraphExecUpdate", other},
                             Stem{"GraphExecDestroy", other},
                             Stem{"GraphUpload", other},
                             Stem{"StreamBeginCapture", other},
                             Stem{"StreamEndCapture", other},
                             Stem{"StreamCreate", other},
                             Stem{"StreamDestroy", other},
                             Stem{"CtxCreate", other},
                             Stem{"CtxDestroy", other},
                             Stem{"DevicePrimaryCtxRe", other},
                             Stem{"DeviceReset", other}};
  const std::size_t prefix = name.starts_with("cuda") ? 4 : name.starts_with("cu") ? 2 : 0;
  if (prefix == 0) return std::nullopt;
  for (const Stem& stem : stems)
    if (name.substr(prefix).starts_with(stem.text)) return stem.kind;
  return std::nullopt;
}

}  // namespace gangway::recording
