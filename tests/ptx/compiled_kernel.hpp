// A kernel as nvcc compiles it, on the interpreter: the original and its rewritten forms leave the same.
#pragma once

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/ptx/played_forms.hpp"

#ifdef GANGWAY_COMPILED_PTX

namespace gangway::testing::ptx {

class CompiledKernel {
 public:
  // The entry in the module's file whose name contains `part`; `threads` in one dimension.
  CompiledKernel(const std::string& module, const std::string& part, Extent grid, std::uint32_t threads)
      : text_(text_of(module)) {
    const Module read(text_);
    for (const Entry& entry : read.entries())
      if (entry.name.find(part) != std::string::npos) kernel_.name = entry.name;
    REQUIRE(!kernel_.name.empty());
    kernel_.grid = grid;
    kernel_.block.x = threads;
    kernel_.parameters.resize(read.entry(kernel_.name)->parameter_bytes);
    places_ = read.entry(kernel_.name)->parameters;
  }

  // Parameters by their number. What a vector holds must stay where it is.
  template <typename T>
  void given(std::size_t parameter, T value) {
    REQUIRE(places_.at(parameter).bytes >= sizeof value);
    std::memcpy(kernel_.parameters.data() + places_[parameter].offset, &value, sizeof value);
  }
  template <typename T>
  void input(std::size_t parameter, const std::vector<T>& values) {
    given<const void*>(parameter, values.data());
    kernel_.inputs.push_back({values.data(), sizeof(T) * values.size()});
  }
  // The output: so many bytes of each block, one after the other; or of all blocks, as they are before.
  void regions(std::size_t parameter, std::uint64_t bytes) {
    kernel_.output_parameter = places_.at(parameter).offset;
    kernel_.region_bytes = bytes;
  }
  template <typename T>
  void output(std::size_t parameter, const std::vector<T>& before) {
    kernel_.output_parameter = places_.at(parameter).offset;
    kernel_.region_bytes = 0;
    kernel_.common_bytes = sizeof(T) * before.size();
    kernel_.contents.resize(kernel_.common_bytes);
    std::memcpy(kernel_.contents.data(), before.data(), kernel_.common_bytes);
  }

  // What the original leaves, after each form has been played so many times and has left the same.
  template <typename T>
  std::vector<T> played(std::uint64_t times = 3, int forms = 3) {
    const Original original(text_, kernel_, 1);
    const transform::Rewritten rewritten = transform::rewrite(text_);
    CHECK(broken_promise(text_, rewritten) == "");
    Module with(rewritten.text);
    int found = 0;
    for (const transform::KernelForms& one : rewritten.kernels)
      for (const transform::Form& form : one.forms) {
        if (one.kernel != kernel_.name) continue;
        ++found;
        for (std::uint64_t seed = 0; seed < times; ++seed) {
          INFO(form.form << ", seed " << seed);
          CHECK(difference(original, with, form, seed) == "");
        }
      }
    CHECK(found == forms);
    const std::uint64_t regions = kernel_.grid.count() * kernel_.region_bytes;
    std::vector<T> values((regions > 0 ? regions : kernel_.common_bytes) / sizeof(T));
    std::memcpy(values.data(), original.output.data(), sizeof(T) * values.size());
    return values;
  }

  RandomKernel& kernel() { return kernel_; }

 private:
  static std::string text_of(const std::string& name) {
    std::ifstream file(std::string(GANGWAY_COMPILED_PTX) + "/" + name + ".ptx");
    REQUIRE(file);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string text_;
  RandomKernel kernel_;
  std::vector<EntryParameter> places_;
};

}  // namespace gangway::testing::ptx

#endif
