// Compares outputs with a reference: all of them, or a sample if that would take more than about two seconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <future>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "hw/kernels/inputs.hpp"
#include "models/error.hpp"
#include "models/kernel_code.hpp"
#include "models/quantity.hpp"

namespace gangway {

// Number of blocks of `each` elements; the last may be partial. Throws std::invalid_argument if a launch
// cannot have that many.
inline std::int64_t blocks_for(std::int64_t elements, std::int64_t each) {
  const std::int64_t blocks = (elements + each - 1) / each;
  if (blocks >= kMostBlockTasks) throw std::invalid_argument("more than 2^30 block-tasks");
  return blocks;
}

// "is 1, and should be 2"; empty if equal.
template <typename T>
std::string unequal(T is, T should_be) {
  if (is == should_be) return {};
  return "is " + std::to_string(is) + ", and should be " + std::to_string(should_be);
}

// poison() fills outputs with 0xFF bytes: NaN as float, and not a correct integer result of any kernel here.
inline constexpr int kPoison = 0xFF;

template <typename T>
bool is_poison(const T& value) {
  T poison;
  std::memset(&poison, kPoison, sizeof poison);
  return std::memcmp(&value, &poison, sizeof poison) == 0;
}

template <typename T>
void poison_all(std::vector<T>& outputs) {
  std::memset(outputs.data(), kPoison, outputs.size() * sizeof(T));
}

template <typename T>
std::vector<T> host_array(std::uint64_t elements) {
  try {
    return std::vector<T>(elements);
  } catch (const std::bad_alloc&) {
    throw RunError("out of memory: asked for " +
                   to_text(Bytes{static_cast<std::int64_t>(elements * sizeof(T))}));
  }
}

// Selects the outputs to compare: all, or a random one of each `stride` neighbours.
class Sample {
 public:
  // `cost`: approximate reference cost of one output, in input elements.
  Sample(std::uint64_t outputs, std::uint64_t cost, std::uint64_t seed) : choice_(seed, 0xC0FFEE) {
    constexpr std::uint64_t kBudget = std::uint64_t{1} << 28;
    stride_ = std::max<std::uint64_t>(1, outputs * cost / kBudget);
    cost_ = std::max<std::uint64_t>(1, cost);
  }

  // Compares outputs[0, count), numbered from `first`. `wrong(number, value)` describes a difference from the
  // reference, empty if equal; several threads call it at once. All outputs, sampled or not, must have been
  // written. Returns the first difference, or empty.
  template <typename T, typename Wrong>
  std::string compare(const T* outputs, std::uint64_t first, std::uint64_t count, Wrong wrong) const {
    constexpr std::uint64_t kWorthAThread = std::uint64_t{1} << 20;
    const std::uint64_t threads = std::clamp<std::uint64_t>(
        count / stride_ * cost_ / kWorthAThread, 1, std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::future<std::string>> parts;
    for (std::uint64_t t = 0; t < threads; ++t) {
      const std::uint64_t begin = count * t / threads, end = count * (t + 1) / threads;
      parts.push_back(std::async(threads == 1 ? std::launch::deferred : std::launch::async, [=, this] {
        return compare_part(outputs + begin, first + begin, end - begin, wrong);
      }));
    }
    std::string difference;
    for (auto& part : parts) {
      const std::string found = part.get();
      if (difference.empty()) difference = found;
    }
    return difference;
  }

 private:
  template <typename T, typename Wrong>
  std::string compare_part(const T* outputs, std::uint64_t first, std::uint64_t count,
                           const Wrong& wrong) const {
    for (std::uint64_t i = 0; i < count; ++i)
      if (is_poison(outputs[i])) return "output " + std::to_string(first + i) + " was not written";
    for (std::uint64_t group = first / stride_; group * stride_ < first + count; ++group) {
      const std::uint64_t number = group * stride_ + (stride_ == 1 ? 0 : choice_.bits(group) % stride_);
      if (number < first || number >= first + count) continue;
      const std::string difference = wrong(number, outputs[number - first]);
      if (!difference.empty()) return "output " + std::to_string(number) + " " + difference;
    }
    return {};
  }

  Inputs choice_;
  std::uint64_t stride_, cost_;
};

}  // namespace gangway
