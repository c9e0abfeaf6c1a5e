// Sizes and times for people: short enough to read, and unmistakable. to_text() (quantity.hpp) is for files:
// it uses the largest unit that gives a whole number.
#pragma once

#include <string>

#include "models/quantity.hpp"

namespace gangway {

// "12 GiB", "1.5 MiB"; with the bytes if that is rounded: "79.65 GiB (85520809985 B)".
std::string shown_size(Bytes size);

// Rounded to three digits: "12 GiB", "79.7 GiB".
std::string rounded_size(Bytes size);

// Rounded to three digits: "999 ns", "1.23 ms", "90 s" as "1.5 min".
std::string rounded_time(Duration time);

}  // namespace gangway
