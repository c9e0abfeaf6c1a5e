// 64-bit little-endian ELF files: programs, libraries, objects and cubins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/images/byte_view.hpp"

namespace gangway::transform {

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0, link = 0, info = 0;
  std::uint64_t flags = 0, size = 0;
  std::string_view bytes;  // empty if the file has none for this section
};

struct ElfSymbol {
  std::string_view name;
  std::uint8_t type = 0, other = 0;
  std::uint32_t section = 0;
  std::uint64_t value = 0, size = 0;
};

inline constexpr std::uint16_t kCudaMachine = 190;

// Views of the bytes passed to read(), which must outlive them.
class ElfFile {
 public:
  // None if the header is not ELF or the section table is incomplete; `why` gives the reason.
  static std::optional<ElfFile> read(std::string_view bytes, std::string& why);

  std::uint16_t type() const { return type_; }  // 1: an unlinked object
  std::uint16_t machine() const { return machine_; }
  std::uint8_t abi_version() const { return abi_version_; }
  std::uint32_t flags() const { return flags_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;

  // Of .symtab, by index. Malformed ones have no name.
  std::vector<ElfSymbol> symbols() const;

  struct Dynamic {
    std::vector<std::string> needed;  // libraries, by name
    std::string runpath;              // folders, colon-separated
  };
  Dynamic dynamic() const;

 private:
  std::uint16_t type_ = 0, machine_ = 0;
  std::uint8_t abi_version_ = 0;
  std::uint32_t flags_ = 0;
  std::vector<ElfSection> sections_;
};

bool looks_like_elf(std::string_view bytes);

}  // namespace gangway::transform
