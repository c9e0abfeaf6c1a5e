// The jobs of a client process: when each begins and ends, as the client page has it.
#pragma once

#include <atomic>
#include <cstdint>

#include "hw/live/monotonic.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

// What counts as a job of the program.
enum class JobsAre {
  synchronised,  // from a submission to a call that leaves nothing outstanding
  ranges,        // what lies in ranges that begin and end by range_begins() and range_ends()
  whole,         // all of it is one
};

class GateJobs {
 public:
  // `permit`: the gate's; nobody is kept waiting by one that another has followed.
  explicit constexpr GateJobs(const std::atomic<const PermitPage*>& permit) : permit_(permit) {}

  void are(JobsAre what) { are_ = what; }  // before anything else
  bool are_whole() const { return are_ == JobsAre::whole; }

  // A submission comes, and no job is under way: waits until one may begin.
  void begin(const PermitPage& permit, ClientPage& page);
  // It passes the gate. `begun`: the calling thread's, about this page; 0 at first. A job that the thread
  // knows to have begun costs it no look at the job's slot.
  void passes(ClientPage& page, std::uint64_t& begun) {
    if ((page.job.load() & 1) == 0) begin_again(page);
    const std::uint64_t counted = page.counted.load(std::memory_order_relaxed);
    if ((counted & 1) != 0 && counted != begun) {
      begun = counted;
      if (JobSlot& slot = page.jobs[counted / 2 % kJobs]; slot.begun.load(std::memory_order_relaxed) == 0)
        slot.begun.store(monotonic_ns(), std::memory_order_relaxed);
    }
  }
  // After a call that waited: ends the job if nothing of it is left.
  void may_be_over(ClientPage& page);

  // Of ranges inside each other: whether it is the outermost.
  bool range_opens() { return ranges_.fetch_add(1) == 0; }
  bool range_closes() { return ranges_.fetch_sub(1) == 1; }
  // The outermost range begins: waits until its job may.
  void begin_range(const PermitPage& permit, ClientPage& page);
  void count_end(ClientPage& page);

 private:
  std::int64_t await_release(const PermitPage& permit, ClientPage& page);
  static bool take_up(ClientPage& page);
  void begin_again(ClientPage& page);
  static void count_begin(ClientPage& page, std::int64_t arrived);

  const std::atomic<const PermitPage*>& permit_;
  JobsAre are_ = JobsAre::synchronised;
  std::atomic<std::uint32_t> ranges_{0};  // inside each other, or at once
};

}  // namespace gangway::live
