// The folder of compiled kernels, kept between runs.
#pragma once

#include <string>

namespace gangway::transform {

// $GANGWAY_CACHE, else $XDG_CACHE_HOME/gangway/kernels, else ~/.cache/gangway/kernels. RunError if none is
// defined.
std::string cache_folder();

// Whether the folder exists. RunError if it belongs to another user or is open to others: programs run its
// content.
bool check_cache_folder(const std::string& folder);

// Creates the folder with mode 0700, and its parents. RunError as above.
void make_cache_folder(const std::string& folder);

}  // namespace gangway::transform
