// The book's device, of launches in slices.
#include "hw/intercept/forms/driver_port.hpp"
#include "hw/live/kill_points.hpp"

namespace gangway::intercept {
namespace {

constexpr std::size_t kMostAccepted = 4096;  // shapes of launches that are known to be accepted

}  // namespace

// Of one in slices nothing is launched yet, but its program waits for the driver's answer.
bool DriverPort::accepts(const FormedLaunch& launch) {
  const auto asked = launch.asked();
  if (const std::uint64_t changes = changes_.load(); changes != changes_seen_) {
    accepted_.clear();
    changes_seen_ = changes;
  }
  if (asked && accepted_.count(*asked) != 0) return true;
  if (launch.try_one(beside_.front()) != CUDA_SUCCESS) return false;
  if (accepted_.size() >= kMostAccepted) accepted_.clear();
  if (asked) accepted_.insert(*asked);
  return true;
}

// By the keeper's thread, as slice_over(). The time is that of the device from before the slice to its end.
bool DriverPort::slice(const live::RepeatableLaunch& launch, std::uint32_t first, std::uint32_t end) {
  const RelaxedCapture relaxed;
  const CurrentContext current(context_);
  CUstream const stream = beside_.front();
  refusal_ = 0;
  if (slice_runs_ && !slice_over()) return false;  // of a launch that failed meanwhile
  CUresult result = cuda.cuEventRecord(slice_begins_, stream);
  if (result == CUDA_SUCCESS)
    result = static_cast<const FormedLaunch&>(launch).submit(stream, {}, first, end);
  if (!done(result)) return false;
  slice_runs_ = true;
  result = cuda.cuEventRecord(slice_ends_, stream);
  slice_timed_ = result == CUDA_SUCCESS;  // or the event tells of an earlier slice
  note(result);
  GANGWAY_POINT("slice");
  return true;
}

std::optional<std::int64_t> DriverPort::slice_over() {
  const RelaxedCapture relaxed;
  if (!slice_runs_) return std::nullopt;
  const CUresult over = slice_timed_ ? cuda.cuEventQuery(slice_ends_) : cuda.cuStreamQuery(beside_.front());
  if (over != CUDA_SUCCESS) return std::nullopt;
  slice_runs_ = false;
  float ms = 0;
  const bool timed = slice_timed_ && cuda.cuEventElapsedTime(&ms, slice_begins_, slice_ends_) == CUDA_SUCCESS;
  return timed ? static_cast<std::int64_t>(static_cast<double>(ms) * 1e6) : 0;
}

}  // namespace gangway::intercept
