// Launches that were told to leave and do not, because their blocks wait for later ones (launch_book.hpp).
#include <algorithm>

#include "hw/live/launch_book.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kBetweenCounts = 2'000'000;  // ns

}  // namespace

void LaunchBook::look_again(const Stream& stream, Entry& entry) {
  if (entry.looks || port_.now() - entry.looked < kBetweenCounts) return;
  entry.looked = port_.now();
  entry.looks = port_.look(*entry.launch, word_on_device(stream, entry));
}

// One that has not begun may stand behind something else, and is not to be started ahead of that. If all its
// blocks are there, none is missing.
void LaunchBook::look_whether_it_waits(const Stream& stream, Entry& entry, Count seen) {
  const std::uint32_t all = entry.launch->blocks();
  if (seen && (*seen <= entry.done || *seen >= all)) entry.stays = 0;
  if (seen && *seen > entry.done && *seen < all) {
    entry.least = entry.stays == 0 ? *seen : std::min(entry.least, *seen);
    if (entry.stays == 0) entry.stays = port_.now();
    if (!leaving_ && port_.now() - entry.stays >= patience_.load()) {
      stop_expecting(entry);
      entry.state = State::joined;
      entry.done = all;
      join_from(entry, entry.least);
      if (!entry.launch->waits_for_later_blocks()) return;
      latest_that_waits_ = entry.launch->kernel();
      waiting_.fetch_add(1);
      return;
    }
  }
  look_again(stream, entry);
}

// True: it is over.
bool LaunchBook::step_joined(std::uint64_t name, const Stream& stream, Entry& entry, Count seen) {
  const Word word = word_on_device(stream, entry);
  if (!entry.gone) {
    // Behind what was launched again its count follows; of what is in the program's stream it is asked.
    if (!entry.repeated && !entry.asked && reached(port_.gone(name), entry.number)) {
      entry.asked = accepted(entry, port_.ask(*entry.launch, word));
    }
    if (const Count last = count(entry, word)) {
      entry.gone = true;
      seen = last;
    }
  }
  if (seen) join_from(entry, *seen);
  step_parts(entry);
  if (entry.gone && entry.parts.empty()) {
    port_.finish(entry.word, entry.launch->blocks());
    return true;
  }
  if (!entry.gone) look_again(stream, entry);
  return false;
}

// The blocks from `count` on are not among those that it had before.
void LaunchBook::join_from(Entry& entry, std::uint32_t count) {
  if (count >= entry.done) return;
  if (!entry.parts.empty() && !entry.parts.back().word)
    entry.parts.back().first = count;
  else
    entry.parts.push_back({count, entry.done});
  entry.done = count;
}

void LaunchBook::step_parts(Entry& entry) {
  if (!entry.parts.empty() && !entry.parts.back().word) {
    Part& part = entry.parts.back();
    if (reserve_.empty())
      if (const std::optional<Word> taken = port_.take()) reserve_.push_back(*taken);
    if (!reserve_.empty() &&
        accepted(entry, port_.join(*entry.launch, reserve_.back(), part.first, part.end))) {
      part.word = reserve_.back();
      reserve_.pop_back();
    }
  }
  std::erase_if(entry.parts, [&](const Part& part) {
    if (!part.word || !count(entry, *part.word)) return false;
    if (reserve_.size() < kReserve)
      reserve_.push_back(*part.word);
    else
      port_.give_back(*part.word);
    return true;
  });
}

std::string LaunchBook::latest_that_waits() const {
  const std::lock_guard lock(mutex_);
  return latest_that_waits_;
}

}  // namespace gangway::live
