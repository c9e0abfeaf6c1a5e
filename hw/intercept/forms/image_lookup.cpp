#include "hw/intercept/forms/image_lookup.hpp"

#include <elf.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/wanted.hpp"
#include "hw/transform/ptxas/assembler.hpp"

namespace gangway::intercept {
namespace {

constexpr std::uint32_t kWrapped = 0x466243b1, kFatbin = 0xba55ed50, kElf = 0x464c457f;

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

std::size_t bytes_of_elf(const void* image) {
  const auto header = at<Elf64_Ehdr>(image, 0);
  std::size_t end = std::max<std::size_t>(header.e_shoff + std::size_t{header.e_shnum} * header.e_shentsize,
                                          header.e_phoff + std::size_t{header.e_phnum} * header.e_phentsize);
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return end;
  for (unsigned s = 0; s < header.e_shnum; ++s) {
    const auto section = at<Elf64_Shdr>(image, header.e_shoff + s * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS) end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

bool is_text(const char* image) {
  std::size_t start = 0;
  while (std::isspace(static_cast<unsigned char>(image[start])) != 0) ++start;
  return image[start] == '.' || image[start] == '/';
}

// Of a module for that GPU, whether its machine code may be other code than what its PTX says: where there is
// some that runs there and is for a later GPU than the PTX.
bool other_code(const transform::ImageModule& module, transform::Architecture target,
                transform::Architecture gpu) {
  return std::any_of(module.cubins.begin(), module.cubins.end(), [&](const transform::CubinImage& cubin) {
    const unsigned number = cubin.architecture.number;
    return number / 10 == gpu.number / 10 && number <= gpu.number && number > target.number;
  });
}

bool any_form(const std::vector<transform::KernelForms>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const transform::KernelForms& kernel) { return !kernel.forms.empty(); });
}

}  // namespace

std::string_view bytes_of_image(const void* image) {
  if (image == nullptr) return {};
  if (begins_with(image, kWrapped)) {
    image = at<const void*>(image, 8);
    if (image == nullptr) return {};
  }
  const auto* const text = static_cast<const char*>(image);
  if (begins_with(image, kFatbin))
    return {text, at<std::uint16_t>(image, 6) + static_cast<std::size_t>(at<std::uint64_t>(image, 8))};
  if (begins_with(image, kElf)) return {text, bytes_of_elf(image)};
  return is_text(text) ? std::string_view(text) : std::string_view();
}

std::optional<FoundForms> ImageLookup::find(std::string_view image, transform::Architecture gpu) {
  if (image.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  try {
    return look(image, gpu);
  } catch (const std::exception& error) {
    if (!unusable_) std::fprintf(stderr, "gangway: kernels run as they are: %s\n", error.what());
    unusable_ = true;
    return std::nullopt;
  }
}

// For next time, if the daemon has somebody who prepares (GANGWAY_WANTED).
void ImageLookup::note_missing(const transform::PtxImage& ptx, transform::Architecture gpu) {
  const char* const wanted = std::getenv("GANGWAY_WANTED");
  if (wanted == nullptr || *wanted == '\0' ||
      cache_->tried(ptx.text, gpu, transform::assembler_options(ptx.options)))
    return;
  try {
    transform::note_wanted(transform::cache_folder(), {gpu.name(), ptx.options, ptx.text});
  } catch (const std::exception&) {
    // There is no room, say: the program has nothing to do with that.
  }
}

std::optional<FoundForms> ImageLookup::look(std::string_view image, transform::Architecture gpu) {
  transform::Image read;
  try {
    read = transform::image_of(image, "a module in memory");
  } catch (const std::exception&) {
    return std::nullopt;  // the driver has its own opinion of it
  }
  if (read.modules.size() != 1) return std::nullopt;
  const transform::ImageModule& module = read.modules.front();
  for (const transform::CubinImage& cubin : module.cubins)
    if (cubin.architecture.number == gpu.number && any_form(cubin.forms)) return FoundForms{{}, cubin.forms};
  const transform::PtxImage* const ptx = transform::ptx_for(module, gpu);
  if (ptx == nullptr || ptx->relocatable || unusable_ || other_code(module, ptx->facts.target, gpu))
    return std::nullopt;
  if (cache_ == nullptr) {
    const auto say = [](const std::string& line) { std::fprintf(stderr, "gangway: %s\n", line.c_str()); };
    cache_ = std::make_unique<transform::KernelCache>(transform::cache_folder(), say);
  }
  auto found = cache_->find(ptx->text, gpu, transform::assembler_options(ptx->options));
  if (!found) note_missing(*ptx, gpu);
  if (!found || !any_form(found->kernels)) return std::nullopt;
  return FoundForms{std::move(found->cubin), std::move(found->kernels)};
}

}  // namespace gangway::intercept
