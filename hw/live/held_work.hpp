// Which streams of a client stand still because of a kernel that has left: behind it, or behind an event that
// was recorded behind it. So a client can say that nothing of it runs although work is outstanding.
//
// Only what is submitted while launches of a book are not over is noted. A stream's barriers, in their order,
// are its own such launches, and waits for other streams'. It stands still at its first barrier that is not
// over: at a launch once that has left, at a wait once all before the wait is over and what it waits for
// stands still. Legacy streams and those that block wait for each other. What is not seen here (waits within
// graphs, for values or semaphores) makes a stream seem to go on: then the gate's limit for draining applies.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace gangway::live {

// A stream for as long as it lives: no later one has its number.
using StreamId = std::uint64_t;

// What a launch is doing, asked by stream and number.
enum class LaunchIs : std::uint8_t { under_way, left, over };

class HeldWork {
 public:
  using Mark = void*;
  struct Questions {
    std::function<LaunchIs(StreamId, std::uint32_t)> launch;
    std::function<bool(Mark)> reached;    // all before the mark is over
    std::function<void(Mark)> no_longer;  // nobody asks about it again
  };
  explicit HeldWork(Questions questions) : ask_(std::move(questions)) {}

  // A launch of a book was submitted to the stream.
  void launched(StreamId stream, std::uint32_t number);
  // Anything is to be submitted to a stream of this context. `kind`: how it stands to the legacy one.
  enum class Kind : std::uint8_t { legacy, blocking, apart };
  void submits(StreamId stream, std::uint64_t context, Kind kind);
  // An event is recorded in it.
  void recorded(std::uint64_t event, StreamId stream);
  // Whether a wait for the event is one for launches that are not over.
  bool held(std::uint64_t event);
  // The stream is going to wait for it; the mark is behind all before.
  void waits(StreamId stream, std::uint64_t event, Mark mark);
  // Of the context's streams, those that stand behind something that is not over; and whether the stream is
  // one, or would be after a submission.
  std::size_t held_streams(std::uint64_t context);
  bool is_held(StreamId stream);
  bool would_be_held(StreamId stream, std::uint64_t context, Kind kind);
  // Submissions to the stream behind its first barrier that is not over.
  std::uint64_t behind(StreamId stream);
  // Whether nothing of the stream runs. False: it has no barrier, or something may run.
  bool stands_still(StreamId stream);
  void forget(StreamId stream);  // it is destroyed; what is left of it goes on
  // Whether nothing of the destroyed streams runs of which something is left. False: there are none.
  bool forgotten_stand_still();

 private:
  struct Position {
    StreamId stream = 0;
    std::uint64_t barrier = 0;
  };
  struct Barrier {
    std::uint64_t number = 0;  // in its stream, from 1
    std::uint64_t before = 0;  // submissions of the stream before it
    std::uint32_t launch = 0;  // 0: a wait
    Mark mark = nullptr;       // of a wait; null: what it waits for came behind all before it
    std::vector<Position> awaited;
  };
  struct Held {
    std::deque<Barrier> barriers;
    std::uint64_t barriers_so_far = 0, submissions = 0;
    std::uint64_t context = 0;
    Kind kind = Kind::apart;
    bool forgotten = false;
  };

  void prune();
  bool over(const Position& position) const;
  bool over(StreamId stream, const Barrier& barrier) const;
  bool still(StreamId stream, int depth) const;
  static bool waits_already(const Held& held, const Position& position);
  std::vector<Position> waited_for(StreamId stream, std::uint64_t context, Kind kind) const;
  void add_wait(StreamId stream, std::vector<Position> awaited, Mark mark);

  Questions ask_;
  std::mutex mutex_;
  std::map<StreamId, Held> streams_;
  std::map<std::uint64_t, Position> events_;
};

}  // namespace gangway::live
