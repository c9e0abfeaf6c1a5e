// What the contract says about a rewritten text, whatever it computes.
#include <fmt/format.h>

#include <algorithm>

#include "tests/ptx/played_forms.hpp"

namespace gangway::testing::ptx {
namespace {

// Whether the instruction begins on the line, whatever the space between its words.
bool stands_at(const std::string& text, std::uint32_t line, const std::string& instruction) {
  std::size_t at = 0;
  for (std::uint32_t skipped = 1; skipped < line; ++skipped) {
    at = text.find('\n', at);
    if (at == std::string::npos) return false;
    ++at;
  }
  const auto spaced = [](std::string from) {
    for (char& c : from)
      if (c == '\t' || c == '\n' || c == '\r') c = ' ';
    return from;
  };
  const std::string here = text.substr(at, instruction.size() + 2000);
  const std::size_t found = spaced(here).find(spaced(instruction));
  return found != std::string::npos && found <= here.find('\n');
}

}  // namespace

std::string broken_promise(const std::string& ptx, const transform::Rewritten& rewritten) {
  if (rewritten.text.substr(0, ptx.size()) != ptx)
    return "the original text is not a prefix of the rewritten text";
  if (!rewritten.unusable.empty()) return rewritten.text == ptx ? "" : "an unusable text has grown";
  const Module before(ptx), after(rewritten.text);
  if (before.entries().size() != rewritten.kernels.size())
    return fmt::format("{} kernels of {} entries", rewritten.kernels.size(), before.entries().size());
  bool any = false;
  for (std::size_t k = 0; k < rewritten.kernels.size(); ++k) {
    const transform::KernelForms& kernel = rewritten.kernels[k];
    const Entry& entry = before.entries()[k];
    if (kernel.kernel != entry.name)
      return fmt::format("kernel '{}', expected '{}'", kernel.kernel, entry.name);
    if (kernel.parameters.size() != entry.parameters.size())
      return fmt::format("{} parameters of '{}'", kernel.parameters.size(), entry.name);
    for (std::size_t p = 0; p < entry.parameters.size(); ++p)
      if (kernel.parameters[p].offset != entry.parameters[p].offset ||
          kernel.parameters[p].bytes != entry.parameters[p].bytes ||
          kernel.parameters[p].alignment != entry.parameters[p].alignment)
        return fmt::format("parameter {} of '{}' at {} with {} bytes, expected at {} with {}", p, entry.name,
                           kernel.parameters[p].offset, kernel.parameters[p].bytes,
                           entry.parameters[p].offset, entry.parameters[p].bytes);
    std::vector<std::string> forms;
    for (const transform::Form& form : kernel.forms) {
      any = true;
      forms.push_back(form.form);
      const Entry* const made = after.entry(form.entry);
      if (made == nullptr) return fmt::format("no entry '{}'", form.entry);
      if (made->parameters.size() != entry.parameters.size() + 8)
        return fmt::format("'{}' has {} parameters", form.entry, made->parameters.size());
      for (std::size_t p = 0; p < entry.parameters.size(); ++p)
        if (made->parameters[p].offset != entry.parameters[p].offset ||
            made->parameters[p].bytes != entry.parameters[p].bytes)
          return fmt::format("'{}' has moved parameter {}", form.entry, p);
      static constexpr std::uint32_t kOffsets[] = {0, 8, 12, 16, 20, 24, 28, 32};
      for (std::size_t h = 0; h < std::size(kOffsets); ++h)
        if (made->parameters[entry.parameters.size() + h].offset != form.hidden.offset + kOffsets[h])
          return fmt::format("hidden parameter {} of '{}' is at {}", h, form.entry,
                             made->parameters[entry.parameters.size() + h].offset);
      if (made->static_shared_bytes != entry.static_shared_bytes)
        return fmt::format("'{}' has {} bytes of static shared memory, expected {}", form.entry,
                           made->static_shared_bytes, entry.static_shared_bytes);
      const auto same = [](const Extent& a, const Extent& b) {
        return a.x == b.x && a.y == b.y && a.z == b.z;
      };
      if (!same(made->most_threads, entry.most_threads) ||
          !same(made->required_threads, entry.required_threads))
        return fmt::format("'{}' has other bounds on its threads", form.entry);
    }
    for (const transform::Refusal& refusal : kernel.refused) {
      if (refusal.reason.empty())
        return fmt::format("'{}' is refused '{}' without a reason", entry.name, refusal.form);
      if (!refusal.instruction.empty() && !stands_at(ptx, refusal.line, refusal.instruction))
        return fmt::format("'{}' is not in the text from line {} on", refusal.instruction, refusal.line);
      forms.push_back(refusal.form);
    }
    std::sort(forms.begin(), forms.end());
    if (forms != std::vector<std::string>{"loop", "prologue", "slice"})
      return fmt::format("'{}' has not each form once", entry.name);
  }
  if (!any && rewritten.text != ptx) return "there is no form, but the text has grown";
  return "";
}

}  // namespace gangway::testing::ptx
