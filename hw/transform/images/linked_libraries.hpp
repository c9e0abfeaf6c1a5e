// The libraries that a program is linked with.
#pragma once

#include <string>
#include <vector>

namespace gangway::transform {

struct LinkedLibraries {
  std::vector<std::string> files;    // in order of first mention, without the program
  std::vector<std::string> missing;  // names found nowhere
};

// The transitive dependencies of a file, searched in RUNPATH, LD_LIBRARY_PATH and the system's folders.
// Executes nothing. Libraries opened at run time are not included.
LinkedLibraries linked_libraries(const std::string& file);

}  // namespace gangway::transform
