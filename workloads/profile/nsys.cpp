// Nsight Systems: a report exported by `nsys export --type sqlite`. Its tables and columns are those of
// "SQLite Schema Reference" in NVIDIA's User Guide; which of them there are depends on the version, on what
// was traced, and on what happened.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/profile/distinct_rows.hpp"
#include "workloads/profile/importer.hpp"
#include "workloads/profile/nsys_about.hpp"
#include "workloads/profile/nsys_kinds.hpp"
#include "workloads/profile/nsys_owners.hpp"
#include "workloads/profile/profile_tables.hpp"

namespace gangway::profile {
namespace {

namespace fs = std::filesystem;
using recording::MemoryKind;

constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr const char* kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
constexpr const char* kRuntime = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr const char* kSynchronisations = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
constexpr const char* kCudaEvents = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
constexpr const char* kNvtx = "NVTX_EVENTS";

class NsysReader {
 public:
  explicit NsysReader(const fs::path& file)
      : tables_(file), kinds_(tables_), owners_(tables_, p_), functions_(p_.functions), shapes_(p_) {}

  Profile read() {
    if (!tables_.has(kRuntime) && !tables_.has(kKernels) && !tables_.has("StringIds"))
      tables_.refuse("profile", "a database without Nsight Systems' tables",
                     "a report exported by `nsys export --type sqlite`");
    strings();
    calls(kRuntime);
    calls("CUPTI_ACTIVITY_KIND_DRIVER");  // in old exports
    kernels();
    copies();
    memsets();
    graphs();
    waits();
    events();
    memory();
    ranges();
    streams();
    names();
    describe_nsys(tables_, owners_, p_);
    return std::move(p_);
  }

 private:
  TableRows rows(const char* table, std::initializer_list<const char*> columns, std::size_t needed = 0) {
    return TableRows(tables_, table, columns, needed);
  }

  void strings() {
    for (TableRows t = rows("StringIds", {"id", "value"}, 2); t.next();)
      if (const auto id = t.number(0))
        if (const auto value = t.text(1)) strings_.emplace(*id, std::string(*value));
  }
  // The text of a column that holds an id of StringIds, or the text itself; empty where there is none.
  std::string string(const TableRows& t, int column) const {
    if (const auto text = t.text(column)) return std::string(*text);
    if (const auto id = t.number(column))
      if (const auto known = strings_.find(*id); known != strings_.end()) return known->second;
    return {};
  }

  // --- What

  void calls(const char* table) {
    TableRows t =
        rows(table, {"start", "end", "globalTid", "nameId|name", "correlationId", "returnValue"}, 4);
    while (t.next()) {
      const auto begin = t.number(0), end = t.number(1), who = t.number(2);
      const Index function = function_of(t, 3);
      if (function == kNone) continue;
      if (!begin || !end || !who || *who < 0 || !is_time(*begin) || !is_time(*end) || *end < *begin) {
        ++p_.lost;
        continue;
      }
      const auto result = t.number(5);
      // Who asked and got no for an answer has learnt nothing.
      if (p_.functions[function].kind == recording::CallKind::query && result != 0) continue;
      p_.calls.push_back(
          {*begin, *end, owners_.thread(*who), function, t.number_or<std::uint32_t>(4, 0),
           static_cast<std::int32_t>(std::clamp<std::int64_t>(result.value_or(0), INT32_MIN, INT32_MAX))});
    }
  }
  Index function_of(const TableRows& t, int column) {
    const auto id = t.number(column);
    if (!id) return functions_.index(string(t, column));
    const auto [place, is_new] = functions_by_id_.try_emplace(*id, kNone);
    if (is_new) place->second = functions_.index(string(t, column));
    return place->second;
  }

  // The columns that all work has, first.
  std::optional<Work> work(const TableRows& t) {
    Work w;
    const auto begin = t.number(0), end = t.number(1);
    if (!begin || !end || !is_time(*begin) || !is_time(*end) || *end < *begin) {
      ++p_.lost;
      return std::nullopt;
    }
    w.begin = *begin;
    w.end = *end;
    w.stream = t.number_or<std::uint32_t>(2, kUnknown);
    w.correlation = t.number_or<std::uint32_t>(3, 0);
    w.context = t.number_or<std::uint32_t>(4, kUnknown);
    w.process = owners_.process_or_none(t.number(5));
    w.gpu = owners_.gpu(w.process, t.number_or<std::uint32_t>(6, 0));
    w.node = t.number_or<std::uint64_t>(7, 0);
    w.graph = t.number_or<std::uint32_t>(8, 0);
    return w;
  }

  void kernels() {
    TableRows t = rows(kKernels,
                       {"start",
                        "end",
                        "streamId",
                        "correlationId",
                        "contextId",
                        "globalPid",
                        "deviceId",
                        "graphNodeId",
                        "graphId",
                        "mangledName",
                        "demangledName|name",
                        "shortName",
                        "gridX",
                        "gridY",
                        "gridZ",
                        "blockX",
                        "blockY",
                        "blockZ",
                        "registersPerThread",
                        "staticSharedMemory",
                        "dynamicSharedMemory",
                        "localMemoryPerThread",
                        "launchType",
                        "clusterX",
                        "clusterY",
                        "clusterZ"},
                       4);
    while (t.next()) {
      auto w = work(t);
      if (!w) continue;
      recording::Launch l;
      for (int name = 9; name < 12 && l.kernel.empty(); ++name) l.kernel = string(t, name);
      int column = 12;
      for (recording::Dim* dim : {&l.grid, &l.block})
        for (std::uint32_t* value : {&dim->x, &dim->y, &dim->z})
          *value = t.number_or<std::uint32_t>(column++, 0);
      l.registers = t.number_or<std::uint32_t>(18, 0);
      l.static_shared = Bytes{t.number_or<std::uint32_t>(19, 0)};
      l.dynamic_shared = Bytes{t.number_or<std::uint32_t>(20, 0)};
      l.local = Bytes{t.number_or<std::uint32_t>(21, 0)};
      l.cooperative = kind_of(kinds_.cooperative, t.number(22), false);
      l.cluster = {t.number_or<std::uint32_t>(23, 0), t.number_or<std::uint32_t>(24, 0),
                   t.number_or<std::uint32_t>(25, 0)};
      w->shape = shapes_.launch(l);
      p_.works.push_back(*w);
    }
  }

  void copies() {
    TableRows t = rows(kCopies,
                       {"start", "end", "streamId", "correlationId", "contextId", "globalPid", "deviceId",
                        "graphNodeId", "graphId", "bytes", "copyKind", "srcKind", "dstKind"},
                       4);
    while (t.next()) {
      const std::int64_t kind = t.number(10).value_or(0);
      if (kind > 10) continue;  // by unified memory: nobody called for it
      auto w = work(t);
      if (!w) continue;
      w->kind = recording::WorkKind::copy;
      const CopySides sides = sides_of(kind);
      Transfer transfer;
      transfer.bytes = Bytes{std::max<std::int64_t>(0, t.number(9).value_or(0))};
      transfer.from = kind_on(sides.from, kind_of(kinds_.memory, t.number(11), MemoryKind::unknown));
      transfer.to = kind_on(sides.to, kind_of(kinds_.memory, t.number(12), MemoryKind::unknown));
      if (sides.from == Side::host && sides.to != Side::host && transfer.from == MemoryKind::unknown)
        transfer.direction = Direction::to_device;
      if (sides.to == Side::host && sides.from != Side::host && transfer.to == MemoryKind::unknown)
        transfer.direction = Direction::to_host;
      w->shape = shapes_.transfer(transfer);
      p_.works.push_back(*w);
    }
  }

  void memsets() {
    TableRows t = rows(kMemsets,
                       {"start", "end", "streamId", "correlationId", "contextId", "globalPid", "deviceId",
                        "graphNodeId", "graphId", "bytes", "memKind"},
                       4);
    while (t.next()) {
      auto w = work(t);
      if (!w) continue;
      w->kind = recording::WorkKind::memset;
      const MemoryKind kind = kind_of(kinds_.memory, t.number(10), MemoryKind::unknown);
      w->shape = shapes_.transfer({Bytes{std::max<std::int64_t>(0, t.number(9).value_or(0))}, kind, kind});
      p_.works.push_back(*w);
    }
  }

  void graphs() {
    TableRows t = rows(kGraphs,
                       {"start", "end", "streamId", "correlationId", "contextId", "globalPid", "deviceId",
                        "graphNodeId", "graphId"},
                       4);
    while (t.next()) {
      auto w = work(t);
      if (!w) continue;
      w->kind = recording::WorkKind::graph;
      p_.works.push_back(*w);
    }
  }

  // --- What follows what

  void waits() {
    TableRows t = rows(kSynchronisations, {"correlationId", "syncType", "globalPid", "contextId", "streamId",
                                           "eventId", "eventSyncId"});
    while (t.next()) {
      const auto correlation = t.number_as<std::uint32_t>(0);
      const auto type = t.number(1);
      const auto kind = type ? kinds_.waits.find(*type) : kinds_.waits.end();
      if (!correlation || kind == kinds_.waits.end()) continue;
      p_.waits.push_back({owners_.process_or_none(t.number(2)), *correlation, kind->second,
                          t.number_or<std::uint32_t>(3, kUnknown), t.number_or<std::uint32_t>(4, kUnknown),
                          t.number_or<std::uint64_t>(5, 0), t.number_or<std::uint64_t>(6, 0), 0});
    }
  }

  void events() {
    TableRows t =
        rows(kCudaEvents, {"correlationId", "globalPid", "contextId", "streamId", "eventId", "eventSyncId"});
    while (t.next())
      if (const auto correlation = t.number_as<std::uint32_t>(0))
        p_.events.push_back({owners_.process_or_none(t.number(1)), *correlation,
                             t.number_or<std::uint32_t>(2, kUnknown), t.number_or<std::uint32_t>(3, kUnknown),
                             t.number_or<std::uint64_t>(4, 0), t.number_or<std::uint64_t>(5, 0)});
  }

  // --- The rest

  void memory() {
    TableRows t = rows("CUDA_GPU_MEMORY_USAGE_EVENTS",
                       {"start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"});
    while (t.next()) {
      const auto at = t.number(0), who = t.number(1), bytes = t.number(3);
      if (!at || !is_time(*at) || !who || *who <= 0 || !bytes || *bytes < 0) continue;
      const Index of = owners_.process(*who);
      p_.memory.push_back({*at, of, owners_.gpu(of, t.number_or<std::uint32_t>(2, 0)),
                           kind_of(kinds_.memory, t.number(4), MemoryKind::unknown),
                           kind_of(kinds_.releases, t.number(5), false) ? -*bytes : *bytes});
    }
  }

  void ranges() {
    const std::initializer_list<const char*> columns{"start", "end",    "globalTid", "eventType",
                                                     "text",  "textId", "domainId"};
    std::map<std::pair<std::int64_t, std::int64_t>, std::string> domains;  // by process and number
    const auto domain_of = [](const TableRows& t) {
      return std::pair(t.number(2).value_or(0) >> kThreadBits, t.number(6).value_or(0));
    };
    const auto text_of = [&](const TableRows& t) { return t.text(4) ? string(t, 4) : string(t, 5); };
    for (TableRows t = rows(kNvtx, columns); t.next();)
      if (t.number(3) == kDomainCreate) domains[domain_of(t)] = text_of(t);
    for (TableRows t = rows(kNvtx, columns); t.next();) {
      const auto begin = t.number(0), end = t.number(1), who = t.number(2);
      if (!kind_of(kinds_.range_types, t.number(3), false) || !begin || !is_time(*begin) || !who || *who < 0)
        continue;
      const auto domain = domains.find(domain_of(t));
      const std::pair name(domain != domains.end() ? domain->second : std::string(), text_of(t));
      const Index named = range_names_.index(name, [&] {
        return recording::RangeName{name.first, name.second};
      });
      const bool ended = end && is_time(*end) && *end >= *begin;
      p_.ranges.push_back({owners_.thread(*who), named, *begin, ended ? end : std::nullopt});
    }
  }

  void streams() {
    for (TableRows t =
             rows("TARGET_INFO_CUDA_STREAM", {"processId", "contextId", "streamId", "flag", "priority"});
         t.next();) {
      const Index of = owners_.process_of_pid(t.number(0).value_or(-1));
      if (of == kNone) continue;
      p_.streams.push_back(
          {of, t.number_or<std::uint32_t>(1, kUnknown), t.number_or<std::uint32_t>(2, kUnknown),
           kind_of(kinds_.streams, t.number(3), recording::StreamKind::blocking),
           static_cast<std::int32_t>(std::clamp<std::int64_t>(t.number(4).value_or(0), -100, 100))});
    }
    for (TableRows t = rows("TARGET_INFO_CUDA_CONTEXT_INFO", {"processId", "contextId", "nullStreamId"});
         t.next();) {
      const Index of = owners_.process_of_pid(t.number(0).value_or(-1));
      if (of != kNone)
        p_.streams.push_back({of, t.number_or<std::uint32_t>(1, kUnknown),
                              t.number_or<std::uint32_t>(2, kUnknown), recording::StreamKind::null, 0});
    }
  }

  void names() {
    for (TableRows t = rows("ThreadNames", {"globalTid", "nameId|name"}); t.next();)
      if (const Index known = owners_.known_thread(t.number(0).value_or(-1)); known != kNone)
        p_.threads[known].name = string(t, 1);
    for (TableRows t = rows("PROCESSES", {"globalPid", "name"}); t.next();)
      if (const Index known = owners_.known_process(t.number(0).value_or(-1)); known != kNone)
        if (const std::string name = string(t, 1); !name.empty()) p_.processes[known].command = {name};
    if (p_.processes.size() != 1) return;
    std::map<std::int64_t, std::string> words;  // -1: the command
    const std::string_view command = "PROCESS_0:COMMAND", argument = "PROCESS_0:ARGUMENT_";
    for (TableRows t = rows("META_DATA_CAPTURE", {"name", "value"}); t.next();) {
      const std::string name(t.text(0).value_or(""));
      if (name == command) words[-1] = t.text(1).value_or("");
      if (name.starts_with(argument) && name.size() < argument.size() + 6)
        words[std::atoll(name.c_str() + argument.size())] = t.text(1).value_or("");
    }
    if (!words.contains(-1)) return;
    p_.processes[0].command.clear();
    for (auto& [place, word] : words) p_.processes[0].command.push_back(std::move(word));
  }

  ProfileTables tables_;
  Profile p_;
  NsysKinds kinds_;
  NsysOwners owners_;
  Functions functions_;
  DistinctShapes shapes_;
  DistinctRows<recording::RangeName, std::pair<std::string, std::string>> range_names_{p_.range_names};
  std::unordered_map<std::int64_t, std::string> strings_;
  std::unordered_map<std::int64_t, Index> functions_by_id_;
};

Profile read_nsys(const fs::path& file) { return NsysReader(file).read(); }

const ImporterRegistration registered_nsys{
    "nsys", "Nsight Systems: a report exported by `nsys export --type sqlite`", read_nsys};

}  // namespace
}  // namespace gangway::profile
