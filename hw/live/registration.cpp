#include "hw/live/registration.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hw/live/kill_points.hpp"
#include "hw/live/monotonic.hpp"

namespace gangway::live {
namespace {

constexpr long kBetweenAnswers = 20'000;  // ns
constexpr long kBetweenReturns = 100'000'000;

void sleep_for(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

void* map(int fd, std::size_t size, int protection) {
  void* at = mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : at;
}

// As the daemon makes one for each client.
Descriptor new_page() {
  Descriptor page = beyond_standard(memfd_create("gangway", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!page || ftruncate(page.get(), sizeof(ClientPage)) != 0 ||
      fcntl(page.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return {};
  return page;
}

Descriptor nothing() { return beyond_standard(open("/dev/null", O_RDWR | O_CLOEXEC)); }

// Whoever asks for the status waits for nothing else, and nobody for him.
bool answers(const char* path) {
  const Descriptor socket = connect_to(path);
  Hello hello;
  hello.version = kVersion;
  hello.kind = Kind::status;
  Welcome welcome;
  Descriptors status;
  return socket && send_record(socket.get(), &hello, sizeof hello) &&
         receive_record(socket.get(), &welcome, sizeof welcome, &status, 1, true);
}

}  // namespace

Source::Pages Registration::alone() {
  void* at = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) std::abort();
  pages_ = {nullptr, static_cast<ClientPage*>(at)};
  return pages_;
}

Source::Pages Registration::refused(const char* what, const char* why) {
  std::fprintf(stderr, "gangway: %s: %s; process %d is not scheduled\n", what, why,
               static_cast<int>(getpid()));
  socket_.reset();
  return alone();
}

Source::Pages Registration::open() {
  const char* path = std::getenv("GANGWAY_SOCKET");
  if (path == nullptr || *path == '\0') return alone();
  std::strncpy(socket_path_, path, sizeof socket_path_ - 1);  // the program may change its environment
  Hello hello;
  hello.version = kVersion;
  hello.kind = Kind::client;
  if (const char* program = std::getenv("GANGWAY_PROGRAM"))
    hello.program = std::strtoull(program, nullptr, 10);
  if (const char* daemon = std::getenv("GANGWAY_DAEMON")) hello.daemon = std::strtoll(daemon, nullptr, 10);
  if (const char* gpu = std::getenv("GANGWAY_GPU"))
    std::strncpy(hello.visible, gpu, sizeof hello.visible - 1);
  GANGWAY_POINT("before-connect");
  socket_ = connect_to(path);
  if (!socket_) return errno == EAGAIN ? unanswered(path, hello) : refused(path, std::strerror(errno));
  GANGWAY_POINT("connected");
  Welcome& welcome = welcome_;
  Descriptors received;
  if (!send_record(socket_.get(), &hello, sizeof hello)) return unanswered(path, hello);
  GANGWAY_POINT("hello");
  const bool answered =
      receive_record(socket_.get(), &welcome, sizeof welcome, &received, kDescriptors, true);
  if (!answered) return unanswered(path, hello);
  if (welcome.accepted == 0 || !received[kDescriptors - 1]) {
    welcome.why_not[sizeof welcome.why_not - 1] = '\0';
    return refused(path, welcome.why_not[0] != '\0' ? welcome.why_not : "the daemon does not answer");
  }
  GANGWAY_POINT("welcome");
  void* permit = map(received[0].get(), sizeof(PermitPage), PROT_READ);
  void* client = map(received[1].get(), sizeof(ClientPage), PROT_READ | PROT_WRITE);
  if (permit == nullptr || client == nullptr) return refused(path, std::strerror(errno));
  page_ = std::move(received[1]);
  daemon_bell_ = std::move(received[2]);
  own_bell_ = std::move(received[3]);
  passing_ = std::move(received[4]);
  pages_ = {static_cast<const PermitPage*>(permit), static_cast<ClientPage*>(client)};
  if (const int failed = begin_helper(); failed != 0)
    return refused("no helper thread", std::strerror(failed));
  return pages_;
}

// The daemon is stopped, or busy for long. When it answers, this client comes to it as one that returns.
Source::Pages Registration::unanswered(const char* path, const Hello& hello) {
  page_ = new_page();
  // The daemon's descriptors will get these numbers.
  for (Descriptor* each : {&socket_, &daemon_bell_, &own_bell_, &passing_}) *each = nothing();
  void* client = page_ && socket_ && daemon_bell_ && own_bell_ && passing_
                     ? map(page_.get(), sizeof(ClientPage), PROT_READ | PROT_WRITE)
                     : nullptr;
  if (client == nullptr) return refused(path, "the daemon does not answer");
  pages_ = {nullptr, static_cast<ClientPage*>(client)};
  welcome_ = {};
  welcome_.introduction = hello;
  welcome_.introduction.returns = 1;
  if (const int failed = begin_helper(); failed != 0)
    return refused("no helper thread", std::strerror(failed));
  std::fprintf(stderr, "gangway: %s: the daemon does not answer; process %d is not scheduled until it does\n",
               path, static_cast<int>(getpid()));
  return {nullptr, static_cast<ClientPage*>(client)};
}

int Registration::begin_helper() {
  // The program's signals are none of the helper's business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const int failed = pthread_create(&thread, nullptr, &Registration::helper, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed == 0) pthread_detach(thread);
  return failed;
}

void Registration::ring() {
  const std::uint64_t one = 1;
  if (daemon_bell_) static_cast<void>(!write(daemon_bell_.get(), &one, sizeof one));
}

void* Registration::helper(void* self) {
  pthread_setname_np(pthread_self(), "gangway");
  static_cast<Registration*>(self)->help();
  return nullptr;
}

// Looks after streams that carry no marks whenever the daemon asks, and sees to the gate when the daemon is
// gone.
void Registration::help() {
  helped_.helper_begins();
  if (pages_.permit == nullptr) {
    if (!finds_daemon()) return;
    std::fprintf(stderr, "gangway: the daemon answers; process %d is scheduled\n",
                 static_cast<int>(getpid()));
  }
  for (;;) {
    pollfd watched[2] = {{socket_.get(), POLLIN, 0}, {own_bell_.get(), POLLIN, 0}};
    if (poll(watched, 2, -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) {  // the daemon has nothing to say after Welcome
      if (std::getenv("GANGWAY_ENDS_WITH_DAEMON") != nullptr) kill(getpid(), SIGTERM);
      if (!returned()) return;
      continue;
    }
    if (watched[1].revents == 0) continue;
    std::uint64_t rings = 0;
    if (read(own_bell_.get(), &rings, sizeof rings) < 0) continue;
    GANGWAY_POINT("asked");
    // Not for ever: what stands behind a kernel that has left waits for the permit, and the daemon may go.
    while (looks_on()) sleep_for(kBetweenAnswers);
    GANGWAY_POINT("looked");
    ring();
  }
}

// Whether to ask about the streams again, for a daemon that waits for them. The page says what was found.
bool Registration::looks_on() {
  const std::int64_t began = monotonic_ns();
  const bool idle = gate_->look_beside(), gone = gate_->gone();
  ClientPage& page = *pages_.client;
  page.works.store(idle || gone ? 0 : 1);
  page.looked.store(began);
  return !idle && gate_->closed() && !gone && !hung_up();
}

bool Registration::hung_up() const {
  pollfd watched{socket_.get(), POLLIN, 0};
  return poll(&watched, 1, 0) > 0;
}

bool Registration::returned() {
  const int process = static_cast<int>(getpid());
  const bool held = welcome_.held != 0;
  std::fprintf(stderr, "gangway: the daemon is gone; process %d %s\n", process,
               held ? "waits for another one" : "goes on unscheduled");
  if (held)
    gate_->hold();
  else
    gate_->open_to_all();
  if (!finds_daemon()) return false;
  std::fprintf(stderr, "gangway: a new daemon is running; process %d is scheduled again\n", process);
  return true;
}

bool Registration::finds_daemon() {
  const char* const path = socket_path_;
  ClientPage& page = *pages_.client;
  page.orphaned.fetch_add(1);
  std::int64_t counted = monotonic_ns();
  const auto count = [&page, &counted] {
    const std::int64_t now = monotonic_ns();
    page.orphaned_ns.fetch_add(now - std::exchange(counted, now));
  };
  for (;;) {
    sleep_for(kBetweenReturns);
    // Its gate closes for the daemon to see all that is under way, so the daemon should be quick to answer.
    if (welcome_.held == 0 && !answers(path)) continue;
    count();  // before a daemon knows of this client, since it may show the page at once
    const Return found = come_to(path);
    if (found == Return::nobody) continue;
    count();
    if (found == Return::taken) {
      gate_->obey(*pages_.permit);
      return true;
    }
    gate_->open_to_all();
    return false;
  }
}

// The gate is closed from before this client is known, so that the daemon sees all that is under way.
Registration::Return Registration::come_to(const char* path) {
  Descriptor socket = connect_to(path);
  if (!socket) return Return::nobody;
  gate_->hold();
  // Nothing that the former daemon has lent counts any more.
  if (const Descriptor none = nothing()) dup3(none.get(), passing_.get(), O_CLOEXEC);
  Hello hello = welcome_.introduction;
  const int page = page_.get();
  Welcome welcome;
  Descriptors received;
  if (!send_record(socket.get(), &hello, sizeof hello, &page, 1) ||
      !receive_record(socket.get(), &welcome, sizeof welcome, &received, kDescriptors, true)) {
    if (welcome_.held == 0) gate_->open_to_all();
    return Return::nobody;
  }
  GANGWAY_POINT("returns");
  welcome.why_not[sizeof welcome.why_not - 1] = '\0';
  void* permit = welcome.accepted != 0 ? map(received[0].get(), sizeof(PermitPage), PROT_READ) : nullptr;
  if (permit == nullptr || !received[2] || !received[3] || !received[4]) {
    std::fprintf(stderr, "gangway: %s: %s; process %d is not scheduled\n", path,
                 welcome.why_not[0] != '\0' ? welcome.why_not : "the daemon does not answer",
                 static_cast<int>(getpid()));
    return Return::refused;
  }
  // Others may be using them: the numbers stay.
  dup3(received[2].get(), daemon_bell_.get(), O_CLOEXEC);
  dup3(received[3].get(), own_bell_.get(), O_CLOEXEC);
  dup3(received[4].get(), passing_.get(), O_CLOEXEC);
  dup3(socket.get(), socket_.get(), O_CLOEXEC);
  pages_.permit = static_cast<const PermitPage*>(permit);
  welcome_ = welcome;
  return Return::taken;
}

void Registration::forked() {
  socket_.reset();
  daemon_bell_.reset();
  own_bell_.reset();
  passing_.reset();
  page_.reset();
  pages_ = {};
}

}  // namespace gangway::live
