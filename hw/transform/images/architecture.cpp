#include "hw/transform/images/architecture.hpp"

#include <charconv>

#include "models/error.hpp"

namespace gangway::transform {

namespace {

constexpr unsigned kLatest = 199;  // no GPU is nearly as late

}  // namespace

std::string Architecture::name() const {
  return "sm_" + std::to_string(number) + (suffix == 0 ? std::string() : std::string(1, suffix));
}

std::optional<Architecture> read_architecture(std::string_view text) {
  for (const std::string_view prefix : {"sm_", "compute_"})
    if (text.starts_with(prefix)) {
      text.remove_prefix(prefix.size());
      break;
    }
  Architecture out;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out.number);
  if (error != std::errc() || out.number < 10 || out.number > 999) return std::nullopt;
  if (rest == end) return out;
  if (rest + 1 != end || (*rest != 'a' && *rest != 'f')) return std::nullopt;
  out.suffix = *rest;
  return out;
}

Architecture gpu_option(const std::string& text) {
  const auto found = read_architecture(text);
  if (!found || found->number > kLatest)
    throw InputError({"--arch", 0}, "arch", quote(text), "a GPU's architecture, such as sm_90");
  return *found;
}

bool runs_on(Architecture target, Architecture gpu) {
  if (target.suffix == 'a') return target.number == gpu.number;
  if (target.suffix == 'f') return target.number / 10 == gpu.number / 10 && target.number <= gpu.number;
  return target.number <= gpu.number;
}

Architecture compiled_for(Architecture target, Architecture gpu) {
  return {gpu.number, target.suffix != 0 ? target.suffix : gpu.suffix};
}

}  // namespace gangway::transform
