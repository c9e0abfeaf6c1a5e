#include "hw/intercept/forms/image_lookup.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/wanted.hpp"
#include "hw/transform/ptxas/assembler.hpp"

namespace gangway::intercept {
namespace {

bool any_form(const std::vector<transform::KernelForms>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const transform::KernelForms& kernel) { return !kernel.forms.empty(); });
}

}  // namespace

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
  if (ptx == nullptr || ptx->relocatable || unusable_ || transform::other_code(module, *ptx, gpu))
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
