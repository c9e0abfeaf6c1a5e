#include "hw/transform/images/image.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hw/transform/images/archive.hpp"
#include "hw/transform/images/elf_file.hpp"
#include "hw/transform/images/fatbin.hpp"
#include "hw/transform/images/forms_note.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

constexpr const char* kExpected =
    "a program, shared library, object, static library, fatbin, cubin or PTX file";

struct Reading {
  Image image;
  unsigned modules = 0;  // so far

  void problem(const std::string& line) { image.problems.push_back(line); }
};

bool is_compile_only(const std::string& options) {
  std::istringstream words(options);
  for (std::string word; words >> word;)
    if (word == "--compile-only" || word == "-c") return true;
  return false;
}

void add_entry(const FatbinEntry& entry, bool relocatable, ImageModule& module, Reading& reading) {
  if (entry.kind == EntryKind::intermediate) ++module.intermediate;
  if (entry.kind != EntryKind::ptx && entry.kind != EntryKind::cubin) return;
  const auto content = entry.content();
  if (!content) return reading.problem(module.place + ": an entry cannot be unpacked");
  if (entry.kind == EntryKind::ptx) {
    auto facts = read_ptx(*content);
    if (!facts) return reading.problem(module.place + ": the PTX does not begin with .version and .target");
    const bool piece = relocatable || is_compile_only(entry.options);
    module.texts.push_back({*content, std::move(*facts), entry.options, entry.debug, piece});
    return;
  }
  std::string why;
  auto cubin = read_cubin(*content, why);
  if (!cubin) return reading.problem(module.place + ": " + why + " where a cubin is expected");
  module.cubins.push_back(
      {entry.architecture, cubin->relocatable, std::move(cubin->kernels), forms_in(*content)});
}

void add_fatbins(std::string_view bytes, const std::string& before, bool relocatable, Reading& reading) {
  for (const FatbinContainer& container : containers_in(bytes)) {
    ImageModule module;
    module.place = before + "module " + std::to_string(++reading.modules);
    for (const FatbinEntry& entry : container.entries)
      if (!entry.name.empty()) {
        module.place += " (" + entry.name + ")";
        break;
      }
    if (!container.problem.empty()) reading.problem(module.place + ": " + container.problem);
    for (const FatbinEntry& entry : container.entries) add_entry(entry, relocatable, module, reading);
    const bool kernels = std::any_of(module.cubins.begin(), module.cubins.end(),
                                     [](const CubinImage& each) { return !each.kernels.empty(); });
    // nvcc's link step leaves a cubin without kernels in each program.
    if (kernels || !module.texts.empty() || module.intermediate > 0)
      reading.image.modules.push_back(std::move(module));
    else
      --reading.modules;
  }
}

void add_cubin(std::string_view bytes, Reading& reading) {
  std::string why;
  auto cubin = read_cubin(bytes, why);
  if (!cubin) return reading.problem(why);
  ImageModule module{"module 1", {}, {}, 0};
  module.cubins.push_back(
      {cubin->architecture, cubin->relocatable, std::move(cubin->kernels), forms_in(bytes)});
  reading.image.modules.push_back(std::move(module));
}

// PTX that a program has among its constants, for the driver to compile: it is closed by a NUL.
void add_constant_ptx(std::string_view bytes, const std::string& before, Reading& reading) {
  constexpr std::string_view kBegin = ".version ";
  for (std::size_t at = bytes.find(kBegin); at != std::string_view::npos; at = bytes.find(kBegin, at + 1)) {
    const std::size_t end = bytes.find('\0', at);
    if (end == std::string_view::npos) break;
    const std::string_view text = bytes.substr(at, end - at);
    auto facts = read_ptx(text);
    if (facts && !facts->entries.empty()) {
      ImageModule module{before + "module " + std::to_string(++reading.modules) + " (a constant)", {}, {}, 0};
      module.texts.push_back({std::string(text), std::move(*facts), {}, false, false});
      reading.image.modules.push_back(std::move(module));
    }
    at = end;
  }
}

void add_elf(std::string_view bytes, const std::string& before, Reading& reading) {
  std::string why;
  const auto file = ElfFile::read(bytes, why);
  if (!file) return reading.problem(before + why);
  if (file->machine() == kCudaMachine) return add_cubin(bytes, reading);
  if (file->sections().empty()) return add_fatbins(bytes, before, false, reading);
  for (const ElfSection& section : file->sections()) {
    if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin") {
      add_fatbins(section.bytes, before, section.name == "__nv_relfatbin", reading);
      continue;
    }
    // Programs that load modules by themselves have them among their constants.
    if ((section.flags & SHF_ALLOC) == 0 || (section.flags & SHF_EXECINSTR) != 0 ||
        section.name == ".nvFatBinSegment")
      continue;
    add_fatbins(section.bytes, before, false, reading);
    add_constant_ptx(section.bytes, before, reading);
  }
}

std::string kind_of_elf(std::string_view bytes) {
  std::string why;
  const auto file = ElfFile::read(bytes, why);
  if (!file) return {};
  if (file->machine() == kCudaMachine) return "cubin";
  if (file->type() == ET_REL) return "object";
  const bool program = file->type() == ET_EXEC || file->section(".interp") != nullptr;
  return program ? "program" : "shared library";
}

void add_archive(std::string_view bytes, Reading& reading) {
  std::string problem;
  for (const ArchiveMember& member : members_of(bytes, problem))
    if (looks_like_elf(member.bytes)) add_elf(member.bytes, member.name + ": ", reading);
  if (!problem.empty()) reading.problem(problem);
}

void add_ptx(std::string_view bytes, PtxFacts facts, Reading& reading) {
  std::string text(bytes);
  text.resize(text.find_last_not_of('\0') + 1);
  ImageModule module{"module 1", {}, {}, 0};
  module.texts.push_back({std::move(text), std::move(facts), {}, false, false});
  reading.image.modules.push_back(std::move(module));
}

// What a file is that holds no kernels.
std::string found_in(std::string_view bytes, const std::string& file) {
  if (bytes.empty()) return "an empty file";
  const std::string_view line = bytes.substr(0, std::min(bytes.find('\n'), bytes.size()));
  const bool script = line.starts_with("#!");
  if (std::filesystem::path(file).extension() == ".py" ||
      (script && line.find("python") != std::string_view::npos))
    return "a Python program (its kernels are in libraries that it loads, or compiled at run time)";
  if (script) return "a script";
  if (std::filesystem::path(file).extension() == ".ptx") return "no .version and .target at the beginning";
  if (std::filesystem::path(file).extension() == ".cu") return "CUDA source (nvcc -ptx makes PTX of it)";
  return "another kind of file";
}

}  // namespace

Image image_of(std::string_view bytes, const std::string& file) {
  Reading reading;
  reading.image.file = file;
  const auto refuse = [&](const std::string& found) {
    throw InputError(file + ": found " + found + ", expected " + kExpected);
  };
  if (looks_like_elf(bytes)) {
    reading.image.kind = kind_of_elf(bytes);
    add_elf(bytes, "", reading);
    if (reading.image.kind.empty()) refuse(reading.image.problems.front());
  } else if (looks_like_archive(bytes)) {
    reading.image.kind = "static library";
    add_archive(bytes, reading);
  } else if (looks_like_fatbin(bytes)) {
    reading.image.kind = "fatbin";
    add_fatbins(bytes, "", false, reading);
  } else if (auto facts = read_ptx(bytes)) {
    reading.image.kind = "PTX";
    add_ptx(bytes, std::move(*facts), reading);
  } else {
    refuse(found_in(bytes, file));
  }
  return std::move(reading.image);
}

Image read_image(const std::string& file) {
  if (std::filesystem::is_directory(file)) throw InputError(file + ": found a folder, expected " + kExpected);
  if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
    throw InputError(file + ": found no regular file, expected " + kExpected);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  if (in) bytes << in.rdbuf();
  if (!in)
    throw InputError(file + ": " + (errno != 0 ? std::strerror(errno) : "cannot be read") + ", expected " +
                     kExpected);
  return image_of(std::move(bytes).str(), file);
}

bool is_linked(const Image& image) { return image.kind == "program" || image.kind == "shared library"; }

const PtxImage* ptx_for(const ImageModule& module, Architecture gpu) {
  const PtxImage* best = nullptr;
  for (const PtxImage& each : module.texts)
    if (runs_on(each.facts.target, gpu) && (best == nullptr || best->facts.target < each.facts.target))
      best = &each;
  return best;
}

const CubinImage* other_code(const ImageModule& module, const PtxImage& ptx, Architecture gpu) {
  for (const CubinImage& cubin : module.cubins) {
    const unsigned number = cubin.architecture.number;
    if (number / 10 == gpu.number / 10 && number <= gpu.number && ptx.facts.target < cubin.architecture)
      return &cubin;
  }
  return nullptr;
}

}  // namespace gangway::transform
