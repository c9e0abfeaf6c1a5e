// A kernel as it was against its rewritten forms, on the PTX interpreter, by the contract in
// hw/transform/rewrite.hpp.
#pragma once

#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"
#include "tests/ptx/generator/generator.hpp"
#include "tests/ptx/interpreter/interpreter.hpp"

namespace gangway::testing::ptx {

// What a kernel leaves behind: its output, and the variables of the module that are named.
using Output = std::vector<std::byte>;

// A kernel of a module and what its original does.
class Original {
 public:
  // Plays it twice, under schedules of the seed that differ. Throws std::runtime_error where it does not end
  // well, or not in the same way: then it shows nothing about forms.
  Original(const std::string& text, const RandomKernel& kernel, std::uint64_t seed);

  const RandomKernel& kernel;
  Output output;
  std::uint64_t instructions = 0;
};

// Plays a form of the kernel, in ranges or with evictions, as the seed says. Empty where all is as it was and
// as the contract says; else what is not. `with` is the module that has the form.
std::string difference(const Original& original, Module& with, const transform::Form& form,
                       std::uint64_t seed);

// What the contract says about the text and its description, whatever it computes. Empty where it holds.
std::string broken_promise(const std::string& ptx, const transform::Rewritten& rewritten);

}  // namespace gangway::testing::ptx
