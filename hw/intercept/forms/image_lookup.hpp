// Finds what was prepared for the images that a program gives to the driver.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/cache/kernel_cache.hpp"
#include "hw/transform/images/architecture.hpp"
#include "hw/transform/images/image.hpp"

namespace gangway::intercept {

struct FoundForms {
  std::string cubin;  // to load instead; empty: the image has the forms itself
  std::vector<transform::KernelForms> kernels;
};

class ImageLookup {
 public:
  // None: nothing was prepared for it, or none of its kernels has a form. Never throws: the first failure
  // prints a line on stderr.
  std::optional<FoundForms> find(std::string_view image, transform::Architecture gpu);

 private:
  std::optional<FoundForms> look(std::string_view image, transform::Architecture gpu);

  std::mutex mutex_;
  void note_missing(const transform::PtxImage& ptx, transform::Architecture gpu);

  std::unique_ptr<transform::KernelCache> cache_;
  bool unusable_ = false;
};

}  // namespace gangway::intercept
