#include "hw/transform/cache/kernel_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/entry_file.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnfinished = ".unfinished-";
constexpr std::int64_t kCoarse = 100'000'000;  // of file systems' time stamps, ns, at the very most

std::string gpu_name(Architecture gpu) { return Architecture{gpu.number, 0}.name(); }

std::int64_t ns(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

// This user's regular file, whole; none where it is none.
std::optional<std::string> content(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  struct stat status {};
  std::optional<std::string> out;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) {
    out.emplace(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t at = 0;
    while (at < out->size()) {
      const ssize_t some = read(file, out->data() + at, out->size() - at);
      if (some < 0 && errno == EINTR) continue;
      if (some <= 0) break;
      at += static_cast<std::size_t>(some);
    }
    out->resize(at);
  }
  close(file);
  return out;
}

// Written under a name of its own, then renamed.
void write_whole(const std::string& folder, const std::string& name, const std::string& text) {
  static std::atomic<unsigned> number{0};
  const std::string path =
      folder + "/" + kUnfinished + std::to_string(getpid()) + "-" + std::to_string(number.fetch_add(1));
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int problem = file < 0 ? errno : 0;
  for (std::size_t at = 0; problem == 0 && at < text.size();) {
    const ssize_t some = write(file, text.data() + at, text.size() - at);
    if (some >= 0)
      at += static_cast<std::size_t>(some);
    else if (errno != EINTR)
      problem = errno;
  }
  if (file >= 0 && close(file) != 0 && problem == 0) problem = errno;
  if (problem == 0 && rename(path.c_str(), (folder + "/" + name).c_str()) != 0) problem = errno;
  if (problem == 0) return;
  if (file >= 0) unlink(path.c_str());
  throw RunError(folder + ": " + std::strerror(problem));
}

}  // namespace

KernelCache::KernelCache(std::string folder, std::function<void(const std::string&)> say)
    : folder_(std::move(folder)), say_(std::move(say)) {
  check_cache_folder(folder_);
}

std::vector<std::string> KernelCache::files(const std::string& prefix) {
  struct stat status {};
  if (stat(folder_.c_str(), &status) != 0) return {};
  if (ns(status.st_mtim) != names_of_) {
    names_.clear();
    std::error_code none;
    for (const auto& each : fs::directory_iterator(folder_, none))
      if (const std::string name = each.path().filename().string(); is_entry_name(name)) names_.insert(name);
    // Changes that follow soon may leave the same time behind.
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    names_of_ = ns(now) - ns(status.st_mtim) > kCoarse ? ns(status.st_mtim) : -1;
  }
  std::vector<std::string> out;
  for (auto at = names_.lower_bound(prefix); at != names_.end() && at->starts_with(prefix); ++at)
    out.push_back(*at);
  return out;
}

std::optional<CacheEntry> KernelCache::load(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  const auto text = content(path);
  if (!text) return std::nullopt;
  auto found = entry_in(name, *text);
  if (found)
    utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  else if (said_.insert(name).second)
    say_(path + " is damaged and not used");
  return found;
}

std::optional<Prepared> KernelCache::find(std::string_view ptx, Architecture gpu,
                                          const std::vector<std::string>& options,
                                          const std::string& assembler) {
  const std::string begin = name_begin(ptx, gpu_name(gpu), options), wanted = name_of(begin, assembler);
  std::vector<std::string> names = files(begin);
  const auto changed = [&](const std::string& name) {
    struct stat status {};
    return stat((folder_ + "/" + name).c_str(), &status) == 0 ? ns(status.st_mtim) : 0;
  };
  if (names.size() > 1)
    std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      if ((a == wanted) != (b == wanted)) return a == wanted;
      return changed(a) > changed(b);
    });
  for (const std::string& name : names)
    if (auto found = load(name); found && !found->prepared.cubin.empty()) return std::move(found->prepared);
  return std::nullopt;
}

bool KernelCache::tried(std::string_view ptx, Architecture gpu, const std::vector<std::string>& options) {
  return !files(name_begin(ptx, gpu_name(gpu), options)).empty();
}

std::optional<CacheEntry> KernelCache::entry(std::string_view ptx, Architecture gpu,
                                             const std::vector<std::string>& options,
                                             const std::string& assembler) {
  const std::string name = name_of(name_begin(ptx, gpu_name(gpu), options), assembler);
  return load(name);
}

void KernelCache::put(std::string_view ptx, const std::vector<std::string>& options,
                      const CacheEntry& entry) {
  make_cache_folder(folder_);
  const std::string name = name_of(name_begin(ptx, entry.gpu, options), entry.assembler);
  write_whole(folder_, name, entry_text(name, entry));
}

std::vector<ListedEntry> KernelCache::list() {
  std::vector<ListedEntry> out;
  names_of_ = -1;
  for (const std::string& name : files("")) {
    const std::string path = folder_ + "/" + name;
    struct stat status {};
    const auto text = stat(path.c_str(), &status) == 0 ? content(path) : std::nullopt;
    if (!text) continue;
    ListedEntry listed;
    listed.file = path;
    listed.bytes = text->size();
    listed.used = status.st_mtim.tv_sec;
    if (const auto found = entry_in(name, *text)) {
      listed.origin = found->origin;
      listed.gpu = found->gpu;
      listed.assembler = found->assembler;
      listed.trouble = found->trouble;
      listed.kernels = found->prepared.kernels.size();
      for (const KernelForms& kernel : found->prepared.kernels) listed.forms += kernel.forms.size();
    } else {
      listed.trouble = "damaged";
    }
    out.push_back(std::move(listed));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ListedEntry& a, const ListedEntry& b) { return a.used > b.used; });
  return out;
}

std::size_t KernelCache::shrink(std::uint64_t most) {
  struct Kept {
    std::int64_t used;
    std::string path;
    std::uint64_t bytes;
  };
  std::vector<Kept> all;
  std::uint64_t bytes = 0;
  names_of_ = -1;
  for (const std::string& name : files("")) {
    const std::string path = folder_ + "/" + name;
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) continue;
    all.push_back({ns(status.st_mtim), path, static_cast<std::uint64_t>(status.st_size)});
    bytes += all.back().bytes;
  }
  std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  std::size_t removed = 0;
  for (const Kept& each : all) {
    if (bytes <= most) break;
    if (unlink(each.path.c_str()) != 0) continue;
    bytes -= each.bytes;
    ++removed;
  }
  return removed;
}

std::size_t KernelCache::clear() {
  std::error_code none;
  std::size_t removed = 0;
  for (const auto& each : fs::directory_iterator(folder_, none)) {
    const std::string name = each.path().filename().string();
    if (!is_entry_name(name) && !name.starts_with(kUnfinished)) continue;
    if (unlink(each.path().c_str()) == 0 && is_entry_name(name)) ++removed;
  }
  return removed;
}

}  // namespace gangway::transform
