#include "tests/sim/recorded/random_recording.hpp"

#include <algorithm>

#include "models/random.hpp"

namespace gangway::testing {
namespace {

using recording::Index;
using recording::MemoryKind;
using recording::OrderKind;
using recording::StreamKind;

// Writes calls in the order of time: whichever thread is first there makes the next one.
class RecordingDraw {
 public:
  RecordingDraw(Stream& random, std::uint64_t threads) : random_(random) {
    for (std::uint64_t s = 0, count = 1 + random_.below(3); s < count; ++s)
      streams_.push_back({m_.stream(s == 0 && random_.below(4) == 0 ? StreamKind::null
                                    : random_.below(3) == 0         ? StreamKind::blocking
                                                                    : StreamKind::non_blocking),
                          0});
    while (random_.below(2) == 0 && m_.r.threads.size() < threads) m_.thread();
    for (Index t = 0; t < m_.r.threads.size(); ++t) threads_.push_back({some(200), some(4) + 1, some(6) + 2});
  }

  recording::Recording draw() {
    for (;;) {
      Index next = recording::kNone;
      for (Index t = 0; t < threads_.size(); ++t)
        if (threads_[t].jobs > 0 && (next == recording::kNone || threads_[t].at < threads_[next].at))
          next = t;
      if (next == recording::kNone) return m_.r;
      step(next);
    }
  }

 private:
  struct ThreadDraw {
    std::int64_t at = 0, jobs = 0, calls = 0;
    bool submits = true;  // its next call is a kernel
  };
  struct StreamDraw {
    Index index = 0;
    std::int64_t end = 0;
  };

  std::int64_t some(std::uint64_t most) { return static_cast<std::int64_t>(random_.below(most)); }
  StreamDraw& any_stream() { return streams_[random_.below(streams_.size())]; }
  std::int64_t last_end() const {
    return std::max_element(streams_.begin(), streams_.end(),
                            [](const auto& a, const auto& b) { return a.end < b.end; })
        ->end;
  }
  // In a stream, behind everything that could hold it up.
  std::int64_t begin_of_work(const ThreadDraw& thread) {
    return std::max(thread.at + 10, last_end() + 1) + some(8);
  }

  void step(Index index) {
    ThreadDraw& thread = threads_[index];
    if (--thread.calls == 0) {
      const std::int64_t length = std::max<std::int64_t>(1, last_end() - thread.at) + some(5) + 1;
      m_.wait(OrderKind::context, 0, thread.at, length, index);
      thread = {thread.at + length + some(500), thread.jobs - 1, some(6) + 2};
      return;
    }
    StreamDraw& stream = any_stream();
    const std::uint64_t what =
        index == 0 && !thread.submits ? random_.below(7) : 0;  // some calls only the first thread makes
    thread.submits = false;
    if (what == 4) {
      copy(thread, stream, random_.below(2) == 0);
    } else if (what == 5) {
      recorded_.push_back(m_.record(stream.index, thread.at));
      thread.at += 1 + some(20);
    } else if (what == 6 && !recorded_.empty()) {
      m_.wait_event(stream.index, recorded_.back(), thread.at);
      thread.at += 1 + some(20);
    } else {
      const std::int64_t begin = begin_of_work(thread), length = 1 + some(3'000);
      m_.kernel(stream.index, thread.at, begin, length, index);
      stream.end = begin + length;
      thread.at += 5 + some(100);
    }
  }

  void copy(ThreadDraw& thread, StreamDraw& stream, bool asynchronous) {
    const std::int64_t begin = begin_of_work(thread), length = 1 + some(800);
    const bool out = random_.below(2) == 0;
    const MemoryKind host = asynchronous ? MemoryKind::pinned : MemoryKind::pageable;
    m_.copy(stream.index, thread.at, begin, length,
            {Bytes{100}, out ? MemoryKind::device : host, out ? host : MemoryKind::device, asynchronous});
    stream.end = begin + length;
    if (!asynchronous) m_.r.calls.back().length = Duration{stream.end + 3 - thread.at};
    thread.at += asynchronous ? 5 + some(50) : stream.end + 3 + some(50) - thread.at;
  }

  Stream& random_;
  MadeRecording m_;
  std::vector<StreamDraw> streams_;
  std::vector<ThreadDraw> threads_;
  std::vector<Index> recorded_;
};

}  // namespace

void draw_recorded(std::uint64_t number, RecordedScenario& scenario, std::uint64_t threads) {
  Stream random(number, "recorded", {});
  const auto some = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.below(most)); };
  for (std::uint64_t c = 0, count = 1 + random.below(3); c < count; ++c) {
    Client& client =
        scenario.client(std::string(1, static_cast<char>('A' + c)), RecordingDraw(random, threads).draw());
    client.arrive = Duration{some(3) * some(2'000)};
    client.weight = static_cast<double>(1 + random.below(3));
    client.priority = static_cast<std::int32_t>(random.below(3));
    if (random.below(3) == 0)
      scenario.paced(
          c, {.jobs = 1 + static_cast<std::uint32_t>(random.below(6)),
              .period = random.below(2) == 0 ? std::optional(Duration{1 + some(9'000)}) : std::nullopt,
              .think = Duration{some(2'000)}});
  }
  if (random.below(2) == 0) scenario.slice(100 + some(3'000), 10 + some(50), some(10), some(10), 0, some(8));
  scenario.device.access.interception = Duration{some(3) * some(200)};
  scenario.device.access.poll = Duration{some(3) * some(400)};
  scenario.device.commands = {Duration{some(50)}, Duration{some(20)}, Duration{some(20)}, Duration{0}};
}

}  // namespace gangway::testing
