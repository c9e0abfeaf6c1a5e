// Begins and ends of a client's jobs, as recorded on the client page.
#pragma once

#include <atomic>
#include <cstdint>

#include "hw/live/monotonic.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

// What counts as a job.
enum class JobsAre {
  synchronised,  // from a submission to a call that leaves nothing outstanding
  ranges,        // what lies between range_begins() and range_ends()
  whole,         // the whole program
};

class GateJobs {
 public:
  // `permit`: the gate's. Threads do not wait for a permit that has been replaced.
  explicit constexpr GateJobs(const std::atomic<const PermitPage*>& permit) : permit_(permit) {}

  void are(JobsAre what) { are_ = what; }  // call before anything else
  bool are_whole() const { return are_ == JobsAre::whole; }
  bool are_ranges() const { return are_ == JobsAre::ranges; }

  // At a submission with no job under way: waits until a job may begin.
  [[gnu::cold]] void begin(const PermitPage& permit, ClientPage& page);
  // The submission passes the gate. `begun`: the calling thread's memory for this page, initially 0, which
  // saves a look at the slot of a job known to have begun.
  void passes(ClientPage& page, std::uint64_t& begun) {
    if ((page.job.load() & 1) == 0) begin_again(page);
    const std::uint64_t counted = page.counted.load(std::memory_order_relaxed);
    if ((counted & 1) != 0 && counted != begun) {
      begun = counted;
      note_begin(page.jobs[counted / 2 % kJobs]);
    }
  }
  // After a waiting call: ends the job if nothing is outstanding.
  void may_be_over(ClientPage& page);

  // Whether this is the outermost of nested ranges.
  bool range_opens() { return ranges_.fetch_add(1) == 0; }
  bool range_closes() { return ranges_.fetch_sub(1) == 1; }
  // The outermost range begins: waits until its job may begin.
  void begin_range(const PermitPage& permit, ClientPage& page);
  void count_end(ClientPage& page);
  // Of a job that is over. True: a thread has begun another one since, and could not count that.
  bool count_over(ClientPage& page);

 private:
  std::int64_t await_release(const PermitPage& permit, ClientPage& page);
  static bool take_up(ClientPage& page);
  [[gnu::cold]] void begin_again(ClientPage& page);
  [[gnu::cold]] static void note_begin(JobSlot& slot);
  static void count_begin(ClientPage& page, std::int64_t arrived);

  const std::atomic<const PermitPage*>& permit_;
  JobsAre are_ = JobsAre::synchronised;
  std::atomic<std::uint32_t> ranges_{0};  // nested or concurrent
};

}  // namespace gangway::live
