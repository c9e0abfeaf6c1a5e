// Checks, from a trace with blocks, that a run of native clients met the assumptions of the queue theorems
// with costs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/bounds/assumption.hpp"
#include "models/trace.hpp"

namespace gangway {

// Limits of one client whose jobs are single kernels.
struct QueueLimits {
  std::string name;
  std::int64_t threads = 1;   // per block
  std::int64_t capacity = 1;  // M_h: threads busy while a block of it finds no room
  Duration block;             // w: the longest time of a block
  Duration head;              // D_h of the inflated set: lemma 1
};

struct QueueAllowances {
  Duration lateness, issue, stream, refill, change, clock;
};

// Receives runs one after the other; each begins with restart() and is judged by finish(). Memory grows with
// the blocks of a run.
class QueueAssumptions : public TraceSink {
 public:
  QueueAssumptions(std::vector<QueueLimits> clients, const QueueAllowances& allowed);

  // `nominal`: release times for the analysis, by client and job; must outlive the run.
  void restart(const std::vector<std::vector<Duration>>& nominal);
  void record(const Record& record) override;
  void blocks(const BlockSpan& span) override;
  bool wants_blocks() const override { return true; }
  void uncertain(Duration clock) override;
  void finish();
  const Assumptions& seen() const { return seen_; }

 private:
  struct Job {
    std::uint32_t client = 0;
    std::uint32_t number = 0;
    Time issued;
    Time first = Time::max(), last{};  // when blocks began
    Time end{};                        // when the last block ended
    Time latest;                       // latest time at which it joins the queue
    Time enqueued;                     // in a queue that serves in this order
    std::int64_t running = 0;          // threads, in the sweep
    bool played() const { return end > Time{}; }
  };
  struct Change {  // of the number of busy threads
    Time at;
    std::size_t job = 0;
    std::int64_t threads = 0;
  };

  Job& job(JobId id);
  Time predecessor_end(const Job& of) const { return jobs_[of_client_[of.client][of.number - 1]].end; }
  Time ready(const Job& of) const;
  bool may_precede(const Job& later, const Job& earlier) const;
  void order_jobs();
  void enqueue();
  void check_heads();
  void note(const char* name, const Job& of, std::int64_t measured, Duration allowed) {
    seen_.note(name, clients_[of.client].name, measured, allowed.ns);
  }

  std::vector<QueueLimits> clients_;
  QueueAllowances allowed_;
  const std::vector<std::vector<Duration>>* nominal_ = nullptr;
  std::vector<Job> jobs_;
  std::vector<std::vector<std::size_t>> of_client_;  // indices by client and job number
  std::vector<Change> changes_;
  Assumptions seen_;
};

}  // namespace gangway
