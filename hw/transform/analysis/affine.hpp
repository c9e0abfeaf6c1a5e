// Register values as affine expressions of quantities that are constant while a block runs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// What stands before a 64-bit parameter's name in a symbol.
inline const std::string kPointer = "pointer:";

// constant + sum of coefficient * symbol ("%ctaid.x", "param:name+8"). `bound` says whether the value is
// exact, an upper bound or a lower bound.
struct Affine {
  enum class Bound { exact, at_most, at_least };
  std::map<std::string, std::int64_t> terms;  // no term is 0
  std::int64_t constant = 0;
  Bound bound = Bound::exact;

  std::int64_t coefficient(const std::string& symbol) const;
  // The pointer that the expression starts from: the only 64-bit parameter with coefficient 1. Empty if there
  // is none or more than one.
  std::string base() const;
};

class AffineValues {
 public:
  // For a kernel with a one-dimensional grid: %ctaid.y is 0, %nctaid.y is 1.
  explicit AffineValues(const Flow& flow) : flow_(flow) {}

  // The value of a register, the same at every read. None if unknown.
  std::optional<Affine> of(std::string_view name);
  // The value of an address in brackets, or of an operand that is a register or a number.
  std::optional<Affine> of(Range operand);

 private:
  std::optional<Affine> by(std::uint32_t statement);
  std::optional<Affine> merged(std::string_view name);

  const Flow& flow_;
  std::map<std::string_view, std::optional<Affine>> known_;
  std::map<std::string_view, Affine> assumed_;  // loop variables under analysis
  int depth_ = 0, steps_ = 0;
};

// Whether it moves 64-bit integers, as pointers are.
bool has_64_bits(const Instruction& instruction);

// [kernel_param_2+8], or a register in place of the name, as "kernel_param_2+8", with `more` bytes added.
// None for other addresses, and in functions.
std::optional<std::string> parameter_at(const Flow& flow, Range operand, std::int64_t more = 0);

// None if the two bounds cannot be combined.
std::optional<Affine> sum(const Affine& a, const Affine& b);
Affine times(const Affine& a, std::int64_t factor);
std::optional<Affine> difference(const Affine& a, const Affine& b);

}  // namespace gangway::transform
