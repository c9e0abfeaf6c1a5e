#include "tests/standin/memory/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"

namespace gangway::standin {
namespace {

// As test programs read it: three numbers of 64 bits, then pairs of them.
struct Ledger {
  std::uint64_t refused = 0;  // requests for which there was no room
  std::uint64_t most = 0;     // bytes taken at once
  std::uint64_t size = 0;     // of the device
  struct Process {
    std::uint64_t number = 0, bytes = 0;
  } processes[256];
};

// Also before its parent has waited for it, as a driver frees what a process had when its descriptors close.
bool is_dead(std::uint64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_ends = text.rfind(") ");  // the name may hold anything
  if (name_ends == std::string::npos) return true;
  std::istringstream rest(text.substr(name_ends + 2));
  std::string state, skipped;
  unsigned flags = 0;
  rest >> state;
  for (int field = 0; field < 5; ++field) rest >> skipped;
  rest >> flags;
  constexpr unsigned kExiting = 4;  // PF_EXITING
  return state == "Z" || state == "X" || (flags & kExiting) != 0;
}

class Page {
 public:
  explicit Page(unsigned physical) {
    std::string path = environment_text("STANDIN_LEDGER", "");
    if (path.empty()) return;
    if (physical > 0) path += "." + std::to_string(physical);
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* at = MAP_FAILED;
    if (file_ >= 0 && ftruncate(file_, sizeof(Ledger)) == 0)
      at = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (at == MAP_FAILED) environment_error("STANDIN_LEDGER", path, std::strerror(errno));
    ledger_ = static_cast<Ledger*>(at);
  }
  Ledger& lock() {
    while (file_ >= 0 && flock(file_, LOCK_EX) != 0) {
    }
    const auto own = static_cast<std::uint64_t>(getpid());
    for (auto& process : ledger_->processes)  // the memory of the dead is free
      if (process.number != 0 && process.number != own && is_dead(process.number)) process = {};
    ledger_->size = memory_size();
    return *ledger_;
  }
  void unlock() {
    if (file_ >= 0) flock(file_, LOCK_UN);
  }

 private:
  int file_ = -1;
  Ledger own_;
  Ledger* ledger_ = &own_;
};

Page& page(unsigned physical) {
  static auto* const made = new std::map<unsigned, Page*>;
  Page*& found = (*made)[physical];
  if (found == nullptr) found = new Page(physical);
  return *found;
}

std::uint64_t sum(const Ledger& ledger) {
  std::uint64_t all = 0;
  for (const auto& process : ledger.processes) all += process.bytes;
  return all;
}

std::uint64_t& own(Ledger& ledger) {
  const auto number = static_cast<std::uint64_t>(getpid());
  for (auto& process : ledger.processes)
    if (process.number == number) return process.bytes;
  for (auto& process : ledger.processes)
    if (process.number == 0) {
      process = {number, 0};
      return process.bytes;
    }
  environment_error("STANDIN_LEDGER", "", "more than 256 processes");
}

}  // namespace

std::size_t memory_size() {
  static const auto bytes =
      (static_cast<std::size_t>(environment_number("STANDIN_MEMORY", 4294967296.0)) + 511) / 512 * 512;
  return bytes;
}

void ledger_take(unsigned physical, std::size_t bytes) {
  Ledger& ledger = page(physical).lock();
  const std::uint64_t used = sum(ledger);
  const bool room = used + bytes <= ledger.size;
  if (room) {
    own(ledger) += bytes;
    ledger.most = std::max(ledger.most, used + bytes);
  } else {
    ++ledger.refused;
  }
  page(physical).unlock();
  require(room, CUDA_ERROR_OUT_OF_MEMORY);
}

void ledger_give(unsigned physical, std::size_t bytes) {
  own(page(physical).lock()) -= bytes;
  page(physical).unlock();
}

std::size_t ledger_used(unsigned physical) {
  const std::size_t used = sum(page(physical).lock());
  page(physical).unlock();
  return used;
}

}  // namespace gangway::standin
