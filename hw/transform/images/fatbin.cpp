#include "hw/transform/images/fatbin.hpp"

#include <algorithm>

#include "hw/transform/images/byte_view.hpp"

namespace gangway::transform {
namespace {

constexpr std::string_view kMagic = "\x50\xed\x55\xba";
constexpr std::uint64_t kAlignment = 4;
constexpr std::uint32_t kLeastHeader = 64;
constexpr std::uint64_t kDebug = 0x2, kLz4 = 0x2000, kZstd = 0x8000, kThisAlone = 0x100000,
                        kFamily = 0x200000;

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version, bytes;
  std::uint64_t content;
};

struct EntryHeader {
  std::uint16_t kind, version;
  std::uint32_t bytes;
  std::uint64_t content;
  std::uint32_t packed, options;
  std::uint16_t minor, major;
  std::uint32_t architecture, name, name_bytes;
  std::uint64_t flags, unknown, unpacked;
};
static_assert(sizeof(ContainerHeader) == 16 && sizeof(EntryHeader) == kLeastHeader);

EntryKind kind_of(std::uint16_t number) {
  if (number == 1) return EntryKind::ptx;
  if (number == 2) return EntryKind::cubin;
  return number == 8 ? EntryKind::intermediate : EntryKind::other;
}

// Without the NULs at its end.
std::string text_in(const ByteView& header, std::uint64_t offset, std::uint64_t bytes) {
  const auto found = header.part(offset, bytes);
  if (!found) return {};
  const std::string_view text = found->bytes();
  return std::string(text.substr(0, text.find('\0')));
}

// What the sizes in the header leave of the content; none where they cannot be right.
bool take_content(const EntryHeader& header, std::string_view content, FatbinEntry& out) {
  out.compression = (header.flags & kZstd) != 0  ? Compression::zstd
                    : (header.flags & kLz4) != 0 ? Compression::lz4
                                                 : Compression::none;
  if (out.compression == Compression::none) {
    out.packed = content;
    out.size = content.size();
    return true;
  }
  if (header.packed > content.size()) return false;
  out.packed = content.substr(0, header.packed);
  out.size = header.unpacked;
  return true;
}

// The entry at `at`, which becomes that of the next one. False: the rest cannot be read.
bool read_entry(const ByteView& entries, std::uint64_t& at, FatbinContainer& out) {
  const auto header = entries.at<EntryHeader>(at);
  const auto head = header ? entries.part(at, header->bytes) : std::nullopt;
  if (!head || header->bytes < kLeastHeader) {
    out.problem = "the header of an entry is truncated";
    return false;
  }
  const auto content = entries.part(at + header->bytes, header->content);
  if (!content) {
    out.problem = "an entry is cut off";
    return false;
  }
  at += header->bytes + header->content;
  FatbinEntry entry;
  entry.kind = kind_of(header->kind);
  entry.architecture = {header->architecture, 0};
  if ((header->flags & kThisAlone) != 0) entry.architecture.suffix = 'a';
  if ((header->flags & kFamily) != 0) entry.architecture.suffix = 'f';
  entry.debug = (header->flags & kDebug) != 0;
  if (header->options >= kLeastHeader) {
    const auto place = head->at<std::uint32_t>(header->options);
    const auto bytes = head->at<std::uint32_t>(header->options + std::uint64_t{4});
    if (place && bytes && entry.kind == EntryKind::ptx) entry.options = text_in(*head, *place, *bytes);
  }
  if (header->name_bytes > 0) entry.name = text_in(*head, header->name, header->name_bytes);
  if (take_content(*header, content->bytes(), entry))
    out.entries.push_back(std::move(entry));
  else
    out.problem = "an entry is shorter than it says";
  return true;
}

}  // namespace

bool looks_like_fatbin(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::optional<std::string> FatbinEntry::content() const {
  std::optional<std::string> out = unpacked(packed, compression, size);
  if (out && kind == EntryKind::ptx) out->resize(out->find_last_not_of('\0') + 1);
  return out;
}

std::vector<FatbinContainer> containers_in(std::string_view bytes) {
  std::vector<FatbinContainer> out;
  const ByteView file(bytes);
  for (std::uint64_t at = 0;;) {
    at = bytes.find(kMagic, at);
    if (at == std::string_view::npos) break;
    const auto header = file.at<ContainerHeader>(at);
    if (at % kAlignment != 0 || !header || header->version != 1 || header->bytes < sizeof(ContainerHeader)) {
      at += 1;
      continue;
    }
    FatbinContainer container;
    container.offset = at;
    const std::uint64_t begin = at + header->bytes;
    auto entries = file.part(begin, header->content);
    if (!entries) {
      container.problem = "a fatbin is cut off";
      entries = ByteView(bytes.substr(std::min<std::uint64_t>(begin, bytes.size())));
    }
    std::uint64_t next = 0;
    while (next < entries->size() && read_entry(*entries, next, container)) {
    }
    // Behind what is damaged, the next container may begin anywhere.
    at = container.problem.empty() ? begin + header->content : begin + next;
    out.push_back(std::move(container));
  }
  return out;
}

}  // namespace gangway::transform
