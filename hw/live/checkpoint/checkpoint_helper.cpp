#include "hw/live/checkpoint/checkpoint_helper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "hw/live/checkpoint/driver_checkpoints.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/page.hpp"
#include "hw/live/pause.hpp"
#include "models/error.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kBetweenTries = 50'000'000;  // ns, while the device has no room
constexpr std::int64_t kMostTries = 2'000'000'000;  // ns, for an order of the daemon
// Another daemon has its clients by then, but for those that cannot come to it because they are locked.
constexpr std::int64_t kForOtherDaemon = 60'000'000'000;  // ns
constexpr std::int64_t kStart = 120'000'000'000;          // ns that the driver may take to start

struct Ready {
  char why_not[256] = {};
};

class Worker {
 public:
  Worker(int socket, const std::string& daemon) : socket_(socket), daemon_(daemon) {}

  void run() {
    Ready ready;
    std::strncpy(ready.why_not, driver_.open().c_str(), sizeof ready.why_not - 1);
    if (!send_record(socket_, &ready, sizeof ready) || ready.why_not[0] != '\0') return;
    CheckpointOrder order;
    Descriptors page;
    while (receive_record(socket_, &order, sizeof order, &page, 1, true)) {
      note(order);
      {
        const std::lock_guard lock(mutex_);
        ++working_;
      }
      std::thread([this, order, file = page[0].release()] { carry_out(order, Descriptor(file)); }).detach();
    }
    release_all();
  }

 private:
  struct Touched {
    Descriptor process;  // so that its number is not another's
    bool away = false;   // or it may be
    bool alive() const {
      pollfd watched{process.get(), POLLIN, 0};
      return process && poll(&watched, 1, 0) == 0;
    }
  };

  void note(const CheckpointOrder& order) {
    const std::lock_guard lock(mutex_);
    Touched& touched = touched_[order.process];
    if (!touched.alive())
      touched = {Descriptor(static_cast<int>(syscall(SYS_pidfd_open, order.process, 0))), false};
    if (order.act != CheckpointOrder::Act::look) touched.away = true;
  }

  void carry_out(const CheckpointOrder& order, const Descriptor& page) {
    CheckpointAnswer answer;
    answer.order = order;
    const std::int64_t began = monotonic_ns();
    bool hopeless = false;
    if (order.act == CheckpointOrder::Act::save) answer.error = driver_.save(order.process, hopeless);
    if (order.act == CheckpointOrder::Act::restore) answer.error = restore(order.process, began);
    if (order.act == CheckpointOrder::Act::move) answer.error = move(order, page, hopeless, answer);
    answer.hopeless = hopeless ? 1 : 0;
    answer.ns = monotonic_ns() - began;
    DriverCheckpoints::State state = DriverCheckpoints::State::running;
    const int unseen = driver_.look(order.process, state);
    if (answer.error == DriverCheckpoints::kSuccess) answer.error = unseen;
    answer.state = static_cast<std::uint32_t>(state);
    const std::lock_guard lock(mutex_);
    if (unseen == DriverCheckpoints::kSuccess)
      touched_[order.process].away = state != DriverCheckpoints::State::running;
    send_record(socket_, &answer, sizeof answer);
    --working_;
    done_.notify_all();
  }

  // A client that has ended may still hold what the daemon has given on.
  int restore(pid_t process, std::int64_t began) const {
    for (;;) {
      const int failed = driver_.restore(process);
      if (failed != DriverCheckpoints::kNoMemory || monotonic_ns() - began > kMostTries) return failed;
      sleep_ns(kBetweenTries);
    }
  }

  // The error is the first one, whatever was done about it.
  int move(const CheckpointOrder& order, const Descriptor& page, bool& hopeless,
           CheckpointAnswer& answer) const {
    const std::int64_t began = monotonic_ns();
    if (const int failed = driver_.save(order.process, hopeless)) return failed;
    const std::int64_t saved = monotonic_ns();
    answer.save_ns = saved - began;
    const int failed = driver_.restore_on(order.process, order.from, order.to);
    if (failed == DriverCheckpoints::kSuccess) {
      say_where(page, order.to);
      answer.moved = 1;
    }
    const int unlocked = restore(order.process, monotonic_ns());
    return failed != DriverCheckpoints::kSuccess ? failed : unlocked;
  }

  static void say_where(const Descriptor& page, const GpuUuid& gpu) {
    void* at = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
    if (at == MAP_FAILED) return;
    static_cast<ClientPage*>(at)->is_on(gpu);
    munmap(at, sizeof(ClientPage));
  }

  void release_all() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return working_ == 0; });
    const std::int64_t since = monotonic_ns();
    while (some_away()) {
      {
        const Descriptor alone = lock_for_restoring(daemon_, false);
        if (alone || monotonic_ns() - since > kForOtherDaemon)
          for (auto& [process, touched] : touched_)
            if (touched.away) driver_.restore(process);
      }
      sleep_ns(kBetweenTries);  // another daemon can have the lock
    }
  }
  // Whoever has restored it: another daemon may have taken its clients over.
  bool some_away() {
    bool some = false;
    for (auto& [process, touched] : touched_) {
      DriverCheckpoints::State state = DriverCheckpoints::State::running;
      touched.away = touched.away && touched.alive() &&
                     driver_.look(process, state) == DriverCheckpoints::kSuccess &&
                     state != DriverCheckpoints::State::running;
      some = some || touched.away;
    }
    return some;
  }

  const int socket_;
  const std::string daemon_;
  DriverCheckpoints driver_;
  std::mutex mutex_;
  std::condition_variable done_;
  int working_ = 0;
  std::map<pid_t, Touched> touched_;
};

// Away from the daemon's terminal, service, files and signals.
[[noreturn]] void become_helper(int socket, const std::string& daemon) {
  setsid();
  prctl(PR_SET_NAME, kHelperName);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(each, SIG_IGN);
  const int none = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(none, fd);
  const int own = 3;
  dup2(socket, own);
  close_range(own + 1, ~0U, 0);
  fcntl(own, F_SETFD, FD_CLOEXEC);
  Worker(own, daemon).run();
  _exit(0);
}

}  // namespace

Descriptor lock_for_restoring(const std::string& socket, bool wait) {
  Descriptor lock(open((socket + ".restoring").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  while (lock && flock(lock.get(), wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) lock.reset();
  return lock;
}

CheckpointHelper::CheckpointHelper(std::string socket) : daemon_(std::move(socket)), began_(monotonic_ns()) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw RunError(std::string("checkpoints: no socket: ") + std::strerror(errno));
  socket_ = Descriptor(pair[0]);
  Descriptor other(pair[1]);
  process_ = fork();
  if (process_ < 0) throw RunError(std::string("checkpoints: no process: ") + std::strerror(errno));
  if (process_ == 0) become_helper(other.get(), daemon_);
  fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
}

void CheckpointHelper::await_start() {
  constexpr int kLook = 1000;  // ms
  for (; !ready_ && !gone_; hear_ready()) {
    pollfd watched{socket_.get(), POLLIN, 0};
    poll(&watched, 1, kLook);
  }
  if (!ready_) throw RunError(why_not_);
}

bool CheckpointHelper::starts_for_too_long() const {
  return !ready_ && !gone_ && monotonic_ns() - began_ > kStart;
}

void CheckpointHelper::hear_ready() {
  Ready ready;
  const bool late = starts_for_too_long();
  if (!receive_record(socket_.get(), &ready, sizeof ready)) {
    gone_ = errno != EAGAIN || late;
    if (gone_) why_not_ = "checkpoints: the process for them did not start";
    return;
  }
  ready.why_not[sizeof ready.why_not - 1] = '\0';
  ready_ = ready.why_not[0] == '\0';
  gone_ = !ready_;
  if (gone_) why_not_ = std::string("checkpoints: ") + ready.why_not;
}

CheckpointHelper::~CheckpointHelper() {
  socket_.reset();
  if (process_ > 0) waitpid(process_, nullptr, WNOHANG);
}

bool CheckpointHelper::send(const CheckpointOrder& order, int page) {
  if (gone_ || send_record(socket_.get(), &order, sizeof order, &page, page < 0 ? 0 : 1)) return !gone_;
  if (errno == EAGAIN) return false;  // the daemon never waits for it
  gone_ = true;
  return false;
}

bool CheckpointHelper::receive(CheckpointAnswer& answer) {
  if (!ready_ && !gone_) hear_ready();
  if (!ready_) return false;
  errno = 0;  // what it answered before it went is still to be read
  if (receive_record(socket_.get(), &answer, sizeof answer)) return true;
  gone_ = gone_ || errno != EAGAIN;
  return false;
}

}  // namespace gangway::live
