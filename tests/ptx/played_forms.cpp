#include "tests/ptx/played_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gangway::testing::ptx {
namespace {

constexpr std::uint64_t kBudget = 20'000'000;
constexpr std::uint32_t kUnknown = UINT32_MAX;

Schedule random_schedule(Dice& dice) {
  static constexpr Interleaving kThreads[] = {Interleaving::in_order, Interleaving::reverse,
                                              Interleaving::random, Interleaving::phases,
                                              Interleaving::lockstep};
  Schedule made;
  made.threads = kThreads[dice.roll(5)];
  made.seed = dice.bits();
  made.resident = dice.between(1, 6);
  made.blocks_in_order = !dice.one_in(3);
  return made;
}

// What is there before the kernel: a pattern in what it overwrites, known numbers where it adds.
std::byte before(const RandomKernel& kernel, std::uint64_t at) {
  if (!kernel.contents.empty()) return kernel.contents[at];
  const std::uint64_t regions = kernel.grid.count() * kernel.region_bytes;
  if (at >= regions || at % kernel.region_bytes < 16 || (at % kernel.region_bytes) / 4 == 7)
    return std::byte{0};
  return static_cast<std::byte>(0xA5 ^ (at * 7));
}

// A kernel's output and the parameters by which it is launched.
class Place {
 public:
  Place(const RandomKernel& kernel, const Module& module) : kernel_(kernel), parameters_(kernel.parameters) {
    if (kernel.output_parameter < 0) {
      output_ = module.variable(kernel.output_variable);
      if (output_.size() != kernel.output_bytes()) throw std::runtime_error("no output variable");
    } else {
      own_.resize(kernel.output_bytes() / 8 + 2);
      output_ = {reinterpret_cast<std::byte*>(own_.data()), kernel.output_bytes()};
      const auto address = reinterpret_cast<std::uint64_t>(output_.data());
      std::memcpy(parameters_.data() + kernel.output_parameter, &address, 8);
    }
    for (std::uint64_t at = 0; at < output_.size(); ++at) output_[at] = before(kernel, at);
  }

  std::span<std::byte> output() const { return output_; }
  std::vector<std::byte>& parameters() { return parameters_; }

  Launch launch(const Schedule& schedule) const {
    Launch made;
    made.grid = kernel_.grid;
    made.block = kernel_.block;
    made.parameters = parameters_;
    made.dynamic_shared_bytes = kernel_.dynamic_shared_bytes;
    made.schedule = schedule;
    made.budget = kBudget;
    made.allowed = kernel_.inputs;
    made.allowed.push_back({output_.data(), output_.size()});
    return made;
  }

 private:
  const RandomKernel& kernel_;
  std::vector<std::byte> parameters_;
  std::vector<std::uint64_t> own_;
  std::span<std::byte> output_;
};

std::string first_difference(const RandomKernel& kernel, std::span<const std::byte> found,
                             std::span<const std::byte> expected, std::uint64_t first, std::uint64_t end) {
  for (std::uint64_t at = first; at < end; ++at)
    if (found[at] != expected[at] && kernel.region_bytes == 0)
      return fmt::format("byte {}: found {:#x}, expected {:#x}", at, static_cast<int>(found[at]),
                         static_cast<int>(expected[at]));
    else if (found[at] != expected[at])
      return fmt::format("block {} of {}, byte {} of its region: found {:#x}, expected {:#x}",
                         at / kernel.region_bytes, kernel.grid.count(), at % kernel.region_bytes,
                         static_cast<int>(found[at]), static_cast<int>(expected[at]));
  return "";
}

// One form that is being played.
class Played {
 public:
  Played(const Original& original, Module& with, const transform::Form& form, std::uint64_t seed)
      : original_(original),
        kernel_(original.kernel),
        with_(with),
        form_(form),
        dice_(seed),
        blocks_(kernel_.grid.count()),
        place_((with.reset(), kernel_), with) {
    std::vector<std::byte>& bytes = place_.parameters();
    while (bytes.size() < form.hidden.offset + transform::HiddenParameters::kBytes)
      bytes.push_back(static_cast<std::byte>(dice_.bits()));
    set(8, kernel_.grid.x);
    set(12, kernel_.grid.y);
    set(16, kernel_.grid.z);
  }

  std::string slices() {
    // Nothing to be read there.
    set_control(0x10);
    struct Slice {
      std::uint64_t first, end;
    };
    std::vector<Slice> slices;
    for (std::uint64_t first = 0; first < blocks_;) {
      const std::uint64_t end =
          std::min<std::uint64_t>(blocks_, first + 1 + dice_.roll(static_cast<std::uint32_t>(blocks_)));
      slices.push_back({first, end});
      first = end;
    }
    if (dice_.one_in(2)) std::reverse(slices.begin(), slices.end());
    for (const Slice& slice : slices) {
      set(20, static_cast<std::uint32_t>(slice.first));
      set(24, static_cast<std::uint32_t>(slice.end));
      // Blocks from its end on do nothing.
      Launch launch = launched(slice.end - slice.first + (dice_.one_in(3) ? 1 + dice_.roll(3) : 0));
      if (std::string why = ended(launch); !why.empty()) return why;
      if (!slices_done_.empty() || slices.size() > 1)
        if (std::string why = others_untouched(slice.first, slice.end); !why.empty()) return why;
    }
    return all_done();
  }

  // Prologue, and loop in ranges.
  std::string claimed(bool loops) {
    set_control(reinterpret_cast<std::uint64_t>(&words_));
    const auto host = reinterpret_cast<std::uint64_t>(&host_);
    std::memcpy(place_.parameters().data() + form_.hidden.offset + 32, &host, 8);
    const std::uint64_t& control = words_.control;
    std::uint64_t evictions = dice_.one_in(3) ? 0 : dice_.one_in(2) ? 1 : dice_.between(2, 6);
    std::uint64_t first = 0;
    while (first < blocks_) {
      std::uint64_t end = blocks_;
      if (loops && dice_.one_in(3)) end = first + 1 + dice_.roll(static_cast<std::uint32_t>(blocks_ - first));
      // From there on nobody looks at the host's order.
      const std::uint64_t border =
          dice_.one_in(2) ? end : first + dice_.roll(static_cast<std::uint32_t>(end - first));
      set(20, static_cast<std::uint32_t>(border));
      // What the form does not read is anything.
      set(24, loops ? static_cast<std::uint32_t>(end) : static_cast<std::uint32_t>(dice_.bits()));
      words_ = {first, 0};
      host_ = {0, kUnknown};
      const std::uint32_t looks = dice_.one_in(8) ? UINT32_MAX : (1u << dice_.roll(5)) - 1;
      set(28, looks);
      const bool evicts = evictions > 0;
      if (evicts) --evictions;
      Launch launch =
          launched(loops ? 1 + dice_.roll(static_cast<std::uint32_t>(end - first + 2)) : end - first);
      launch.allowed.push_back({&words_, 12});
      launch.allowed.push_back({&host_, sizeof host_});
      // By the flag, or by the host's order, which takes effect once a block looks.
      const bool by_host = dice_.one_in(2);
      if (evicts) launch.events.push_back(by_host ? order(end - first) : eviction(end - first));
      const bool nobody_sees_it = by_host && (border == first || (looks == UINT32_MAX && first != 0));
      const bool all_see_it =
          evicts && by_host && looks == 0 && border > first && launch.events.back().at == 0;
      evicted_ = 0;
      claims_ = end;
      if (std::string why = ended(launch); !why.empty()) return why;
      const std::uint64_t done = control & 0xFFFFFFFF;
      if (all_see_it || (evicts && by_host && !nobody_sees_it && host_.order != 0 && control >> 32 == 1)) {
        evicted_ = 1;
        claims_ = done;
      }
      if (control >> 32 != evicted_)
        return fmt::format("the control word is {:#x}, its flag was {:#x}", control, evicted_);
      if (loops && words_.left != launch.grid.x)
        return fmt::format("{} of {} blocks are counted when they leave", words_.left, launch.grid.x);
      if (const std::uint32_t expected = loops && evicted_ != 0 ? static_cast<std::uint32_t>(done) : kUnknown;
          host_.left != expected)
        return fmt::format("the host was told that {} are done, expected {}", host_.left, expected);
      if (done < first || done > end)
        return fmt::format("the control word says {} are done, of {} to {}", done, first, end);
      // Whoever claims behind the eviction is refused, and nobody before it.
      if (done != std::min(claims_, end))
        return fmt::format("the control word says {} are done, expected {}", done, std::min(claims_, end));
      if (std::string why = prefix(done); !why.empty()) return why;
      first = done;
    }
    return all_done();
  }

 private:
  void set(std::uint32_t at, std::uint32_t value) {
    std::memcpy(place_.parameters().data() + form_.hidden.offset + at, &value, 4);
  }
  void set_control(std::uint64_t address) {
    std::memcpy(place_.parameters().data() + form_.hidden.offset, &address, 8);
  }

  Launch launched(std::uint64_t grid) {
    Launch made = place_.launch(random_schedule(dice_));
    made.grid = {static_cast<std::uint32_t>(grid), 1, 1};
    made.dynamic_shared_bytes += form_.shared_bytes;
    return made;
  }

  // At a moment of about as many instructions as that many blocks take, or at once.
  std::uint64_t moment(std::uint64_t blocks) {
    const std::uint64_t most = 1 + original_.instructions * blocks / blocks_;
    return dice_.one_in(8) ? 0 : dice_.bits() % most;
  }
  Event order(std::uint64_t blocks) {
    Event made;
    made.at = moment(blocks);
    made.act = [this] { host_.order = 1; };
    return made;
  }
  Event eviction(std::uint64_t blocks) {
    Event made;
    made.at = moment(blocks);
    const std::uint32_t flag = dice_.one_in(2) ? 1 : static_cast<std::uint32_t>(dice_.bits()) | 1;
    made.act = [this, flag] {
      evicted_ = flag;
      claims_ = words_.control & 0xFFFFFFFF;
      __atomic_fetch_or(&words_.control, std::uint64_t{flag} << 32, __ATOMIC_RELAXED);
    };
    return made;
  }

  std::string ended(const Launch& launch) {
    const Outcome outcome = with_.launch(form_.entry, launch);
    return outcome.ending == Ending::done ? "" : outcome.message;
  }

  // All before are done, none from there on has had any effect.
  std::string prefix(std::uint64_t done) const {
    const std::uint64_t border = done * kernel_.region_bytes;
    if (std::string why = first_difference(kernel_, place_.output(), original_.output, 0, border);
        !why.empty())
      return fmt::format("{} are said to be done: {}", done, why);
    for (std::uint64_t at = border; at < blocks_ * kernel_.region_bytes; ++at)
      if (place_.output()[at] != before(kernel_, at))
        return fmt::format("{} are said to be done, but block {} has had an effect", done,
                           at / kernel_.region_bytes);
    return "";
  }

  // A slice has an effect on its own blocks only.
  std::string others_untouched(std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t block = first; block < end; ++block) slices_done_.push_back(block);
    std::sort(slices_done_.begin(), slices_done_.end());
    for (std::uint64_t block = 0; block < blocks_; ++block) {
      const bool done = std::binary_search(slices_done_.begin(), slices_done_.end(), block);
      const std::uint64_t from = block * kernel_.region_bytes, to = from + kernel_.region_bytes;
      if (done) {
        if (std::string why = first_difference(kernel_, place_.output(), original_.output, from, to);
            !why.empty())
          return why;
      } else {
        for (std::uint64_t at = from; at < to; ++at)
          if (place_.output()[at] != before(kernel_, at))
            return fmt::format("block {} is not in its slice and has had an effect", block);
      }
    }
    return "";
  }

  std::string all_done() const {
    return first_difference(kernel_, place_.output(), original_.output, 0, original_.output.size());
  }

  const Original& original_;
  const RandomKernel& kernel_;
  Module& with_;
  const transform::Form& form_;
  Dice dice_;
  std::uint64_t blocks_;
  Place place_;
  struct {
    std::uint64_t control = 0;
    std::uint32_t left = 0;
  } words_;
  transform::HostWord host_{};
  std::uint64_t evicted_ = 0, claims_ = 0;  // the flag, and how many had claimed when it was set
  std::vector<std::uint64_t> slices_done_;
};

}  // namespace

Original::Original(const std::string& text, const RandomKernel& of, std::uint64_t seed) : kernel(of) {
  Module module(text);
  if (!module.unknown().empty()) throw std::runtime_error(module.unknown().front());
  Dice dice(seed);
  for (int time = 0; time < 2; ++time) {
    module.reset();
    const Place place(kernel, module);
    const Launch launch = place.launch(time == 0 ? Schedule{} : random_schedule(dice));
    const Outcome outcome = module.launch(kernel.name, launch);
    if (outcome.ending != Ending::done) throw std::runtime_error("the original: " + outcome.message);
    if (time == 0) {
      output.assign(place.output().begin(), place.output().end());
      instructions = outcome.instructions;
    } else if (const std::string why = first_difference(kernel, place.output(), output, 0, output.size());
               !why.empty()) {
      throw std::runtime_error("the original differs from schedule to schedule: " + why);
    }
  }
}

std::string difference(const Original& original, Module& with, const transform::Form& form,
                       std::uint64_t seed) {
  Played played(original, with, form, seed);
  if (form.form == "slice") return played.slices();
  if (form.form == "prologue" || form.form == "loop") return played.claimed(form.form == "loop");
  return fmt::format("unknown form '{}'", form.form);
}

}  // namespace gangway::testing::ptx
