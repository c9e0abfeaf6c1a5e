// Sizes in messages: short enough to read, and unmistakable.
#pragma once

#include <string>

#include "models/quantity.hpp"

namespace gangway {

// "12 GiB", "1.5 MiB"; with the bytes if that is rounded: "79.65 GiB (85520809985 B)". to_text() is for
// files: it uses the largest unit that gives a whole number.
std::string shown_size(Bytes size);

}  // namespace gangway
