// The client's record of preemptible launches: which are on the device, which have left and must be
// relaunched, in which order. Independent of CUDA.
//
// Behind each launch, its stream waits until the launch's control word (hw/transform/rewrite.hpp) has counted
// all blocks. Work that the program submits behind the launch (events, copies, kernels, synchronising calls)
// therefore waits for the last block, even after an eviction. Remaining blocks are launched in another stream
// of the same context. When they end, the original word is set to its final count, which releases the
// program's stream. end, which lets the program's stream go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gangway::live {

// A launch that can be repeated: kernel, form, grid, parameters. Created by the code that knows the driver.
class RepeatableLaunch {
 public:
  virtual ~RepeatableLaunch() = default;
  virtual std::uint32_t blocks() const = 0;  // of the original grid
};

// Index of a control word in the port's pool.
using Word = std::uint32_t;

// The book's requests to the device of one context. No call waits.
class LaunchPort {
 public:
  virtual ~LaunchPort() = default;
  // A word with count and flag 0, no pending change and no unread count. None: all are in use.
  virtual std::optional<Word> take() = 0;
  virtual void give_back(Word word) = 0;  // nothing on the device accesses it any more
  // Launches in the program's stream, followed by: a write of `number` to gone(stream), a wait for `blocks`
  // in the word, a write of `number` to done(stream). False: the driver refused and nothing was submitted.
  virtual bool launch(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                      std::uint32_t number) = 0;
  virtual std::uint32_t gone(std::uint64_t stream) = 0;
  virtual std::uint32_t done(std::uint64_t stream) = 0;
  // Sets or clears the flags of words.
  virtual void flag(const std::vector<Word>& words, bool up) = 0;
  // Requests the count of a word; count() returns it later, once.
  virtual void ask(Word word) = 0;
  // Launches the blocks from `first` on, outside the program's stream. The word is set to this count, flag
  // clear, before the launch; count() returns its count after the launch has left. False: the driver refused.
  virtual bool again(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                     std::uint32_t first) = 0;
  virtual std::optional<std::uint32_t> count(Word word) = 0;
  // Releases the program's stream.
  virtual void finish(Word word, std::uint32_t blocks) = 0;
};

class LaunchBook {
 public:
  explicit LaunchBook(LaunchPort& port) : port_(port) {}

  // Called by a thread that has passed the gate. False: nothing was submitted; make the original launch.
  bool launch(std::unique_ptr<RepeatableLaunch> launch, std::uint64_t stream);
  // Evicts all launches, present and future, until they may go on.
  void leave();
  void go_on();
  // Checks which launches have left or ended, and relaunches where allowed. Call repeatedly while any().
  void step();

  bool any() const { return live_.load() != 0; }
  // Numbers of streams, by the state of their first launch.
  struct Away {
    std::uint32_t there = 0;    // may be on the device, or is over and the next one begins
    std::uint32_t evicted = 0;  // has left with blocks remaining
    std::uint32_t unknown = 0;  // was told to leave and has not; may not have begun
    bool all() const { return there == 0 && unknown == 0; }
  };
  Away away() const;
  // Whether the stream waits behind an evicted launch.
  bool stopped(std::uint64_t stream) const;
  std::size_t in_stream(std::uint64_t stream) const;  // unfinished launches
  std::uint64_t evictions() const { return evictions_.load(); }

 private:
  enum class State {
    submitted,  // in the program's stream
    asked,      // has left; its count was requested
    over,       // all blocks are done; its stream is about to continue
    left,       // has left with blocks remaining
    again,      // the remaining blocks are on the device
  };
  struct Entry {
    std::unique_ptr<RepeatableLaunch> launch;
    std::uint32_t number = 0;  // within its stream, from 1
    Word word = 0;             // the word that its stream waits for
    std::uint32_t done = 0;    // blocks known to be done
    State state = State::submitted;
    bool flagged = false;
  };
  struct Stream {
    std::deque<Entry> entries;  // only the first may be on the device
    std::uint32_t numbers = 0;
    // For relaunching the first entry. Reserved before other words are taken, because launches waiting behind
    // it would use them all.
    std::optional<Word> spare;
  };

  bool step_first(std::uint64_t name, Stream& stream);
  void left_with(Entry& entry, std::uint32_t count);
  void raise(Stream& stream);
  void lower(Stream& stream);

  LaunchPort& port_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Stream> streams_;
  bool leaving_ = false;
  std::atomic<std::uint64_t> live_{0}, evictions_{0};
};

}  // namespace gangway::live
