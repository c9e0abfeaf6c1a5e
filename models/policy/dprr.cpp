// Dynamic priority-based round robin (EffiSha, 7): kernels of the active queue get a quota each, in the order
// of priorities that grow while they wait there; who has used it up goes to the inactive queue. When the
// active queue is empty the two change places. What the paper leaves open is a parameter.
#include <algorithm>
#include <limits>

#include "models/policy/ownership.hpp"

namespace gangway {
namespace {

using namespace literals;

class Dprr : public OwnershipPolicy {
 public:
  explicit Dprr(const ParameterValues& values)
      : quota_(values.duration("quota")),
        quota_grows_(values.choice("quota_priority") == "dynamic"),
        aging_(values.duration("aging")),
        most_aged_(values.integer("most_aged")),
        arrivals_active_(values.choice("arrivals") == "active"),
        arrivals_preempt_(values.choice("arrival_preempts") == "yes"),
        swap_when_empty_(values.choice("swap") == "when-empty") {}

 private:
  // A kernel's place in the queues; of each client, the last kernel that waited.
  struct Standing {
    JobId job;
    std::uint32_t kernel = 0;
    bool known = false;
    int queue = 0;
    Time since;                     // when it came into its queue
    Duration aged;                  // in earlier waits in the active queue, since it last had a fresh quota
    std::optional<Duration> quota;  // what an arrival left it
    bool newcomer = false;          // came into the active queue with this decision
    // As an owner:
    std::int64_t priority = 0;  // dynamic, when it was chosen
    Duration owner_quota;
    Time renewed;  // the quota, the last time
  };

  void prepare(std::size_t clients) override { standings_.assign(clients, {}); }

  Choice choose(Time now, const View& view) override {
    admit(view);
    if (none_active()) swap(now);
    const std::size_t best = least([&](const Waiting& w) {
      const Standing& s = standing(w);
      return std::pair(s.queue != active_, -priority(now, view, w));
    });
    const Waiting& chosen = candidates()[best];
    Standing& s = standing(chosen);
    s.priority = priority(now, view, chosen);
    s.owner_quota = s.quota.value_or(full_quota(view, chosen));
    s.renewed = now;
    if (s.queue == active_) s.aged += now - s.since;
    s.queue = kOwner;
    s.newcomer = false;
    if (swap_when_empty_ && none_active()) swap(now);
    return {best, s.owner_quota};
  }

  void consider(const View& view) override {
    for (const Waiting& w : waiting()) standing(w).newcomer = false;
    admit(view);
  }

  bool yields(const Owner&) const override { return arrivals_preempt_; }
  std::int64_t urgency(const View& view, const Waiting& w) const override {
    if (!arrivals_preempt_ || !standing(w).newcomer) return std::numeric_limits<std::int64_t>::min();
    return view.job(w.job).urgency();
  }
  std::int64_t owner_urgency(Time, const View&, const Owner& owner) const override {
    return standing(owner.waiting).priority;
  }

  void left(Time now, const Owner& owner, BlockCount) override {
    Standing& s = standing(owner.waiting);
    const Duration used = owner.turn_began ? now - std::max(*owner.turn_began, s.renewed) : Duration{};
    s.since = now;
    s.kernel = owner.kernel;
    if (owner.displaced && used < s.owner_quota) {
      s.queue = active_;
      s.quota = s.owner_quota - used;
    } else {
      s.queue = inactive();
      s.quota.reset();
      s.aged = {};
    }
  }

  Duration renewed_quantum(Time now, const View& view, const Owner& owner) override {
    Standing& s = standing(owner.waiting);
    s.renewed = now;
    s.priority = view.job(owner.waiting.job).urgency();
    return s.owner_quota = full_quota(view, owner.waiting);
  }

  // Kernels that began to wait come into a queue.
  void admit(const View& view) {
    for (const Waiting& w : waiting()) {
      Standing& s = standing(w);
      const std::uint32_t kernel = view.job(w.job).kernel;
      if (s.known && s.job == w.job && s.kernel == kernel) continue;
      s = {};
      s.job = w.job;
      s.kernel = kernel;
      s.known = true;
      s.queue = arrivals_active_ ? active_ : inactive();
      s.since = w.since;
      s.newcomer = arrivals_active_;
    }
  }

  bool none_active() const {
    return std::none_of(waiting().begin(), waiting().end(),
                        [&](const Waiting& w) { return standing(w).queue == active_; });
  }

  void swap(Time now) {
    active_ = inactive();
    for (const Waiting& w : waiting())
      if (standing(w).queue == active_) standing(w).since = now;
  }

  std::int64_t priority(Time now, const View& view, const Waiting& w) const {
    const Standing& s = standing(w);
    const Duration waited = s.queue == active_ ? s.aged + (now - s.since) : s.aged;
    return view.job(w.job).urgency() + std::min(most_aged_, waited.ns / aging_.ns);
  }

  Duration full_quota(const View& view, const Waiting& w) const {
    const std::int64_t p = quota_grows_ ? standing(w).priority : view.job(w.job).urgency();
    return {quota_.ns * (std::max<std::int64_t>(p, 0) + 1)};
  }

  int inactive() const { return 1 - active_; }
  Standing& standing(const Waiting& w) { return standings_[w.job.client.index]; }
  const Standing& standing(const Waiting& w) const { return standings_[w.job.client.index]; }

  static constexpr int kOwner = 2;  // in neither queue

  Duration quota_;
  bool quota_grows_;
  Duration aging_;
  std::int64_t most_aged_;
  bool arrivals_active_, arrivals_preempt_, swap_when_empty_;

  std::vector<Standing> standings_;  // by client
  int active_ = 0;
};

const OwnershipRegistration<Dprr> registered_dprr{
    "dprr",
    "dynamic priority-based round robin: quotas by priority, in two queues",
    {{"quota", "time per level of priority, plus one", Parameter::Time{500_us, 1_us, 10_s}},
     {"quota_priority", "which priority the quota follows", Parameter::Choice{{"static", "dynamic"}}},
     {"aging", "waiting time in the active queue that raises the priority by one",
      Parameter::Time{1_ms, 1_us, 100_s}},
     {"most_aged", "largest increase of the priority by waiting", Parameter::Integer{20, 0, 1'000'000}},
     {"arrivals", "the queue that new kernels join; inactive bounds every wait",
      Parameter::Choice{{"active", "inactive"}}},
     {"arrival_preempts", "whether a more urgent arrival displaces the owner",
      Parameter::Choice{{"no", "yes"}}},
     {"swap", "when the queues swap: when the active one is empty, or when a kernel is needed from it",
      Parameter::Choice{{"when-empty", "when-needed"}}}}};

}  // namespace
}  // namespace gangway
