// The client's book of launches of kernels that can leave before they end: which are on the device, which
// have left and must be launched again, in what order. Independent of CUDA.
//
// Behind each launch its stream waits until the launch's control word (hw/transform/rewrite.hpp) counts all
// blocks. So whatever the program puts behind a launch stays behind it even if the kernel leaves early:
// events, copies, other kernels and synchronising calls see it as unfinished until its last block is done.
// The remaining blocks are launched in another stream of the same context. When they have ended, the launch's
// word is set to its number of blocks, which lets the program's stream continue.
//
// A kernel whose blocks wait for later ones never leaves: blocks that run wait for blocks that were refused.
// So if the gate is open and a kernel that was told to leave has not done so for long, the rest of its grid
// joins it (is launched beside it), and it is not told to leave again. Its flag stays up, so its blocks that
// have not begun are refused. Once refused blocks have taken their claims back, the blocks that run are
// exactly those below its word's count. Until then a count that is read may be too high, never too low. So
// the rest begins at the lowest count read so far. Whenever a lower one is read, and when the kernel has
// gone, the blocks between the two counts join, too. Each part of the rest claims from a word of its own.
//
// Requests that the driver refuses are repeated. If it refuses for long, the launch has failed: the program
// gets an error, and its stream continues.
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

// A launch that can be made again: kernel, form, grid, parameters.
class RepeatableLaunch {
 public:
  virtual ~RepeatableLaunch() = default;
  virtual std::uint32_t blocks() const = 0;  // of the original grid
  // Notes that some of its blocks wait for later ones: it cannot leave, and later launches of its kernel use
  // the original kernel. True: this was not known.
  virtual bool waits_for_later_blocks() { return true; }
  virtual bool known_to_wait() const { return false; }  // whether that was noted
  virtual std::string kernel() const { return {}; }     // its name, for people
  // Whether LaunchPort::left() answers for this launch once it was told to leave while running.
  virtual bool says_when_it_leaves() const { return false; }
  // Whether it is launched in slices of its blocks (sliced_launches.cpp). The next two are called only then.
  virtual bool sliced() const { return false; }
  virtual SlicedKernel of_slices() const { return {}; }
  virtual void slice_took(std::uint32_t /*blocks*/, std::int64_t /*ns*/) {}  // time on the device
};

// Numbers a control word of the port's pool.
using Word = std::uint32_t;

// What became of a launch that the port was asked for.
enum class Submitted : std::uint8_t {
  no,    // the driver refused, and nothing was submitted
  held,  // its stream waits for its last block
  free,  // it runs, but its stream does not wait: it must never be told to leave
};

// What the book needs of one context's device. No call waits.
class LaunchPort {
 public:
  virtual ~LaunchPort() = default;
  // A word with count and flag 0, which no earlier order will change and for which neither count() nor left()
  // has an answer. None: all are in use.
  virtual std::optional<Word> take() = 0;
  virtual void give_back(Word word) = 0;  // no kernel claims from it any more
  // Gives the word back once the stream has passed the wait of the launch with this number, as it soon will.
  virtual void retire(Word word, std::uint64_t stream, std::uint32_t number) = 0;
  // Launches in the program's stream (nothing if sliced). Behind that, gone(stream) becomes `number`, and the
  // stream waits until the word counts all blocks. Numbers of a stream increase by 1.
  virtual Submitted launch(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                           std::uint32_t number) = 0;
  virtual std::uint32_t gone(std::uint64_t stream) = 0;
  // Raises or lowers the flags of words.
  virtual void flag(const std::vector<Word>& words, bool up) = 0;
  // Does what flag() does, to no launch's word. Code that a processor has not run for some milliseconds has
  // left its caches, which delays an order by tens of microseconds.
  virtual void rehearse() {}
  // The word's count, if the last block of the launch that claims from it has said that it leaves. No block
  // is under way then, but the kernel may not have ended: what is not on this GPU may not see all its effects
  // yet. again() and take() begin anew. Ask it only of launches that were told to leave. Not all say so
  // (RepeatableLaunch::says_when_it_leaves).
  virtual std::optional<std::uint32_t> left(Word /*word*/) { return std::nullopt; }
  // Requests the word's count when no block of the launch is under way; count() returns it later, once.
  // False: the driver refused, perhaps only this time.
  virtual bool ask(const RepeatableLaunch& launch, Word word) = 0;
  // Call it behind the order to raise the word's flag, and ask() later: its answer comes sooner. At most one
  // launch of the port is expected at a time. Until ask() or stop_expecting(), what shares a queue of the
  // device with the port may have to wait. False: not possible now, and ask() works as usual.
  virtual bool expect(const RepeatableLaunch& /*launch*/, Word /*word*/) { return false; }
  virtual void stop_expecting(Word /*word*/) {}
  // Launches the blocks from `first` on, beside the program's stream. Before that, it writes `first` as count
  // and no flag to the word, ahead of later orders about its flag. count() returns the word's count once the
  // kernel has left. False: the driver refused.
  virtual bool again(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                     std::uint32_t first) = 0;
  virtual std::optional<std::uint32_t> count(Word word) = 0;
  // Requests the word's count while the launch's kernel may be under way, behind earlier orders about its
  // flag; looked() may return it later, once. Independent of ask() and count(); nothing waits for the answer.
  // False: as for ask().
  virtual bool look(const RepeatableLaunch& launch, Word word) = 0;
  virtual std::optional<std::uint32_t> looked(Word word) = 0;
  virtual void drop_look(Word word) = 0;  // the answer is not needed any more
  // As again(), for the blocks from `first` to before `end`, behind no other kernel. Also false if not
  // possible now.
  virtual bool join(const RepeatableLaunch& launch, Word word, std::uint32_t first, std::uint32_t end) = 0;
  // Launches the blocks from `first` to before `end` of a sliced launch, beside the program's stream. False:
  // another slice is under way, or the driver refused. slice_over(): its time on the device, ns, once it has
  // ended.
  virtual bool slice(const RepeatableLaunch&, std::uint32_t /*first*/, std::uint32_t /*end*/) {
    return false;
  }
  virtual std::optional<std::int64_t> slice_over() { return std::nullopt; }
  // The driver's error with which it refused the latest again(), ask(), join() or slice(), or because of
  // which the latest count() has no answer; 0: the cause will pass.
  virtual std::int32_t refusal() { return 0; }
  // The launch has failed: the driver refuses what it needs, with this error. The program must get the error
  // before its stream passes.
  virtual void failed(const RepeatableLaunch& /*launch*/, std::int32_t /*error*/) {}
  virtual std::int64_t now() = 0;  // ns
  // The program's stream may pass.
  virtual void finish(Word word, std::uint32_t blocks) = 0;
  // Repeats what the driver has refused of flag(), finish() and give_back(), in their order. True: it still
  // refuses some.
  virtual bool owes() { return false; }
  // The stream has no launches left and gets no more. `passed`: it has passed the wait of the last one.
  virtual void forget(std::uint64_t /*stream*/, bool /*passed*/) {}
  virtual bool lost() { return false; }  // the context is broken: nothing of it runs any more
};

class LaunchBook {
 public:
  explicit LaunchBook(LaunchPort& port) : port_(port) {}

  // Call it in a thread that has passed the gate. Unless something was submitted, launch the original kernel.
  // `number`: of the launch in its stream; none if the stream does not wait for it.
  struct Launched {
    bool submitted = false;
    std::optional<std::uint32_t> number = {};
  };
  Launched launch(std::unique_ptr<RepeatableLaunch> launch, std::uint64_t stream);
  // The program has destroyed the stream; its remaining work continues. `idle`: there is none.
  void forget(std::uint64_t stream, bool idle);
  // leave(): launches on the device must leave, and those made from now on. go_on(): they may continue.
  void leave();
  void go_on();
  // How long a launch that was told to leave may stay before the rest of its grid joins it, ns.
  void set_patience(std::int64_t ns) { patience_ = ns; }
  // Call it now and then while any() and the order to leave may come at any time.
  void rehearse();
  // Finds launches that have left or ended, and launches again those that may continue. Call it repeatedly
  // while any().
  void step();

  bool any() const { return live_.load() != 0; }
  // Whether no launch has left, or been launched again; and whether some were told to leave.
  bool all_are_new() const;
  bool some_are_told() const;

  // The sliced launch whose turn it is, until it is over: the first one that a stream was seen to reach.
  // None: there is no such launch.
  struct Turn {
    std::uint64_t stream = 0;
    std::uint32_t number = 0;
    SlicedKernel of;
    std::uint32_t blocks = 0, done = 0;
    bool runs = false;  // a slice of it is on the device
    bool same(const Turn& other) const { return stream == other.stream && number == other.number; }
  };
  std::optional<Turn> turn();
  // Launches its blocks before `until`, unless a slice of it runs or launches must leave. True: it did.
  bool slice(std::uint32_t until);

  // Numbers of streams with launches, by their first launch, which ...
  struct Away {
    std::uint32_t there = 0;    // is on the device, or may be; or is over, and the next one begins
    std::uint32_t evicted = 0;  // has left, and has blocks left to do
    std::uint32_t unknown = 0;  // was told to leave, and has not: it may not have begun
    bool all() const { return there == 0 && unknown == 0; }
  };
  Away away() const;
  // Whether the stream waits behind a launch that has left.
  bool stopped(std::uint64_t stream) const;
  // Whether the launch with this number is over.
  bool over(std::uint64_t stream, std::uint32_t number) const;
  std::uint64_t evictions() const { return evictions_.load(); }
  std::uint64_t failed_launches() const { return failures_.load(); }
  // Kernels of which a launch turned out to wait for later blocks, and the latest one's name.
  std::uint32_t kernels_that_wait() const { return waiting_.load(); }
  std::string latest_that_waits() const;
  // Launches that are over, also those of a lost context.
  std::uint64_t ended() const { return ended_.load(); }

 private:
  enum class State {
    submitted,  // in the program's stream
    asked,      // it is gone; its count, which tells whether it is over, is awaited
    left,       // it is gone, and blocks are left to do
    again,      // the blocks that were left are on the device
    joined,     // blocks wait for later ones: all are on the device, or will be
  };
  enum class Expected : std::uint8_t { not_yet, yes, no_more };
  // Blocks that join a launch.
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
    std::int64_t asked_gone = 0;  // when the port was last asked whether it is gone
    // Whether the port expects that its count is asked for, and since when.
    Expected expected = Expected::not_yet;
    std::int64_t expected_since = 0;
    bool repeated = false;  // its blocks on the device claim from the spare word
    // Of a slice under way: its end, when it began, and whether the rest of the grid has joined it.
    std::uint32_t end = 0;
    std::int64_t began = 0;
    bool joins = false;
    // Looks at the count of a launch that was told to leave: when the latest was requested, since when blocks
    // have been seen that do not leave (0: none), the least count since then, and whether an answer is
    // awaited.
    std::int64_t looked = 0, stays = 0;
    std::uint32_t least = 0;
    bool looks = false;
    // Consecutive refusals by the driver of what it needs, when they began, and whether the launch has failed
    // by them.
    std::uint32_t refusals = 0;
    std::int64_t refused = 0;
    bool failed = false;
    // Joined:
    bool asked = false, gone = false;  // its earlier blocks have ended: their count is requested, known
    std::vector<Part> parts = {};      // that are under way
  };
  struct Stream {
    std::deque<Entry> entries;  // the first one may be on the device; the others wait for it
    std::uint32_t numbers = 0;
    // The word for launching the first entry again. It is taken before any other word; otherwise launches
    // that wait behind the first could take them all.
    std::optional<Word> spare;
    bool forgotten = false, idle = false;
  };

  using Count = std::optional<std::uint32_t>;

  static constexpr std::size_t kReserve = 8;  // words
  static constexpr std::int64_t kUsualPatience = 75'000'000;
  // ns; a kernel that was told to leave and has not done so for this long is not expected to leave soon.
  // The step that notices this may come later.
  static constexpr std::int64_t kSoon = 300'000;
  // ns between questions whether a launch is gone that says so itself: an answer takes the driver a
  // microsecond.
  static constexpr std::int64_t kUntilAskedAgain = 20'000;
  // A request that the driver has refused this often and for this long (ns) has failed.
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
  bool said_to_leave(const Stream& stream, Entry& entry);
  bool found_gone(std::uint64_t name, Entry& entry);
  void expect_it_to_leave(Entry& entry);
  void stop_expecting(Entry& entry);
  void expected_no_more(Entry& entry);
  void drop_look(const Stream& stream, Entry& entry);
  // Of launches that were told to leave and do not (joined_launches.cpp).
  void look_whether_it_waits(const Stream& stream, Entry& entry, Count seen);
  void look_again(const Stream& stream, Entry& entry);
  bool step_joined(std::uint64_t name, const Stream& stream, Entry& entry, Count seen);
  void step_parts(Entry& entry);
  void join_from(Entry& entry, std::uint32_t count);
  // Whether a stream's count has reached a launch's number; both wrap around.
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
  std::vector<Word> reserve_;  // for parts; kept, since waiting launches could take all others
  std::map<std::uint64_t, Stream> streams_;
  std::deque<std::uint64_t> turns_;  // streams that have reached a sliced launch, in this order
  bool leaving_ = false;
  bool expects_ = false;       // that some launch leaves soon
  std::uint64_t settled_ = 0;  // launches that are over once the port owes nothing; live until then
  std::atomic<std::uint64_t> live_{0}, evictions_{0}, failures_{0}, ended_{0};
  std::atomic<std::uint32_t> waiting_{0};
  std::string latest_that_waits_;
};

}  // namespace gangway::live
