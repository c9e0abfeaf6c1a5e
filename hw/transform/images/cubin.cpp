#include "hw/transform/images/cubin.hpp"

#include <elf.h>

#include <algorithm>
#include <map>

#include "hw/transform/images/elf_file.hpp"

namespace gangway::transform {
namespace {

constexpr std::uint8_t kEntry = 0x10;      // of a symbol's st_other: a kernel
constexpr std::uint8_t kSized = 4;         // an attribute with so many bytes behind it
constexpr std::uint8_t kRegisters = 0x2f;  // EIATTR_REGCOUNT: symbol, registers
constexpr std::uint8_t kLocal = 0x12;      // EIATTR_MIN_STACK_SIZE: symbol, bytes
constexpr std::uint8_t kFirstAbiOfCuda13 = 8;
constexpr std::uint32_t kReservedShared = 1024;  // the static part of .nv.shared.* begins behind it
constexpr unsigned kFirstThatReserves = 90;

struct Attributes {
  std::map<std::uint32_t, std::uint32_t> registers, local;  // by symbol
};

// Rows of one byte of format, one of kind and two of a value, or of a length of what follows.
Attributes read_attributes(std::string_view section) {
  Attributes out;
  const ByteView rows(section);
  for (std::uint64_t at = 0; at + 4 <= rows.size();) {
    const auto format = *rows.at<std::uint8_t>(at), kind = *rows.at<std::uint8_t>(at + 1);
    const auto length = *rows.at<std::uint16_t>(at + 2);
    at += 4;
    if (format != kSized) continue;
    const auto symbol = rows.at<std::uint32_t>(at), value = rows.at<std::uint32_t>(at + 4);
    if (length >= 8 && symbol && value) {
      if (kind == kRegisters) out.registers[*symbol] = *value;
      if (kind == kLocal) out.local[*symbol] = *value;
    }
    at += length;
  }
  return out;
}

template <typename Map>
std::optional<std::uint32_t> found_in(const Map& map, std::uint32_t key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional<std::uint32_t>(found->second);
}

}  // namespace

std::optional<Cubin> read_cubin(std::string_view bytes, std::string& why) {
  const auto file = ElfFile::read(bytes, why);
  if (!file) return std::nullopt;
  if (file->machine() != kCudaMachine) {
    why = "an ELF file that is not for CUDA";
    return std::nullopt;
  }
  Cubin out;
  out.relocatable = file->type() == ET_REL;
  const std::uint32_t flags = file->flags();
  out.architecture.number = file->abi_version() >= kFirstAbiOfCuda13 ? flags >> 8 & 0xff : flags & 0xff;
  const ElfSection* const all = file->section(".nv.info");
  const Attributes attributes = read_attributes(all != nullptr ? all->bytes : std::string_view());
  std::map<std::string_view, const ElfSection*> named;
  for (const ElfSection& section : file->sections()) named.emplace(section.name, &section);
  const std::vector<ElfSymbol> symbols = file->symbols();
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    const ElfSymbol& symbol = symbols[i];
    if (symbol.type != STT_FUNC || (symbol.other & kEntry) == 0 || symbol.name.empty()) continue;
    CubinKernel kernel{std::string(symbol.name), 0, 0, 0};
    if (const auto found = found_in(attributes.registers, i))
      kernel.registers = *found;
    else if (symbol.section < file->sections().size())  // before CUDA 9 it stood here alone
      kernel.registers = file->sections()[symbol.section].info >> 24;
    kernel.local_bytes = found_in(attributes.local, i).value_or(0);
    const auto shared = named.find(".nv.shared." + kernel.name);
    if (shared != named.end()) {
      const std::uint64_t reserved = out.architecture.number >= kFirstThatReserves ? kReservedShared : 0;
      const std::uint64_t size = shared->second->size;
      kernel.shared_bytes = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(size > reserved ? size - reserved : 0, UINT32_MAX));
    }
    out.kernels.push_back(std::move(kernel));
  }
  std::sort(out.kernels.begin(), out.kernels.end(),
            [](const CubinKernel& a, const CubinKernel& b) { return a.name < b.name; });
  return out;
}

}  // namespace gangway::transform
