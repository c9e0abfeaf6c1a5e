// Launches, and a device that does everything at the worst moment.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "hw/live/launch_book.hpp"
#include "models/random.hpp"

namespace gangway::testing {

using live::LaunchBook;
using live::RepeatableLaunch;
using live::Word;

class FakeLaunch : public RepeatableLaunch {
 public:
  FakeLaunch(std::uint32_t launch, std::uint32_t blocks) : id(launch), blocks_(blocks) {}
  std::uint32_t blocks() const override { return blocks_; }
  bool waits_for_later_blocks() override { return !known.exchange(true); }
  bool says_when_it_leaves() const override { return id % 2 == 0; }
  const std::uint32_t id;
  inline static std::atomic<bool> known{false};  // all are launches of one kernel

 private:
  const std::uint32_t blocks_;
};

// Streams, a stream beside each, and a stream of the port's own, each of which does one thing after the
// other; which of them goes on is drawn. A block claims, and ends (or takes its claim back) some time later.
class FakeContext : public live::LaunchPort {
 public:
  explicit FakeContext(std::uint64_t seed) : random_(seed, "device", {}), words_(seed % 2 == 0 ? 20 : 64) {}

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
        host_[w] = {};
        faulty(looks_.count(w) != 0 || looks_at(w), "a word is taken while a look at it is not answered");
        return w;
      }
    return std::nullopt;
  }
  void give_back(Word word) override {
    for (const Kernel& kernel : kernels_)
      faulty(kernel.word == word, "a word is given back while its kernel runs");
    faulty(!words_[word].taken, "a word is given back twice");
    drop_report(word);
    words_[word].taken = false;
  }
  void retire(Word word, std::uint64_t stream, std::uint32_t number) override {
    for (const Kernel& kernel : kernels_)  // one that has said so ends before its stream passes
      faulty(kernel.word == word && !kernel.said, "a word is retired while its kernel runs");
    retired_.push_back({word, number, stream});
  }
  live::Submitted launch(const RepeatableLaunch& launch, std::uint64_t stream, Word word,
                         std::uint32_t number) override {
    if (random_.below(20) == 0) return live::Submitted::no;
    const auto& fake = static_cast<const FakeLaunch&>(launch);
    Queue& queue = queues_["s" + std::to_string(stream)];
    launch_of_[word] = fake.id;
    queue.push_back({Do::kernel, word, fake.id, 0, fake.blocks()});
    queue.push_back({Do::gone, 0, 0, stream, number});
    queue.push_back({Do::wait, word, number, stream, fake.blocks()});
    return live::Submitted::held;
  }
  std::uint32_t gone(std::uint64_t stream) override {
    ++questions_;
    return gone_[stream];
  }
  void flag(const std::vector<Word>& words, bool up) override {
    for (const Word word : words) {
      queues_["own"].push_back({up ? Do::raise : Do::lower, word, 0, 0, 0});
      host_[word].order = up;
    }
  }
  std::optional<std::uint32_t> left(Word word) override {
    const std::optional<std::uint32_t> count = host_[word].left;
    if (!count) return count;
    ++said_;
    return count;
  }
  bool expect(const RepeatableLaunch& launch, Word word) override {
    if (launch.says_when_it_leaves()) return false;
    if (expected_ || random_.below(20) == 0) return false;
    expected_ = word;
    queues_["expect"].push_back({Do::expected, word, 0, 0, ++expectations_});
    return true;
  }
  void stop_expecting(Word word) override {
    faulty(expected_ != word, "what is not expected is expected no more");
    expected_.reset();
    unexpected_.insert(wanted_ = expectations_);
  }
  bool ask(const RepeatableLaunch&, Word word) override {
    if (expected_ == word) {
      expected_.reset();
      wanted_ = expectations_;
      ++answered_;
      return true;
    }
    if (random_.below(20) == 0) return false;
    queues_["own"].push_back({Do::report, word, 0, 0, 0});
    return true;
  }
  bool again(const RepeatableLaunch& launch, std::uint64_t stream, Word word, std::uint32_t first) override {
    if (random_.below(20) == 0) return false;
    const auto& fake = static_cast<const FakeLaunch&>(launch);
    Queue& queue = queues_["b" + std::to_string(stream)];
    begin(queue, word, first);
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
  bool look(const RepeatableLaunch&, Word word) override {
    if (random_.below(20) == 0) return false;
    queues_["own"].push_back({Do::order, word, 0, 0, 0});
    queues_["look"].push_back({Do::look, word, 0, 0, ++looks_asked_});
    return true;
  }
  void drop_look(Word word) override {
    std::erase_if(queues_["look"], [&](const Step& step) { return step.word == word; });
    looks_.erase(word);
  }
  std::optional<std::uint32_t> looked(Word word) override {
    const auto found = looks_.find(word);
    if (found == looks_.end()) return std::nullopt;
    const std::uint32_t count = found->second;
    looks_.erase(found);
    return count;
  }
  bool join(const RepeatableLaunch& launch, Word word, std::uint32_t first, std::uint32_t end) override {
    if (random_.below(20) == 0) return false;
    const auto& fake = static_cast<const FakeLaunch&>(launch);
    Queue& queue = queues_["j" + std::to_string(++joined_)];
    begin(queue, word, first);
    queue.push_back({Do::kernel, word, fake.id, 0, end - first});
    queue.push_back({Do::report, word, 0, 0, 0});
    return true;
  }
  std::int64_t now() override { return now_; }
  void finish(Word word, std::uint32_t blocks) override {
    for (const Kernel& kernel : kernels_)
      faulty(kernel.id == launch_of_[word], "a stream passes before its launch's kernels have ended");
    queues_["own"].push_back({Do::set, word, 0, 0, blocks});
  }

  // What a program puts behind its launches so far: they all have to be over.
  void mark(std::uint64_t stream, std::vector<std::uint32_t> launches) {
    marks_.push_back(std::move(launches));
    queues_["s" + std::to_string(stream)].push_back(
        {Do::mark, 0, static_cast<std::uint32_t>(marks_.size() - 1), 0, 0});
  }
  // `waits`: no block but the last ends before that has begun.
  void knows(std::uint32_t launch, std::uint32_t blocks, bool waits = false) {
    ended_[launch].assign(blocks, 0);
    waiting_.erase(launch);
    if (waits) waiting_.insert(launch);
  }

  // One thing that can happen; false: there is none.
  bool step() {
    now_ += random_.below(20) == 0 ? 10'000'000 : 20'000;
    std::vector<Queue*> ready;
    for (auto& [name, queue] : queues_)
      if (!queue.empty() && can(queue.front())) ready.push_back(&queue);
    if (ready.empty()) return false;
    Queue& queue = *ready[random_.below(ready.size())];
    if (carry_out(queue.front())) queue.pop_front();
    return true;
  }

  // Orders about words are carried out, and no kernel goes on.
  void pass_time() {
    now_ += 5'000'000;
    Queue& own = queues_["own"];
    while (!own.empty() && carry_out(own.front())) own.pop_front();
    Queue& looks = queues_["look"];
    for (; !looks.empty() && can(looks.front()); looks.pop_front()) carry_out(looks.front());
  }
  bool idle() const {
    return std::all_of(queues_.begin(), queues_.end(), [](const auto& one) { return one.second.empty(); });
  }
  bool runs() const { return !kernels_.empty(); }
  std::size_t leaves() const {  // kernels of which the last block has reported
    return static_cast<std::size_t>(
        std::count_if(kernels_.begin(), kernels_.end(), [](const Kernel& kernel) { return kernel.said; }));
  }
  std::uint64_t claims() const { return claims_; }
  std::uint64_t joined() const { return joined_; }
  bool expects() const { return expected_.has_value(); }
  std::uint64_t questions() const { return questions_; }  // whether a launch is gone
  std::uint64_t said() const { return said_; }            // by last blocks
  std::uint64_t looked_up() const { return looked_up_; }  // flags raised by blocks that looked at the host
  std::uint64_t answered() const { return answered_; }    // asked for what was expected
  std::uint64_t unexpected() const { return unexpected_.size(); }
  bool every_block_once() const {
    for (const auto& [launch, blocks] : ended_)
      for (const int times : blocks)
        if (times != 1) return false;
    return true;
  }
  const std::set<std::string>& faults() const { return faults_; }
  bool no_looks = false;  // they are not answered: there is no room on the device

 private:
  enum class Do { begin, begun, kernel, gone, wait, raise, lower, report, expected, order, look, set, mark };
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
    std::uint32_t begins = 0, begun = 0;
  };
  struct Kernel {
    Word word;
    std::uint32_t id;
    std::uint32_t to_begin;
    std::vector<std::uint32_t> running;
    std::uint32_t refused = 0;  // that have not taken their claim back yet
    bool said = false;          // the last block reported; the kernel is about to end
  };

  // Whether an order of before is still to change the word.
  bool ordered(Word word) {
    const Queue& own = queues_["own"];
    return std::any_of(own.begin(), own.end(), [&](const Step& step) { return step.word == word; });
  }

  void drop_report(Word word) {
    reports_.erase(word);
    for (auto& [name, queue] : queues_)
      std::erase_if(queue, [&](const Step& step) { return step.what == Do::report && step.word == word; });
  }

  bool looks_at(Word word) {
    const Queue& looks = queues_["look"];
    return std::any_of(looks.begin(), looks.end(), [&](const Step& step) { return step.word == word; });
  }

  void faulty(bool is, const char* what) {
    if (is) faults_.insert(what);
  }

  // In the port's own stream, so that orders about the flag follow.
  void begin(Queue& queue, Word word, std::uint32_t first) {
    drop_report(word);
    host_[word] = {};
    queues_["own"].push_back({Do::begin, word, 0, 0, first});
    queue.push_back({Do::begun, word, 0, 0, ++words_[word].begins});
  }

  bool can(const Step& step) const {
    if (step.what == Do::look) return !no_looks && looks_ordered_ >= step.number;
    if (step.what == Do::expected) return wanted_ >= step.number;
    if (step.what == Do::begun) return words_[step.word].begun >= step.number;
    return step.what != Do::wait || words_[step.word].count >= step.number;
  }

  // True: it is over.
  bool carry_out(Step& step) {
    ControlWord& word = words_[step.word];
    switch (step.what) {
      case Do::begin:
        word.count = step.number;
        word.flag = false;
        ++word.begun;
        break;
      case Do::begun:
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
      case Do::expected:
        if (unexpected_.count(step.number) != 0) break;
        for (const Kernel& one : kernels_)
          faulty(one.word == step.word, "a count is reported while its kernel runs");
        reports_[step.word] = word.count;
        break;
      case Do::order:
        ++looks_ordered_;
        break;
      case Do::look:
        looks_[step.word] = word.count;
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
      found = kernels_.insert(kernels_.end(), {step.word, step.id, step.number, {}, 0, false});
    Kernel& kernel = *found;
    const std::uint64_t choice = random_.below(3);
    if (choice == 0 && kernel.to_begin != 0) {
      claim(kernel);
    } else if (choice == 1 && !kernel.running.empty()) {
      const std::size_t which = random_.below(kernel.running.size());
      if (waiting_.count(kernel.id) != 0 && last_begun_.count(kernel.id) == 0) return false;
      ++ended_[kernel.id].at(kernel.running[which]);
      kernel.running.erase(kernel.running.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (choice == 2 && kernel.refused != 0) {
      --kernel.refused;
      --words_[kernel.word].count;
    }
    if (kernel.to_begin != 0 || !kernel.running.empty() || kernel.refused != 0) return false;
    // Launches with even numbers report by themselves.
    if (kernel.id % 2 == 0 && words_[kernel.word].flag && !kernel.said) {
      host_[kernel.word].left = words_[kernel.word].count;
      kernel.said = true;
      return false;
    }
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
    if (index + 1 == ended_[kernel.id].size()) last_begun_.insert(kernel.id);
    if (!host_[kernel.word].order || random_.below(4) != 0) return;
    word.flag = true;  // behind its own claim
    ++looked_up_;
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
  std::map<Word, std::uint32_t> reports_, looks_;
  std::set<std::uint32_t> waiting_, last_begun_;  // launches
  std::uint32_t looks_asked_ = 0, looks_ordered_ = 0;
  std::optional<Word> expected_;
  std::uint32_t expectations_ = 0, wanted_ = 0;
  std::set<std::uint32_t> unexpected_;
  struct HostWord {
    bool order = false;
    std::optional<std::uint32_t> left;
  };
  std::map<Word, HostWord> host_;
  std::map<Word, std::uint32_t> launch_of_;  // for which a stream waits
  std::uint64_t questions_ = 0;
  std::uint64_t joined_ = 0, answered_ = 0, said_ = 0, looked_up_ = 0;
  std::int64_t now_ = 0;
  std::vector<std::vector<std::uint32_t>> marks_;
  std::map<std::uint32_t, std::vector<int>> ended_;
  std::vector<Kernel> kernels_;
  std::uint64_t claims_ = 0;
  std::set<std::string> faults_;
};

// However often the device refuses.
inline void launch(FakeContext& device, LaunchBook& book, std::uint32_t id, std::uint32_t blocks,
                   bool waits = false) {
  device.knows(id, blocks, waits);
  while (!book.launch(std::make_unique<FakeLaunch>(id, blocks), 1).submitted) {
  }
}

}  // namespace gangway::testing
