// The client's book of preemptible launches against a device that does everything at the worst moment.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "hw/live/launch_book.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

using live::LaunchBook;
using live::RepeatableLaunch;
using live::Word;

class FakeLaunch : public RepeatableLaunch {
 public:
  FakeLaunch(std::uint32_t launch, std::uint32_t blocks) : id(launch), blocks_(blocks) {}
  std::uint32_t blocks() const override { return blocks_; }
  const std::uint32_t id;

 private:
  const std::uint32_t blocks_;
};

// Streams, a stream beside each, and a stream of the port's own, each of which does one thing after the
// other; which of them goes on is drawn. A block claims, and ends (or takes its claim back) some time later.
class FakeContext : public live::LaunchPort {
 public:
  explicit FakeContext(std::uint64_t seed) : random_(seed, "device", {}), words_(12) {}

  std::optional<Word> take() override {
    std::erase_if(retired_, [&](const Retired& one) {
      if (passed_[one.stream] >= one.number) words_[one.word].taken = false;
      return passed_[one.stream] >= one.number;
    });
    for (Word w = 0; w < words_.size(); ++w)
      if (!words_[w].taken && !ordered(w)) {
        words_[w] = {};
        words_[w].taken = true;
        reports_.erase(w);
        return w;
      }
    return std::nullopt;
  }
  void give_back(Word word) override {
    for (const Kernel& kernel : kernels_)
      faulty(kernel.word == word, "a word is given back while its kernel runs");
    faulty(!words_[word].taken, "a word is given back twice");
    words_[word].taken = false;
  }
  void retire(Word word, std::uint64_t stream, std::uint32_t number) override {
    for (const Kernel& kernel : kernels_)
      faulty(kernel.word == word, "a word is retired while its kernel runs");
    retired_.push_back({word, number, stream});
  }
  live::Submitted launch(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                         std::uint32_t number) override {
    if (random_.below(20) == 0) return live::Submitted::no;
    const auto& fake = static_cast<const FakeLaunch&>(launch);
    Queue& queue = queues_["s" + std::to_string(stream)];
    queue.push_back({Do::kernel, word, fake.id, 0, fake.blocks()});
    queue.push_back({Do::gone, 0, 0, stream, number});
    queue.push_back({Do::wait, word, number, stream, fake.blocks()});
    return live::Submitted::held;
  }
  std::uint32_t gone(std::uint64_t stream) override { return gone_[stream]; }
  void flag(const std::vector<Word>& words, bool up) override {
    for (const Word word : words) queues_["own"].push_back({up ? Do::raise : Do::lower, word, 0, 0, 0});
  }
  void ask(Word word) override { queues_["own"].push_back({Do::report, word, 0, 0, 0}); }
  bool again(const RepeatableLaunch& launch, std::uint64_t stream, Word word, std::uint32_t first) override {
    if (random_.below(20) == 0) return false;
    const auto& fake = static_cast<const FakeLaunch&>(launch);
    Queue& queue = queues_["b" + std::to_string(stream)];
    queue.push_back({Do::begin, word, 0, 0, first});
    queue.push_back({Do::kernel, word, fake.id, 0, fake.blocks() - first});
    queue.push_back({Do::report, word, 0, 0, 0});
    return true;
  }
  std::optional<std::uint32_t> count(Word word) override {
    const auto found = reports_.find(word);
    if (found == reports_.end()) return std::nullopt;
    const std::uint32_t count = found->second;
    reports_.erase(found);
    return count;
  }
  void finish(Word word, std::uint32_t blocks) override {
    queues_["own"].push_back({Do::set, word, 0, 0, blocks});
  }

  // What a program puts behind its launches so far: they all have to be over.
  void mark(std::uint64_t stream, std::vector<std::uint32_t> launches) {
    marks_.push_back(std::move(launches));
    queues_["s" + std::to_string(stream)].push_back(
        {Do::mark, 0, static_cast<std::uint32_t>(marks_.size() - 1), 0, 0});
  }
  void knows(std::uint32_t launch, std::uint32_t blocks) { ended_[launch].assign(blocks, 0); }

  // One thing that can happen; false: there is none.
  bool step() {
    std::vector<Queue*> ready;
    for (auto& [name, queue] : queues_)
      if (!queue.empty() && can(queue.front())) ready.push_back(&queue);
    if (ready.empty()) return false;
    Queue& queue = *ready[random_.below(ready.size())];
    if (carry_out(queue.front())) queue.pop_front();
    return true;
  }

  bool idle() const {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& one) { return one.second.empty(); });
  }
  std::uint64_t claims() const { return claims_; }
  bool every_block_once() const {
    for (const auto& [launch, blocks] : ended_)
      for (const int times : blocks)
        if (times != 1) return false;
    return true;
  }
  const std::set<std::string>& faults() const { return faults_; }

 private:
  enum class Do { begin, kernel, gone, wait, raise, lower, report, set, mark };
  struct Step {
    Do what;
    Word word;
    std::uint32_t id;
    std::uint64_t stream;
    std::uint32_t number;  // kernel: blocks that have not begun
  };
  using Queue = std::deque<Step>;
  struct ControlWord {
    std::uint32_t count = 0;
    bool flag = false, taken = false;
  };
  struct Kernel {
    Word word;
    std::uint32_t id;
    std::uint32_t to_begin;
    std::vector<std::uint32_t> running;
    std::uint32_t refused = 0;  // that have not taken their claim back yet
  };

  // Whether an order of before is still to change the word.
  bool ordered(Word word) {
    const Queue& own = queues_["own"];
    return std::any_of(own.begin(), own.end(), [&](const Step& step) { return step.word == word; });
  }

  void faulty(bool is, const char* what) {
    if (is) faults_.insert(what);
  }

  bool can(const Step& step) const { return step.what != Do::wait || words_[step.word].count >= step.number; }

  // True: it is over.
  bool carry_out(Step& step) {
    ControlWord& word = words_[step.word];
    switch (step.what) {
      case Do::begin:
        word.count = step.number;
        word.flag = false;
        break;
      case Do::kernel:
        return kernel(step);
      case Do::gone:
        gone_[step.stream] = step.number;
        break;
      case Do::wait:
        passed_[step.stream] = step.id;
        break;
      case Do::raise:
        word.flag = true;
        break;
      case Do::lower:
        word.flag = false;
        break;
      case Do::report:
        reports_[step.word] = word.count;
        break;
      case Do::set:
        word.count = step.number;
        break;
      case Do::mark:
        for (const std::uint32_t launch : marks_[step.id])
          for (const int times : ended_[launch])
            faulty(times != 1, "the stream went on before its launch was over");
        break;
    }
    return true;
  }

  bool kernel(const Step& step) {
    auto found =
        std::find_if(kernels_.begin(), kernels_.end(), [&](const Kernel& k) { return k.word == step.word; });
    if (found == kernels_.end())
      found = kernels_.insert(kernels_.end(), {step.word, step.id, step.number, {}, 0});
    Kernel& kernel = *found;
    const std::uint64_t choice = random_.below(3);
    if (choice == 0 && kernel.to_begin != 0) {
      claim(kernel);
    } else if (choice == 1 && !kernel.running.empty()) {
      const std::size_t which = random_.below(kernel.running.size());
      ++ended_[kernel.id].at(kernel.running[which]);
      kernel.running.erase(kernel.running.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (choice == 2 && kernel.refused != 0) {
      --kernel.refused;
      --words_[kernel.word].count;
    }
    if (kernel.to_begin != 0 || !kernel.running.empty() || kernel.refused != 0) return false;
    kernels_.erase(found);
    return true;
  }

  void claim(Kernel& kernel) {
    --kernel.to_begin;
    ControlWord& word = words_[kernel.word];
    const std::uint32_t index = word.count++;
    if (word.flag) {
      ++kernel.refused;
      return;
    }
    ++claims_;
    faulty(index >= ended_[kernel.id].size(), "a block behind the grid's last");
    if (index < ended_[kernel.id].size()) kernel.running.push_back(index);
  }

  Stream random_;
  std::vector<ControlWord> words_;
  std::map<std::string, Queue> queues_;
  std::map<std::uint64_t, std::uint32_t> gone_, passed_;
  struct Retired {
    Word word;
    std::uint32_t number;
    std::uint64_t stream;
  };
  std::vector<Retired> retired_;
  std::map<Word, std::uint32_t> reports_;
  std::vector<std::vector<std::uint32_t>> marks_;
  std::map<std::uint32_t, std::vector<int>> ended_;
  std::vector<Kernel> kernels_;
  std::uint64_t claims_ = 0;
  std::set<std::string> faults_;
};

struct PlayedBook {
  std::uint64_t evictions = 0, launches = 0;
  std::set<std::string> faults;
};

PlayedBook play_book(std::uint64_t seed) {
  Stream random(seed, "program", {});
  FakeContext device(seed);
  LaunchBook book(device);
  PlayedBook played;
  bool leaving = false, away = false;
  std::uint64_t claims_away = 0;
  std::map<std::uint64_t, std::vector<std::uint32_t>> in_stream;
  const std::uint64_t streams = 1 + random.below(3);
  std::uint32_t launches = 0;
  for (int turn = 0; turn < 3000; ++turn) {
    switch (random.below(12)) {
      case 0:
        if (launches < 30 && !leaving) {  // the gate holds launches while others have the device
          const std::uint64_t stream = random.below(streams);
          const auto blocks = static_cast<std::uint32_t>(1 + random.below(20));
          device.knows(launches, blocks);
          if (book.launch(std::make_unique<FakeLaunch>(launches, blocks), stream)) {
            in_stream[stream].push_back(launches);
            ++launches;
          } else {
            device.knows(launches, 0);
          }
          if (random.below(2) == 0) device.mark(stream, in_stream[stream]);
        }
        break;
      case 1:
        if (random.below(4) == 0) {
          leaving = !leaving;
          leaving ? book.leave() : book.go_on();
          away = false;
        }
        break;
      case 2:
      case 3:
        book.step();
        break;
      default:
        device.step();
    }
    if (leaving && !away && book.away().all()) {
      away = true;
      claims_away = device.claims();
    }
    if (away && device.claims() != claims_away) played.faults.insert("a block claims while all is away");
  }
  if (!leaving) book.leave();
  for (int turn = 0; turn < 20'000 && !book.away().all(); ++turn) {
    device.step();
    book.step();
  }
  if (!book.away().all()) played.faults.insert("not all left");
  book.go_on();
  for (int turn = 0; turn < 20'000 && (book.any() || !device.idle()); ++turn) {
    for (int steps = 0; steps < 5; ++steps) device.step();
    book.step();
  }
  if (book.any()) played.faults.insert("launches are never over");
  if (!device.every_block_once()) played.faults.insert("a block did not run once");
  played.faults.insert(device.faults().begin(), device.faults().end());
  played.evictions = book.evictions();
  played.launches = launches;
  return played;
}

}  // namespace

TEST_CASE("a launch that left is launched again from where it was, and what is behind it waits") {
  FakeContext device(1);
  LaunchBook book(device);
  device.knows(7, 5);
  while (!book.launch(std::make_unique<FakeLaunch>(7, 5), 1)) {
  }
  device.mark(1, {7});
  CHECK_FALSE(book.away().all());
  for (int claims = 0; device.claims() < 2; ++claims) device.step();
  book.leave();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(book.away().all());
  CHECK(book.away().evicted == 1);
  CHECK(book.stopped(1));
  CHECK_FALSE(device.every_block_once());
  CHECK_FALSE(device.idle());  // the mark waits
  book.go_on();
  for (int steps = 0; steps < 500; ++steps) device.step(), book.step();
  CHECK(device.every_block_once());
  CHECK(device.idle());
  CHECK_FALSE(book.any());
  CHECK(device.faults() == std::set<std::string>{});
  CHECK(book.evictions() == 1);
}

TEST_CASE("whenever launches leave, every block runs once and nothing overtakes", "[long]") {
  std::uint64_t evictions = 0, launches = 0;
  for (const int number : case_numbers(400, 100'000)) {
    const PlayedBook played = play_book(static_cast<std::uint64_t>(number));
    INFO("case " << number);
    REQUIRE(played.faults == std::set<std::string>{});
    evictions += played.evictions;
    launches += played.launches;
  }
  CHECK(evictions * 5 > launches);
}

}  // namespace gangway::testing
