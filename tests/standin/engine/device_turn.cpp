#include "tests/standin/engine/device_turn.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/standin/engine/environment.hpp"

namespace gangway::standin {
namespace {

constexpr auto slice = std::chrono::milliseconds(2);

// flock() is not fair: who lets go and takes it again at once would keep it, so there is a pause between.
class Turn {
 public:
  static Turn* get() {
    static auto* const turn = made();
    return turn;
  }

  void join() {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return running_ == 0 || (held_ && std::chrono::steady_clock::now() - since_ < slice); });
    ++running_;
    if (running_ > 1) return;
    held_ = false;
    lock.unlock();
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
    lock.lock();
    held_ = true;
    since_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }

  void leave() {
    std::unique_lock lock(mutex_);
    if (--running_ > 0) return;
    const bool expired = std::chrono::steady_clock::now() - since_ >= slice;
    held_ = false;
    flock(file_, LOCK_UN);
    if (expired) std::this_thread::sleep_for(std::chrono::microseconds(100));
    changed_.notify_all();
  }

 private:
  static Turn* made() {
    const std::string path = environment_text("STANDIN_DEVICE_LOCK", "");
    if (path.empty()) return nullptr;
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) environment_error("STANDIN_DEVICE_LOCK", path, std::strerror(errno));
    return new Turn(file);
  }

  explicit Turn(int file) : file_(file) {}

  int file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned running_ = 0;
  bool held_ = false;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace

DeviceTurn::DeviceTurn(bool taken) : taken_(taken && Turn::get() != nullptr) {
  if (taken_) Turn::get()->join();
}

DeviceTurn::~DeviceTurn() {
  if (taken_) Turn::get()->leave();
}

}  // namespace gangway::standin
