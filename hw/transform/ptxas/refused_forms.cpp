#include "hw/transform/ptxas/refused_forms.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gangway::transform {
namespace {

constexpr std::string_view kMark = "$gangway_";

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

struct RewrittenName {
  std::string_view whole, form;  // "k$gangway_loop", "loop"
};

// The first name of a rewritten entry or function from `at` on; labels begin with the mark. `at` goes behind
// it.
std::optional<RewrittenName> next_name(std::string_view text, std::size_t& at) {
  for (std::size_t mark = text.find(kMark, at); mark != std::string_view::npos; mark = text.find(kMark, at)) {
    std::size_t begin = mark, end = mark + kMark.size();
    while (begin > 0 && in_name(text[begin - 1])) --begin;
    while (end < text.size() && in_name(text[end])) ++end;
    at = end;
    if (begin != mark)
      return RewrittenName{text.substr(begin, end - begin),
                           text.substr(mark + kMark.size(), end - mark - kMark.size())};
  }
  return std::nullopt;
}

const KernelForms* kernel_of(const Rewritten& rewritten, std::string_view entry) {
  for (const KernelForms& kernel : rewritten.kernels)
    for (const Form& form : kernel.forms)
      if (form.entry == entry) return &kernel;
  return nullptr;
}

bool is_form(const Rewritten& rewritten, std::string_view name) {
  for (const KernelForms& kernel : rewritten.kernels)
    for (const Form& form : kernel.forms)
      if (form.form == name) return true;
  return false;
}

// What the text of a line belongs to. The copies of functions stand before the entries of their form, and
// serve all of them.
std::optional<ExcludedForm> owner(const Rewritten& rewritten, std::size_t line) {
  std::size_t end = 0;
  for (std::size_t n = 0; n < line && end != std::string::npos; ++n)
    end = rewritten.text.find('\n', end + (n > 0 ? 1 : 0));
  const std::string_view before = std::string_view(rewritten.text).substr(0, end);
  std::optional<ExcludedForm> found;
  std::size_t at = 0;
  while (const auto name = next_name(before, at)) {
    const KernelForms* const kernel = kernel_of(rewritten, name->whole);
    const bool same = found && found->form == name->form;
    if (!is_form(rewritten, name->form))
      found.reset();
    else if (kernel != nullptr)
      found = ExcludedForm{kernel->kernel, std::string(name->form), ""};
    else if (!same)
      found = ExcludedForm{"", std::string(name->form), ""};
  }
  return found;
}

// "ptxas FILE, line 7; error   : Unknown thing" or "ptxas error   : Unknown thing".
std::string_view complaint(std::string_view line) {
  for (const std::string_view word : {"error", "fatal"}) {
    const std::size_t at = line.find(word);
    const std::size_t colon = at == std::string_view::npos ? at : line.find(": ", at);
    if (colon != std::string_view::npos) return line.substr(colon + 2);
  }
  return {};
}

std::optional<std::size_t> line_of(std::string_view said) {
  constexpr std::string_view kLine = ", line ";
  const std::size_t at = said.find(kLine);
  std::size_t line = 0;
  if (at == std::string_view::npos) return std::nullopt;
  const auto read = std::from_chars(said.data() + at + kLine.size(), said.data() + said.size(), line);
  return read.ec == std::errc() && line > 0 ? std::optional(line) : std::nullopt;
}

}  // namespace

bool RefusedForms::leave_out(ExcludedForm form) {
  for (const ExcludedForm& each : excluded_)
    if (each.form == form.form && (each.kernel.empty() || each.kernel == form.kernel)) return false;
  excluded_.push_back(std::move(form));
  return true;
}

bool RefusedForms::note(const Rewritten& refused, std::string_view said) {
  if (++tries_ > kMostTries) return false;
  bool more = false;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    const std::string_view line = said.substr(at, end - at), why = complaint(line);
    at = end + 1;
    if (why.empty()) continue;
    const std::string reason = "ptxas refuses it: " + std::string(why);
    if (const auto number = line_of(line))
      if (const auto form = owner(refused, *number)) more |= leave_out({form->kernel, form->form, reason});
    std::size_t name_at = 0;
    while (const auto name = next_name(why, name_at)) {
      const KernelForms* const kernel = kernel_of(refused, name->whole);
      if (is_form(refused, name->form))
        more |= leave_out({kernel != nullptr ? kernel->kernel : "", std::string(name->form), reason});
    }
  }
  return more;
}

bool RefusedForms::without_loops(const Rewritten& refused) {
  return is_form(refused, "loop") && leave_out({"", "loop", "ptxas refuses the module with it"});
}

}  // namespace gangway::transform
