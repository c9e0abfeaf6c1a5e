// Records between a program and a daemon that says nothing.
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "hw/live/monotonic.hpp"
#include "hw/live/socket.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live {
namespace {

// Somebody who listens and never answers.
class Silent {
 public:
  Silent()
      : path_((folder_ / "socket").string()), socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    REQUIRE(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(socket_.get(), 5) == 0);
  }
  const std::string& path() const { return path_; }
  int socket() const { return socket_.get(); }

 private:
  gangway::testing::ScratchFolder folder_;
  std::string path_;
  Descriptor socket_;
};

// A signal every 10 ms, as profilers ask for.
class Interrupted {
 public:
  Interrupted() {
    struct sigaction nothing {};
    nothing.sa_handler = [](int) {};
    nothing.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &nothing, &before_);
    const itimerval often{{0, 10'000}, {0, 10'000}};
    setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~Interrupted() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("A daemon that says nothing holds up a program whose timers ring for no longer than others",
          "[live]") {
  const Silent silent;
  const Descriptor fd = connect_to(silent.path());
  REQUIRE(fd);
  const Interrupted interrupted;
  const std::int64_t began = monotonic_ns();
  int answer = 0;
  CHECK_FALSE(receive_record(fd.get(), &answer, sizeof answer));
  CHECK(errno == EAGAIN);
  const double seconds = static_cast<double>(monotonic_ns() - began) / 1e9;
  CHECK(seconds > 4.9);
  CHECK(seconds < 8);
}

TEST_CASE("A program that was stopped for long takes the answer that has come meanwhile", "[live]") {
  const Silent silent;
  const pid_t child = fork();
  if (child == 0) {
    const Descriptor fd = connect_to(silent.path());
    int answer = 0;
    const bool received = fd && receive_record(fd.get(), &answer, sizeof answer);
    _exit(received && answer == 42 ? 0 : 1);
  }
  REQUIRE(child > 0);
  const Descriptor fd(accept4(silent.socket(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(fd);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it waits
  kill(child, SIGSTOP);
  const int answer = 42;
  CHECK(send_record(fd.get(), &answer, sizeof answer));
  std::this_thread::sleep_for(std::chrono::milliseconds(5'500));
  kill(child, SIGCONT);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace gangway::live
