// Gangway's own data files, by name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

struct LibraryFile {
  std::string name;  // without folder and .yaml; experiments keep their folder: frs/fig4
  std::string path;
};

// The "devices", "workloads" or "experiments", sorted by name. Searched in the folder named by GANGWAY_DATA,
// else where Gangway was built or installed. Throws InputError if there is no such folder.
std::vector<LibraryFile> library(const std::string& what);

// Another data file, such as "examples/skeletons/workload.yaml". Throws InputError if missing.
std::filesystem::path library_file(const std::string& path);

// The folder of the Python package `gangway`, in a checkout or a wheel. Empty if Python must find it itself.
std::filesystem::path python_package();

// The Python to run it: GANGWAY_PYTHON, else the system's.
std::string python_program();

// Resolves a library name, or a path relative to `folder`. A mapping is returned as it is. Throws InputError.
Node resolve(const Field& field, const std::string& what, const std::filesystem::path& folder);

}  // namespace gangway
