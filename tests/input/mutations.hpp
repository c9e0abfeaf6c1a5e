// Ways to spoil a text that is nearly right; the same on every platform.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gangway::testing {

// Numbers that come out the same on every platform.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return n == 0 ? 0 : engine_() % n; }
  template <typename T>
  const T& of(const std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// What stands in files, and what nobody expects there.
extern const std::vector<std::string> kNumbers;
extern const std::vector<std::string> kUnits;
extern const std::vector<std::string> kWords;

// Changes the text in one way; a text may become empty.
void mutate(Dice& dice, std::string& text);

// One of the right inputs, changed a few times; a number always gives the same text.
std::string mutated(std::uint64_t number);

}  // namespace gangway::testing
