// The keeper's part in slices: tells the daemon of the kernel whose turn it is and how far that has come, and
// launches what the permit has of it. Without a daemon that wants slices, all that is left.
#include <optional>

#include "hw/live/kill_points.hpp"
#include "hw/live/launch_keeper.hpp"

namespace gangway::live {

// The lock is held. One kernel of the process at a time, whatever its context.
void LaunchKeeper::turn_of_slices(const PermitPage& permit, ClientPage& page) {
  std::optional<LaunchBook::Turn> turn;
  if (sliced_ != nullptr) turn = sliced_->book->turn();
  if (sliced_ != nullptr && !(turn && turn->same(turn_))) {
    sliced_.reset();
    page.slices.at.store(0);
    ring_unless_polled(permit);
    GANGWAY_POINT("slices-over");
  }
  bool news = false;
  if (sliced_ == nullptr) {
    turn.reset();
    for (auto& [context, its] : books_)
      if (its->book != nullptr && (turn = its->book->turn())) {
        sliced_ = its;
        break;
      }
    slicing_.store(turn.has_value());
    if (!turn) return;
    ++numbers_of_slices_;
    page.slices.kernel.store(turn->of.kernel);
    page.slices.blocks.store(turn->blocks);
    page.slices.resident.store(turn->of.resident);
    page.slices.time.store(turn->of.time);
    news = true;
  }
  if (news || turn->done != turn_.done) {
    page.slices.at.store(SliceOrders::both(numbers_of_slices_, turn->done));
    ring_unless_polled(permit);
    if (!news) GANGWAY_POINT("slice-over");
  }
  turn_ = *turn;
  if (turn->runs || permit.allowed.load() == 0) return;
  const std::uint64_t ordered = permit.slices.until.load();
  std::uint32_t until = turn->blocks;
  if (permit.slices.wanted.load() != 0)
    until = ordered >> 32 == numbers_of_slices_ ? static_cast<std::uint32_t>(ordered) : 0;
  if (until <= turn->done) return;
  // As a thread that submits: whoever closes the gate waits until it is outside.
  page.crowd.fetch_add(1);
  if (permit.allowed.load() != 0 && &gate_.permit() == &permit && sliced_->book->slice(until))
    page.slices.launched.fetch_add(1);
  page.crowd.fetch_sub(1);
}

void LaunchKeeper::ring_unless_polled(const PermitPage& permit) {
  if (permit.polled.load() == 0) gate_.ring();
}

}  // namespace gangway::live
