#include "tests/standin/processes/checkpoint.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "api.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/contexts/visible_devices.hpp"
#include "tests/standin/engine/engine.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/memory/host_memory.hpp"
#include "tests/standin/memory/ledger.hpp"
#include "tests/standin/memory/virtual_memory.hpp"

namespace gangway::standin {
namespace {

enum class Act : int { state, thread, lock, checkpoint, restore, unlock };
constexpr unsigned kMostPairs = 64;
struct Wish {
  Act act = Act::state;
  unsigned timeout_ms = 0;
  unsigned pairs = 0;  // of a restore
  CUcheckpointGpuPair pair[kMostPairs] = {};
};
struct Reply {
  int result = 0, value = 0;
};

// Of this process: who is inside the driver, and what was on the device.
class Process {
 public:
  static Process& get() {
    static auto* const process = new Process;
    return *process;
  }

  void enter() {
    std::unique_lock lock(mutex_);
    unlocked_.wait(lock, [&] { return state_ == CU_PROCESS_STATE_RUNNING && !locking_; });
    ++inside_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--inside_ == 0) empty_.notify_all();
  }

  Reply answer(const Wish& wish) {
    try {
      switch (wish.act) {
        case Act::state:
          return {CUDA_SUCCESS, state_.load()};
        case Act::thread:
          return {CUDA_SUCCESS, static_cast<int>(gettid())};
        case Act::lock:
          return {close_door(wish.timeout_ms), 0};
        case Act::checkpoint:
          return {save(), 0};
        case Act::restore:
          return {bring_back(wish), 0};
        case Act::unlock:
          return {open_door(), 0};
      }
    } catch (const Failure& failure) {
      return {failure.result, 0};
    }
    return {CUDA_ERROR_INVALID_VALUE, 0};
  }

 private:
  struct Saved {
    char* at = nullptr;
    std::shared_ptr<Physical> physical;  // null: of the arena
    int device = 0;
    std::vector<char> bytes;
  };

  CUresult close_door(unsigned timeout_ms) {
    std::unique_lock lock(mutex_);
    require(state_ == CU_PROCESS_STATE_RUNNING, CUDA_ERROR_ILLEGAL_STATE);
    locking_ = true;
    const auto nobody = [&] { return inside_ == 0; };
    bool empty = true;
    if (timeout_ms == 0)
      empty_.wait(lock, nobody);
    else
      empty = empty_.wait_for(lock, std::chrono::milliseconds(timeout_ms), nobody);
    locking_ = false;
    if (empty) state_ = CU_PROCESS_STATE_LOCKED;
    unlocked_.notify_all();
    return empty ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }

  // Everything that is on the device, when nothing of the process runs there any more. What stays behind are
  // other bytes.
  CUresult save() {
    require(state_ == CU_PROCESS_STATE_LOCKED, CUDA_ERROR_ILLEGAL_STATE);
    Lock lock = lock_driver();
    Engine& engine = Engine::get();
    engine.wait(lock, [&] { return engine.counters().submitted == engine.counters().finished; });
    for (const auto& [start, range] : host_ranges()) require(!range.managed, CUDA_ERROR_NOT_SUPPORTED);
    for (const Arena::Range& range : Arena::get().taken())
      saved_.push_back(
          {reinterpret_cast<char*>(range.start), nullptr, range.device, std::vector<char>(range.size)});
    for (const auto& physical : VirtualMemory::get().all())
      saved_.push_back(
          {nullptr, physical, physical->properties.location.id, std::vector<char>(physical->size)});
    std::size_t all = 0;
    for (Saved& saved : saved_) {
      with_bytes(saved, [&](char* device) {
        std::memcpy(saved.bytes.data(), device, saved.bytes.size());
        std::memset(device, 0xA5, saved.bytes.size());
      });
      ledger_give(physical_of(saved.device), saved.bytes.size());
      all += saved.bytes.size();
    }
    take_time(all);
    state_ = CU_PROCESS_STATE_CHECKPOINTED;
    return CUDA_SUCCESS;
  }

  // Where each device that the process sees is from now on. With pairs each of them has to be in one.
  static std::vector<unsigned> devices_after(const Wish& wish) {
    std::vector<unsigned> found;
    for (int d = 0; d < device_count(); ++d) {
      unsigned to = wish.pairs == 0 ? physical_of(d) : machine_devices();
      for (unsigned p = 0; p < std::min(wish.pairs, kMostPairs); ++p) {
        if (!same(wish.pair[p].oldUuid, uuid_of(physical_of(d)))) continue;
        for (unsigned other = 0; other < machine_devices(); ++other)
          if (same(wish.pair[p].newUuid, uuid_of(other))) to = other;
      }
      require(to < machine_devices());
      found.push_back(to);
    }
    return found;
  }
  static bool same(const CUuuid& a, const CUuuid& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  CUresult bring_back(const Wish& wish) {
    require(state_ == CU_PROCESS_STATE_CHECKPOINTED, CUDA_ERROR_ILLEGAL_STATE);
    const Lock lock = lock_driver();
    const std::vector<unsigned> after = devices_after(wish);
    std::vector<std::size_t> needs(machine_devices());
    std::size_t all = 0;
    for (const Saved& saved : saved_) {
      needs[after[static_cast<std::size_t>(saved.device)]] += saved.bytes.size();
      all += saved.bytes.size();
    }
    for (unsigned physical = 0; physical < needs.size(); ++physical) try {
        if (needs[physical] != 0) ledger_take(physical, needs[physical]);
      } catch (const Failure&) {
        while (physical-- > 0)
          if (needs[physical] != 0) ledger_give(physical, needs[physical]);
        throw;
      }
    take_time(all);
    for (int d = 0; d < device_count(); ++d) device(d).physical = after[static_cast<std::size_t>(d)];
    for (const Saved& saved : saved_)
      with_bytes(saved, [&](char* device) { std::memcpy(device, saved.bytes.data(), saved.bytes.size()); });
    saved_.clear();
    state_ = CU_PROCESS_STATE_LOCKED;
    return CUDA_SUCCESS;
  }

  CUresult open_door() {
    const std::lock_guard lock(mutex_);
    require(state_ == CU_PROCESS_STATE_LOCKED, CUDA_ERROR_ILLEGAL_STATE);
    state_ = CU_PROCESS_STATE_RUNNING;
    unlocked_.notify_all();
    return CUDA_SUCCESS;
  }

  template <typename Use>
  static void with_bytes(const Saved& saved, Use use) {
    if (saved.physical == nullptr) return use(saved.at);
    void* at = mmap(nullptr, saved.bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, saved.physical->file, 0);
    require(at != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
    use(static_cast<char*>(at));
    munmap(at, saved.bytes.size());
  }

  static void take_time(std::size_t bytes) {
    const double rate = environment_number("STANDIN_CHECKPOINT_RATE", 1e18);
    std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<double>(bytes) / rate));
  }

  std::mutex mutex_;
  std::condition_variable unlocked_, empty_;
  unsigned inside_ = 0;
  bool locking_ = false;
  std::atomic<CUprocessState> state_{CU_PROCESS_STATE_RUNNING};  // the serving thread alone changes it
  std::vector<Saved> saved_;
};

thread_local unsigned calls_within;

socklen_t address_of_process(int process, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const int length =
      std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "gangway-standin-%d", process);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path)) + 1 + static_cast<socklen_t>(length);
}

void serve(int listener) {
  pthread_setname_np(pthread_self(), "cuda-restore");
  for (;;) {
    const int caller = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (caller < 0) continue;
    Wish wish;
    if (recv(caller, &wish, sizeof wish, 0) == sizeof wish) {
      const Reply reply = Process::get().answer(wish);
      static_cast<void>(send(caller, &reply, sizeof reply, MSG_NOSIGNAL));
    }
    close(caller);
  }
}

// A process with a driver older than 12.8 has nobody who listens; neither has one that never called cuInit.
Reply ask(int process, const Wish& wish) {
  require(process > 0 && process != getpid());  // its own call would wait for itself
  require(environment_number("STANDIN_DRIVER_VERSION", 13000) >= 12080, CUDA_ERROR_NOT_SUPPORTED);
  sockaddr_un address;
  const socklen_t size = address_of_process(process, address);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  Reply reply{CUDA_ERROR_INVALID_VALUE, 0};
  if (fd >= 0 && connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      send(fd, &wish, sizeof wish, MSG_NOSIGNAL) == sizeof wish &&
      recv(fd, &reply, sizeof reply, 0) != sizeof reply)
    reply = {CUDA_ERROR_INVALID_VALUE, 0};
  if (fd >= 0) close(fd);
  return reply;
}

}  // namespace

void call_begins() {
  if (calls_within++ == 0) Process::get().enter();
}
void call_ends() {
  if (--calls_within == 0) Process::get().leave();
}

void listen_to_checkpoints() {
  static pid_t listening = 0;  // a child listens for itself
  if (listening == getpid()) return;
  listening = getpid();
  sockaddr_un address;
  const socklen_t size = address_of_process(getpid(), address);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0 || listen(fd, 16) != 0)
    return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(serve, fd).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

namespace api {

CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* tid) {
  require(tid != nullptr);
  const Reply reply = ask(pid, {.act = Act::thread});
  *tid = reply.value;
  return static_cast<CUresult>(reply.result);
}

CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
  require(state != nullptr);
  const Reply reply = ask(pid, {.act = Act::state});
  *state = static_cast<CUprocessState>(reply.value);
  return static_cast<CUresult>(reply.result);
}

CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs* args) {
  require(args == nullptr || args->reserved0 == 0);
  return static_cast<CUresult>(
      ask(pid, {.act = Act::lock, .timeout_ms = args != nullptr ? args->timeoutMs : 0}).result);
}

CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs*) {
  return static_cast<CUresult>(ask(pid, {.act = Act::checkpoint}).result);
}

CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* args) {
  Wish wish{.act = Act::restore};
  if (args != nullptr) {
    require(args->gpuPairsCount <= kMostPairs && (args->gpuPairsCount == 0 || args->gpuPairs != nullptr));
    wish.pairs = args->gpuPairsCount;
    std::copy_n(args->gpuPairs, wish.pairs, wish.pair);
  }
  return static_cast<CUresult>(ask(pid, wish).result);
}

CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs*) {
  return static_cast<CUresult>(ask(pid, {.act = Act::unlock}).result);
}

}  // namespace api
}  // namespace gangway::standin
