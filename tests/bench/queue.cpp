// The hold model (pop the first event, push one a random time later) on our queue and on std::priority_queue
// with entries of the same 16 bytes. Prints one JSON line: nanoseconds per hold, the best of several
// interleaved rounds.
#include <fmt/format.h>

#include <chrono>
#include <queue>
#include <vector>

#include "models/random.hpp"
#include "sim/event_queue.hpp"

namespace {

using namespace gangway;

struct Entry {
  std::int64_t time;
  std::uint64_t sequence_and_id;
  bool operator>(const Entry& o) const {
    return time != o.time ? time > o.time : sequence_and_id > o.sequence_and_id;
  }
};

class Standard {
 public:
  void push(std::int64_t time, std::uint32_t id) {
    queue_.push({time, ++sequence_ << EventQueue::kIdBits | id});
  }
  std::pair<std::int64_t, std::uint32_t> pop() {
    const Entry first = queue_.top();
    queue_.pop();
    return {first.time,
            static_cast<std::uint32_t>(first.sequence_and_id & ((1u << EventQueue::kIdBits) - 1))};
  }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::uint64_t sequence_ = 0;
};

class Ours {
 public:
  void push(std::int64_t time, std::uint32_t id) { queue_.push(Time{time}, id); }
  std::pair<std::int64_t, std::uint32_t> pop() {
    const EventQueue::Event event = queue_.pop();
    return {event.time.ns, event.id};
  }

 private:
  EventQueue queue_;
};

std::uint64_t checksum = 0;  // keeps the compiler from dropping the loop; both queues must give the same

template <typename Queue>
double hold(std::size_t pending, const std::vector<std::int64_t>& gaps) {
  Queue queue;
  for (std::size_t i = 0; i < pending; ++i)
    queue.push(gaps[i % gaps.size()], static_cast<std::uint32_t>(i % (1u << EventQueue::kIdBits)));
  std::uint64_t sum = 0;
  const auto began = std::chrono::steady_clock::now();
  for (const std::int64_t gap : gaps) {
    const auto [time, id] = queue.pop();
    sum = sum * 31 + static_cast<std::uint64_t>(time) + id;
    queue.push(time + gap, id);
  }
  const auto spent = std::chrono::steady_clock::now() - began;
  checksum = sum;
  return std::chrono::duration<double, std::nano>(spent).count() / static_cast<double>(gaps.size());
}

}  // namespace

int main() {
  std::vector<std::int64_t> gaps(2'000'000);
  Stream random(1, "hold", {});
  for (std::int64_t& gap : gaps) gap = static_cast<std::int64_t>(random.exponential() * 1e6);
  std::string out;
  for (const std::size_t pending : {std::size_t{1'000}, std::size_t{100'000}}) {
    double ours = 1e9, standard = 1e9;
    for (int round = 0; round < 5; ++round) {
      ours = std::min(ours, hold<Ours>(pending, gaps));
      const std::uint64_t sum = checksum;
      standard = std::min(standard, hold<Standard>(pending, gaps));
      if (sum != checksum) {
        fmt::print(stderr, "the queues disagree\n");
        return 1;
      }
    }
    out += fmt::format("{}\"{}\": {{\"ours_ns\": {:.1f}, \"std_ns\": {:.1f}}}", out.empty() ? "" : ", ",
                       pending, ours, standard);
  }
  fmt::print("{{{}}}\n", out);
}
