#include "workloads/profile/nsys_kinds.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::profile {
namespace {

using recording::MemoryKind;

template <typename Kind>
void enumeration(ProfileTables& tables, const char* table, std::map<std::int64_t, Kind>& numbers,
                 const std::vector<std::pair<std::string_view, Kind>>& endings) {
  std::map<std::int64_t, Kind> named;
  for (TableRows t(tables, table, {"id", "name"}, 0); t.next();) {
    const auto id = t.number(0);
    const std::string name(t.text(1).value_or(""));
    for (const auto& [ending, kind] : endings)
      if (id && name.ends_with(ending)) named[*id] = kind;
  }
  if (!named.empty()) numbers = std::move(named);
}

}  // namespace

CopySides sides_of(std::int64_t copy_kind) {
  using enum Side;
  constexpr std::array<CopySides, 11> known{{{unknown, unknown},
                                             {host, device},
                                             {device, host},
                                             {host, array},
                                             {array, host},
                                             {array, array},
                                             {array, device},
                                             {device, array},
                                             {device, device},
                                             {host, host},
                                             {device, device}}};
  return copy_kind >= 0 && copy_kind < 11 ? known[static_cast<std::size_t>(copy_kind)] : CopySides{};
}

MemoryKind kind_on(Side side, MemoryKind said) {
  using enum MemoryKind;
  const bool of_host = said == pageable || said == pinned || said == managed || said == managed_static;
  switch (side) {
    case Side::host:
      return of_host ? said : unknown;
    case Side::device:
      return said == pageable || said == pinned || said == unknown || said == array ? device : said;
    case Side::array:
      return array;
    case Side::unknown:
      break;
  }
  return said;
}

NsysKinds::NsysKinds(ProfileTables& tables) {
  memory = {{0, MemoryKind::pageable},      {1, MemoryKind::pinned},  {2, MemoryKind::device},
            {3, MemoryKind::array},         {4, MemoryKind::managed}, {5, MemoryKind::device_static},
            {6, MemoryKind::managed_static}};
  enumeration(tables, "ENUM_CUDA_MEM_KIND", memory,
              {{"_PAGEABLE", MemoryKind::pageable},
               {"_PINNED", MemoryKind::pinned},
               {"_KIND_DEVICE", MemoryKind::device},
               {"_ARRAY", MemoryKind::array},
               {"_KIND_MANAGED", MemoryKind::managed},
               {"_DEVICE_STATIC", MemoryKind::device_static},
               {"_MANAGED_STATIC", MemoryKind::managed_static}});
  waits = {
      {1, WaitKind::event}, {2, WaitKind::stream_for_event}, {3, WaitKind::stream}, {4, WaitKind::context}};
  enumeration(tables, "ENUM_CUPTI_SYNC_TYPE", waits,
              {{"_EVENT_SYNCHRONIZE", WaitKind::event},
               {"_STREAM_WAIT_EVENT", WaitKind::stream_for_event},
               {"_STREAM_SYNCHRONIZE", WaitKind::stream},
               {"_CONTEXT_SYNCHRONIZE", WaitKind::context}});
  using recording::StreamKind;
  streams = {{1, StreamKind::blocking}, {2, StreamKind::non_blocking}, {3, StreamKind::null}};
  enumeration(tables, "ENUM_CUPTI_STREAM_TYPE", streams,
              {{"_DEFAULT", StreamKind::blocking},
               {"_NON_BLOCKING", StreamKind::non_blocking},
               {"_NULL", StreamKind::null}});
  range_types = {{kPushPopRange, true}, {kStartEndRange, true}};
  enumeration(tables, "ENUM_NSYS_EVENT_TYPE", range_types,
              {{"NvtxPushPopRange", true}, {"NvtxStartEndRange", true}});
  enumeration(tables, "ENUM_CUDA_KERNEL_LAUNCH_TYPE", cooperative,
              {{"_COOPERATIVE_SINGLE_DEVICE", true}, {"_COOPERATIVE_MULTI_DEVICE", true}});
  releases = {{1, true}};
  enumeration(tables, "ENUM_CUDA_DEV_MEM_EVENT_OPER", releases, {{"_DEALLOCATION", true}});
}

}  // namespace gangway::profile
