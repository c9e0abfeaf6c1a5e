#include "hw/live/gate_channels.hpp"

#include <new>

namespace gangway::live {

bool GateChannels::opens(std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  if (most == kNoChannels) return false;
  if (most != 0 && channels_.size() + opening_ + 1 > most - 1) return false;
  ++opening_;
  count();
  return true;
}

void GateChannels::failed() {
  const std::lock_guard lock(mutex_);
  --opening_;
  count();
}

void GateChannels::opened(std::uint64_t stream, std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  --opening_;
  channels_.push_back({stream, context});
}

void GateChannels::closed(std::uint64_t stream, std::uint64_t context) {
  const std::lock_guard lock(mutex_);
  std::erase_if(channels_, [&](const Channel& channel) {
    return stream != 0 ? channel.stream == stream : channel.context == context;
  });
  count();
}

void GateChannels::count() {
  if (ClientPage* page = page_.load())
    page->channels.store(static_cast<std::uint32_t>(channels_.size()) + opening_);
}

void GateChannels::forked() {
  new (&mutex_) std::mutex;
  channels_.clear();
  opening_ = 0;
}

}  // namespace gangway::live
