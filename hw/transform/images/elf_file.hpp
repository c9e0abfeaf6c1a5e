// ELF files of 64 bits, least significant byte first: programs, libraries, objects and CUDA's cubins.
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
  std::string_view bytes;  // empty where the file has none for it
};

struct ElfSymbol {
  std::string_view name;
  std::uint8_t type = 0, other = 0;
  std::uint32_t section = 0;
  std::uint64_t value = 0, size = 0;
};

inline constexpr std::uint16_t kCudaMachine = 190;

// Views of the bytes that it was made of, which have to live as long.
class ElfFile {
 public:
  // None where it does not begin as such files do, or its list of sections is not all there; `why` says so.
  static std::optional<ElfFile> read(std::string_view bytes, std::string& why);

  std::uint16_t type() const { return type_; }  // 1: an object that is yet to be linked
  std::uint16_t machine() const { return machine_; }
  std::uint8_t abi_version() const { return abi_version_; }
  std::uint32_t flags() const { return flags_; }
  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;

  // Of .symtab, by their index there. Those that do not fit in are without a name.
  std::vector<ElfSymbol> symbols() const;

  struct Dynamic {
    std::vector<std::string> needed;  // libraries, by name
    std::string runpath;              // folders, separated by colons
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
