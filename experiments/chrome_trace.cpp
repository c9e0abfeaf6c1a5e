#include "experiments/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "experiments/state_tracks.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kClients = 1, kGpu = 2, kBlocks = 3, kStates = 4, kAccess = 5;         // processes
constexpr int kMostLanes = 1 << 12;                                                  // of an SM
constexpr int kOwner = 1, kCommands = 2, kCopyIn = 3, kCopyOut = 4, kScheduler = 5;  // threads of the GPU

double microseconds(Time time) { return static_cast<double>(time.ns) / 1000; }

// The process of a GPU: those after the first follow all others.
int gpu_process(std::size_t gpu) { return gpu == 0 ? kGpu : 9 + static_cast<int>(gpu); }
int gpu_process(const Record& r) { return gpu_process(r.gpu); }

// Turns records into trace events. A client's track shows one phase at a time; a GPU's tracks follow its one
// owner.
class Timeline : public TraceSink {
 public:
  Timeline(const Workload& workload, std::int64_t gpus)
      : workload_(&workload),
        phases_(workload.clients.size()),
        running_(workload.clients.size()),
        states_(workload, kStates),
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
    if (r.time > counted_at_) show_counts();
    states_.record(r);
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
      case Mark::evict_ordered:
        gpus_[r.gpu].command = r.time;
        gpus_[r.gpu].evicting = true;
        instant(r, "evict ordered");
        if (phase(r).name == "running") enter(r, "draining");
        return;
      case Mark::gone:
        if (!is_native(r)) return gone(r);
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

  void blocks(const BlockSpan& span) override {
    for (const BlocksOnSm& here : span.where) {
      spans_.push_back({here, span});
      spans_.back().span.where = {};
    }
  }

  void uncertain(Duration clock) override { uncertain_ = clock; }
  std::optional<Duration> uncertainty() const { return uncertain_; }

  // The run must be over.
  const Json& events() {
    if (!std::exchange(drawn_, true)) {
      draw_blocks();
      const Json& states = states_.events();
      events_.insert(events_.end(), states.begin(), states.end());
    }
    return events_;
  }

 private:
  struct SpanOnSm {
    BlocksOnSm here;
    BlockSpan span;
  };

  // A track shows one span at a time, so an SM has as many as it ran launches at once.
  void draw_blocks() {
    const auto key = [](const SpanOnSm& s) { return std::tuple(s.here.sm, s.span.began, s.span.launch); };
    std::stable_sort(spans_.begin(), spans_.end(),
                     [&](const SpanOnSm& a, const SpanOnSm& b) { return key(a) < key(b); });
    if (!spans_.empty()) process(kBlocks, "blocks on SMs");
    std::uint32_t sm = 0;
    std::vector<Time> free_from;  // by lane
    for (const SpanOnSm& on_sm : spans_) {
      const BlocksOnSm& here = on_sm.here;
      const BlockSpan& span = on_sm.span;
      if (here.sm != sm) free_from.clear();
      sm = here.sm;
      const auto lane =
          std::find_if(free_from.begin(), free_from.end(), [&](Time t) { return t <= span.began; });
      const auto index = static_cast<std::uint32_t>(lane - free_from.begin());
      if (index == kMostLanes) continue;
      const int tid = static_cast<int>(sm * kMostLanes + index);
      if (lane == free_from.end()) {
        free_from.emplace_back();
        thread(kBlocks, tid, fmt::format("SM {}", sm));
      }
      const Duration length{span.waves * span.length.ns};
      free_from[index] = span.began + length;
      const Client& client = workload_->clients[span.job.client.index];
      const Kernel& kernel = client.kernels[span.kernel];
      events_.push_back({{"ph", "X"},
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
                           {"sm", sm},
                           {"blocks", here.count},
                           {"threads", kernel.threads()},
                           {"waves", span.waves}}}});
    }
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
    events_.push_back({{"ph", "C"},
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
    events_.push_back(
        {{"ph", "M"}, {"name", "process_name"}, {"pid", pid}, {"tid", 0}, {"args", {{"name", name}}}});
  }
  void thread(int pid, int tid, const std::string& name) {
    events_.push_back(
        {{"ph", "M"}, {"name", "thread_name"}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
    events_.push_back({{"ph", "M"},
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
    events_.push_back({{"ph", "X"},
                       {"name", "decide"},
                       {"pid", kGpu},
                       {"tid", kScheduler},
                       {"ts", microseconds(r.time)},
                       {"dur", microseconds(Time{r.amount})}});
  }

  void span(int pid, int tid, const std::string& name, Time from, const Record& r) {
    if (r.time <= from) return;
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"pid", pid},
                       {"tid", tid},
                       {"ts", microseconds(from)},
                       {"dur", microseconds(Time{(r.time - from).ns})},
                       {"args", args(r)}});
  }

  void instant(const Record& r, const char* name) {
    events_.push_back({{"ph", "i"},
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
    events_.push_back({{"ph", "X"},
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
    events_.push_back({{"ph", "C"},
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
  bool queues_known_ = false;  // a real device does not tell of them
  std::vector<SpanOnSm> spans_;
  bool drawn_ = false;
  std::optional<Duration> uncertain_;  // of times that the device's clock told
  Json events_ = Json::array();
};

const std::string& label(const Experiment& experiment, const Unit& unit) {
  return experiment.points[unit.point].policies[unit.policy].label;
}

const Device& device_of(const Experiment& experiment, const Unit& unit) {
  const Point& point = experiment.points[unit.point];
  return point.device_of(point.policies[unit.policy]);
}

Workload workload_of(const Experiment& experiment, const Unit& unit) {
  const Point& point = experiment.points[unit.point];
  return point.workload_of(point.policies[unit.policy]).draw(experiment.seed, unit.replication);
}

}  // namespace

struct ChromeTrace::State {
  State(const Experiment& experiment, const Unit& unit)
      : workload(workload_of(experiment, unit)), timeline(workload, device_of(experiment, unit).gpus) {}
  Workload workload;
  Timeline timeline;
};

ChromeTrace::ChromeTrace(const Experiment& experiment, const Unit& unit, std::uint32_t permutation)
    : experiment_(experiment),
      unit_(unit),
      permutation_(permutation),
      state_(std::make_unique<State>(experiment, unit)) {}

ChromeTrace::~ChromeTrace() = default;

void ChromeTrace::record(const Record& record) { state_->timeline.record(record); }

void ChromeTrace::blocks(const BlockSpan& span) { state_->timeline.blocks(span); }

void ChromeTrace::uncertain(Duration clock) { state_->timeline.uncertain(clock); }

std::string ChromeTrace::text() const {
  const Device& device = device_of(experiment_, unit_);
  Json json{{"displayTimeUnit", "ms"},
            {"otherData",
             {{"experiment", experiment_.name},
              {"policy", label(experiment_, unit_)},
              {"point", unit_.point},
              {"replication", unit_.replication},
              {"permutation", permutation_},
              {"layout", device.pool ? "pool" : "sm"},
              {"gpus", device.gpus},
              {"sms", device.sms},
              {"threads", device.sm.threads}}},
            {"traceEvents", state_->timeline.events()}};
  if (const auto clock = state_->timeline.uncertainty())
    json["otherData"]["clock_uncertainty_ns"] = clock->ns;
  return json.dump() + "\n";
}

std::string chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                         std::uint32_t permutation) {
  ChromeTrace trace(experiment, unit, permutation);
  play_traced(experiment, world, unit, permutation, trace);
  return trace.text();
}

std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation) {
  return fmt::format("point-{}-{}-r{}-p{}.json", unit.point, label(experiment, unit), unit.replication,
                     permutation);
}

}  // namespace gangway
