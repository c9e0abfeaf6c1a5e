// The files that come with Gangway, by name.
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

// What there is of "devices", "workloads" or "experiments", sorted by name. Found below the folder in the
// environment variable GANGWAY_DATA, or else where Gangway was built or installed from. Throws InputError
// where there is no such folder.
std::vector<LibraryFile> library(const std::string& what);

// A file that comes with Gangway and is none of these, such as "examples/skeletons/workload.yaml". Throws
// InputError where it is not there.
std::filesystem::path library_file(const std::string& path);

// The folder from which Python finds the package `gangway`: in a checkout, or in a wheel. Empty where neither
// is, and Python has it by itself or not at all.
std::filesystem::path python_package();

// The Python that is to run it: what the environment variable GANGWAY_PYTHON says, else the system's.
std::string python_program();

// What a name in the library, or the path of a file as seen from `folder`, stands for; a mapping stands for
// itself. Throws InputError.
Node resolve(const Field& field, const std::string& what, const std::filesystem::path& folder);

}  // namespace gangway
