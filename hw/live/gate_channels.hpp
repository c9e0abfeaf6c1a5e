// Counts and limits a client's channels: its streams and contexts.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hw/live/page.hpp"

namespace gangway::live {

class GateChannels {
 public:
  // `page`: the gate's client page, which receives their number.
  explicit constexpr GateChannels(const std::atomic<ClientPage*>& page) : page_(page) {}

  // Call before one is made. False if the client may have no more. `most`: from the permit.
  bool opens(std::uint32_t most);
  void failed();
  void opened(std::uint64_t stream, std::uint64_t context);
  void closed(std::uint64_t stream, std::uint64_t context);  // the stream's; 0: all of the context's
  void forked();                                             // in the child: there are none

 private:
  void count();

  struct Channel {
    std::uint64_t stream = 0, context = 0;
  };
  const std::atomic<ClientPage*>& page_;
  std::vector<Channel> channels_;
  std::uint32_t opening_ = 0;  // opened, without a name yet
  std::mutex mutex_;
};

}  // namespace gangway::live
