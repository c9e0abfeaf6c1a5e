#include "hw/live/daemon.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"
#include "hw/live/runtime_folder.hpp"
#include "models/short_slice.hpp"
#include "models/standard_error.hpp"
#include "models/utf8.hpp"

namespace gangway::live {
namespace {

constexpr int kBacklog = 64;
constexpr Duration kLongestWait{100'000'000};  // `stop` is seen by then
constexpr int kMostEvents = 64, kRounds = 3;   // of one look at the sockets
constexpr int kTurnsPerLook = 64;              // of a daemon that polls, between looks at its sockets
constexpr Duration kBetweenPolls{20'000};      // where the clients need the core that it would use up

[[noreturn]] void fail(const std::string& what) { throw RunError(what + ": " + std::strerror(errno)); }

const char* text(Step step) {
  switch (step) {
    case Step::opened:
      return "opened";
    case Step::exited:
      return "exited";
    case Step::permitted:
      return "permitted";
    case Step::evicted:
      return "evicted";
    case Step::closed:
      return "closed";
    case Step::drained:
      return "drained";
    case Step::returned:
      return "returned";
    case Step::whole:
      return "whole";
    case Step::unconfirmed:
      return "unconfirmed";
    case Step::killed:
      return "killed";
    case Step::refused:
      return "refused";
    case Step::sliced:
      return "sliced";
    case Step::stays:
      return "stays";
  }
  return "";
}

}  // namespace

// A daemon that is there holds the lock; a socket without one is left over.
Descriptor lock_of(const std::string& socket) {
  Descriptor lock(open((socket + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock) fail(socket + ".lock");
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) throw RunError("a daemon listens at " + socket + " already");
  return lock;
}

namespace {

Descriptor listen_at(const std::string& path, const std::string& group) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw InputError({"--socket", 0}, "socket", quote(path),
                     fmt::format("a path of fewer than {} bytes", sizeof address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Descriptor fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail("a socket");
  // One that an earlier daemon left. Anything else is somebody's file.
  if (struct stat there{}; lstat(path.c_str(), &there) == 0 && !S_ISSOCK(there.st_mode))
    throw InputError({"--socket", 0}, "socket", quote(path) + ", a file that is no socket",
                     "a path that is free");
  unlink(path.c_str());
  const struct group* known = group.empty() ? nullptr : getgrnam(group.c_str());
  if (!group.empty() && known == nullptr)
    throw InputError({"--group", 0}, "group", quote(group), "a group of this machine");
  const mode_t before = umask(0177);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound == 0 && known != nullptr &&
      (chown(path.c_str(), static_cast<uid_t>(-1), known->gr_gid) != 0 || chmod(path.c_str(), 0660) != 0))
    fail(path);
  if (bound != 0 || listen(fd.get(), kBacklog) != 0) fail(path);
  return fd;
}

}  // namespace

Daemon::Daemon(const std::string& name, std::shared_ptr<Policy> policy, const DaemonSettings& settings,
               Watcher* watcher)
    : settings_(settings), watcher_(watcher), policy_name_(name) {
  if (has_a_core_)
    poll_attentively(true);
  else
    prctl(PR_SET_TIMERSLACK, 1'000);  // ns
  MemorySettings memory = settings.memory;
  memory.host /= settings.gpus.size();
  for (std::size_t g = 0; g < settings.gpus.size(); ++g)
    gpus_.push_back(std::make_unique<Gpu>(*this, g, settings.gpus[g], memory));
  conduct(conductors(name, std::move(policy), settings.gate), settings.gate);
  using std::filesystem::path;
  if (path(settings_.socket).parent_path() == path(default_socket()).parent_path()) own_folder();
  lock_ = lock_of(settings_.socket);
  for (const std::string& name_of_it : settings_.also) further_locks_.push_back(lock_of(name_of_it));
  if (settings_.checkpoints) {  // nobody waits for this daemon yet
    restoring_ = lock_for_restoring(settings_.socket, true);
    locked_ = true;
  }
  // Each client takes six descriptors, and one for each piece of memory that it was lent.
  if (rlimit files{}; getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  listener_ = listen_at(settings_.socket, settings_.group);
  link_sockets();
  events_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  bell_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!events_ || !bell_) fail("the daemon's events");
  watch(listener_.get());
  watch(bell_.get());
  if (settings_.checkpoints) watch(settings_.checkpoints->socket());
  origin_ = 0;
  origin_ = now().ns;
  if (!settings_.wanted.empty())
    preparation_.emplace(settings_.wanted, [this](const std::string& line) { say(line); });
  if (!settings_.device_file.empty())
    device_watch_.emplace(settings_.device_file, settings_.device_look_every);
}

// A client whose state is not all on the device stays closed, and sees to it when this daemon is gone.
Daemon::~Daemon() {
  for (auto& [socket, client] : clients_) client->is_not_scheduled();
  if (lock_) unlink(settings_.socket.c_str());
  for (std::size_t n = 0; n < further_locks_.size(); ++n) unlink(settings_.also[n].c_str());
}

Time Daemon::now() const { return {monotonic_ns() - origin_}; }

void Daemon::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event) != 0) fail("the daemon's events");
}

void Daemon::note(std::size_t place, Time now, Step step, ClientId client, std::int64_t value) {
  if (watcher_ != nullptr) watcher_->step(now, step, client);
  const auto is_meant = [&](const auto& one) {
    return one.second->id == client && (conductors_.size() == 1 || one.second->gpu == place);
  };
  if (step == Step::returned) ++totals_.returned;
  if (step == Step::killed)
    for (const auto& one : clients_)
      if (is_meant(one))
        say_killed(*one.second, "its work on the GPU exceeded the policy's limit while others waited");
  if (settings_.log == nullptr) return;
  const Named& named = names_[{conductors_.size() == 1 ? 0 : place, std::uint32_t{client.index}}];
  const auto line = [&](Time at, const char* what, std::int64_t of) {
    log(at, what, fmt::format("{},{}", std::uint32_t{client.index}, named.name), of, named.gpu);
  };
  // What the client noted itself of its kernels, since the same order.
  const auto found = std::find_if(clients_.begin(), clients_.end(), is_meant);
  if (step == Step::drained && found != clients_.end()) {
    const auto departure = found->second->new_departure();
    const std::int64_t ordered = now.ns - value;
    // A departure from an earlier order, which ended without draining, does not count here.
    if (departure && departure->told - origin_ >= ordered) {
      for (const auto& [what, at] : {std::pair("told", departure->told), {"left", departure->left}})
        line({at - origin_}, what, at - origin_ - ordered);
      // `now` is when the look began that found it.
      now = std::max(now, Time{departure->left - origin_});
      value = now.ns - ordered;
    }
  }
  line(now, text(step), value);
}

void Daemon::moved(const KeptClient& kept, const char* step, std::int64_t value) {
  const auto& client = static_cast<const LiveClient&>(kept);
  log(now(), step, fmt::format("{},{}", std::uint32_t{client.id.index}, client.name()), value, client.gpu);
}

void Daemon::cannot_leave(const KeptClient& kept) {
  const auto& client = static_cast<const LiveClient&>(kept);
  const KeptClient::Memory memory = client.memory();
  const bool never = memory.leaves == KeptClient::Memory::Leaves::never;
  say(fmt::format("{} ({}): its memory {} on the GPU: {}", client.name(), client.process(),
                  memory.away != 0 ? "comes back once there is room, and then stays" : "stays",
                  !never ? "there is no host memory for it"
                  : client.memory_kind() == MemoryKind::counted && client.checkpoints() == nullptr
                      ? "it can leave only by checkpoints, which this daemon does not make"
                      : "this daemon moves none"));
}

// `client`: its number and name, which may hold anything. On several GPUs a line ends with the GPU's number.
void Daemon::log(Time time, const std::string& step, const std::string& client, std::int64_t value,
                 std::size_t gpu) {
  if (settings_.log == nullptr) return;
  std::string of = in_one_line(client);
  std::replace(of.begin() + static_cast<std::ptrdiff_t>(std::min(of.find(',') + 1, of.size())), of.end(), ',',
               ';');
  const std::string end = several() ? fmt::format(",{}", gpus_[gpu]->facts.number) : "";
  std::fputs(fmt::format("{},{},{},{}{}\n", time.ns, step, of, value, end).c_str(), settings_.log);
}

// Clients do not suffer from a full disk. Behind a line that is missing others would mislead, so they are
// left out.
void Daemon::check_log() {
  if (settings_.log == nullptr) return;
  errno = 0;
  if (std::fflush(settings_.log) == 0 && std::ferror(settings_.log) == 0) return;
  to_stderr("error: the log ends early: {}\n", std::strerror(errno != 0 ? errno : EIO));
  settings_.log = nullptr;
  log_is_whole_ = false;
}

void Daemon::run(const std::atomic<bool>& stop) {
  if (settings_.log != nullptr)
    std::fputs(several() ? "time_ns,step,client,name,value,gpu\n" : "time_ns,step,client,name,value\n",
               settings_.log);
  for (const auto& conductor : conductors_) conductor->begin(now());
  while (!stop) turn(kLongestWait);
  check_log();
}

void Daemon::play(const std::string& name, std::shared_ptr<Policy> policy, const GateSettings& gate,
                  const std::vector<LiveClient*>& first) {
  auto fresh = conductors(name, std::move(policy), gate);
  policy_name_ = name;
  for (auto& [socket, client] : clients_) {
    client->permit(0);
    client->limit(std::nullopt);
    client->id = kUnscheduled;  // the number that it had is another's soon
  }
  conduct(std::move(fresh), gate);
  for (const auto& conductor : conductors_) conductor->begin(now());
  groups_.clear();
  for (LiveClient* client : first) opens(*client);
  for (auto& [socket, client] : clients_)
    if (std::find(first.begin(), first.end(), client.get()) == first.end()) opens(*client);
  tell_of_company();
}

void Daemon::dismiss(LiveClient& client) {
  closes(client);
  client.id = kUnscheduled;
  client.permit(0);
  gpus_[client.gpu]->keeper.names(client, std::nullopt);
}

void Daemon::turn(Duration most) {
  const Time time = now();
  if (preparation_) preparation_->look(time);
  if (device_watch_) hear_of_processes();
  const Time moves = move_memory();
  Time next = std::min({moves, look_at_gpus(time), tell_askers()});
  bool alert = false;
  for (const auto& conductor : conductors_) {
    next = std::min(next, conductor->step(time));
    alert = alert || conductor->alert();
  }
  const bool poll = next <= time || alert;
  if (poll != polling_) {
    polling_ = poll;
    for (auto& [socket, client] : clients_) client->polled(poll);
    return;  // what a client did before it saw that is looked at once more
  }
  wait(time, poll ? time : std::min(next, time + most));
}

Time Daemon::move_memory() {
  Time next = Time::max();
  for (const auto& gpu : gpus_) next = std::min(next, gpu->keeper.step(Time{monotonic_ns()}));
  if (settings_.checkpoints && settings_.checkpoints->starts_for_too_long()) hear_of_checkpoints();
  if (helper_lost_) start_checkpoints_again();
  // Given up, they are asked for nothing more, but orders are over.
  if (settings_.checkpoints && (no_checkpoints_ || may_checkpoint()))
    for (auto& [socket, client] : clients_) client->checkpoint_step();
  if (settings_.memory.slice) say_slice();
  return next == Time::max() ? next : Time{next.ns - origin_};
}

// Equation 1 of Share-a-GPU: within a slice one state has to go and another to come. Also while all states
// fit, as an experiment says it: a policy may have them move all the same.
void Daemon::say_slice() {
  Duration least;
  for (const auto& gpu : gpus_) least = std::max(least, gpu->keeper.least_slice());
  if (!too_short(*settings_.memory.slice, least) || least.ns < 2 * said_slice_.ns) return;
  said_slice_ = least;
  say(short_slice_text(*settings_.memory.slice, least, "under " + policy_name_) +
      ", so moves are not hidden");
}

// Until something happens, or `until`; who polls on a core of its own looks at its sockets now and then.
void Daemon::wait(Time time, Time until) {
  timespec limit{};
  if (polling_ && has_a_core_) {
    static thread_local int turn = 0;
    if (++turn % kTurnsPerLook != 0) return;
    sched_yield();
  } else if (polling_) {
    limit.tv_nsec = kBetweenPolls.ns;
  } else {
    const std::int64_t span = std::clamp((until - time).ns, std::int64_t{0}, kLongestWait.ns);
    limit.tv_nsec = span;
  }
  // Who has just come has something to say, and on a busy machine the next look may be long in coming.
  epoll_event events[kMostEvents];
  int count = kMostEvents;
  for (int round = 0; round < kRounds && count > 0; ++round) {
    count = epoll_pwait2(events_.get(), events, kMostEvents, &limit, nullptr);
    limit = {};
    if (round == 0) look_ = now();
    serve(events, count);
  }
  tell_askers();
}

void Daemon::serve(const epoll_event* events, int count) {
  for (int e = 0; e < count; ++e) {
    const int fd = events[e].data.fd;
    if (fd == listener_.get()) {
      accept_all();
    } else if (fd == bell_.get()) {
      std::uint64_t rings = 0;
      static_cast<void>(!read(fd, &rings, sizeof rings));
      for (auto& [socket, client] : clients_) say_who_waits(*client);
    } else if (settings_.checkpoints && fd == settings_.checkpoints->socket()) {
      hear_of_checkpoints();
    } else if (const auto ended = ends_.find(fd); ended != ends_.end()) {
      gone(ended->second);  // its socket may live on in a child that it made without the C library's fork()
    } else {
      serve_socket(fd);
    }
  }
}

void Daemon::opens(LiveClient& client) {
  // The daemon hears of one kernel at a time, and those of a group would be several.
  client.take(slices_ && !client.group.empty() ? TakeForms::none : forms_, slices_, drain_limit_);
  std::optional<ClientId> id;
  Conductor& conductor = conductor_of(client);
  client.introduction.gpu = {conductors_.size() == 1 ? static_cast<std::uint32_t>(client.gpu) : 0};
  if (client.group.empty()) {
    id = conductor.opens(now(), client, client.introduction);
  } else {  // as the first of them was introduced
    std::unique_ptr<ClientGroup>& group = groups_[{client.user, client.group}];
    if (group == nullptr) {
      group = std::make_unique<ClientGroup>();
      group->add(client);
      group->id = conductor.opens(now(), *group, client.introduction);
    } else {
      group->add(client);
    }
    id = group->id;
  }
  if (!id) {  // it is welcome all the same: nobody schedules it
    say(fmt::format("{} ({}): not scheduled, because there are already {} clients", client.name(),
                    client.process(), kMostClients));
    client.take(TakeForms::none, false, drain_limit_);
    client.is_not_scheduled();
  }
  client.id = id.value_or(kUnscheduled);
  gpus_[client.gpu]->keeper.names(client, id);
  names_[{conductors_.size() == 1 ? 0 : client.gpu, std::uint32_t{client.id.index}}] = {client.name(),
                                                                                        client.gpu};
}

void Daemon::closes(LiveClient& client) {
  if (const auto group = groups_.find({client.user, client.group}); group != groups_.end()) {
    group->second->remove(client);
    if (!group->second->empty()) return;
    if (group->second->id) conductor_of(client).exited(now(), *group->second->id);
    groups_.erase(group);
    return;
  }
  if (client.id != kUnscheduled) conductor_of(client).exited(now(), client.id);
}

void Daemon::gone(int socket) {
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr);
  strangers_.erase(socket);
  askers_.erase(socket);
  if (const auto program = program_of_.find(socket); program != program_of_.end()) {
    programs_.erase(program->second);
    program_of_.erase(program);
    return;
  }
  const auto found = clients_.find(socket);
  if (found == clients_.end()) return;
  const std::unique_ptr<LiveClient> client = std::move(found->second);
  clients_.erase(found);
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, client->process_descriptor(), nullptr);
  ends_.erase(client->process_descriptor());
  closes(*client);
  count(*client);
  forget_move(*client);
  windows_.erase(client.get());
  gpus_[client->gpu]->keeper.goes(*client);
  say_who_waits(*client);
  tell_of_company();
  if (watcher_ != nullptr) watcher_->left(*client);
  report(*client);
}

void Daemon::count(LiveClient& client) {
  const LiveClient::Work work = client.new_work();
  totals_.jobs += work.jobs;
  totals_.submissions += work.submissions;
  totals_.killed += work.killed;
}

void Daemon::tell_of_company() {
  for (const auto& [socket, client] : clients_)
    client->company(conductor_of(*client).closes_gates() &&
                    std::any_of(clients_.begin(), clients_.end(), [&](const auto& other) {
                      return other.second->gpu == client->gpu && other.second->id != client->id;
                    }));
}

// Whoever reads it may be slow, and must not stop everybody: what there is no room for is left out.
void Daemon::say(const std::string& line) {
  if (settings_.out == nullptr) return;
  pollfd out{fileno(settings_.out), POLLOUT, 0};
  if (poll(&out, 1, 0) != 1 || out.revents != POLLOUT) {  // also: the reader has gone
    ++unsaid_;
    return;
  }
  if (const std::uint64_t lines = std::exchange(unsaid_, 0); lines > 0)
    fmt::print(settings_.out, "{} lines omitted, because nobody read them\n", lines);
  fmt::print(settings_.out, "{}\n", in_one_line(line));
  std::fflush(settings_.out);
}

void Daemon::say_killed(const LiveClient& client, const std::string& why) {
  say(fmt::format("{} ({}): killed, because {}", client.name(), client.process(), why));
  if (const auto program = programs_.find(client.program); program != programs_.end())
    program->second.why_killed = why;
}

void Daemon::say_who_waits(LiveClient& client) {
  const std::optional<std::string> kernel = client.new_that_waits();
  if (!kernel) return;
  say(fmt::format(
      "{} ({}): the kernel {} waits for later blocks of its grid, so it runs as it is from now on",
      client.name(), client.process(), *kernel));
  log(now(), "waits " + *kernel, fmt::format("{},{}", std::uint32_t{client.id.index}, client.name()),
      client.kernels_that_wait(), client.gpu);
}

void Daemon::report(const LiveClient& client) {
  const ClientPage& page = client.page();
  std::uint64_t woken = 0, seen = 0;
  for (const auto& bucket : page.woken) woken += bucket.load();
  std::size_t median = 0;
  while (median + 1 < kBuckets && (seen += page.woken[median].load()) * 2 < woken) ++median;
  say(fmt::format("{} ({}): {} submissions in {} jobs; {} held, {:.3f} ms in all{}{}", client.name(),
                  client.process(), page.submissions(), (page.counted.load() + 1) / 2, page.held.load(),
                  static_cast<double>(page.held_ns.load()) / 1e6,
                  woken == 0 ? std::string()
                             : fmt::format("; half continued within {} ns of the decision", 2ULL << median),
                  page.forced.load() == 0
                      ? std::string()
                      : fmt::format("; {} exceeded the limit in flight", page.forced.load())));
  if (settings_.log == nullptr) return;
  for (std::size_t b = 0; b < kBuckets; ++b)
    if (const std::uint64_t count = page.woken[b].load(); count != 0)
      log(now(), fmt::format("woken_within_{}", 2ULL << b),
          fmt::format("{},{}", std::uint32_t{client.id.index}, client.name()),
          static_cast<std::int64_t>(count), client.gpu);
  check_log();
}

}  // namespace gangway::live
