// The files that a command was given, and what they are linked with.
#pragma once

#include <string>
#include <vector>

#include "hw/transform/images/image.hpp"

namespace gangway::transform {

struct ImageSet {
  std::vector<Image> images;       // of libraries, those with kernels
  std::vector<std::string> notes;  // what could not be read, or found, each in a line
};

// Programs are looked for in PATH where there is no such file and the name has no slash. InputError as
// read_image(). With `libraries`, the files' linked libraries, too.
ImageSet read_images(const std::vector<std::string>& files, bool libraries);

}  // namespace gangway::transform
