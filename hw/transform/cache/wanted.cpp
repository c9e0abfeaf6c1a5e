#include "hw/transform/cache/wanted.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/entry_file.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kType = "gangway wanted module 1 ";
// Of a file that was not taken so far, that was once, and twice.
constexpr const char* kEndings[] = {".wanted", ".once", ".twice"};

std::size_t number_of(const fs::path& folder) {
  std::error_code none;
  const fs::directory_iterator all(folder, none);
  return none ? 0 : static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::optional<WantedModule> read_wanted(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  WantedModule module;
  std::string type;
  if (!std::getline(in, type) || !type.starts_with(kType) || !std::getline(in, module.options))
    return std::nullopt;
  module.gpu = type.substr(kType.size());
  module.ptx.assign(std::istreambuf_iterator<char>(in), {});
  return module;
}

}  // namespace

std::string wanted_folder(const std::string& cache_folder) { return cache_folder + "/wanted"; }

void note_wanted(const std::string& cache_folder, const WantedModule& module) {
  if (module.ptx.size() > kLargestWanted || module.options.find('\n') != std::string::npos) return;
  const std::string folder = wanted_folder(cache_folder);
  make_cache_folder(cache_folder);
  make_cache_folder(folder);
  const std::string name = folder + "/" + name_begin(module.ptx, module.gpu, {module.options});
  for (const char* const ending : kEndings)
    if (access((name + ending).c_str(), F_OK) == 0) return;
  if (number_of(folder) >= kMostWanted) return;
  const std::string part = name + ".part-" + std::to_string(getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << kType << module.gpu << '\n' << module.options << '\n' << module.ptx;
  out.close();
  if (out && rename(part.c_str(), (name + kEndings[0]).c_str()) == 0) return;
  unlink(part.c_str());
  throw RunError(folder + ": " + std::strerror(errno));
}

WantedFiles::WantedFiles(const std::string& cache_folder) : folder_(wanted_folder(cache_folder)) {
  if (!check_cache_folder(cache_folder) || !check_cache_folder(folder_)) return;
  lock_ = open((cache_folder + "/.wanted.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ >= 0 && flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    lock_ = -1;
  }
  if (lock_ < 0) return;
  std::error_code none;
  for (const auto& each : fs::directory_iterator(folder_, none))
    names_.push_back(each.path().filename().string());
  std::sort(names_.rbegin(), names_.rend());
}

WantedFiles::~WantedFiles() {
  if (lock_ >= 0) close(lock_);
}

std::optional<WantedModule> WantedFiles::take() {
  for (; !names_.empty(); names_.pop_back()) {
    was_ = folder_ + "/" + names_.back();
    const std::size_t dot = names_.back().find('.');
    const std::string ending = dot == std::string::npos ? "" : names_.back().substr(dot);
    if (ending == kEndings[2] || ending.starts_with(".part-")) {
      // What a program is writing has just been begun.
      struct stat status {};
      const bool old = stat(was_.c_str(), &status) == 0 && time(nullptr) - status.st_mtime > 60;
      if (ending == kEndings[2] || old) unlink(was_.c_str());
      continue;
    }
    if (ending != kEndings[0] && ending != kEndings[1]) continue;
    taken_ =
        folder_ + "/" + names_.back().substr(0, dot) + (ending == kEndings[0] ? kEndings[1] : kEndings[2]);
    if (rename(was_.c_str(), taken_.c_str()) != 0) continue;
    names_.pop_back();
    auto module = read_wanted(taken_);
    if (module) return module;
    done();
    return take();
  }
  return std::nullopt;
}

void WantedFiles::done() { unlink(taken_.c_str()); }
void WantedFiles::keep() { rename(taken_.c_str(), was_.c_str()); }

}  // namespace gangway::transform
