#include "hw/transform/images/image_in_memory.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>

namespace gangway::transform {
namespace {

constexpr std::uint32_t kWrapped = 0x466243b1, kFatbin = 0xba55ed50, kElf = 0x464c457f;
constexpr std::uint64_t kMost = UINT64_MAX / 2;  // bytes: sums of two do not wrap around

template <typename T>
T at(const void* image, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(image) + offset, sizeof value);
  return value;
}

// Reads no further than to the first byte that differs: a text may be shorter than the word.
bool begins_with(const void* image, std::uint32_t word) {
  for (std::size_t byte = 0; byte < sizeof word; ++byte)
    if (static_cast<const unsigned char*>(image)[byte] != (word >> (8 * byte) & 0xFF)) return false;
  return true;
}

// Whether the process has memory there: sizes are as an image says, and it may say anything.
bool is_mapped(const void* from, std::size_t bytes) {
  constexpr std::size_t kPages = 4096;
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  if (bytes > UINTPTR_MAX - begin - page) return false;
  unsigned char ignored[kPages];
  for (std::uintptr_t at = begin / page * page; at < begin + bytes; at += kPages * page)
    if (mincore(reinterpret_cast<void*>(at), std::min(kPages * page, begin + bytes - at), ignored) != 0)
      return false;
  return true;
}

// 0: it says something impossible.
std::size_t bytes_of_elf(const void* image) {
  const auto header = at<Elf64_Ehdr>(image, 0);
  if (header.e_shoff > kMost || header.e_phoff > kMost) return 0;
  std::size_t end = std::max<std::size_t>(header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize,
                                          header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return end;
  if (!is_mapped(image, end)) return 0;
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const auto section = at<Elf64_Shdr>(image, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_offset > kMost || section.sh_size > kMost) return 0;
    if (section.sh_type != SHT_NOBITS) end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

bool is_text(const char* image) {
  std::size_t start = 0;
  while (std::isspace(static_cast<unsigned char>(image[start])) != 0) ++start;
  return image[start] == '.' || image[start] == '/';
}

}  // namespace

std::string_view bytes_of_image(const void* image) {
  if (image == nullptr) return {};
  if (begins_with(image, kWrapped)) {
    image = at<const void*>(image, 8);
    if (image == nullptr) return {};
  }
  const auto* const text = static_cast<const char*>(image);
  const auto all_of = [&](std::size_t bytes) {
    return is_mapped(image, bytes) ? std::string_view(text, bytes) : std::string_view();
  };
  if (begins_with(image, kFatbin)) {
    const auto content = at<std::uint64_t>(image, 8);
    return content > kMost ? std::string_view() : all_of(at<std::uint16_t>(image, 6) + content);
  }
  if (begins_with(image, kElf)) return all_of(bytes_of_elf(image));
  return is_text(text) ? std::string_view(text) : std::string_view();
}

}  // namespace gangway::transform
