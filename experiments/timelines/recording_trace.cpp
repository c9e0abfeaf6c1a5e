#include "experiments/timelines/recording_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/timelines/lanes.hpp"
#include "experiments/timelines/trace_file.hpp"
#include "models/recording/summary.hpp"

namespace gangway {
namespace {

namespace rec = recording;
using Json = nlohmann::ordered_json;
using rec::Index;
using rec::kNone;

// Processes of the trace: the jobs, then host and GPU of each recorded process.
constexpr int kJobs = 1;
int host_process(Index process) { return 2 + 2 * static_cast<int>(process); }
int gpu_of_process(Index process) { return 3 + 2 * static_cast<int>(process); }
// A thread's ranges stand above its calls.
int range_track(Index thread) { return 1 + 2 * static_cast<int>(thread); }
int call_track(Index thread) { return 2 + 2 * static_cast<int>(thread); }

constexpr std::size_t kLongestName = 120;
constexpr std::size_t kReserve = 256;  // for the end of the file

double in_microseconds(std::int64_t ns) { return static_cast<double>(ns) / 1000; }

std::string dims(const rec::Dim& d) { return fmt::format("{} x {} x {}", d.x, d.y, d.z); }

class RecordingTrace {
 public:
  RecordingTrace(const rec::Recording& r, TraceFile& file) : r_(r), file_(file) {
    for (const rec::Launch& launch : r.launches)
      names_.push_back(rec::plain_name(launch.kernel).substr(0, kLongestName));
  }

  bool name_tracks() {
    process(kJobs, "jobs", 0);
    for (Index p = 0; p < r_.processes.size(); ++p) {
      const rec::Process& recorded = r_.processes[p];
      const std::string name = recorded.command.empty() ? "" : " " + recorded.command.front();
      process(host_process(p), fmt::format("process {}{}", recorded.pid, name), 2 * static_cast<int>(p) + 1);
      process(gpu_of_process(p), fmt::format("GPU work of process {}", recorded.pid),
              2 * static_cast<int>(p) + 2);
    }
    for (Index t = 0; t < r_.threads.size(); ++t) {
      const int owner = host_process(r_.threads[t].process);
      thread(owner, range_track(t), thread_name("ranges of", t));
      thread(owner, call_track(t), thread_name("calls of", t));
      thread(kJobs, call_track(t), thread_name("thread", t));
    }
    for (Index s = 0; s < r_.streams.size(); ++s)
      thread(gpu_of_process(r_.contexts[r_.streams[s].context].process), stream_track(s), stream_name(s));
    return !full_at_;
  }

  // All in the order of time, so that a file that may not be longer ends at one instant.
  void write() {
    std::size_t job = 0, range = 0, change = 0, work = 0;
    std::vector<std::int64_t> held(r_.gpus.size() * r_.processes.size());
    const auto up_to = [&](Time time) {
      for (; job < r_.jobs.size() && r_.jobs[job].begin <= time; ++job) put_job(job);
      for (; range < r_.ranges.size() && r_.ranges[range].begin <= time; ++range) put(r_.ranges[range]);
      for (; change < r_.memory.size() && r_.memory[change].at <= time; ++change)
        put(r_.memory[change], held);
    };
    for (Index call = 0; call < r_.calls.size() && !full_at_; ++call) {
      up_to(r_.calls[call].begin);
      put_call(call);
      for (; work < r_.works.size() && r_.works[work].call == call; ++work) put_work(work);
    }
    up_to(Time::max());
  }

  std::optional<Time> full_at() const { return full_at_; }

 private:
  static int stream_track(Index stream) { return static_cast<int>(stream) + 1; }
  int thread_tracks() const { return call_track(static_cast<Index>(r_.threads.size())); }
  std::string thread_name(const char* what, Index thread) const {
    return fmt::format("{} {} {}", what, r_.threads[thread].tid, r_.threads[thread].name);
  }
  std::string stream_name(Index number) const {
    const rec::Stream& stream = r_.streams[number];
    return fmt::format("GPU {} stream {}{}", r_.contexts[stream.context].gpu, stream.number,
                       stream.kind == rec::StreamKind::null ? " (null stream)" : "");
  }
  // The track of a lane: the thing's own, or one behind all those that such things have. It gets its name
  // when it is first used.
  template <typename Name>
  int lane(int process, int first, std::size_t number, int all, Name name) {
    if (number == 0) return first;
    const int track = first + all * static_cast<int>(number);
    if (named_.insert({process, track}).second)
      thread(process, track, fmt::format("{} ({})", std::string(name()), number + 1));
    return track;
  }

  void put_job(std::size_t number) {
    const rec::Job& job = r_.jobs[number];
    const Index thread = job.thread;
    const int first = thread == kNone ? 0 : call_track(thread);
    const int track =
        lane(kJobs, first, job_lanes_[first].place(job.begin, job.begin + job.length), thread_tracks(),
             [&] { return thread == kNone ? "jobs" : thread_name("thread", thread); });
    Json event = span(kJobs, track, job.begin, job.length,
                      fmt::format("job {}{}", number, job.warm_up ? " (warm-up)" : ""));
    emit(event, job.begin);
  }
  void put(const rec::Range& range) {
    const rec::RangeName& name = r_.range_names[range.name];
    const Duration length = range.length ? *range.length : Duration{0};
    const int owner = host_process(r_.threads[range.thread].process), first = range_track(range.thread);
    const int track = lane(owner, first, range_lanes_[first].nest(range.begin, range.begin + length),
                           thread_tracks(), [&] { return thread_name("ranges of", range.thread); });
    Json event = span(owner, track, range.begin, length,
                      name.domain.empty() ? name.name : name.domain + "/" + name.name);
    if (!range.length) event["args"] = {{"end", "never"}};
    emit(event, range.begin);
  }
  void put(const rec::MemoryChange& m, std::vector<std::int64_t>& held) {
    if (m.kind != rec::MemoryKind::device) return;
    std::int64_t& now = held[m.process * r_.gpus.size() + m.gpu];
    now += m.bytes;
    emit({{"ph", "C"},
          {"name", fmt::format("memory of GPU {}", m.gpu)},
          {"pid", gpu_of_process(m.process)},
          {"tid", 0},
          {"ts", in_microseconds(m.at.ns)},
          {"args", {{"bytes", now}}}},
         m.at);
  }
  void put_call(Index number) {
    const rec::Call& call = r_.calls[number];
    Json event = span(host_process(r_.threads[call.thread].process), call_track(call.thread), call.begin,
                      call.length, r_.functions[call.function].name);
    event["args"] = {{"call", number}};
    if (call.job != kNone) event["args"]["job"] = call.job;
    if (call.result != 0) event["args"]["result"] = call.result;
    emit(event, call.begin);
  }
  void put_work(std::size_t number) {
    const rec::Work& work = r_.works[number];
    const rec::Call& call = r_.calls[work.call];
    const int owner = gpu_of_process(r_.contexts[r_.streams[work.stream].context].process);
    const int track = lane(owner, stream_track(work.stream),
                           work_lanes_[work.stream].place(work.begin, work.begin + work.length),
                           static_cast<int>(r_.streams.size()), [&] { return stream_name(work.stream); });
    Json event = span(owner, track, work.begin, work.length, name_of(work));
    Json args{{"call", work.call}};
    if (call.job != kNone) args["job"] = call.job;
    describe(work, args);
    event["args"] = args;
    emit(event, call.begin);
    const auto arrow = [&](const char* phase, int pid, int tid, Time at) {
      Json flow{{"ph", phase}, {"name", "submission"}, {"cat", "submission"},         {"id", number},
                {"pid", pid},  {"tid", tid},           {"ts", in_microseconds(at.ns)}};
      if (*phase == 'f') flow["bp"] = "e";
      emit(flow, call.begin);
    };
    arrow("s", host_process(r_.threads[call.thread].process), call_track(call.thread), call.begin);
    arrow("f", owner, track, work.begin);
  }
  std::string name_of(const rec::Work& work) const {
    switch (work.kind) {
      case rec::WorkKind::kernel:
        return names_[work.shape];
      case rec::WorkKind::copy:
        return "copy";
      case rec::WorkKind::memset:
        return "memset";
      case rec::WorkKind::graph:
        break;
    }
    return fmt::format("graph {}", work.shape);
  }
  void describe(const rec::Work& work, Json& args) const {
    if (work.kind == rec::WorkKind::kernel) {
      const rec::Launch& l = r_.launches[work.shape];
      args["grid"] = dims(l.grid);
      args["block"] = dims(l.block);
      if (l.cluster.x > 0) args["cluster"] = dims(l.cluster);
      args["registers"] = l.registers;
      args["shared memory"] = fmt::format("{} + {}", l.static_shared.count, l.dynamic_shared.count);
    } else if (work.kind != rec::WorkKind::graph) {
      args["bytes"] = r_.transfers[work.shape].bytes.count;
    }
  }

  Json span(int pid, int tid, Time begin, Duration length, const std::string& name) const {
    return {{"ph", "X"},
            {"name", name},
            {"pid", pid},
            {"tid", tid},
            {"ts", in_microseconds(begin.ns)},
            {"dur", in_microseconds(length.ns)}};
  }
  void process(int pid, const std::string& name, int place) {
    emit({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"tid", 0}, {"args", {{"name", name}}}},
         Time{});
    emit({{"ph", "M"},
          {"name", "process_sort_index"},
          {"pid", pid},
          {"tid", 0},
          {"args", {{"sort_index", place}}}},
         Time{});
  }
  void thread(int pid, int tid, const std::string& name) {
    emit({{"ph", "M"}, {"name", "thread_name"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}},
         Time{});
  }

  void emit(const Json& event, Time at) {
    if (full_at_) return;
    const std::string text =
        (first_ ? "\n" : ",\n") + event.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!file_.fits(text.size() + kReserve)) {
      full_at_ = at;
      return;
    }
    first_ = false;
    file_.write(text);
  }

  const rec::Recording& r_;
  TraceFile& file_;
  std::vector<std::string> names_;                // of launches
  std::map<int, Lanes> job_lanes_, range_lanes_;  // by first track
  std::map<Index, Lanes> work_lanes_;             // by stream
  std::set<std::pair<int, int>> named_;           // further lanes: process and track
  bool first_ = true;
  std::optional<Time> full_at_;
};

}  // namespace

std::optional<RecordingTraceEnd> write_recording_trace(const rec::Recording& recording,
                                                       const std::filesystem::path& path,
                                                       std::uint64_t most) {
  const std::string head = R"({"displayTimeUnit":"ms","otherData":)" +
                           Json{{"command", recording.about.command}, {"jobs", recording.about.jobs}}.dump(
                               -1, ' ', false, Json::error_handler_t::replace) +
                           R"(,"traceEvents":[)";
  if (most < head.size() + 2 * TraceFile::kLongerHead + kReserve) return std::nullopt;
  TraceFile file(path, head, most);
  RecordingTrace trace(recording, file);
  if (!trace.name_tracks()) return std::nullopt;
  trace.write();
  file.write("\n]}\n");
  return RecordingTraceEnd{file.finish(head), trace.full_at()};
}

}  // namespace gangway
