// The arrays that addresses point into.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// Any array whose pointer was read from global memory.
inline const std::string kFromMemory = "from memory";

// An array is named after the 64-bit parameter ("pointer:k_param_0+8", as in Affine) or the variable where
// the address starts. What is added to it has to be an index: no 64-bit parameter as it is, and none of
// memory.
class Arrays {
 public:
  explicit Arrays(const Flow& flow) : flow_(flow) {}

  // None if unknown, or if it may be one or another.
  std::optional<std::string> of(Range address);

 private:
  struct Origin {
    enum class Kind { unknown, open, index, array };  // open: being looked at
    Kind kind = Kind::unknown;
    std::string array;
  };
  static Origin sum(const Origin& a, const Origin& b);
  static Origin either(const Origin& a, const Origin& b);

  Origin of(std::string_view name);
  Origin without_writers(std::string_view name) const;
  Origin by(std::uint32_t statement, std::string_view written);
  Origin loaded(const Instruction& instruction, std::string_view to) const;
  Origin summed(Range operand);

  const Flow& flow_;
  std::vector<std::string_view> open_;
  int steps_ = 0;
};

}  // namespace gangway::transform
