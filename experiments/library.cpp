#include "experiments/library.hpp"

#include <algorithm>
#include <cstdlib>

#include "experiments/printed.hpp"
#include "gangway_build_facts.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

fs::path data_folder() {
  const char* set = std::getenv("GANGWAY_DATA");
  return set != nullptr ? fs::path(set) : fs::path(GANGWAY_DATA_DIR);
}

}  // namespace

std::vector<LibraryFile> library(const std::string& what) {
  const fs::path folder = data_folder() / (what == "devices" ? "models/devices" : what);
  std::vector<LibraryFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".yaml") continue;
    if (what == "experiments" && it->path().filename() == kPrintedList) continue;
    const fs::path name = it->path().lexically_relative(folder).replace_extension();
    files.push_back({name.generic_string(), it->path().string()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

Node resolve(const Field& field, const std::string& what, const fs::path& folder) {
  if (!field.is_scalar()) return field.node();
  const std::string& wanted = field.node().scalar;
  std::vector<std::string> names;
  for (const LibraryFile& file : library(what)) {
    if (file.name == wanted) return read_yaml(file.path);
    names.push_back(file.name);
  }
  if (wanted.find('/') != std::string::npos || wanted.ends_with(".yaml")) {
    const fs::path path = folder / wanted;
    if (!fs::exists(path))
      field.fail(quote(path.string()) + ", which does not exist",
                 "a file, or " + expected_names(wanted, names));
    return read_yaml(path.string());
  }
  field.fail(expected_names(wanted, names));
}

}  // namespace gangway
