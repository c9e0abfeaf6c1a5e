// What the rewriter writes for small constructs is, letter by letter, what is stored (golden/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

namespace fs = std::filesystem;
using transform::ExcludedForm, transform::KernelForms, transform::Refusal, transform::Rewritten;

const std::vector<std::string> kEach{"slice", "prologue", "loop"};

fs::path golden() { return fs::path(GANGWAY_SOURCE_DIR) / "tests/hw/transform/golden"; }

std::string content_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(text).str();
}

// What is written for a form alone, behind the original; and which kernels it is refused, and why.
std::string written_for(const std::string& original, const std::string& form) {
  std::vector<ExcludedForm> others;
  for (const std::string& each : kEach)
    if (each != form) others.push_back({"", each, "not asked for"});
  const Rewritten rewritten = transform::rewrite(original, transform::Compilation::whole, others);
  REQUIRE(rewritten.unusable.empty());
  REQUIRE(rewritten.text.starts_with(original));
  std::string out;
  for (const KernelForms& kernel : rewritten.kernels)
    for (const Refusal& refusal : kernel.refused)
      if (refusal.form == form)
        out += fmt::format("// {} is refused: {} (line {}: {})\n", kernel.kernel, refusal.reason,
                           refusal.line, refusal.instruction);
  return out + rewritten.text.substr(original.size());
}

}  // namespace

TEST_CASE("what is written for small kernels is what is stored", "[golden]") {
  const char* const set = std::getenv("GANGWAY_GOLDEN");
  const bool write = set != nullptr && std::string(set) == "write";
  std::vector<fs::path> inputs;
  for (const auto& each : fs::directory_iterator(golden()))
    if (each.path().extension() == ".ptx") inputs.push_back(each.path());
  std::sort(inputs.begin(), inputs.end());
  REQUIRE(inputs.size() >= 10);
  for (fs::path file : inputs) {
    const std::string original = content_of(file);
    for (const std::string& form : kEach) {
      const std::string made = written_for(original, form);
      file.replace_extension(form);
      INFO(file.string());
      if (write) std::ofstream(file, std::ios::binary) << made;
      CHECK(content_of(file) == made);
    }
  }
}

TEST_CASE("forms that are excluded are refused with the reason that was given", "[golden]") {
  const std::string original = content_of(golden() / "several_entries.ptx");
  const Rewritten rewritten = transform::rewrite(original, transform::Compilation::whole,
                                                 {{"first", "prologue", "so it is"}, {"", "loop", "nobody"}});
  std::string forms, reasons;
  for (const KernelForms& kernel : rewritten.kernels) {
    forms += kernel.kernel + ":";
    for (const transform::Form& form : kernel.forms) forms += form.form + " ";
  }
  CHECK(forms == "first:slice spins:last:slice prologue ");
  for (const Refusal& refusal : rewritten.kernels.at(0).refused)
    reasons += refusal.form + ": " + refusal.reason + ". ";
  CHECK(reasons == "prologue: so it is. loop: nobody. ");
  CHECK(rewritten.text.find("$gangway_loop") == std::string::npos);
}

}  // namespace gangway::testing
