#include "hw/transform/images/elf_file.hpp"

#include <elf.h>

namespace gangway::transform {
namespace {

// Section 0 says what does not fit into the header.
struct Table {
  std::uint64_t number = 0, names = 0;
};

Table table_of(const ByteView& file, const Elf64_Ehdr& header) {
  Table table{header.e_shnum, header.e_shstrndx};
  if (header.e_shoff == 0) return {0, 0};
  const auto first = file.at<Elf64_Shdr>(header.e_shoff);
  if (!first) return table;
  if (header.e_shnum == 0) table.number = first->sh_size;
  if (header.e_shstrndx == SHN_XINDEX) table.names = first->sh_link;
  return table;
}

std::string_view bytes_of(const ByteView& file, const Elf64_Shdr& header) {
  if (header.sh_type == SHT_NOBITS) return {};
  const auto found = file.part(header.sh_offset, header.sh_size);
  return found ? found->bytes() : std::string_view();
}

}  // namespace

bool looks_like_elf(std::string_view bytes) { return bytes.starts_with(ELFMAG); }

std::optional<ElfFile> ElfFile::read(std::string_view bytes, std::string& why) {
  const ByteView file(bytes);
  const auto header = file.at<Elf64_Ehdr>(0);
  const auto refuse = [&](const char* what) {
    why = what;
    return std::nullopt;
  };
  if (!looks_like_elf(bytes)) return refuse("no ELF file");
  if (!header) return refuse("a truncated ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
    return refuse("an ELF file that is not 64-bit little-endian");
  const Table table = table_of(file, *header);
  if (table.number > 0 && header->e_shentsize != sizeof(Elf64_Shdr))
    return refuse("an ELF file with sections of unknown size");
  if (table.number > bytes.size() / sizeof(Elf64_Shdr) ||
      !file.part(header->e_shoff, table.number * sizeof(Elf64_Shdr)))
    return refuse("an ELF file with a truncated section table");
  ElfFile out;
  out.type_ = header->e_type;
  out.machine_ = header->e_machine;
  out.abi_version_ = header->e_ident[EI_ABIVERSION];
  out.flags_ = header->e_flags;
  const auto row = [&](std::uint64_t index) {
    return *file.at<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const ByteView names(table.names < table.number ? bytes_of(file, row(table.names)) : std::string_view());
  out.sections_.reserve(table.number);
  for (std::uint64_t i = 0; i < table.number; ++i) {
    const Elf64_Shdr found = row(i);
    out.sections_.push_back({names.text(found.sh_name).value_or(std::string_view()), found.sh_type,
                             found.sh_link, found.sh_info, found.sh_flags, found.sh_size,
                             bytes_of(file, found)});
  }
  return out;
}

const ElfSection* ElfFile::section(std::string_view name) const {
  for (const ElfSection& each : sections_)
    if (each.name == name) return &each;
  return nullptr;
}

std::vector<ElfSymbol> ElfFile::symbols() const {
  std::vector<ElfSymbol> out;
  for (const ElfSection& table : sections_) {
    if (table.type != SHT_SYMTAB) continue;
    const ByteView rows(table.bytes);
    const ByteView names(table.link < sections_.size() ? sections_[table.link].bytes : std::string_view());
    // More sections than fit into a symbol: their numbers stand in a section beside it.
    ByteView beyond;
    for (const ElfSection& each : sections_)
      if (each.type == SHT_SYMTAB_SHNDX) beyond = ByteView(each.bytes);
    const std::uint64_t number = rows.size() / sizeof(Elf64_Sym);
    out.reserve(number);
    for (std::uint64_t i = 0; i < number; ++i) {
      const Elf64_Sym row = *rows.at<Elf64_Sym>(i * sizeof(Elf64_Sym));
      std::uint32_t place = row.st_shndx;
      if (place == SHN_XINDEX) place = beyond.at<std::uint32_t>(i * sizeof(std::uint32_t)).value_or(0);
      out.push_back({names.text(row.st_name).value_or(std::string_view()),
                     static_cast<std::uint8_t>(ELF64_ST_TYPE(row.st_info)), row.st_other, place, row.st_value,
                     row.st_size});
    }
    break;
  }
  return out;
}

ElfFile::Dynamic ElfFile::dynamic() const {
  Dynamic out;
  std::string rpath;
  for (const ElfSection& each : sections_) {
    if (each.type != SHT_DYNAMIC) continue;
    const ByteView rows(each.bytes);
    const ByteView texts(each.link < sections_.size() ? sections_[each.link].bytes : std::string_view());
    for (std::uint64_t at = 0; at + sizeof(Elf64_Dyn) <= rows.size(); at += sizeof(Elf64_Dyn)) {
      const Elf64_Dyn row = *rows.at<Elf64_Dyn>(at);
      if (row.d_tag == DT_NULL) break;
      const std::string text(texts.text(row.d_un.d_val).value_or(std::string_view()));
      if (row.d_tag == DT_NEEDED && !text.empty()) out.needed.push_back(text);
      if (row.d_tag == DT_RUNPATH) out.runpath = text;
      if (row.d_tag == DT_RPATH) rpath = text;
    }
  }
  if (out.runpath.empty()) out.runpath = rpath;
  return out;
}

}  // namespace gangway::transform
