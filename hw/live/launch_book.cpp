#include "hw/live/launch_book.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gangway::live {

LaunchBook::Launched LaunchBook::launch(std::unique_ptr<RepeatableLaunch> launch, std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  Stream& its = streams_[stream];
  while (reserve_.size() < kReserve) {
    const std::optional<Word> taken = port_.take();
    if (!taken) return {};
    reserve_.push_back(*taken);
  }
  if (!its.spare) its.spare = port_.take();
  const std::optional<Word> word = its.spare ? port_.take() : std::nullopt;
  if (!word) return {};
  const Submitted submitted = port_.launch(*launch, stream, *word, its.numbers + 1);
  if (submitted == Submitted::free) return {true};  // the word stays its kernel's
  if (submitted == Submitted::no) {
    port_.give_back(*word);
    return {};
  }
  Entry entry;
  entry.launch = std::move(launch);
  entry.number = ++its.numbers;
  entry.word = *word;
  its.entries.push_back(std::move(entry));
  live_.fetch_add(1);
  if (leaving_) raise(its);  // the gate was closed behind this thread
  return {true, its.numbers};
}

void LaunchBook::raise(Stream& stream) {
  std::vector<Word> words;
  for (Entry& entry : stream.entries) {
    if (entry.flagged || (entry.state != State::submitted && entry.state != State::again)) continue;
    if (entry.launch->sliced() || entry.launch->known_to_wait()) continue;
    entry.flagged = true;
    entry.stays = 0;
    entry.looked = port_.now();
    words.push_back(word_on_device(stream, entry));
  }
  if (!words.empty()) port_.flag(words, true);
}

void LaunchBook::leave() {
  const std::lock_guard lock(mutex_);
  if (const Entry* between = leaving_ ? nullptr : of_turn();
      between != nullptr && between->state == State::left)
    leave_between_slices(*between);
  leaving_ = true;
  for (auto& [name, stream] : streams_) raise(stream);
}

void LaunchBook::go_on() {
  const std::lock_guard lock(mutex_);
  leaving_ = false;
  for (auto& [name, stream] : streams_)
    if (!stream.entries.empty() && stream.entries.front().state == State::left) lower(stream);
}

// Of a stream whose first launch has left: what stands behind that has not begun. The flags of others stay
// up, since a kernel that was about to leave must not change its mind; they are launched again.
void LaunchBook::lower(Stream& stream) {
  std::vector<Word> words;
  for (std::size_t at = 1; at < stream.entries.size(); ++at)
    if (stream.entries[at].flagged) {
      stream.entries[at].flagged = false;
      words.push_back(stream.entries[at].word);
    }
  if (!words.empty()) port_.flag(words, false);
}

void LaunchBook::step() {
  const std::lock_guard lock(mutex_);
  if (live_.load() != 0 && port_.lost()) {
    streams_.clear();
    turns_.clear();
    expects_ = false;
    settled_ = 0;
    ended_.fetch_add(live_.exchange(0));
  }
  for (auto at = streams_.begin(); at != streams_.end();) {
    auto& [name, stream] = *at;
    while (!stream.entries.empty() && step_first(name, stream)) {
    }
    at = may_go(name, stream) ? streams_.erase(at) : std::next(at);
  }
  if (live_.load() == 0 || port_.owes()) return;
  live_.fetch_sub(settled_);
  ended_.fetch_add(std::exchange(settled_, 0));
}

void LaunchBook::forget(std::uint64_t stream, bool idle) {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  found->second.forgotten = true;
  found->second.idle = idle;
  if (may_go(stream, found->second)) streams_.erase(found);
}

bool LaunchBook::may_go(std::uint64_t name, Stream& stream) {
  if (!stream.forgotten || !stream.entries.empty()) return false;
  if (stream.spare) port_.give_back(*stream.spare);
  port_.forget(name, stream.idle);
  return true;
}

// True: the stream's first launch is over, and the next one is the first.
bool LaunchBook::step_first(std::uint64_t name, Stream& stream) {
  Entry& entry = stream.entries.front();
  const bool sliced = entry.launch->sliced();
  bool over = entry.failed || (sliced && step_sliced(name, entry));
  if (entry.failed) give_up(name, entry);
  if (sliced && !over) return false;
  std::optional<std::uint32_t> seen;
  if (entry.looks) {
    seen = port_.looked(word_on_device(stream, entry));
    entry.looks = !seen;
  }
  over = over || said_to_leave(stream, entry);
  if (!over && entry.state == State::submitted && found_gone(name, entry) &&
      !(over = said_to_leave(stream, entry)) && entry.state == State::submitted) {
    // Nobody told it to leave: it came to its end.
    over = !entry.flagged;
    if (over || accepted(entry, port_.ask(*entry.launch, entry.word)))
      entry.state = State::asked;  // else at the next step
    if (entry.state == State::asked) expected_no_more(entry);
  }
  if (!over) expect_it_to_leave(entry);
  if (!over && (entry.state == State::asked || entry.state == State::again))
    if (const Count last = count(entry, word_on_device(stream, entry)))
      over = left_with(stream, entry, *last);
  if (!over && entry.flagged && (entry.state == State::submitted || entry.state == State::again))
    look_whether_it_waits(stream, entry, seen);
  if (!over && entry.state == State::joined) over = step_joined(name, stream, entry, seen);
  if (over) {
    stop_expecting(entry);
    drop_look(stream, entry);
    port_.retire(entry.word, name, entry.number);
    stream.entries.pop_front();
    ++settled_;
    return true;
  }
  if (entry.state == State::left && !leaving_) {
    lower(stream);
    entry.flagged = false;
    if (accepted(entry, port_.again(*entry.launch, name, *stream.spare, entry.done))) {
      entry.state = State::again;
      entry.repeated = true;
    }
  }
  return false;
}

// True: it is over. The program's stream does not wait for the end of what was launched again, only for the
// word, so with its last blocks that end is awaited.
bool LaunchBook::said_to_leave(const Stream& stream, Entry& entry) {
  if (!entry.flagged || (entry.state != State::submitted && entry.state != State::again)) return false;
  const Count last = port_.left(word_on_device(stream, entry));
  if (!last || (entry.state == State::again && *last >= entry.launch->blocks())) return false;
  stop_expecting(entry);
  return left_with(stream, entry, *last);
}

// Also one that says when it leaves can end before it has seen the order.
bool LaunchBook::found_gone(std::uint64_t name, Entry& entry) {
  if (entry.flagged && entry.launch->says_when_it_leaves()) {
    if (port_.now() - entry.asked_gone < kUntilAskedAgain) return false;
    entry.asked_gone = port_.now();
  }
  return reached(port_.gone(name), entry.number);
}

// A kernel that was told to leave mostly does so soon.
void LaunchBook::expect_it_to_leave(Entry& entry) {
  if (entry.state != State::submitted || !entry.flagged) return;
  if (entry.expected == Expected::not_yet && !expects_) {
    expects_ = port_.expect(*entry.launch, entry.word);
    entry.expected = expects_ ? Expected::yes : Expected::no_more;
    entry.expected_since = port_.now();
  }
  if (entry.expected == Expected::yes && port_.now() - entry.expected_since >= kSoon) stop_expecting(entry);
}

void LaunchBook::stop_expecting(Entry& entry) {
  if (entry.expected == Expected::yes) port_.stop_expecting(entry.word);
  expected_no_more(entry);
}

void LaunchBook::expected_no_more(Entry& entry) {
  if (entry.expected == Expected::yes) expects_ = false;
  entry.expected = Expected::no_more;
}

void LaunchBook::rehearse() {
  const std::lock_guard lock(mutex_);
  if (any()) port_.rehearse();
}

// `yes`: the port has done what the launch needs.
bool LaunchBook::accepted(Entry& entry, bool yes) {
  const std::int32_t error = yes ? 0 : port_.refusal();
  if (yes) entry.refusals = 0;
  if (error == 0) return yes;
  if (entry.refusals++ == 0) entry.refused = port_.now();
  if (entry.failed || entry.refusals < kFewRefusals || port_.now() - entry.refused < kMostRefused)
    return false;
  entry.failed = true;  // the next step ends it
  failures_.fetch_add(1);
  port_.failed(*entry.launch, error);
  return false;
}

LaunchBook::Count LaunchBook::count(Entry& entry, Word word) {
  const Count found = port_.count(word);
  accepted(entry, found.has_value());
  return found;
}

void LaunchBook::give_up(std::uint64_t name, Entry& entry) {
  if (entry.launch->sliced())
    if (const auto turn = std::find(turns_.begin(), turns_.end(), name); turn != turns_.end())
      turns_.erase(turn);
  port_.finish(entry.word, entry.launch->blocks());
}

// True: it is over, and its stream about to pass.
bool LaunchBook::left_with(const Stream& stream, Entry& entry, std::uint32_t count) {
  drop_look(stream, entry);
  entry.done = count;
  if (count < entry.launch->blocks()) {
    entry.state = State::left;
    evictions_.fetch_add(1);
    return false;
  }
  if (entry.state == State::again) port_.finish(entry.word, count);
  return true;
}

void LaunchBook::drop_look(const Stream& stream, Entry& entry) {
  if (entry.looks) port_.drop_look(word_on_device(stream, entry));
  entry.looks = false;
}

bool LaunchBook::all_are_new() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& one) {
    return one.second.entries.empty() || one.second.entries.front().state == State::submitted;
  });
}

bool LaunchBook::some_are_told() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& one) {
    const std::deque<Entry>& entries = one.second.entries;
    return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.flagged; });
  });
}

LaunchBook::Away LaunchBook::away() const {
  const std::lock_guard lock(mutex_);
  Away found;
  for (const auto& [name, stream] : streams_) {
    if (stream.entries.empty()) continue;
    const Entry& first = stream.entries.front();
    if (first.state == State::left)
      ++found.evicted;
    else if (first.state == State::submitted && first.flagged)
      ++found.unknown;
    else
      ++found.there;
  }
  return found;
}

bool LaunchBook::over(std::uint64_t stream, std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.entries.empty() ||
         !reached(number, found->second.entries.front().number);
}

bool LaunchBook::stopped(std::uint64_t stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(stream);
  return found != streams_.end() && !found->second.entries.empty() &&
         found->second.entries.front().state == State::left;
}

}  // namespace gangway::live
