// Finds the streams of a client that are held by a kernel that has left the GPU: streams whose next work is
// behind the kernel, or behind an event that was recorded behind it. With this a client can report that none
// of its work runs although work is outstanding. Rules: hw/live/README.md, "Kernels that leave".
//
// Only submissions made while some launch of the book is unfinished are recorded. A stream's barriers are its
// own unfinished launches and its waits for other streams, in order. The stream is held at its first
// unfinished barrier: at a launch once the kernel has left; at a wait once all work before it is over and the
// awaited stream is held. The legacy stream and blocking streams wait for each other. Waits that are not seen
// here (in graphs, for values or semaphores) make a stream seem to run; then the drain limit applies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace gangway::live {

// Identifies a stream. Numbers of destroyed streams are not used again.
using StreamId = std::uint64_t;

// The state of a launch, which is identified by its stream and number.
enum class LaunchIs : std::uint8_t { under_way, left, over };

class HeldWork {
 public:
  using Mark = void*;
  struct Questions {
    std::function<LaunchIs(StreamId, std::uint32_t)> launch;
    std::function<bool(Mark)> reached;    // whether all work before the mark is over
    std::function<void(Mark)> no_longer;  // the mark is not needed any more
    // Nothing will be asked of this stream's launches any more: it was forgotten, and all are over.
    std::function<void(StreamId)> gone = [](StreamId) {};
  };
  explicit HeldWork(Questions questions) : ask_(std::move(questions)) {}

  // A launch of the book was submitted to the stream.
  void launched(StreamId stream, std::uint32_t number);
  // Call before any submission to a stream of this context. `kind`: how it is ordered with the legacy stream.
  enum class Kind : std::uint8_t { legacy, blocking, apart };
  void submits(StreamId stream, std::uint64_t context, Kind kind);
  // Call before a launch of the book, whether or not submits() was called for it.
  void launches(StreamId stream, std::uint64_t context, Kind kind);
  // An event was recorded in the stream.
  void recorded(std::uint64_t event, StreamId stream);
  // Whether a wait for the event would wait for unfinished launches.
  bool held(std::uint64_t event);
  // The stream will wait for the event. `mark` comes behind all earlier work of the stream.
  void waits(StreamId stream, std::uint64_t event, Mark mark);
  bool is_held(StreamId stream);  // it has an unfinished barrier
  // Places in the driver's queue behind the stream's first unfinished barrier.
  std::uint64_t behind(StreamId stream);
  // Whether no work of the stream runs. False: it has no barrier, or some work may run.
  bool stands_still(StreamId stream);
  void forget(StreamId stream);               // it is destroyed; its remaining work continues
  void forget_all_of(std::uint64_t context);  // which is about to be destroyed, after all its work
  // Whether no work of destroyed streams with remaining work runs. False: there are no such streams.
  bool forgotten_stand_still();

 private:
  struct Position {
    StreamId stream = 0;
    std::uint64_t barrier = 0;
  };
  struct Barrier {
    std::uint64_t number = 0;  // in its stream, from 1
    std::uint64_t before = 0;  // places of the stream before it
    std::uint32_t launch = 0;  // 0: a wait
    Mark mark = nullptr;       // of a wait; null: what it waits for came behind all before it
    std::vector<Position> awaited;
  };
  struct Held {
    std::deque<Barrier> barriers;
    std::uint64_t barriers_so_far = 0, places = 0;
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
  std::size_t most_events_ = 256;  // then those whose work is over go: their events may be no more
};

}  // namespace gangway::live
