// The files passed to a command, and optionally their libraries.
#pragma once

#include <string>
#include <vector>

#include "hw/transform/images/image.hpp"

namespace gangway::transform {

struct ImageSet {
  std::vector<Image> images;       // of libraries only those with kernels
  std::vector<std::string> notes;  // unreadable or missing files, one line each
};

// A name without a slash that is no file is looked up in PATH. InputError as read_image(). `libraries`:
// include linked libraries.
ImageSet read_images(const std::vector<std::string>& files, bool libraries);

}  // namespace gangway::transform
