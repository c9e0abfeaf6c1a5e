// The channels of a client process: streams and contexts, of which it may have so many.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hw/live/page.hpp"

namespace gangway::live {

class GateChannels {
 public:
  // `page`: the gate's, which has their number once there is one.
  explicit constexpr GateChannels(const std::atomic<ClientPage*>& page) : page_(page) {}

  // Before one is made. False: the client may have no more. `most`: as the permit has it.
  bool opens(std::uint32_t most);
  void failed();
  void opened(std::uint64_t stream, std::uint64_t context);
  void closed(std::uint64_t stream, std::uint64_t context);  // the stream's; 0: all of the context
  void forked();                                             // in the child: there are none

 private:
  void count();

  struct Channel {
    std::uint64_t stream = 0, context = 0;
  };
  const std::atomic<ClientPage*>& page_;
  std::vector<Channel> channels_;
  std::uint32_t opening_ = 0;  // that have no name yet
  std::mutex mutex_;
};

}  // namespace gangway::live
