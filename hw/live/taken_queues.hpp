// Which of a context's streams take the device's queues. The device has a few queues for each context; a
// stream that has work stands in one, alone while there are as many queues as such streams. A stream that is
// held must not stand before the keeper's own work in a queue: it would wait for what waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "hw/live/gate_driver.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

class TakenQueues {
 public:
  // Whether a stream waits for a launch that is not over. It can, without a submission of its own.
  using Held = std::function<bool(const StreamName&)>;
  explicit TakenQueues(Held held) : held_(std::move(held)) {}

  struct Moment {
    std::int64_t now, open_since;  // as Gate::open_since()
  };
  // Call before a submission to the stream, or its wait. False: it has no work yet, and `most` others of its
  // context have some, or have taken a queue and will; or `most` is 0. As the page knows: it may not know yet
  // what is over.
  bool take(ClientPage& page, const StreamName& stream, std::uint64_t context, std::size_t most,
            Moment moment);

 private:
  struct Taken {
    StreamName stream;
    std::uint64_t context, begun;  // submissions of the stream so far
    std::int64_t when;             // or since when it could submit, if that is later
  };
  bool has_taken(const StreamName& stream) const;

  Held held_;
  std::mutex mutex_;
  std::vector<Taken> taken_;  // by streams that have not submitted since, or are held
};

}  // namespace gangway::live
