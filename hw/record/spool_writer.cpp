#include "hw/record/spool_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace gangway::spool {

bool Spool::open(const char* folder) {
  pid_ = getpid();
  // A process that executes another program keeps its number.
  for (int i = 0; i < 1'000 && file_ < 0; ++i) {
    const std::string name = std::string(folder) + "/" + std::to_string(pid_) + "." + std::to_string(i);
    file_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0600);
    if (file_ < 0 && errno != EEXIST) break;
  }
  return file_ >= 0;
}

void Spool::forget() {
  if (file_ >= 0) close(file_);
  file_ = -1;
}

bool Spool::ours() const { return file_ >= 0 && getpid() == pid_; }

void Spool::write() {
  for (std::size_t done = 0; done < pending_.size() && file_ >= 0;) {
    const ssize_t n = ::write(file_, pending_.data() + done, pending_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      std::fprintf(stderr, "gangway: recording ends here: %s\n", std::strerror(errno));
      forget();
      break;
    }
    done += static_cast<std::size_t>(n);
  }
  pending_.clear();
}

std::uint32_t Spool::text(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view view = std::string_view(text).substr(0, kLongestText);
  if (const auto known = texts_.find(view); known != texts_.end()) return known->second;
  const std::string& kept = kept_.emplace_back(view);
  const auto id = static_cast<std::uint32_t>(kept_.size());
  texts_.emplace(kept, id);
  put(Text{.id = id, .length = static_cast<std::uint32_t>(kept.size())}, kept);
  return id;
}

std::uint32_t Spool::shape(Shape shape) {
  shape.id = 0;
  const std::string key(reinterpret_cast<const char*>(&shape), sizeof shape);
  const auto [place, is_new] = shapes_.try_emplace(key, static_cast<std::uint32_t>(shapes_.size() + 1));
  shape.id = place->second;
  if (is_new) put(shape);
  return shape.id;
}

void Spool::thread(std::uint32_t id) {
  if (!threads_.insert(id).second) return;
  char name[32] = "", path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%u/comm", id);
  if (const int file = ::open(path, O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t n = read(file, name, sizeof name - 1);
    name[n > 0 ? n - 1 : 0] = '\0';
    close(file);
  }
  const std::uint32_t text_id = text(name);
  put(Thread{.id = id, .name = text_id});
}

}  // namespace gangway::spool
