#include "hw/transform/cache/entry_file.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "hw/transform/forms_json.hpp"
#include "models/hash.hpp"

namespace gangway::transform {
namespace {

using nlohmann::json;

constexpr std::string_view kKind = "gangway kernels 1\n";
constexpr std::string_view kEnding = ".kernels";
constexpr std::size_t kHash = 64, kAssemblerHash = 16;

// Takes a line off the text; none: there is no end of one.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string name_begin(std::string_view ptx, const std::string& gpu,
                       const std::vector<std::string>& options) {
  Sha256 key;
  const auto add = [&](std::string_view part) {
    key.add(std::to_string(part.size()) + ":");
    key.add(part);
  };
  add(std::to_string(kRewriterVersion));
  add(gpu);
  for (const std::string& option : options) add(option);
  add("ptx");
  add(ptx);
  return key.hex() + "-";
}

std::string name_of(const std::string& begin, const std::string& assembler) {
  return begin + sha256_of(assembler).substr(0, kAssemblerHash) + std::string(kEnding);
}

bool is_entry_name(const std::string& name) {
  if (name.size() != kHash + 1 + kAssemblerHash + kEnding.size() || !name.ends_with(kEnding)) return false;
  for (std::size_t i = 0; i < kHash + 1 + kAssemblerHash; ++i) {
    const char c = name[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (i == kHash ? c != '-' : !digit) return false;
  }
  return true;
}

std::string entry_text(const std::string& name, const CacheEntry& entry) {
  const json head{{"name", name},
                  {"gpu", entry.gpu},
                  {"assembler", entry.assembler},
                  {"rewriter", kRewriterVersion},
                  {"origin", entry.origin},
                  {"trouble", entry.trouble},
                  {"kernels", forms_to_json(entry.prepared.kernels)}};
  // Names in PTX are ASCII; paths need not be UTF-8.
  const std::string text = head.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string rest = std::to_string(text.size()) + "\n" + text + entry.prepared.cubin;
  return std::string(kKind) + sha256_of(rest) + "\n" + rest;
}

std::optional<CacheEntry> entry_in(const std::string& name, std::string_view text) {
  if (!text.starts_with(kKind)) return std::nullopt;
  text.remove_prefix(kKind.size());
  const auto hash = take_line(text);
  if (!hash || sha256_of(text) != *hash) return std::nullopt;
  const auto length = take_line(text);
  std::size_t bytes = 0;
  if (!length || std::from_chars(length->data(), length->data() + length->size(), bytes).ec != std::errc() ||
      bytes > text.size())
    return std::nullopt;
  const json head = json::parse(text.substr(0, bytes), nullptr, false);
  if (!head.is_object() || head.value("name", "") != name) return std::nullopt;
  auto kernels = forms_from_json(head.value("kernels", json()));
  if (!kernels) return std::nullopt;
  CacheEntry out;
  out.prepared = {std::string(text.substr(bytes)), std::move(*kernels)};
  out.assembler = head.value("assembler", "");
  out.gpu = head.value("gpu", "");
  out.trouble = head.value("trouble", "");
  out.origin = head.value("origin", "");
  return out;
}

}  // namespace gangway::transform
