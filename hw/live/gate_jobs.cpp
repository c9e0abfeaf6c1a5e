#include "hw/live/gate_jobs.hpp"

#include <algorithm>

#include "hw/live/pause.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kAwake = 100'000;      // ns before a job is due
constexpr std::int64_t kNoRelease = 200'000;  // ns between looks for one

}  // namespace

// Until the next job may begin: when it arrived. 0: another thread's submission has begun it.
std::int64_t GateJobs::await_release(const PermitPage& permit, ClientPage& page) {
  const Releases& releases = permit.releases;
  const std::int64_t came = monotonic_ns();
  for (;;) {
    const std::uint32_t kind = releases.kind.load();
    if (kind == Releases::own || permit_.load() != &permit) return came;
    const std::uint64_t job = page.counted.load();
    if ((job & 1) != 0) return 0;
    if (job / 2 >= releases.count.load()) {
      sleep_ns(kNoRelease);
      continue;
    }
    std::int64_t due = releases.since.load();
    if (kind == Releases::timed)
      due = releases.due[job / 2 % kReleases].load();
    else if (const std::int64_t think = releases.think.load(); think > 0 && job > 0)
      due = std::max(due, page.jobs[(job / 2 - 1) % kJobs].ended.load() + think);
    if (releases.kind.load() != kind) continue;  // the count may be of the new kind
    if (const std::int64_t left = due - monotonic_ns(); left > kAwake)
      sleep_ns(std::min(left - kAwake, kNoRelease));
    else if (left > 0)
      spin_pause();
    else
      return kind == Releases::timed ? due : std::max(came, due);
  }
}

// At its first submission.
void GateJobs::begin(const PermitPage& permit, ClientPage& page) {
  if (are_ == JobsAre::ranges) {
    if (ranges_.load() > 0 && (page.counted.load() & 1) == 0)  // it had no page yet when it began
      if (const std::int64_t arrived = await_release(permit, page); arrived != 0) count_begin(page, arrived);
    take_up(page);
  } else if (const std::int64_t arrived = await_release(permit, page); arrived != 0) {
    if (take_up(page)) count_begin(page, arrived);
  }
}

// It ended while a thread was coming in that did not know of it.
void GateJobs::begin_again(ClientPage& page) {
  if (take_up(page) && are_ != JobsAre::ranges) count_begin(page, monotonic_ns());
}

void GateJobs::note_begin(JobSlot& slot) {
  if (slot.begun.load(std::memory_order_relaxed) == 0)
    slot.begun.store(monotonic_ns(), std::memory_order_relaxed);
}

bool GateJobs::take_up(ClientPage& page) {
  std::uint64_t job = page.job.load();
  while ((job & 1) == 0)
    if (page.job.compare_exchange_weak(job, job + 1)) return true;
  return false;
}

void GateJobs::count_begin(ClientPage& page, std::int64_t arrived) {
  std::uint64_t counted = page.counted.load();
  if ((counted & 1) != 0) return;
  JobSlot& slot = page.jobs[counted / 2 % kJobs];
  // Of several threads one writes, and none if the job has begun meanwhile: it may be over by now.
  const std::uint64_t job = counted / 2 + 1;
  std::uint64_t before = slot.number.load();
  if (before == JobSlot::kWritten || before == job || page.counted.load() != counted ||
      !slot.number.compare_exchange_strong(before, JobSlot::kWritten))
    return;
  slot.begun.store(0, std::memory_order_relaxed);
  slot.arrived.store(arrived, std::memory_order_relaxed);
  slot.number.store(job, std::memory_order_release);
  page.counted.compare_exchange_strong(counted, counted + 1);
}

void GateJobs::count_end(ClientPage& page) {
  std::uint64_t counted = page.counted.load();
  if ((counted & 1) == 0) return;
  page.jobs[counted / 2 % kJobs].ended.store(monotonic_ns(), std::memory_order_release);
  page.counted.compare_exchange_strong(counted, counted + 1);
}

bool GateJobs::count_over(ClientPage& page) {
  count_end(page);
  const bool another = (page.job.load() & 1) != 0;
  if (another && are_ == JobsAre::synchronised) count_begin(page, monotonic_ns());
  return another;
}

// Whoever comes in meanwhile sees that no job is under way and begins one, or is seen inside here.
void GateJobs::may_be_over(ClientPage& page) {
  std::uint64_t job = page.job.load();
  if ((job & 1) == 0 || page.outstanding() != 0) return;
  if (!page.nobody_inside() || page.waiting.load() != 0) return;
  if (are_ == JobsAre::whole || ranges_.load() > 0) return;
  if (!page.job.compare_exchange_strong(job, job + 1)) return;
  if (count_over(page) || (page.nobody_inside() && page.outstanding() == 0)) return;
  // It was a pause, and counts as a job's end all the same.
  if (take_up(page) && are_ == JobsAre::synchronised) count_begin(page, monotonic_ns());
}

void GateJobs::begin_range(const PermitPage& permit, ClientPage& page) {
  count_end(page);
  if (const std::int64_t arrived = await_release(permit, page); arrived != 0) count_begin(page, arrived);
}

}  // namespace gangway::live
