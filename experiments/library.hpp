// The files that come with Gangway, by name.
#pragma once

#include <string>
#include <vector>

namespace gangway {

struct LibraryFile {
  std::string name;  // without folder and .yaml; experiments keep their folder: frs/fig4
  std::string path;
};

// What there is of "devices", "workloads" or "experiments", sorted by name. Found below the folder in the
// environment variable GANGWAY_DATA, or else where Gangway was built or installed from.
std::vector<LibraryFile> library(const std::string& what);

}  // namespace gangway
