#include "experiments/studies/worst_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "experiments/running/unmanaged_runs.hpp"
#include "experiments/studies/searched_clients.hpp"
#include "models/error.hpp"
#include "models/random.hpp"

namespace gangway {
namespace {

constexpr std::uint64_t kClimb = 500;         // simulations of one climb
constexpr std::size_t kMostExceptions = 256;  // shorter blocks of one kernel
constexpr std::int64_t kMostShortened = 64;   // blocks at once
constexpr std::int64_t kLongestWindow = 8;    // in longest periods: for so long jobs are released
constexpr std::array<std::int64_t, 3> kWindows{2, 4, kLongestWindow};

// Responses of one run: the largest of each kernel, and when jobs were complete.
class Sink : public TraceSink {
 public:
  struct Seen {
    std::int64_t response = -1;
    std::uint32_t job = 0;
    std::int64_t release = 0;
  };
  void begin(const Workload& workload) {
    workload_ = &workload;
    seen.resize(workload.clients.size());
    for (std::size_t c = 0; c < seen.size(); ++c) seen[c].assign(workload.clients[c].kernels.size(), {});
    ends.clear();
  }
  void record(const Record& record) override {
    if (record.mark != Mark::gone) return;
    const std::uint32_t c = record.job.client.index;
    // Of kernels that are submitted once it is completion that is bounded.
    const std::int64_t release = from_zero ? 0 : workload_->clients[c].repeat.releases[record.job.number].ns;
    Seen& held = seen[c][record.kernel];
    if (record.time.ns - release > held.response)
      held = {record.time.ns - release, record.job.number, release};
    ends.push_back(record.time.ns);
    ++jobs;
  }

  bool from_zero = false;
  std::vector<std::vector<Seen>> seen;  // by client and kernel
  std::vector<std::int64_t> ends;
  std::uint64_t jobs = 0;

 private:
  const Workload* workload_ = nullptr;
};

class Search {
 public:
  Search(SearchedClients clients, std::uint64_t seed)
      : given_(std::move(clients)), seed_(seed), best_(given_.targets.size()), random_(seed, "search", {}) {
    sink_.from_zero = given_.longest_period == 0;
  }

  // Climbs for one target: `steps` simulations. Which climb it is decides how it begins.
  void climb(std::size_t target, std::uint64_t number, std::uint64_t steps) {
    random_ = Stream(seed_, "climb", {target, number});
    target_ = target;
    begin(number);
    rebuild();
    std::int64_t height = play();
    for (std::uint64_t step = 1; step < steps; ++step) {
      if (!change()) continue;
      const std::int64_t now = play();
      if (now >= height)
        height = now;
      else
        undo();
    }
  }

  std::uint64_t jobs() const { return sink_.jobs; }
  const std::optional<WorstCase>& best(std::size_t target) const { return best_[target]; }

 private:
  enum class Start { together, target_later, offsets, sporadic, best };

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  std::int64_t drawn(std::int64_t most) {  // 0 to most
    return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most) + 1));
  }
  // From one tick up, each order of magnitude as likely.
  std::int64_t some_distance(std::int64_t most) {
    std::int64_t bound = std::max<std::int64_t>(1, most);
    for (std::uint64_t halvings = below(12); halvings > 0 && bound > 1; --halvings) bound /= 2;
    const std::int64_t distance = 1 + drawn(bound - 1);
    return below(2) == 0 ? distance : -distance;
  }

  // --- Where a climb begins

  void begin(std::uint64_t number) {
    constexpr std::array kStarts{Start::together, Start::offsets,  Start::target_later, Start::best,
                                 Start::together, Start::sporadic, Start::best};
    const Start start = kStarts[number % kStarts.size()];
    if (start == Start::best && best_[target_]) {
      workload_ = best_[target_]->workload;
      device_ = best_[target_]->device;
      identify();
      return;
    }
    device_ = given_.device;
    order_.resize(given_.all.size());
    std::iota(order_.begin(), order_.end(), 0u);
    if (!given_.ordered) arrange(number);
    workload_.clients.clear();
    const std::int64_t window = kWindows[number % kWindows.size()] * given_.longest_period;
    std::int64_t longest_shared = 0;
    for (const SearchedClients::One& one : given_.all)
      longest_shared += one.period > 0 ? window / one.period + 1 : 1;
    const std::int64_t shrink = 1 + longest_shared / kMostJobsSearched;
    for (const std::uint32_t i : order_) {
      const SearchedClients::One& one = given_.all[i];
      Client client = one.client;
      if (one.period == 0)
        client.repeat.releases = {Duration{one.at}};
      else
        client.repeat.releases =
            releases(one.period, window / one.period / shrink + 1, start, i == given_.targets[target_].first);
      client.repeat.jobs = static_cast<std::uint32_t>(client.repeat.releases.size());
      workload_.clients.push_back(std::move(client));
    }
  }

  // The order at ties: any; at first the one that serves the target last.
  void arrange(std::uint64_t number) {
    if (number > 0)
      for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[below(i)]);
    if (number % 2 == 0) {
      const auto own = std::find(order_.begin(), order_.end(), given_.targets[target_].first);
      std::rotate(own, own + 1, order_.end());
    }
  }

  std::vector<Duration> releases(std::int64_t period, std::int64_t jobs, Start start, bool own) {
    std::int64_t at = 0;
    if (start == Start::offsets || start == Start::sporadic) at = drawn(period);
    if (start == Start::target_later && own) at = 1;
    std::vector<Duration> all;
    for (std::int64_t job = 0; job < jobs; ++job) {
      all.push_back(Duration{at});
      at += period;
      if (start == Start::sporadic) at += drawn(period) / 2;
    }
    return all;
  }

  // Which client of the set each of the workload's is.
  void identify() {
    order_.clear();
    for (const Client& client : workload_.clients)
      for (std::uint32_t i = 0; i < given_.all.size(); ++i)
        if (given_.all[i].client.name == client.name) order_.push_back(i);
  }

  // --- A step

  void rebuild() { runs_.emplace(workload_, device_); }

  // Plays the plan and remembers what it shows of any target; returns what is climbed.
  std::int64_t play() {
    sink_.begin(workload_);
    runs_->play(seed_, sink_);
    for (std::size_t t = 0; t < given_.targets.size(); ++t) {
      const auto& [client, kernel] = given_.targets[t];
      const auto place =
          static_cast<std::size_t>(std::find(order_.begin(), order_.end(), client) - order_.begin());
      if (place == order_.size()) continue;
      const Sink::Seen& seen = sink_.seen[place][kernel];
      if (seen.response >= 0 && (!best_[t] || seen.response > best_[t]->simulated.ns)) keep(t, place, seen);
      if (t == target_) worst_ = seen;
    }
    return worst_.response;
  }

  void keep(std::size_t target, std::size_t place, const Sink::Seen& seen) {
    WorstCase& best = best_[target].emplace();
    best.response = Rational(seen.response) / given_.scale;
    best.simulated = Duration{seen.response};
    best.job = seen.job;
    best.workload = workload_;
    best.device = device_;
    if (given_.longest_period == 0) return;
    // What is released later has no effect; whoever has no job left is not needed, unless a stream fewer
    // would change who shares a channel.
    const std::int64_t end = seen.release + seen.response;
    const bool shared =
        given_.device.channels && static_cast<std::size_t>(*given_.device.channels) < given_.all.size();
    for (std::size_t c = 0; c < best.workload.clients.size(); ++c) {
      Client& client = best.workload.clients[c];
      auto& all = client.repeat.releases;
      const auto first =
          c == place ? all.begin() + seen.job + 1 : std::lower_bound(all.begin(), all.end(), Duration{end});
      const Duration later = first == all.end() ? Duration{end} : *first;
      all.erase(first, all.end());
      if (shared && all.empty()) all.push_back(later);
      client.repeat.jobs = static_cast<std::uint32_t>(all.size());
      for (Kernel& kernel : client.kernels)
        std::erase_if(kernel.exceptions, [&](const BlockException& e) { return e.job >= all.size(); });
    }
    std::erase_if(best.workload.clients, [](const Client& client) { return client.repeat.releases.empty(); });
  }

  // One random change; false when it was none.
  bool change() {
    const std::uint64_t kind = below(100);
    undone_ = Undone::nothing;
    if (kind < 8) return swap_clients();
    if (kind < 11 && !given_.device.pool) return change_placement();
    touched_ = below(workload_.clients.size());
    Client& client = workload_.clients[touched_];
    if (client.repeat.releases.empty()) return false;
    if (kind < 30 || given_.all[order_[touched_]].period == 0) {
      kernel_ = below(client.kernels.size());
      kept_exceptions_ = client.kernels[kernel_].exceptions;
      undone_ = Undone::blocks;
      return change_blocks(client.kernels[kernel_], pick_job(client));
    }
    kept_releases_ = client.repeat.releases;
    undone_ = Undone::releases;
    const bool changed = change_releases(client.repeat.releases, given_.all[order_[touched_]].period, kind);
    if (!changed) client.repeat.releases = kept_releases_;
    return changed;
  }

  void undo() {
    switch (undone_) {
      case Undone::nothing:
        return;
      case Undone::releases:
        workload_.clients[touched_].repeat.releases.swap(kept_releases_);
        return;
      case Undone::blocks:
        workload_.clients[touched_].kernels[kernel_].exceptions.swap(kept_exceptions_);
        return;
      case Undone::order:
        std::swap(workload_.clients[touched_], workload_.clients[other_]);
        std::swap(order_[touched_], order_[other_]);
        return rebuild();
      case Undone::placement:
        return flip_placement();
    }
  }

  bool swap_clients() {
    if (given_.ordered || workload_.clients.size() < 2) return false;
    touched_ = below(workload_.clients.size());
    other_ = below(workload_.clients.size());
    if (touched_ == other_) return false;
    undone_ = Undone::order;
    undo();  // a swap undoes itself
    return true;
  }

  bool change_placement() {
    undone_ = Undone::placement;
    flip_placement();
    return true;
  }
  void flip_placement() {
    device_.placement = device_.placement == Placement::most_room_first ? Placement::lowest_index_first
                                                                        : Placement::most_room_first;
    rebuild();
  }

  // Mostly one that was released shortly before the worst response or during it.
  std::size_t pick_job(const Client& client) {
    const auto& all = client.repeat.releases;
    if (below(5) > 0) {
      const auto from =
          std::lower_bound(all.begin(), all.end(), Duration{worst_.release - 2 * given_.longest_period});
      const auto to = std::upper_bound(from, all.end(), Duration{worst_.release + worst_.response});
      if (from != to)
        return static_cast<std::size_t>(from - all.begin()) + below(static_cast<std::uint64_t>(to - from));
    }
    return below(all.size());
  }

  bool change_releases(std::vector<Duration>& all, std::int64_t period, std::uint64_t kind) {
    const std::size_t job = pick_job(workload_.clients[touched_]);
    if (kind < 65) {  // one job, others only as far as they must
      all[job].ns = new_release(all[job].ns, period);
      return separate(all, job, period);
    }
    if (kind < 80) {  // all of the client's
      const std::int64_t by = new_release(all[job].ns, period) - all[job].ns;
      for (Duration& release : all) release.ns += by;
      return by != 0 && legal(all);
    }
    if (kind < 92) {  // from one on as soon as they may
      for (std::size_t k = job + 1; k < all.size(); ++k) all[k].ns = all[k - 1].ns + period;
      return legal(all) && all != kept_releases_;
    }
    for (std::size_t k = job; k > 0; --k) all[k - 1].ns = all[k].ns - period;  // before one, as late
    return legal(all) && all != kept_releases_;
  }

  // At or beside the end of a job or the release of another, or somewhere near.
  std::int64_t new_release(std::int64_t old, std::int64_t period) {
    if (below(2) == 0) return old + some_distance(period);
    std::int64_t at = 0;
    if (below(2) == 0 && !sink_.ends.empty()) {
      at = sink_.ends[below(sink_.ends.size())];
    } else {
      const Client& other = workload_.clients[below(workload_.clients.size())];
      if (other.repeat.releases.empty()) return old;
      at = other.repeat.releases[pick_job(other)].ns;
    }
    return at + drawn(2) - 1;
  }

  bool legal(const std::vector<Duration>& all) const {
    return all.front().ns >= 0 && all.back().ns <= kLatestRelease * given_.longest_period;
  }
  // Keeps `job` where it is and moves the others out of its way.
  bool separate(std::vector<Duration>& all, std::size_t job, std::int64_t period) const {
    for (std::size_t k = job + 1; k < all.size() && all[k].ns < all[k - 1].ns + period; ++k)
      all[k].ns = all[k - 1].ns + period;
    for (std::size_t k = job; k > 0 && all[k - 1].ns > all[k].ns - period; --k)
      all[k - 1].ns = all[k].ns - period;
    return legal(all) && all != kept_releases_;
  }

  // Blocks of a job in a row: as long as they may be again, or shorter.
  bool change_blocks(Kernel& kernel, std::size_t job) {
    const std::int64_t longest = kernel.block_task_length->ns;
    const std::int64_t most = std::min(kernel.block_tasks.count, kMostShortened);
    const std::int64_t count = below(2) == 0 ? most : 1 + drawn(most - 1);
    const std::int64_t first = drawn(kernel.block_tasks.count - count);
    const auto number = static_cast<std::uint32_t>(job);
    auto& all = kernel.exceptions;
    const auto erased = std::erase_if(all, [&](const BlockException& e) {
      return e.job == number && e.block >= first && e.block < first + count;
    });
    if (longest == 1 || below(2) == 0) return erased > 0;
    if (all.size() + static_cast<std::size_t>(count) > kMostExceptions) {
      all = kept_exceptions_;
      return false;
    }
    const std::int64_t length = below(2) == 0 ? 1 + drawn(longest - 2) : longest - some_part(longest - 1);
    const auto place = std::find_if(all.begin(), all.end(), [&](const BlockException& e) {
      return e.job > number || (e.job == number && e.block >= first);
    });
    std::vector<BlockException> shorter;
    for (std::int64_t block = first; block < first + count; ++block)
      shorter.push_back({number, block, Duration{length}});
    all.insert(place, shorter.begin(), shorter.end());
    return true;
  }
  std::int64_t some_part(std::int64_t most) { return std::abs(some_distance(most)); }

  const SearchedClients given_;
  const std::uint64_t seed_;
  std::vector<std::optional<WorstCase>> best_;
  Stream random_;
  std::size_t target_ = 0;

  // The plan, and how the last change is undone.
  Workload workload_;
  Device device_;
  std::vector<std::uint32_t> order_;  // which client of the set each client is
  enum class Undone { nothing, releases, blocks, order, placement } undone_ = Undone::nothing;
  std::size_t touched_ = 0, other_ = 0, kernel_ = 0;
  std::vector<Duration> kept_releases_;
  std::vector<BlockException> kept_exceptions_;

  std::optional<UnmanagedRuns> runs_;
  Sink sink_;
  Sink::Seen worst_;  // of the target, in the last run
};

}  // namespace

SearchedResponses search_worst_case(const TaskSet& set, const SearchLimits& limits, std::uint64_t seed,
                                    const std::atomic<bool>& stop) {
  const Origin option{limits.seconds ? "--search" : "--steps", 0};
  SearchedClients clients;
  if (const auto* sporadic = std::get_if<SporadicTasks>(&set.tasks))
    clients = searched_clients(*sporadic, set.unit, option);
  else if (const auto* once = std::get_if<OneShotKernels>(&set.tasks))
    clients = searched_clients(*once, set.unit, option);
  else
    throw InputError(option, "tasks", "kernels that own the GPU",
                     "kernels that share it, which can be simulated block by block");
  SearchedResponses out;
  out.scale = clients.scale;
  out.exact = clients.exact;
  const std::size_t targets = clients.targets.size();
  Search search(std::move(clients), seed);
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const auto over = [&] {
    if (!limits.seconds) return out.steps >= limits.steps;
    return out.steps > 0 && std::chrono::duration<double>(Clock::now() - began).count() >= *limits.seconds;
  };
  for (std::uint64_t number = 0; !over() && !out.interrupted; ++number) {
    const std::uint64_t steps = limits.seconds ? kClimb : std::min(kClimb, limits.steps - out.steps);
    for (std::size_t target = 0; target < targets; ++target) {
      if (stop) out.interrupted = true;
      if (!out.interrupted) search.climb(target, number, steps);
    }
    if (!out.interrupted) out.steps += steps;
  }
  out.jobs = search.jobs();
  for (std::size_t target = 0; target < targets; ++target) out.tasks.push_back(search.best(target));
  return out;
}

}  // namespace gangway
