#include "experiments/running/scaled_alone.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "experiments/running/unmanaged_runs.hpp"
#include "models/rational.hpp"
#include "models/recording/summary.hpp"

namespace gangway {
namespace {

struct PlayedAlone {
  std::vector<Duration> lengths;  // by job of the recording
  Time first = Time::max(), last;
  Duration span() const { return last - first; }
};

// Takes what each job of the recording lasted. A release says as its standalone time which one is played.
class LengthsByJob : public TraceSink {
 public:
  explicit LengthsByJob(PlayedAlone& played) : played_(played) {}

  void record(const Record& record) override {
    if (record.mark == Mark::released) {
      open_[record.job.number] = {record.time, static_cast<std::size_t>(record.amount)};
      played_.first = std::min(played_.first, record.time);
    } else if (record.mark == Mark::finished) {
      const auto job = open_.find(record.job.number);
      played_.lengths[job->second.played] = record.time - job->second.began;
      played_.last = std::max(played_.last, record.time);
      open_.erase(job);
    }
  }

 private:
  struct Open {
    Time began;
    std::size_t played = 0;
  };
  PlayedAlone& played_;
  std::unordered_map<std::uint32_t, Open> open_;
};

// The client as it was recorded: nobody else there, and no releases but its own.
Client by_itself(const Client& client, std::shared_ptr<const Recorded> recorded) {
  Client alone;
  alone.name = client.name;
  alone.frames_in_flight = UINT32_MAX;
  alone.repeat.jobs = recorded->to - recorded->from;
  alone.recorded = std::move(recorded);
  return alone;
}

// With these scales and nothing else on the device.
PlayedAlone played_alone(const Client& client, const Recorded& recorded, const Device& device) {
  auto marked = std::make_shared<Recorded>(recorded);
  marked->once = true;
  marked->own_pace = true;
  marked->drawn = false;
  marked->scaled.clear();
  for (std::size_t j = 0; j < marked->program->job_count(); ++j)
    marked->scaled.push_back({static_cast<std::int64_t>(j)});

  Device own = device;
  own.gpus = 1;
  if (!own.time_slice || marked->program->contexts() == 1) own.arbitration = Arbitration::mps;  // no turns
  Workload workload;
  workload.clients.push_back(by_itself(client, marked));
  PlayedAlone played{std::vector<Duration>(marked->program->job_count()), Time::max(), {}};
  LengthsByJob sink(played);
  UnmanagedRuns(workload, own).play(1, sink);
  return played;
}

Duration mean(const std::vector<Duration>& lengths, const Recorded& of) {
  Duration all;
  for (recording::Index j = of.from; j < of.to; ++j) all += lengths[j];
  return {all.ns / static_cast<std::int64_t>(of.to - of.from)};
}

// Host scales found before, as a sweep asks for them at every point.
class FoundScales {
 public:
  using Key = std::tuple<std::string, recording::Index, recording::Index, std::int64_t, bool>;

  std::optional<double> find(const Recorded& recorded) {
    const std::lock_guard lock(mutex_);
    const auto found = scales_.find(key(recorded));
    if (found == scales_.end() || found->second.program.lock() != recorded.program) return std::nullopt;
    return found->second.scale;
  }
  void add(const Recorded& recorded, double scale) {
    const std::lock_guard lock(mutex_);
    scales_[key(recorded)] = {recorded.program, scale};
  }

 private:
  struct Found {
    std::weak_ptr<const recording::PlayedProgram> program;
    double scale = 1;
  };
  static Key key(const Recorded& r) {
    return {r.file, r.from, r.to, r.unrecorded->time.ns, r.unrecorded->of_recording};
  }

  std::mutex mutex_;
  std::map<Key, Found> scales_;
};

// Of the client's jobs with the host at some scale, played alone on a device that costs nothing, so that the
// scale is the recording's own.
class ByHostScale {
 public:
  static constexpr int kUnit = 10'000;  // the host as recorded

  ByHostScale(const Client& client, const Recorded& recorded) : client_(client), tried_(recorded) {
    tried_.kernel_scale = 1;
    if (!by_median()) return;
    tried_.from = 0;
    tried_.to = static_cast<recording::Index>(tried_.program->job_count());
  }

  // Their median, or mean, whichever is wanted.
  Duration played(int scale) {
    tried_.host_scale = static_cast<double>(scale) / kUnit;
    std::vector<Duration> lengths = played_alone(client_, tried_, Device{}).lengths;
    return by_median() ? recording::median_of(std::move(lengths)) : mean(lengths, tried_);
  }
  Duration recorded() const { return by_median() ? recording::median_job(*tried_.program) : tried_.job; }

 private:
  bool by_median() const { return tried_.unrecorded->of_recording; }

  const Client& client_;
  Recorded tried_;
};

// The larger one of the last two, of which the smaller one makes jobs too short.
int bisected(ByHostScale& jobs, const Rational& target, int low, int high) {
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (Rational(jobs.played(middle).ns) < target ? low : high) = middle;
  }
  return high;
}

// At which the recorder's host would be as fast as unrecorded. Where the GPU is the bottleneck, many would
// do: the slowest host that costs jobs next to nothing.
int scale_of_recorder(ByHostScale& jobs, const Rational& target) {
  constexpr int kLeast = 2'500;  // a recorder makes calls longer, but not by so much
  constexpr std::int64_t kExplained = 98, kChance = 1'005;  // per cent, per mille
  const std::int64_t fast = jobs.played(kLeast).ns;
  if (target < Rational(fast * kExplained) / Rational(100)) return ByHostScale::kUnit;
  const Rational within = std::max(target, Rational(fast * kChance) / Rational(1'000));
  if (!(within < Rational(jobs.played(ByHostScale::kUnit).ns))) return ByHostScale::kUnit;
  return bisected(jobs, within, kLeast, ByHostScale::kUnit);
}

// Times are relative to the played recording, so that a program that is not played to the nanosecond keeps
// its small error instead of hiding it in the host.
double host_scale_of(const Client& client, const Recorded& recorded) {
  static FoundScales found;
  if (const auto known = found.find(recorded)) return *known;
  if (recorded.job == Duration{}) return 1;  // no scale changes that
  constexpr int kLeast = 10, kMost = 100'000;
  ByHostScale jobs(client, recorded);
  const TimeAlone& wanted = *recorded.unrecorded;
  // By as much as the model is off for the recording as it is, it may be off here.
  const Rational off = Rational(jobs.played(ByHostScale::kUnit).ns) / Rational(jobs.recorded().ns);
  const Rational target = Rational(wanted.time.ns) * off;
  const auto refuse = [&](const char* which, Duration limit, const char* host) {
    const Duration shown{std::llround((Rational(limit.ns) / off).number())};
    throw InputError(wanted.origin, wanted.path, to_text(wanted.time),
                     fmt::format("{} {}, what a job of {} takes if the host is {}", which, to_text(shown),
                                 recorded.file, host));
  };
  int scale = 0;
  if (wanted.of_recording) {
    scale = scale_of_recorder(jobs, target);
  } else {
    const Duration least = jobs.played(kLeast), most = jobs.played(kMost);
    if (target < Rational(least.ns)) refuse("at least", least, "a thousand times as fast");
    if (Rational(most.ns) < target) refuse("at most", most, "ten times as slow");
    scale = bisected(jobs, target, kLeast, kMost);
  }
  found.add(recorded, static_cast<double>(scale) / ByHostScale::kUnit);
  return static_cast<double>(scale) / ByHostScale::kUnit;
}

}  // namespace

Duration job_played_as_recorded(const Client& client) {
  Recorded unscaled = *client.recorded;
  unscaled.kernel_scale = unscaled.host_scale = 1;
  return mean(played_alone(client, unscaled, Device{}).lengths, unscaled);
}

std::shared_ptr<const Recorded> measured_alone(const Client& client, const Device& device) {
  auto known = std::make_shared<Recorded>(*client.recorded);
  if (known->unrecorded) known->host_scale = host_scale_of(client, *known);
  if (known->kernel_scale == 1 && known->host_scale == 1) return client.recorded;
  PlayedAlone played = played_alone(client, *known, device);
  known->job = mean(played.lengths, *known);
  known->between_ends =
      known->own_pace ? between_ends(played.span(), known->job, known->to - known->from) : known->job;
  known->scaled = std::move(played.lengths);
  return known;
}

}  // namespace gangway
