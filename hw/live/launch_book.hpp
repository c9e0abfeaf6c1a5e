// Launches of kernels that can leave before they end, as the client keeps them: what is on the device, what
// has left and has to be launched again, in what order. Knows nothing of CUDA.
//
// Behind each launch its stream waits until the launch's control word (hw/transform/rewrite.hpp) counts all
// blocks. So whatever the program puts behind a launch stays there, also when the kernel leaves early:
// events, copies, other kernels, synchronising calls see it as unfinished until its last block. What is left
// is launched in another stream of the same context, and when that has ended the first word is set to the
// end, which lets the program's stream go on.
//
// A kernel whose blocks wait for later ones is never gone: those that run wait for those that were refused.
// So if the gate is open and a kernel that was told to leave is not gone for long, the rest of its grid joins
// it, and it is not told to leave again. Its flag stays up, so what of it has not begun yet is refused, and
// the blocks that run are exactly those before its word's count once refused blocks have taken their claims
// back. Until then a count that is read is too high, never too low: the rest begins at the lowest count read
// so far, and whenever a lower one is read, and when the kernel is gone, the blocks between the two join as
// well. Each part of the rest claims from a word of its own.
//
// What the driver refuses is asked for again. A launch for which it does so for long has failed: the program
// hears of it, and its stream goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gangway::live {

// What a policy needs to know of a kernel before it is launched in slices.
struct SlicedKernel {
  std::uint32_t kernel = 0;    // equal for launches of one kernel with grids of one size
  std::uint32_t resident = 1;  // blocks that the device holds at once
  std::int64_t time = 0;       // of the whole grid alone, ns; 0: not known
};

// A launch as it can be made again: kernel, form, grid, parameters. Made by who knows the driver.
class RepeatableLaunch {
 public:
  virtual ~RepeatableLaunch() = default;
  virtual std::uint32_t blocks() const = 0;  // of the original grid
  // Some of its blocks wait for later ones, so it cannot leave; later launches of its kernel have to be made
  // as they are. True: nobody knew so far.
  virtual bool waits_for_later_blocks() { return true; }
  virtual bool known_to_wait() const { return false; }  // likewise
  virtual std::string kernel() const { return {}; }     // its name, for people
  // Launched in slices of its blocks (sliced_launches.cpp). The next two are called for such launches only.
  virtual bool sliced() const { return false; }
  virtual SlicedKernel of_slices() const { return {}; }
  virtual void slice_took(std::uint32_t /*blocks*/, std::int64_t /*ns*/) {}  // on the device
};

// Numbers a control word of the port's pool.
using Word = std::uint32_t;

// What became of a launch that the port was asked for.
enum class Submitted : std::uint8_t {
  no,    // the driver refused, and nothing was submitted
  held,  // its stream waits for its last block
  free,  // it runs, but its stream does not wait: it must never be told to leave
};

// What the book asks of the device of one context. No call waits.
class LaunchPort {
 public:
  virtual ~LaunchPort() = default;
  // A word whose count and flag are 0, which no earlier order is going to change, and of which count() has
  // nothing to say. None: all are in use.
  virtual std::optional<Word> take() = 0;
  virtual void give_back(Word word) = 0;  // nothing on the device reads or writes it any more
  // Likewise once the stream is behind the wait of the launch of that number, which is about to be.
  virtual void retire(Word word, std::uint64_t stream, std::uint32_t number) = 0;
  // Launches in the program's stream (nothing, of a sliced one), and behind that: `number` to gone(stream), a
  // wait for `blocks` in the word. Numbers of a stream go up by 1.
  virtual Submitted launch(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                           std::uint32_t number) = 0;
  virtual std::uint32_t gone(std::uint64_t stream) = 0;
  // Raises or lowers the flags of words.
  virtual void flag(const std::vector<Word>& words, bool up) = 0;
  // Asks for the count of the launch's word, none of whose blocks is under way; count() has it some time
  // later, once. False: the driver refused, and may not do so another time.
  virtual bool ask(const RepeatableLaunch& launch, Word word) = 0;
  // Launches the blocks from `first` on, beside the program's stream, with a word to which this count and no
  // flag are written before, ahead of later orders about its flag; count() has the word's count once it has
  // left. False: the driver refused.
  virtual bool again(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                     std::uint32_t first) = 0;
  virtual std::optional<std::uint32_t> count(Word word) = 0;
  // Asks for the count of the launch's word while its kernel may be under way, behind earlier orders about
  // its flag; looked() may have it some time later, once. Beside ask() and count(), and nothing waits for it.
  // False: as for ask().
  virtual bool look(const RepeatableLaunch& launch, Word word) = 0;
  virtual std::optional<std::uint32_t> looked(Word word) = 0;
  virtual void drop_look(Word word) = 0;  // the answer is not needed any more
  // As again(), of the blocks from `first` to before `end`, behind nothing else. False also: not now.
  virtual bool join(const RepeatableLaunch& launch, Word word, std::uint32_t first, std::uint32_t end) = 0;
  // Launches the blocks from `first` to before `end` of a sliced launch, beside the program's stream, if no
  // other slice is under way. slice_over(): its time on the device, ns, once it has ended. False: the driver
  // refused.
  virtual bool slice(const RepeatableLaunch&, std::uint32_t /*first*/, std::uint32_t /*end*/) {
    return false;
  }
  virtual std::optional<std::int64_t> slice_over() { return std::nullopt; }
  // The driver's error for which the latest again(), ask(), join() or slice() was refused, or for which the
  // latest count() has no answer; 0: it was something that passes.
  virtual std::int32_t refusal() { return 0; }
  // The launch has failed: the driver refuses what it needs, with that error. The program has to hear of it
  // before its stream passes.
  virtual void failed(const RepeatableLaunch& /*launch*/, std::int32_t /*error*/) {}
  virtual std::int64_t now() = 0;  // ns
  // The program's stream may pass.
  virtual void finish(Word word, std::uint32_t blocks) = 0;
  virtual void forget(std::uint64_t) {}  // nothing of the stream is left, and nothing will come
  virtual bool lost() { return false; }  // the context is broken: nothing of it runs any more
};

class LaunchBook {
 public:
  explicit LaunchBook(LaunchPort& port) : port_(port) {}

  // By a thread that passed the gate. False: nothing was submitted, and the launch has to be made as it is.
  bool launch(std::unique_ptr<RepeatableLaunch> launch, std::uint64_t stream);
  // The program has destroyed the stream; what is left of it goes on.
  void forget(std::uint64_t stream);
  // What is on the device has to leave, what is launched from now on too; or may go on.
  void leave();
  void go_on();
  // How long one that was told to leave may stay before the rest of its grid joins it, ns.
  void set_patience(std::int64_t ns) { patience_ = ns; }
  // Looks what has left and what has ended; launches again what may. To be called again and again while
  // any().
  void step();

  bool any() const { return live_.load() != 0; }

  // The sliced launch whose turn it is, until it is over: the first that its stream was seen to reach. None:
  // there is no such launch.
  struct Turn {
    std::uint64_t stream = 0;
    std::uint32_t number = 0;
    SlicedKernel of;
    std::uint32_t blocks = 0, done = 0;
    bool runs = false;  // a slice of it is on the device
    bool same(const Turn& other) const { return stream == other.stream && number == other.number; }
  };
  std::optional<Turn> turn();
  // Launches its blocks up to there, unless a slice runs or it may not. True: they are on the device.
  bool slice(std::uint32_t until);

  // Of the streams with launches, those whose first one ...
  struct Away {
    std::uint32_t there = 0;    // is on the device, or may be; or is over, and the next one begins
    std::uint32_t evicted = 0;  // has left, and has blocks left to do
    std::uint32_t unknown = 0;  // was told to leave, and has not: it may not have begun
    bool all() const { return there == 0 && unknown == 0; }
  };
  Away away() const;
  // Whether the stream is behind a launch that has left.
  bool stopped(std::uint64_t stream) const;
  // The number of the stream's latest launch (0: none so far), and whether the one of a number is over.
  std::uint32_t latest(std::uint64_t stream) const;
  bool over(std::uint64_t stream, std::uint32_t number) const;
  std::size_t in_stream(std::uint64_t stream) const;  // launches that are not over
  std::uint64_t evictions() const { return evictions_.load(); }
  // Kernels of which a launch turned out to wait for later blocks, and the latest one's name.
  std::uint32_t kernels_that_wait() const { return waiting_.load(); }
  std::string latest_that_waits() const;
  std::uint64_t ended() const {
    return ended_.load();
  }  // launches that are over, those of a lost context too

 private:
  enum class State {
    submitted,  // in the program's stream
    asked,      // it has left; is it over?
    left,       // blocks are left to do
    again,      // these are on the device
    joined,     // of one that waits for its later blocks, all are on the device, or will be
  };
  // Blocks that join such a launch.
  struct Part {
    std::uint32_t first = 0, end = 0;
    std::optional<Word> word = {};  // none: they are still to be launched
  };
  struct Entry {
    std::unique_ptr<RepeatableLaunch> launch;
    std::uint32_t number = 0;  // in its stream, from 1
    Word word = 0;             // for which its stream waits
    std::uint32_t done = 0;    // blocks, as far as known
    State state = State::submitted;
    bool flagged = false;
    bool repeated = false;  // its blocks on the device claim from the spare word
    // Of a sliced one, under way: where its slice ends, when that began, and whether the rest has joined it.
    std::uint32_t end = 0;
    std::int64_t began = 0;
    bool joins = false;
    // Looks at the count of one that is told to leave: when, whether there is no answer yet, and since when
    // blocks have been seen that do not leave (0: none), and the least count since.
    std::int64_t looked = 0, stays = 0;
    std::uint32_t least = 0;
    bool looks = false;
    // How often the driver has refused what it needs, one time after the other, since when, and whether it
    // has failed by that.
    std::uint32_t refusals = 0;
    std::int64_t refused = 0;
    bool failed = false;
    // Joined:
    bool asked = false, gone = false;  // the blocks that it had before have ended: its count is asked, known
    std::vector<Part> parts = {};      // that are under way
  };
  struct Stream {
    std::deque<Entry> entries;  // the first one may be on the device; the others wait for it
    std::uint32_t numbers = 0;
    // Of what is launched again, which is the first one only. Taken before any other word, or launches that
    // wait behind would have them all.
    std::optional<Word> spare;
    bool forgotten = false;
  };

  using Count = std::optional<std::uint32_t>;

  static constexpr std::size_t kReserve = 8;  // words
  static constexpr std::int64_t kUsualPatience = 75'000'000;
  // What the driver refuses at least so often and for so long (ns), it refuses for good.
  static constexpr std::uint32_t kFewRefusals = 16;
  static constexpr std::int64_t kMostRefused = 100'000'000;

  bool step_first(std::uint64_t name, Stream& stream);
  bool accepted(Entry& entry, bool yes);
  void give_up(std::uint64_t name, Entry& entry);
  Count count(Entry& entry, Word word);
  // Of launches in slices (sliced_launches.cpp).
  Entry* of_turn();
  bool step_sliced(std::uint64_t name, Entry& entry);
  void look_whether_slice_waits(Entry& entry);
  void leave_between_slices(const Entry& entry);
  bool may_go(std::uint64_t name, Stream& stream);
  bool left_with(const Stream& stream, Entry& entry, std::uint32_t count);
  void drop_look(const Stream& stream, Entry& entry);
  // Of a launch that is told to leave and does not (joined_launches.cpp).
  void look_whether_it_waits(const Stream& stream, Entry& entry, Count seen);
  void look_again(const Stream& stream, Entry& entry);
  bool step_joined(std::uint64_t name, const Stream& stream, Entry& entry, Count seen);
  void step_parts(Entry& entry);
  void join_from(Entry& entry, std::uint32_t count);
  // Whether a stream's count has come to a launch's number; both go round.
  static bool reached(std::uint32_t count, std::uint32_t number) {
    return static_cast<std::int32_t>(count - number) >= 0;
  }
  static Word word_on_device(const Stream& stream, const Entry& entry) {
    return entry.repeated ? *stream.spare : entry.word;
  }
  void raise(Stream& stream);
  void lower(Stream& stream);

  LaunchPort& port_;
  std::atomic<std::int64_t> patience_{kUsualPatience};
  mutable std::mutex mutex_;
  std::vector<Word> reserve_;  // for parts; kept, or launches that wait behind would have all words
  std::map<std::uint64_t, Stream> streams_;
  std::deque<std::uint64_t> turns_;  // streams whose first launch is sliced, and begins
  bool leaving_ = false;
  std::atomic<std::uint64_t> live_{0}, evictions_{0}, ended_{0};
  std::atomic<std::uint32_t> waiting_{0};
  std::string latest_that_waits_;
};

}  // namespace gangway::live
