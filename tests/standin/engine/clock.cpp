#include "tests/standin/engine/clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/standin/engine/environment.hpp"

namespace gangway::standin {
namespace {

using SharedTime = std::atomic<std::uint64_t>;
static_assert(SharedTime::is_always_lock_free);

// The mapped file of STANDIN_CLOCK, made 8 bytes long if it is shorter; null without one.
const SharedTime* map_clock() {
  const std::string path = environment_text("STANDIN_CLOCK", "");
  if (path.empty()) return nullptr;
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) environment_error("STANDIN_CLOCK", path, std::strerror(errno));
  if (lseek(file, 0, SEEK_END) < 8 && ftruncate(file, 8) != 0)
    environment_error("STANDIN_CLOCK", path, std::strerror(errno));
  void* page = mmap(nullptr, 8, PROT_READ, MAP_SHARED, file, 0);
  if (page == MAP_FAILED) environment_error("STANDIN_CLOCK", path, std::strerror(errno));
  close(file);
  return static_cast<const SharedTime*>(page);
}

const SharedTime* shared_time() {
  static const SharedTime* const word = map_clock();
  return word;
}

double speed() {
  static const double value = environment_number("STANDIN_SPEED", 1.0);
  return value;
}

}  // namespace

std::uint64_t now_ns() {
  if (const SharedTime* word = shared_time()) return word->load(std::memory_order_acquire);
  static const auto start = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
  return static_cast<std::uint64_t>(passed.count() * speed());
}

void sleep_ns(std::uint64_t duration) {
  if (shared_time() == nullptr) {
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(duration) / speed())));
    return;
  }
  const std::uint64_t end = now_ns() + duration;
  while (now_ns() < end) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

}  // namespace gangway::standin
