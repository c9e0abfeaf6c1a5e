// Which libraries a program is linked with.
#pragma once

#include <string>
#include <vector>

namespace gangway::transform {

struct LinkedLibraries {
  std::vector<std::string> files;    // in the order in which they are first named, the program left out
  std::vector<std::string> missing;  // names that were found nowhere
};

// Those that the file names, and those that these name: where its RUNPATH, LD_LIBRARY_PATH and the system's
// folders have them. Nothing is executed. Those that a program opens as it runs are not among them.
LinkedLibraries linked_libraries(const std::string& file);

}  // namespace gangway::transform
