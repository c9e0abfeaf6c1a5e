#include "experiments/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "experiments/state_tracks.hpp"
#include "experiments/trace_file.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kClients = 1, kGpu = 2, kBlocks = 3, kStates = 4, kAccess = 5;         // processes
constexpr int kMostLanes = 1 << 12;                                                  // of an SM
constexpr int kOwner = 1, kCommands = 2, kCopyIn = 3, kCopyOut = 4, kScheduler = 5;  // threads of the GPU

double microseconds(Time time) { return static_cast<double>(time.ns) / 1000; }

// The process of a GPU: those after the first follow all others.
int gpu_process(std::size_t gpu) { return gpu == 0 ? kGpu : 9 + static_cast<int>(gpu); }
int gpu_process(const Record& r) { return gpu_process(r.gpu); }

// What names, the record at hand and what is still open may take when the file is full.
std::size_t reserve_of(const Workload& workload, std::int64_t gpus) {
  constexpr std::size_t kLongestEvent = 1 << 10;
  return kLongestEvent * (4 * workload.clients.size() + 8 * static_cast<std::size_t>(gpus) + 16);
}

// Turns records into trace events. A client's track shows one phase at a time; a GPU's tracks follow its one
// owner.
class Timeline : public TraceSink {
 public:
  Timeline(const Workload& workload, std::int64_t gpus, TraceFile& file)
      : file_(file),
        reserve_(reserve_of(workload, gpus)),
        workload_(&workload),
        phases_(workload.clients.size()),
        running_(workload.clients.size()),
        states_(workload, kStates, [this](const Json& event) { emit(event); }),
        gpus_(static_cast<std::size_t>(gpus)) {
    process(kClients, "clients");
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu)
      process(gpu_process(gpu), fmt::format("GPU {}", gpu));
    for (std::size_t c = 0; c < workload.clients.size(); ++c)
      thread(kClients, client_thread(c), workload.clients[c].name);
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      thread(gpu_process(gpu), kOwner, "owner");
      thread(gpu_process(gpu), kCommands, "commands");
      thread(gpu_process(gpu), kCopyIn, "copy h2d");
      thread(gpu_process(gpu), kCopyOut, "copy d2h");
    }
  }

  void record(const Record& r) override {
    if (closed_) return;
    now_ = r.time;
    if (r.time > counted_at_) show_counts();
    states_.record(r);
    draw(r);
    if (full_) close();
  }

  void blocks(const BlockSpan& span) override {
    if (closed_) return;
    for (const BlocksOnSm& here : span.where) draw(here, span);
    if (full_) close();
  }

  void uncertain(Duration clock) override { uncertain_ = clock; }
  std::optional<Duration> uncertainty() const { return uncertain_; }

  // Where the file was full, and everything else was left out.
  std::optional<Time> full_at() const { return full_ ? std::optional(now_) : std::nullopt; }
  // Of blocks on SMs that ran more at once than there are tracks for.
  std::int64_t spans_left_out() const { return left_out_; }

 private:
  void draw(const Record& r) {
    switch (r.mark) {
      case Mark::released:
        return instant(r, "arrived");
      case Mark::copy_begins:
        copying_.emplace(std::tuple(r.gpu, engine(r), r.job), r);
        // A host may copy its next job in while the one before runs.
        if (r.program_copy && phase(r).name != "running") enter(r, to_device(r) ? "copy in" : "copy out");
        return;
      case Mark::copy_ends:
        return copied(r);
      case Mark::eligible:
        return enter(r, "waiting");
      case Mark::submitted:
        begin_access();
        requests_.insert(r.launch);
        if (phase(r).name != "running") enter(r, "waiting");
        return;
      case Mark::access:
        return access(r);
      case Mark::killed:
      case Mark::refused:
        leave(r);
        return instant(r, name_of(r.mark).c_str());
      case Mark::issued:
        if (r.copy) return;
        native_.insert(r.launch);
        return count(r, 0, 1);
      case Mark::queued:
        if (r.copy) return;
        if (is_native(r)) enter(r, "waiting");
        queues_known_ = true;
        return count(r, 1, 0);
      case Mark::held:
        return;
      case Mark::dequeued:
        if (!r.copy) count(r, -1, 0);
        return;
      case Mark::launch_ordered:
        gpus_[r.gpu].launched = r.time;
        return;
      case Mark::started:
        if (is_native(r)) return enter(r, "running");
        if (requests_.erase(r.launch) == 0)
          span(gpu_process(r), kCommands, "launch", gpus_[r.gpu].launched, r);
        gpus_[r.gpu].owner = r;
        if (++running_[r.job.client.index] > 1) return;  // on another GPU
        return enter(r, "running");
      case Mark::paused:
        return enter(r, "waiting");
      case Mark::resumed:
        return enter(r, !is_native(r) && gpus_[r.gpu].evicting ? "draining" : "running");
      case Mark::evict_ordered:
        gpus_[r.gpu].command = r.time;
        gpus_[r.gpu].evicting = true;
        instant(r, "evict ordered");
        if (phase(r).name == "running") enter(r, "draining");
        return;
      case Mark::gone:
        if (native_.erase(r.launch) == 0) return gone(r);
        count(r, 0, -1);
        return leave(r);
      case Mark::left:
        span(gpu_process(r), kCommands, "pending work", gpus_[r.gpu].command, r);
        return;
      case Mark::finished:
        leave(r);
        return instant(r, "finished");
      case Mark::holds:
        return held(r);
      case Mark::merged:
        return instant(r, "merged");
      case Mark::decided:
        return decided(r);
      case Mark::ended:
        if (counted_) count(r, 0, 0), show_counts();  // up to here they stayed as they are
        return ended(r.time);
    }
  }

  // Spans come in the order of their ends. A track shows one at a time, so an SM has as many tracks as it ran
  // launches at once: each span goes where the last one ended latest before it begins.
  void draw(const BlocksOnSm& here, const BlockSpan& span) {
    if (lanes_.empty()) process(kBlocks, "blocks on SMs");
    if (lanes_.size() <= here.sm) lanes_.resize(here.sm + 1);
    std::vector<Time>& free_from = lanes_[here.sm];  // by lane
    auto best = free_from.end();
    for (auto lane = free_from.begin(); lane != free_from.end(); ++lane)
      if (*lane <= span.began && (best == free_from.end() || *lane > *best)) best = lane;
    const auto index = static_cast<std::uint32_t>(best - free_from.begin());
    if (index == kMostLanes) {
      ++left_out_;
      return;
    }
    const int tid = static_cast<int>(here.sm * kMostLanes + index);
    if (best == free_from.end()) {
      free_from.emplace_back();
      thread(kBlocks, tid, fmt::format("SM {}", here.sm));
    }
    const Duration length{span.waves * span.length.ns};
    free_from[index] = span.began + length;
    const Client& client = workload_->clients[span.job.client.index];
    const Kernel& kernel = client.kernels[span.kernel];
    emit({{"ph", "X"},
          {"name", client.name + " " + kernel.name},
          {"pid", kBlocks},
          {"tid", tid},
          {"ts", microseconds(span.began)},
          {"dur", microseconds(Time{length.ns})},
          {"args",
           {{"client", client.name},
            {"job", span.job.number},
            {"kernel", kernel.name},
            {"launch", span.launch.value},
            {"sm", here.sm},
            {"blocks", here.count},
            {"threads", kernel.threads()},
            {"waves", span.waves}}}});
  }

  // What does not fit any more is still written, out of the reserve: the record at hand, and what is open
  // then.
  void emit(const Json& event) {
    std::string text = (first_ ? "\n" : ",\n") + event.dump();
    first_ = false;
    full_ = full_ || !file_.fits(text.size() + reserve_);
    file_.write(text);
  }
  void close() {
    closed_ = true;
    states_.record({.time = now_});
    ended(now_);
  }

  // Lengths of queues are shown as they are when all of an instant has happened.
  void count(const Record& r, std::int64_t queued, std::int64_t in_streams) {
    queued_ += queued;
    in_streams_ += in_streams;
    counted_ = counts_changed_ = true;
    counted_at_ = r.time;
  }
  void show_counts() {
    if (!std::exchange(counts_changed_, false)) return;
    if (queues_known_) counter("primary queue", queued_);
    counter("streams", in_streams_);
  }
  void counter(const char* name, std::int64_t kernels) {
    emit({{"ph", "C"},
          {"name", name},
          {"pid", kGpu},
          {"tid", 0},
          {"ts", microseconds(counted_at_)},
          {"args", {{"kernels", kernels}}}});
  }

  struct Phase {
    std::string name;
    Time since;
    Record of{};
  };

  static int client_thread(std::size_t client) { return static_cast<int>(client) + 1; }
  static bool to_device(const Record& r) { return r.direction == Direction::restore; }
  static std::size_t engine(const Record& r) { return to_device(r) ? 0 : 1; }
  bool is_native(const Record& r) const { return native_.contains(r.launch); }
  Phase& phase(const Record& r) { return phases_[r.job.client.index]; }

  void process(int pid, const std::string& name) {
    emit({{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"tid", 0}, {"args", {{"name", name}}}});
  }
  void thread(int pid, int tid, const std::string& name) {
    emit({{"ph", "M"}, {"name", "thread_name"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
    emit({{"ph", "M"},
          {"name", "thread_sort_index"},
          {"pid", pid},
          {"tid", tid},
          {"args", {{"sort_index", tid}}}});
  }

  Json args(const Record& r) const {
    Json out{{"job", r.job.number},
             {"kernel", workload_->clients[r.job.client.index].kernels[r.kernel].name}};
    if (r.launch.value > 0) out["launch"] = r.launch.value;
    if (r.mark == Mark::left) out["done"] = r.amount;
    return out;
  }

  void decided(const Record& r) {
    if (!scheduler_) thread(kGpu, kScheduler, "scheduler");
    scheduler_ = true;
    emit({{"ph", "X"},
          {"name", "decide"},
          {"pid", kGpu},
          {"tid", kScheduler},
          {"ts", microseconds(r.time)},
          {"dur", microseconds(Time{r.amount})}});
  }

  void span(int pid, int tid, const std::string& name, Time from, const Record& r) {
    if (r.time <= from) return;
    emit({{"ph", "X"},
          {"name", name},
          {"pid", pid},
          {"tid", tid},
          {"ts", microseconds(from)},
          {"dur", microseconds(Time{(r.time - from).ns})},
          {"args", args(r)}});
  }

  void instant(const Record& r, const char* name) {
    emit({{"ph", "i"},
          {"s", "t"},
          {"name", name},
          {"pid", kClients},
          {"tid", client_thread(r.job.client.index)},
          {"ts", microseconds(r.time)},
          {"args", args(r)}});
  }

  void leave(const Record& r) {
    Phase& p = phase(r);
    if (!p.name.empty()) span(kClients, client_thread(r.job.client.index), p.name, p.since, r);
    p.name.clear();
  }
  void enter(const Record& r, const char* name) {
    leave(r);
    phase(r) = {name, r.time, r};
  }

  // How clients may submit that do so by themselves; all begin with direct access.
  void begin_access() {
    if (!accesses_.empty()) return;
    process(kAccess, "access");
    for (std::uint32_t c = 0; c < phases_.size(); ++c) {
      thread(kAccess, client_thread(c), workload_->clients[c].name);
      accesses_.push_back({"direct", {}, {.job = {ClientId{c}, 0}}});
    }
  }
  void access(const Record& r) {
    begin_access();
    Phase& now = accesses_[r.job.client.index];
    show_access(now, r.time);
    static constexpr std::array names{"direct", "intercept", "deny", "sampled"};
    now = {names[static_cast<std::size_t>(r.amount)], r.time, r};
  }
  void show_access(const Phase& phase, Time until) {
    if (until <= phase.since) return;
    emit({{"ph", "X"},
          {"name", phase.name},
          {"pid", kAccess},
          {"tid", client_thread(phase.of.job.client.index)},
          {"ts", microseconds(phase.since)},
          {"dur", microseconds(Time{(until - phase.since).ns})}});
  }

  void copied(const Record& r) {
    const std::string& client = workload_->clients[r.job.client.index].name;
    const auto begun = copying_.lower_bound({r.gpu, engine(r), r.job});
    span(gpu_process(r), to_device(r) ? kCopyIn : kCopyOut, client, begun->second.time, r);
    copying_.erase(begun);
    if (r.program_copy && phase(r).name.starts_with("copy")) leave(r);
  }

  void held(const Record& r) {
    emit({{"ph", "C"},
          {"name", "device memory"},
          {"pid", gpu_process(r)},
          {"tid", 0},
          {"ts", microseconds(r.time)},
          {"args", {{workload_->clients[r.job.client.index].name, r.amount}}}});
  }

  void gone(const Record& r) {
    const Client& client = workload_->clients[r.job.client.index];
    GpuTracks& gpu = gpus_[r.gpu];
    const Time owned = gpu.owner ? gpu.owner->time : r.time;
    span(gpu_process(r), kOwner, client.name + " " + client.kernels[r.kernel].name, owned, r);
    // An eviction ordered before the first block ran shares its time with the launch command, whose span is
    // drawn already.
    if (gpu.evicting) span(gpu_process(r), kCommands, "evict", std::max(gpu.command, owned), r);
    gpu.evicting = false;
    gpu.owner.reset();
    gpu.command = r.time;
    int& running = running_[r.job.client.index];
    if (running > 0) --running;
    if (running == 0) enter(r, "waiting");
  }

  // What is still going on when a horizon ends the run is drawn up to there.
  void ended(Time now) {
    for (const Phase& p : accesses_) show_access(p, now);
    for (const GpuTracks& gpu : gpus_) {
      if (!gpu.owner) continue;
      Record r = *gpu.owner;
      r.time = now;
      gone(r);
    }
    for (Phase& p : phases_) {
      Record r = p.of;
      r.time = now;
      leave(r);
    }
    for (const auto& [where, begun] : copying_) {
      Record r = begun;
      r.time = now;
      span(gpu_process(r), to_device(r) ? kCopyIn : kCopyOut, workload_->clients[r.job.client.index].name,
           begun.time, r);
    }
  }

  struct GpuTracks {
    Time launched;                // when the launch was ordered
    std::optional<Record> owner;  // how the launch that runs started
    Time command;                 // when the eviction or reading under way was ordered
    bool evicting = false;
  };

  TraceFile& file_;
  const std::size_t reserve_;
  bool first_ = true, full_ = false, closed_ = false;
  Time now_;  // of the last record
  const Workload* workload_;
  std::vector<Phase> phases_;
  std::vector<int> running_;  // by client: its launches on GPUs
  StateTracks states_;
  std::vector<GpuTracks> gpus_;
  // What began the copies under way, by GPU and engine; of one job the first that began first, as an engine
  // may copy several things at once.
  std::multimap<std::tuple<std::uint8_t, std::size_t, JobId>, Record> copying_;
  bool scheduler_ = false;  // its track is there
  std::set<LaunchId> native_;
  std::set<LaunchId> requests_;               // of clients that submit by themselves, that have not begun
  std::vector<Phase> accesses_;               // by client
  std::int64_t queued_ = 0, in_streams_ = 0;  // kernels: in primary queues; of native clients, in streams
  Time counted_at_;                           // when one of them changed last
  bool counted_ = false, counts_changed_ = false;
  bool queues_known_ = false;             // a real device does not tell of them
  std::vector<std::vector<Time>> lanes_;  // by SM: when each is free again
  std::int64_t left_out_ = 0;
  std::optional<Duration> uncertain_;  // of times that the device's clock told
};

std::string label(const Experiment& experiment, const Unit& unit) {
  return experiment.points[unit.point].policies[unit.policy].label;
}

Device device_of(const Experiment& experiment, const Unit& unit) {
  const Point point = experiment.points[unit.point];
  return point.device_of(point.policies[unit.policy]);
}

Workload workload_of(const Experiment& experiment, const Unit& unit) {
  const Point point = experiment.points[unit.point];
  return point.workload_of(point.policies[unit.policy]).draw(experiment.seed, unit.replication);
}

// What stands before the events. `timeline`: null before the run.
std::string head_of(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
                    const Timeline* timeline) {
  const Device& device = device_of(experiment, unit);
  Json other{{"experiment", experiment.name}, {"policy", label(experiment, unit)},
             {"point", unit.point},           {"replication", unit.replication},
             {"permutation", permutation},    {"layout", device.pool ? "pool" : "sm"},
             {"gpus", device.gpus},           {"sms", device.sms},
             {"threads", device.sm.threads}};
  if (timeline != nullptr) {
    if (const auto clock = timeline->uncertainty()) other["clock_uncertainty_ns"] = clock->ns;
    if (const auto full = timeline->full_at()) {
      other["full_at_ns"] = full->ns;
      other["left_out"] = "everything after that: the file may not be larger (--trace-limit)";
    }
    if (timeline->spans_left_out() > 0) other["spans_of_blocks_left_out"] = timeline->spans_left_out();
  }
  return R"({"displayTimeUnit":"ms","otherData":)" + other.dump() + R"(,"traceEvents":[)";
}

}  // namespace

struct ChromeTrace::State {
  State(const Experiment& experiment, const Unit& unit)
      : workload(workload_of(experiment, unit)), gpus(device_of(experiment, unit).gpus) {}
  void begin(const fs::path& path, const std::string& head, std::uint64_t most) {
    file.emplace(path, head, most);
    timeline.emplace(workload, gpus, *file);
  }
  Workload workload;
  std::int64_t gpus;
  std::optional<TraceFile> file;
  std::optional<Timeline> timeline;
};

ChromeTrace::ChromeTrace(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
                         const fs::path& file, std::uint64_t most)
    : experiment_(experiment), unit_(unit), permutation_(permutation) {
  auto state = std::make_unique<State>(experiment, unit);
  const std::string head = head_of(experiment, unit, permutation, nullptr);
  if (most >= head.size() + 2 * TraceFile::kLongerHead + reserve_of(state->workload, state->gpus)) {
    state->begin(file, head, most);
    state_ = std::move(state);
  }
}

ChromeTrace::~ChromeTrace() = default;

void ChromeTrace::record(const Record& record) {
  if (state_) state_->timeline->record(record);
}
void ChromeTrace::blocks(const BlockSpan& span) {
  if (state_) state_->timeline->blocks(span);
}
void ChromeTrace::uncertain(Duration clock) {
  if (state_) state_->timeline->uncertain(clock);
}
bool ChromeTrace::stopped() const { return !state_ || state_->timeline->full_at(); }

TraceEnd ChromeTrace::finish() {
  if (!state_) return {};
  state_->file->write("\n]}\n");
  const std::string head = head_of(experiment_, unit_, permutation_, &*state_->timeline);
  return {true, state_->file->finish(head), state_->timeline->full_at()};
}

TraceEnd write_chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                            std::uint32_t permutation, const fs::path& file, std::uint64_t most,
                            const std::atomic<bool>& stop) {
  ChromeTrace trace(experiment, unit, permutation, file, most);
  if (trace.stopped() || !play_traced(experiment, world, unit, permutation, trace, stop)) return {};
  return trace.finish();
}

std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation) {
  return fmt::format("point-{}-{}-r{}-p{}.json.gz", unit.point, label(experiment, unit), unit.replication,
                     permutation);
}

}  // namespace gangway
