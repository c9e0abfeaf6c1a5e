// Events behind submissions: of streams with an in-flight limit, and of those about which the driver cannot
// be asked. A reached event shows the stream's progress.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "hw/live/gate_driver.hpp"
#include "hw/live/page.hpp"

namespace gangway::live {

inline constexpr std::size_t kMostEnding = 64;  // contexts that end at the same time
inline constexpr std::uint32_t kMostInGroup = 8;
inline constexpr std::int64_t kQuick = 200'000;  // ns

class GateMarks {
 public:
  // `captures`: the number in progress.
  constexpr GateMarks(Driver& driver, const std::atomic<std::uint32_t>& captures)
      : driver_(driver), captures_(captures) {}

  // Puts an event behind the stream's work. `begun`: submissions that are over once it is reached.
  // False: there is no such event.
  bool put(const StreamName& name, StreamSlot& slot, std::uint64_t begun);
  // Likewise in a slot of several streams: once the event is reached, one more submission is over.
  void put_one(const StreamName& name, StreamSlot& slot);
  void look();              // updates the client page
  void look_unless_busy();  // likewise, but does not wait for a thread that is in one of these calls
  // Whether a submission, of so many that may be in flight, gets an event: each, or one of a group if they
  // have ended in quick succession lately and no other stream has work. An event costs the thread and the
  // device about 2 us. During captures each, as streams may not be asked.
  bool due(const ClientPage& page, const StreamSlot& slot, std::uint32_t most) const {
    return !quick_.load() || captures_.load() != 0 || page.outstanding() > slot.outstanding() ||
           slot.begun.load() - slot.marked.load() >= group(most);
  }
  // At most half of them: when they are over, the device still has the rest.
  static std::uint32_t group(std::uint32_t most) { return std::clamp(most / 2, 1U, kMostInGroup); }
  // Call these before and after a call that may destroy the context: to use one of its events during the
  // call, or once it is gone, would crash the process.
  void context_ends(std::uint64_t context);
  void context_ended(std::uint64_t context, bool gone);
  void forked();  // in the child: there are none

 private:
  struct Mark {
    Driver::Event event = nullptr;
    std::uint64_t context = 0;  // of the event
    StreamSlot* slot = nullptr;
    std::uint64_t begun = 0;  // 0: one more
  };
  void look_locked();
  void thin();
  static void over(const Mark& mark);
  bool ends(const Mark& mark) const;
  std::uint64_t context_of(const StreamName& name, const StreamSlot& slot);
  Driver& driver_;
  const std::atomic<std::uint32_t>& captures_;
  // One for each stream and some more. The first `used_`, oldest first.
  std::array<Mark, kStreams + std::size_t{2} * kMostInFlight> marks_;
  std::size_t used_ = 0;
  std::int64_t progress_ = 0;       // when some were last seen to be reached
  std::atomic<bool> quick_{false};  // less than kQuick for each submission since the time before
  std::array<std::uint64_t, kMostEnding> ending_{};  // contexts that may be destroyed right now
  std::mutex mutex_;
};

}  // namespace gangway::live
