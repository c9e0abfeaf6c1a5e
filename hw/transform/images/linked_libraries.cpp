#include "hw/transform/images/linked_libraries.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hw/transform/images/elf_file.hpp"

namespace gangway::transform {
namespace {

namespace fs = std::filesystem;

void add_folders(const std::string& list, const std::string& origin, std::vector<std::string>& out) {
  std::istringstream folders(list);
  for (std::string each; std::getline(folders, each, ':');) {
    for (const std::string name : {"${ORIGIN}", "$ORIGIN"})
      if (const std::size_t at = each.find(name); at != std::string::npos)
        each.replace(at, name.size(), origin);
    if (!each.empty()) out.push_back(each);
  }
}

// Of /etc/ld.so.conf and what it includes.
std::vector<std::string> configured_folders() {
  std::vector<std::string> out;
  std::set<fs::path> files{"/etc/ld.so.conf"};
  std::error_code none;
  for (const auto& each : fs::directory_iterator("/etc/ld.so.conf.d", none))
    if (each.path().extension() == ".conf") files.insert(each.path());
  for (const fs::path& file : files) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with('/')) out.push_back(line.substr(0, line.find_first_of(" \t#")));
  }
  for (const char* usual : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
                            "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
    out.emplace_back(usual);
  return out;
}

struct Links {
  std::string origin;
  ElfFile::Dynamic dynamic;
};

Links links_of(const std::string& file) {
  Links out{fs::absolute(file).parent_path().string(), {}};
  std::ostringstream bytes;
  bytes << std::ifstream(file, std::ios::binary).rdbuf();
  std::string why;
  const std::string content = std::move(bytes).str();
  if (const auto elf = ElfFile::read(content, why)) out.dynamic = elf->dynamic();
  return out;
}

}  // namespace

LinkedLibraries linked_libraries(const std::string& file) {
  const std::vector<std::string> system = configured_folders();
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  LinkedLibraries out;
  std::set<std::string> known;
  std::vector<std::string> open{file};
  for (std::size_t next = 0; next < open.size(); ++next) {
    const Links links = links_of(open[next]);
    std::vector<std::string> folders;
    add_folders(path != nullptr ? path : "", "", folders);
    add_folders(links.dynamic.runpath, links.origin, folders);
    folders.insert(folders.end(), system.begin(), system.end());
    for (const std::string& name : links.dynamic.needed) {
      if (!known.insert(name).second) continue;
      std::string found;
      for (const std::string& folder : folders) {
        const std::string candidate = name.find('/') != std::string::npos ? name : folder + "/" + name;
        if (found.empty() && fs::is_regular_file(candidate)) found = candidate;
      }
      if (found.empty())
        out.missing.push_back(name);
      else
        open.push_back(found);
    }
  }
  out.files.assign(open.begin() + 1, open.end());
  return out;
}

}  // namespace gangway::transform
