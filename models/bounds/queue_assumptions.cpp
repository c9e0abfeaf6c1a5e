#include "models/bounds/queue_assumptions.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace gangway {

QueueAssumptions::QueueAssumptions(std::vector<QueueLimits> clients, const QueueAllowances& allowed)
    : clients_(std::move(clients)), allowed_(allowed) {}

void QueueAssumptions::restart(const std::vector<std::vector<Duration>>& nominal) {
  nominal_ = &nominal;
  jobs_.clear();
  of_client_.assign(clients_.size(), {});
  changes_.clear();
}

QueueAssumptions::Job& QueueAssumptions::job(JobId id) {
  auto& known = of_client_[id.client.index];
  while (known.size() <= id.number) {
    known.push_back(jobs_.size());
    Job& added = jobs_.emplace_back();
    added.client = id.client.index;
    added.number = static_cast<std::uint32_t>(known.size() - 1);
  }
  return jobs_[known[id.number]];
}

void QueueAssumptions::record(const Record& record) {
  if (record.mark == Mark::issued) job(record.job).issued = record.time;
}

void QueueAssumptions::uncertain(Duration clock) {
  for (const QueueLimits& client : clients_) seen_.note("clock", client.name, clock.ns, allowed_.clock.ns);
}

void QueueAssumptions::blocks(const BlockSpan& span) {
  Job& of = job(span.job);
  const auto index = static_cast<std::size_t>(&of - jobs_.data());
  const QueueLimits& client = clients_[of.client];
  std::int64_t threads = 0;
  for (const BlocksOnSm& on : span.where) threads += on.count * client.threads;
  note("block", of, span.length.ns, client.block);
  for (std::int64_t wave = 0; wave < span.waves; ++wave) {
    const Time began = span.began + Duration{wave * span.length.ns};
    const Time ended = began + span.length;
    of.first = std::min(of.first, began);
    of.last = std::max(of.last, began);
    of.end = std::max(of.end, ended);
    changes_.push_back({began, index, threads});
    changes_.push_back({ended + allowed_.refill, index, -threads});
  }
}

void QueueAssumptions::finish() {
  order_jobs();
  enqueue();
  check_heads();
}

Time QueueAssumptions::ready(const Job& of) const {
  return of.number == 0 ? of.issued : std::max(of.issued, predecessor_end(of));
}

// Whether one that has to be in the queue no sooner than another was first there all the same.
bool QueueAssumptions::may_precede(const Job& later, const Job& earlier) const {
  return later.first == earlier.first && later.last == earlier.last &&
         clients_[later.client].capacity < clients_[earlier.client].capacity &&
         ready(later) <= earlier.latest;
}

// In the order of service: by first blocks; of those that began together, who had to be in the queue first.
// Jobs without blocks were not played.
void QueueAssumptions::order_jobs() {
  for (Job& of : jobs_) {
    of.latest = of.issued + allowed_.issue;
    if (of.number > 0) of.latest = std::max(of.latest, predecessor_end(of) + allowed_.stream);
  }
  std::vector<std::size_t> order(jobs_.size()), place(jobs_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Job &x = jobs_[a], &y = jobs_[b];
    return std::tie(x.first, x.last, x.latest, a) < std::tie(y.first, y.last, y.latest, b);
  });
  // Whoever of them waits for more room may have been first: the trace does not tell which it was.
  for (std::size_t i = 1; i < order.size(); ++i)
    for (std::size_t j = i; j > 0 && may_precede(jobs_[order[j]], jobs_[order[j - 1]]); --j)
      std::swap(order[j], order[j - 1]);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<Job> sorted;
  for (const std::size_t i : order) sorted.push_back(jobs_[i]);
  jobs_ = std::move(sorted);
  for (auto& jobs : of_client_)
    for (std::size_t& which : jobs) which = place[which];
  for (Change& change : changes_) change.job = place[change.job];
  // What frees room at an instant comes before what takes it.
  std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at, a.threads, a.job) < std::tie(b.at, b.threads, b.job);
  });
}

// When each job entered a queue that serves in this very order: as late as its costs allow, but not behind
// its first block, nor behind the one served after it.
void QueueAssumptions::enqueue() {
  Time next = Time::max();
  for (std::size_t j = jobs_.size(); j-- > 0;) {
    Job& of = jobs_[j];
    if (!of.played()) continue;
    of.enqueued = next = std::min({next, of.first, of.latest});
    note("order", of, (ready(of) - of.enqueued).ns, allowed_.clock);
    const Time due = Time{} + (*nominal_)[of.client][of.number];
    note("lateness", of, (of.issued - due).ns, allowed_.lateness);
    if (of.number > 0) note("one at a time", of, (predecessor_end(of) - of.first).ns, {});
  }
  // Of those that find the device empty, what passes until their first blocks is seen. It is implied by the
  // rest, but tells which cost is too small.
  Time busy_until{};
  for (const Job& of : jobs_) {
    if (!of.played()) continue;
    if (busy_until <= ready(of)) {
      const bool after = of.number > 0 && predecessor_end(of) > of.issued;
      const Time at_most = std::max(of.latest, busy_until + allowed_.refill) + allowed_.change;
      note(after ? "stream" : "issue", of, (of.first - ready(of)).ns, at_most - ready(of));
    }
    busy_until = std::max(busy_until, of.end);
  }
}

// Lemmas 0 and 1, job by job: what they say of a job at the head, held against the threads that are taken. A
// block's room counts as taken until it must be free. Blocks served out of order do not count.
void QueueAssumptions::check_heads() {
  std::size_t next = 0;
  std::int64_t taken = 0;
  Time head_since{}, now{};
  const auto apply = [&](const Change& change) {
    taken += change.threads;
    jobs_[change.job].running += change.threads;
  };
  for (std::size_t h = 0; h < jobs_.size(); ++h) {
    const Job& head = jobs_[h];
    if (!head.played()) continue;
    const QueueLimits& client = clients_[head.client];
    head_since = std::max(head_since, head.enqueued);
    const Time until = std::max(head_since, head.last);
    note("head", head, (until - head_since).ns, client.head);
    for (; next < changes_.size() && changes_[next].at <= head_since; ++next) apply(changes_[next]);
    std::int64_t missing = 0;  // threads times ns
    for (now = head_since; now < until;) {
      const Time then = next < changes_.size() ? std::min(until, changes_[next].at) : until;
      std::int64_t ahead = taken;
      for (std::size_t later = h + 1; later < jobs_.size() && jobs_[later].first < until; ++later)
        ahead -= jobs_[later].running;
      missing += std::max<std::int64_t>(0, client.capacity - ahead) * (then - now).ns;
      now = then;
      for (; next < changes_.size() && changes_[next].at <= now; ++next) apply(changes_[next]);
    }
    note("change", head, (missing + client.capacity - 1) / client.capacity, allowed_.change);
    head_since = until;
  }
}

}  // namespace gangway
