// Where compiled kernels are kept between runs.
#pragma once

#include <string>

namespace gangway::transform {

// $GANGWAY_CACHE, else $XDG_CACHE_HOME/gangway/kernels, else ~/.cache/gangway/kernels. RunError where none of
// these is known.
std::string cache_folder();

// Whether it is there, and this user's alone. RunError where it is there and is not: a program would run what
// others put there.
bool check_cache_folder(const std::string& folder);

// Makes it, with mode 0700, and what is above it where that is missing. RunError as above.
void make_cache_folder(const std::string& folder);

}  // namespace gangway::transform
