// Values of registers as sums of multiples of what does not change while a block runs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// constant + sum of coefficients times symbols ("%ctaid.x", "param:name+8"); exact, or the value is at most
// this, or at least.
struct Affine {
  enum class Bound { exact, at_most, at_least };
  std::map<std::string, std::int64_t> terms;  // none is 0
  std::int64_t constant = 0;
  Bound bound = Bound::exact;

  std::int64_t coefficient(const std::string& symbol) const;
  // The pointer it begins with: the one parameter of 64 bits with the coefficient 1; empty: none, or several.
  std::string base() const;
};

class AffineValues {
 public:
  // Of a kernel whose grid has one dimension: %ctaid.y is 0, %nctaid.y 1.
  explicit AffineValues(const Flow& flow) : flow_(flow) {}

  // The value of a register wherever it is read; none: not known.
  std::optional<Affine> of(std::string_view name);
  // Of an address in brackets, or of any other operand that is a register or a number.
  std::optional<Affine> of(Range operand);

 private:
  std::optional<Affine> by(std::uint32_t statement);
  std::optional<Affine> merged(std::string_view name);
  std::optional<Affine> parameter(Range operand);

  const Flow& flow_;
  std::map<std::string_view, std::optional<Affine>> known_;
  std::map<std::string_view, Affine> assumed_;  // variables of loops that are being looked at
};

// None where the bounds do not add up.
std::optional<Affine> sum(const Affine& a, const Affine& b);
Affine times(const Affine& a, std::int64_t factor);
std::optional<Affine> difference(const Affine& a, const Affine& b);

}  // namespace gangway::transform
