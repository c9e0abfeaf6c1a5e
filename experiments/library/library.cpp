#include "experiments/library/library.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "gangway_build_facts.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

// Where it was installed, wherever that was moved to; in a build folder, where it was built.
fs::path data_folder() {
  if (const char* set = std::getenv("GANGWAY_DATA")) return set;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "gangway";
  return !error && fs::is_directory(installed / "models", error) ? installed : fs::path(GANGWAY_DATA_DIR);
}

fs::path folder_of(const std::string& what) {
  return data_folder() / (what == "devices" ? "models/devices" : what);
}

// Of experiments/ what can be run: workloads, devices and lists of printed values lie beside the experiments
// that use them.
bool belongs(const std::string& what, const fs::path& path) {
  if (what != "experiments") return true;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("kind:")) return line == "kind: experiment" || line == "kind: study";
  return false;
}

// Without a word where there is nothing, which matters to those alone who name something in it.
std::vector<LibraryFile> found(const std::string& what) {
  const fs::path folder = folder_of(what);
  std::vector<LibraryFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != ".yaml" || !belongs(what, it->path())) continue;
    const fs::path name = it->path().lexically_relative(folder).replace_extension();
    files.push_back({name.generic_string(), it->path().string()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return files;
}

[[noreturn]] void fail_without(const std::string& what, const std::string& missing) {
  const bool set = std::getenv("GANGWAY_DATA") != nullptr;
  throw InputError({set ? "GANGWAY_DATA" : "gangway", 0}, what, missing,
                   set ? "a folder with models/devices, workloads and experiments"
                       : "Gangway's data files: set GANGWAY_DATA to their folder");
}

void check_folder(const std::string& what) {
  std::error_code error;
  if (!fs::is_directory(folder_of(what), error))
    fail_without(what, "no folder " + quote(folder_of(what).string()));
}

}  // namespace

std::vector<LibraryFile> library(const std::string& what) {
  check_folder(what);
  return found(what);
}

fs::path library_file(const std::string& path) {
  const fs::path file = data_folder() / path;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) fail_without(path, "no file " + quote(file.string()));
  return file;
}

std::string python_program() {
  const char* const chosen = std::getenv("GANGWAY_PYTHON");
  if (chosen != nullptr) return chosen;
  return fs::exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
}

fs::path python_package() {
  const fs::path data = data_folder();
  for (const fs::path& folder : {data / "analysis", data.parent_path().parent_path()})
    if (fs::exists(folder / "gangway" / "__main__.py")) return folder;
  return {};
}

Node resolve(const Field& field, const std::string& what, const fs::path& folder) {
  if (!field.is_scalar()) return field.node();
  const std::string& wanted = field.node().scalar;
  std::vector<std::string> names;
  for (const LibraryFile& file : found(what)) {
    if (file.name == wanted) return read_yaml(file.path);
    names.push_back(file.name);
  }
  if (wanted.find('/') != std::string::npos || wanted.ends_with(".yaml")) {
    const fs::path path = folder / wanted;
    if (!fs::exists(path)) check_folder(what);
    if (!fs::exists(path))
      field.fail(quote(path.string()) + ", which does not exist",
                 "a file, or " + expected_names(wanted, names));
    return read_yaml(path.string());
  }
  check_folder(what);
  field.fail(expected_names(wanted, names));
}

}  // namespace gangway
