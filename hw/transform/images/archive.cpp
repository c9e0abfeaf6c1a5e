#include "hw/transform/images/archive.hpp"

#include <ar.h>

#include <charconv>
#include <optional>

#include "hw/transform/images/byte_view.hpp"

namespace gangway::transform {
namespace {

constexpr std::string_view kThin = "!<thin>\n";
constexpr std::string_view kBsdName = "#1/";

std::string_view trimmed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(' ');
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

std::optional<std::uint64_t> number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t out = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return out;
}

// GNU's long names stand in a member of their own, each with "/\n" behind it.
std::string long_name(std::string_view names, std::string_view place) {
  const auto at = number(place);
  if (!at || *at >= names.size()) return std::string(place);
  return std::string(names.substr(*at, names.find_first_of("/\n", *at) - *at));
}

}  // namespace

bool looks_like_archive(std::string_view bytes) {
  return bytes.starts_with(ARMAG) || bytes.starts_with(kThin);
}

std::vector<ArchiveMember> members_of(std::string_view bytes, std::string& problem) {
  std::vector<ArchiveMember> out;
  const ByteView file(bytes);
  if (bytes.starts_with(kThin)) {
    problem = "a thin archive, which only names its objects";
    return out;
  }
  std::string_view names;
  for (std::uint64_t at = SARMAG; at < bytes.size();) {
    const auto header = file.at<ar_hdr>(at);
    const auto size = header ? number({header->ar_size, sizeof header->ar_size}) : std::nullopt;
    const auto content = size ? file.part(at + sizeof(ar_hdr), *size) : std::nullopt;
    if (!content || std::string_view(header->ar_fmag, sizeof header->ar_fmag) != ARFMAG) {
      problem = "a truncated or damaged archive";
      break;
    }
    at += sizeof(ar_hdr) + *size + *size % 2;
    const std::string_view name = trimmed({header->ar_name, sizeof header->ar_name});
    std::string_view inside = content->bytes();
    if (name == "//") {
      names = inside;
      continue;
    }
    if (name == "/" || name == "/SYM64/") continue;
    ArchiveMember member{std::string(name.substr(0, name.find('/'))), inside};
    if (name.starts_with(kBsdName)) {
      const auto length = number(name.substr(kBsdName.size()));
      if (!length || *length > inside.size()) continue;
      member.name = std::string(inside.substr(0, inside.substr(0, *length).find('\0')));
      member.bytes = inside.substr(*length);
      if (member.name.size() > *length) member.name.resize(*length);
    } else if (name.size() > 1 && name.front() == '/') {
      member.name = long_name(names, name.substr(1));
    }
    out.push_back(std::move(member));
  }
  return out;
}

}  // namespace gangway::transform
