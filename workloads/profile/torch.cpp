// PyTorch's profiler (Kineto): what export_chrome_trace() and tensorboard_trace_handler() write, as .json or
// .json.gz. Categories and arguments are those of libkineto's output_json.cpp and CuptiActivity.cpp; versions
// before 2022 called the categories "Kernel", "Memcpy", "Memset", "Runtime" and "Operator".
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "workloads/profile/chrome_events.hpp"
#include "workloads/profile/distinct_rows.hpp"
#include "workloads/profile/importer.hpp"

namespace gangway::profile {
namespace {

namespace fs = std::filesystem;
using recording::MemoryKind;

constexpr std::string_view kStep = "ProfilerStep#";

enum class Category { other, kernel, copy, memset, call, range, sync, event };

Category category_of(const ChromeEvent& e) {
  static const std::unordered_map<std::string_view, Category> known{
      {"kernel", Category::kernel},     {"Kernel", Category::kernel},
      {"gpu_memcpy", Category::copy},   {"Memcpy", Category::copy},
      {"gpu_memset", Category::memset}, {"Memset", Category::memset},
      {"cuda_runtime", Category::call}, {"cuda_driver", Category::call},
      {"Runtime", Category::call},      {"user_annotation", Category::range},
      {"cuda_sync", Category::sync},    {"cuda_event", Category::event}};
  const auto found = known.find(e.category);
  if (found != known.end()) return found->second;
  const bool old_step = (e.category == "Operator" || e.category == "cpu_op") && e.name.starts_with(kStep);
  return old_step ? Category::range : Category::other;
}

std::optional<MemoryKind> kind_in_words(std::string_view words) {
  static const std::unordered_map<std::string_view, MemoryKind> known{
      {"Pageable", MemoryKind::pageable},
      {"Pinned", MemoryKind::pinned},
      {"Device", MemoryKind::device},
      {"Array", MemoryKind::array},
      {"Managed", MemoryKind::managed},
      {"Device Static", MemoryKind::device_static},
      {"Managed Static", MemoryKind::managed_static}};
  const auto found = known.find(words);
  if (found == known.end()) return std::nullopt;
  return found->second;
}

// "Memcpy HtoD (Pageable -> Device)", or without what is in brackets.
Transfer copy_in_words(std::string_view name) {
  Transfer t;
  const std::size_t open = name.find('('), arrow = name.find(" -> "), close = name.rfind(')');
  if (open < arrow && arrow < close && close != std::string_view::npos) {
    t.from = kind_in_words(name.substr(open + 1, arrow - open - 1)).value_or(MemoryKind::unknown);
    t.to = kind_in_words(name.substr(arrow + 4, close - arrow - 4)).value_or(MemoryKind::unknown);
  }
  const auto is = [&](std::string_view direction) {
    return name.substr(0, open).find(direction) != std::string_view::npos;
  };
  if (is("HtoD")) {
    if (t.to == MemoryKind::unknown) t.to = MemoryKind::device;
    if (t.from == MemoryKind::unknown) t.direction = Direction::to_device;
  } else if (is("DtoH")) {
    if (t.from == MemoryKind::unknown) t.from = MemoryKind::device;
    if (t.to == MemoryKind::unknown) t.direction = Direction::to_host;
  } else if (is("DtoD") || is("PtoP")) {
    for (MemoryKind* kind : {&t.from, &t.to})
      if (*kind == MemoryKind::unknown) *kind = MemoryKind::device;
  }
  return t;
}

class TorchReader {
 public:
  explicit TorchReader(const fs::path& file) : file_(file), functions_(p_.functions), shapes_(p_) {}

  Profile read() {
    const ChromeTrace trace = read_chrome_trace(file_, [this](ChromeEvent& e) { take(e); });
    for (const ChromeTrace::Device& device : trace.devices)
      if (const auto known = gpus_.find(device.id); known != gpus_.end()) p_.gpus[known->second] = device.gpu;
    for (const auto& [process, name] : process_names_)
      if (const auto known = processes_.find(process); known != processes_.end())
        p_.processes[known->second].command = {name};
    for (const auto& [thread, name] : thread_names_)
      if (const auto known = threads_.find(thread); known != threads_.end())
        p_.threads[known->second].name = name;
    p_.source = "PyTorch's profiler";
    p_.epoch = trace.base.value_or(0);
    if (trace.cupti > 0) p_.about.cupti = std::to_string(trace.cupti);
    return std::move(p_);
  }

 private:
  void take(ChromeEvent& e) {
    if (e.phase == "M") return take_metadata(e);
    if (e.phase != "X") return;
    const Category category = category_of(e);
    if (category == Category::other) return;
    const std::int64_t length = e.length.value_or(0);
    const bool works =
        category == Category::kernel || category == Category::copy || category == Category::memset;
    if (e.senseless || !e.has_begin || (works && !e.length) || length < 0 || e.begin + length > kLatestTime) {
      ++p_.lost;
      return;
    }
    switch (category) {
      case Category::kernel:
        return take_kernel(e);
      case Category::copy:
        return take_copy(e);
      case Category::memset:
        return take_memset(e);
      case Category::call:
        return take_call(e);
      case Category::range:
        return take_range(e);
      case Category::sync:
        return take_sync(e);
      case Category::event:
        return take_event(e);
      case Category::other:
        return;
    }
  }

  void take_metadata(ChromeEvent& e) {
    if (e.name == "process_name" && !e.named.empty()) process_names_[e.process] = e.named;
    if (e.name == "thread_name" && !e.named.empty()) thread_names_[{e.process, e.thread}] = e.named;
  }

  // --- Who. Processes and threads are numbers, or words where they are none of the system's.

  static std::uint32_t as_number(const std::string& text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return static_cast<std::uint32_t>(number);
  }
  Index process(const std::string& id) {
    const auto [place, is_new] = processes_.try_emplace(id, static_cast<Index>(p_.processes.size()));
    if (is_new) p_.processes.push_back({as_number(id), {}});
    return place->second;
  }
  Index thread(const ChromeEvent& e) {
    if (last_thread_ != kNone && e.thread == last_thread_id_ && e.process == last_process_id_)
      return last_thread_;
    const auto [place, is_new] =
        threads_.try_emplace({e.process, e.thread}, static_cast<Index>(p_.threads.size()));
    if (is_new) p_.threads.push_back({process(e.process), as_number(e.thread), {}});
    last_thread_ = place->second;
    last_thread_id_ = e.thread;
    last_process_id_ = e.process;
    return last_thread_;
  }
  Index gpu(std::int64_t device) {
    const auto [place, is_new] = gpus_.try_emplace(device, static_cast<Index>(p_.gpus.size()));
    if (is_new) p_.gpus.emplace_back();
    return place->second;
  }

  // --- What

  static std::uint32_t small(std::optional<std::int64_t> value, std::uint32_t otherwise) {
    return value && *value >= 0 && *value <= UINT32_MAX ? static_cast<std::uint32_t>(*value) : otherwise;
  }

  Work work(const ChromeEvent& e) {
    Work w;
    w.begin = e.begin;
    w.end = e.begin + e.length.value_or(0);
    w.gpu = gpu(e[Argument::device].value_or(as_number(e.process)));  // of old traces: where it stands
    w.context = small(e[Argument::context], kUnknown);
    w.stream = small(e[Argument::stream], kUnknown);
    w.correlation = small(e[Argument::correlation], 0);
    w.graph = small(e[Argument::graph], 0);
    w.node = static_cast<std::uint64_t>(std::max<std::int64_t>(0, e[Argument::node].value_or(0)));
    return w;
  }

  void take_kernel(ChromeEvent& e) {
    Work w = work(e);
    recording::Launch l;
    l.kernel = std::move(e.name);
    l.grid = e.grid;
    l.block = e.block;
    l.registers = small(e[Argument::registers], 0);
    l.dynamic_shared = Bytes{small(e[Argument::shared_memory], 0)};  // both kinds together
    w.shape = shapes_.launch(l);
    p_.works.push_back(w);
    note_priority(w, e);
  }
  void take_copy(const ChromeEvent& e) {
    Work w = work(e);
    w.kind = recording::WorkKind::copy;
    Transfer t = copy_in_words(e.name);
    t.bytes = Bytes{std::max<std::int64_t>(0, e[Argument::bytes].value_or(0))};
    w.shape = shapes_.transfer(t);
    p_.works.push_back(w);
  }
  void take_memset(const ChromeEvent& e) {
    Work w = work(e);
    w.kind = recording::WorkKind::memset;
    const std::string_view name = e.name;  // "Memset (Device)"
    const std::size_t open = name.find('('), close = name.rfind(')');
    MemoryKind kind = MemoryKind::unknown;
    if (open < close && close != std::string_view::npos)
      kind = kind_in_words(name.substr(open + 1, close - open - 1)).value_or(MemoryKind::unknown);
    w.shape =
        shapes_.transfer({Bytes{std::max<std::int64_t>(0, e[Argument::bytes].value_or(0))}, kind, kind});
    p_.works.push_back(w);
  }
  // Of the stream; written since 2025.
  void note_priority(const Work& w, const ChromeEvent& e) {
    const auto priority = e[Argument::priority];
    if (!priority || *priority < -100 || *priority > 100) return;
    const auto [place, is_new] = priorities_.try_emplace({w.context, w.stream}, true);
    if (is_new)
      p_.streams.push_back({kNone, w.context, w.stream, recording::StreamKind::blocking,
                            static_cast<std::int32_t>(*priority)});
  }

  void take_call(ChromeEvent& e) {
    const Index function = functions_.index(e.name);
    if (function == kNone) return;
    // Traces do not say what the answer was.
    if (p_.functions[function].kind == recording::CallKind::query) return;
    p_.calls.push_back({e.begin, e.begin + e.length.value_or(0), thread(e), function,
                        small(e[Argument::correlation], 0), 0});
  }

  void take_range(ChromeEvent& e) {
    const Index name = range_names_.index(e.name, [&] { return recording::RangeName{"", e.name}; });
    p_.ranges.push_back(
        {thread(e), name, e.begin, e.length ? std::optional(e.begin + *e.length) : std::nullopt});
  }

  void take_sync(const ChromeEvent& e) {
    Wait w;
    const std::string& kind = e.sync_kind.empty() ? e.name : e.sync_kind;
    if (kind == "Event Sync")
      w.kind = WaitKind::event;
    else if (kind == "Stream Wait Event")
      w.kind = WaitKind::stream_for_event;
    else if (kind == "Stream Sync")
      w.kind = WaitKind::stream;
    else if (kind == "Context Sync")
      w.kind = WaitKind::context;
    else
      return;
    w.correlation = small(e[Argument::correlation], 0);
    w.context = small(e[Argument::context], kUnknown);
    w.stream = small(e[Argument::stream], kUnknown);
    w.event = static_cast<std::uint64_t>(std::max<std::int64_t>(0, e[Argument::wait_on_event].value_or(0)));
    w.recorded_by = small(e[Argument::wait_on_record], 0);
    if (w.correlation == 0) return;
    p_.waits.push_back(w);
    // Older traces tell of a recording only there.
    const std::uint32_t of = small(e[Argument::wait_on_stream], kUnknown);
    if (w.recorded_by != 0 && of != kUnknown)
      p_.events.push_back({kNone, w.recorded_by, w.context, of, w.event, 0});
  }
  void take_event(const ChromeEvent& e) {
    const std::uint32_t correlation = small(e[Argument::correlation], 0);
    if (correlation == 0) return;
    p_.events.push_back(
        {kNone, correlation, small(e[Argument::context], kUnknown), small(e[Argument::stream], kUnknown),
         static_cast<std::uint64_t>(std::max<std::int64_t>(0, e[Argument::event].value_or(0))), 0});
  }

  fs::path file_;
  Profile p_;
  Functions functions_;
  DistinctShapes shapes_;
  DistinctRows<recording::RangeName, std::string> range_names_{p_.range_names};
  std::map<std::string, Index> processes_;
  std::map<std::pair<std::string, std::string>, Index> threads_;
  std::map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::map<std::int64_t, Index> gpus_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> priorities_;
  Index last_thread_ = kNone;
  std::string last_thread_id_, last_process_id_;
};

Profile read_torch(const fs::path& file) { return TorchReader(file).read(); }

const ImporterRegistration registered_torch{
    "torch", "PyTorch's profiler: its Chrome traces, .json or .json.gz", read_torch};

}  // namespace
}  // namespace gangway::profile
