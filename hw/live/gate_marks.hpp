// Events behind submissions with an in-flight limit. A reached event shows the stream's progress.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hw/live/gate_driver.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

class GateMarks {
 public:
  // `captures`: the number in progress.
  constexpr GateMarks(Driver& driver, const std::atomic<std::uint32_t>& captures)
      : driver_(driver), captures_(captures) {}

  // Puts an event behind the stream's work. `begun`: submissions that are over once it is reached.
  void put(const StreamName& name, StreamSlot& slot, std::uint64_t begun);
  void look();    // updates the client page
  void forked();  // in the child: there are none

 private:
  struct Mark {
    Driver::Event event = nullptr;
    StreamSlot* slot = nullptr;
    std::uint64_t begun = 0;
  };
  Driver& driver_;
  const std::atomic<std::uint32_t>& captures_;
  std::array<Mark, std::size_t{2} * kMostInFlight> marks_;  // the first `used_`, oldest first
  std::size_t used_ = 0;
  std::mutex mutex_;
};

}  // namespace gangway::live
