#include "hw/live/memory/live_contexts.hpp"

#include <algorithm>

namespace gangway::live {

// Those that have memory come first for copies.
void LiveContexts::add(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  if (context == 0 || std::find(known_.begin(), known_.end(), context) != known_.end()) return;
  known_.insert(known_.begin(), context);
  latest_.store(known_.back());
}

void LiveContexts::used(std::uint64_t context) {
  if (context == 0 || context == latest_.load()) return;
  const std::lock_guard lock(mutex_);
  std::erase(known_, context);
  known_.push_back(context);
  latest_.store(context);
}

std::vector<std::uint64_t> LiveContexts::all() {
  const std::lock_guard lock(mutex_);
  return known_;
}

bool LiveContexts::ends(std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  const bool known = std::erase(known_, context) != 0;
  latest_.store(known_.empty() ? 0 : known_.back());
  return known;
}

void LiveContexts::wait_until_unused(std::uint64_t context) {
  std::unique_lock lock(mutex_);
  unused_.wait(lock, [&] { return !uses_.contains(context); });
}

LiveContexts::Use::Use(LiveContexts& contexts, std::uint64_t context) : contexts_(contexts) {
  const std::lock_guard lock(contexts_.mutex_);
  if (std::find(contexts_.known_.begin(), contexts_.known_.end(), context) != contexts_.known_.end())
    begin(context);
}

LiveContexts::Use::Use(LiveContexts& contexts) : contexts_(contexts) {
  const std::lock_guard lock(contexts_.mutex_);
  if (!contexts_.known_.empty()) begin(contexts_.known_.back());
}

void LiveContexts::Use::begin(std::uint64_t context) {
  context_ = context;
  ++contexts_.uses_[context];
}

LiveContexts::Use::~Use() {
  if (context_ == 0) return;
  {
    const std::lock_guard lock(contexts_.mutex_);
    const auto uses = contexts_.uses_.find(context_);
    if (--uses->second > 0) return;
    contexts_.uses_.erase(uses);
  }
  contexts_.unused_.notify_all();
}

}  // namespace gangway::live
