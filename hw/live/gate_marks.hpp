// Events behind submissions whose number is limited; when one is reached, so much of its stream is over.
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
  // `captures`: so many are under way.
  constexpr GateMarks(Driver& driver, const std::atomic<std::uint32_t>& captures)
      : driver_(driver), captures_(captures) {}

  // Behind what was submitted to the stream; `begun`: how much of it is over then.
  void put(const StreamName& name, StreamSlot& slot, std::uint64_t begun);
  void look();    // says on the client page what is over
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
