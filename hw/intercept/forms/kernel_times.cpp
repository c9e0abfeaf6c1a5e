#include "hw/intercept/forms/kernel_times.hpp"

#include <algorithm>
#include <utility>

namespace gangway::intercept {
namespace {

constexpr double kWorth = 200'000;  // ns: hw/live/README.md
constexpr double kLeastABlock = 4;  // ns: with less, the claims would cost more than 1 %
constexpr std::uint64_t kAtFirst = 4,
                        kLater = 32;  // launches that are measured: the first ones, each so many

}  // namespace

bool KernelTimes::worth(std::uint64_t blocks, std::uint64_t evictions) {
  const std::lock_guard lock(mutex_);
  const std::shared_lock use(in_use);
  look(evictions);
  return ns_a_block_ >= kLeastABlock && ns_a_block_ * static_cast<double>(blocks) >= kWorth;
}

double KernelTimes::ns_a_block() {
  const std::lock_guard lock(mutex_);
  return ns_a_block_;
}

bool KernelTimes::begins(CUcontext context, CUstream stream, std::uint64_t evictions) {
  const std::lock_guard lock(mutex_);
  const std::shared_lock use(in_use);
  look(evictions);
  const std::uint64_t launch = launches_++;
  if (contexts_ending != 0 || measuring_ || pending_ || (launch >= kAtFirst && launch % kLater != 0))
    return false;
  if (begin_ == nullptr) {
    if (!create()) return false;
    context_ = context;
  }
  evictions_ = evictions;
  if (context != context_ || cuda.cuEventRecord(begin_, stream) != CUDA_SUCCESS) return false;
  return measuring_ = true;
}

bool KernelTimes::create() {
  const RelaxedCapture relaxed;
  if (cuda.cuEventCreate(&begin_, CU_EVENT_DEFAULT) != CUDA_SUCCESS) begin_ = nullptr;
  if (begin_ == nullptr || cuda.cuEventCreate(&end_, CU_EVENT_DEFAULT) == CUDA_SUCCESS)
    return begin_ != nullptr;
  cuda.cuEventDestroy_v2(begin_);
  begin_ = nullptr;
  return false;
}

void KernelTimes::ends(CUstream stream, std::uint64_t blocks) {
  const std::lock_guard lock(mutex_);
  const std::shared_lock use(in_use);
  const bool usable = events_usable();
  if (!std::exchange(measuring_, false) || !usable) return;
  pending_ = cuda.cuEventRecord(end_, stream) == CUDA_SUCCESS;
  blocks_ = blocks;
}

void KernelTimes::end() {
  const std::lock_guard lock(mutex_);
  const std::shared_lock use(in_use);
  if (!events_usable() || begin_ == nullptr) return;
  const RelaxedCapture relaxed;
  cuda.cuEventDestroy_v2(begin_);
  cuda.cuEventDestroy_v2(end_);
  begin_ = end_ = nullptr;
  pending_ = measuring_ = false;
}

KernelTimes::ContextEnd::ContextEnd() {
  const std::unique_lock none(in_use);
  ++contexts_ending;
}

KernelTimes::ContextEnd::~ContextEnd() {
  const std::unique_lock none(in_use);
  --contexts_ending;
  if (gone_) ++contexts_gone;
}

bool KernelTimes::events_usable() {
  if (contexts_gone != std::exchange(gone_, contexts_gone)) {
    begin_ = end_ = nullptr;
    pending_ = measuring_ = false;
  }
  return contexts_ending == 0;
}

void KernelTimes::look(std::uint64_t evictions) {
  if (!events_usable() || !pending_) return;
  const RelaxedCapture relaxed;
  if (cuda.cuEventQuery(end_) == CUDA_ERROR_NOT_READY) return;
  pending_ = false;
  float ms = 0;
  if (evictions != evictions_ || cuda.cuEventElapsedTime(&ms, begin_, end_) != CUDA_SUCCESS) return;
  const double seen =
      static_cast<double>(ms) * 1e6 / static_cast<double>(std::max<std::uint64_t>(blocks_, 1));
  // What others take away makes a kernel seem longer, never shorter.
  ns_a_block_ = ns_a_block_ == 0 || seen < ns_a_block_ ? seen : ns_a_block_ + (seen - ns_a_block_) / 4;
}

}  // namespace gangway::intercept
