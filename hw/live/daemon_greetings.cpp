// Who connects to the daemon, and what it is answered.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "hw/live/daemon.hpp"
#include "hw/live/status.hpp"

namespace gangway::live {
namespace {

constexpr std::size_t kMostPrograms = 1024;
constexpr std::size_t kMostStrangers = 256;  // connected that have said nothing; beyond, the oldest has to go
constexpr std::size_t kMostConnected = 1024;  // clients, scheduled or not
constexpr std::size_t kMostNames = 4096;      // further ones are taken for the first
constexpr Duration kLongestObjective{100LL * 86'400 * 1'000'000'000};
constexpr std::size_t kMostAskers = 128;  // who wait for a new status; further ones get the latest
constexpr Duration kBetweenStatuses{50'000'000};

Introduction introduction_of(const Hello& hello) {
  Introduction introduction;
  introduction.priority = hello.priority;
  introduction.weight = hello.weight;
  if (hello.slo_ns > 0) introduction.slo = Duration{hello.slo_ns};
  return introduction;
}

}  // namespace

void Daemon::accept_all() {
  for (std::size_t n = 0; n < kMostStrangers && accept_one(); ++n) {
  }
}

bool Daemon::accept_one() {
  Descriptor fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    if (errno == EMFILE || errno == ENFILE) {
      drop_oldest_stranger();
      usleep(1000);  // they keep knocking
    }
    return false;
  }
  const int socket = fd.get();
  watch(socket);
  strangers_[socket] = {std::move(fd), ++strangers_so_far_};
  if (strangers_.size() > kMostStrangers) drop_oldest_stranger();
  return true;
}

void Daemon::drop_oldest_stranger() {
  const auto oldest =
      std::min_element(strangers_.begin(), strangers_.end(),
                       [](const auto& a, const auto& b) { return a.second.number < b.second.number; });
  if (oldest != strangers_.end()) gone(oldest->first);
}

void Daemon::serve_socket(int socket) {
  if (askers_.count(socket) != 0) return gone(socket);  // it has nothing more to say
  if (strangers_.count(socket) != 0) return greet(socket);
  if (const auto program = program_of_.find(socket); program != program_of_.end()) {
    Question question;
    if (!receive_record(socket, &question, sizeof question) || question.magic != kMagic) return gone(socket);
    const Program& asking = programs_[program->second];
    Answer answer{asking.clients, {}};
    std::strncpy(answer.why_killed, asking.why_killed.c_str(), sizeof answer.why_killed - 1);
    if (!send_record(socket, &answer, sizeof answer)) gone(socket);
    return;
  }
  gone(socket);  // clients have nothing to say: it is the end of one
}

void Daemon::greet(int socket) {
  Hello hello;
  ucred peer{};
  socklen_t size = sizeof peer;
  Descriptors received;
  if (!receive_record(socket, &hello, sizeof hello, &received, 1, true)) {
    // The event was of another one with this number, which has gone since.
    return errno == EAGAIN ? void() : gone(socket);
  }
  if (hello.magic != kMagic || getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return gone(socket);
  hello.name[sizeof hello.name - 1] = hello.group[sizeof hello.group - 1] = '\0';
  if (hello.version != kVersion)
    return refuse(socket,
                  fmt::format("the daemon speaks version {}, this program {}", kVersion, hello.version));
  if (hello.kind == Kind::program) return greet_program(socket, hello, peer.uid);
  if (hello.kind == Kind::client) return greet_client(socket, hello, peer, std::move(received[0]));
  if (hello.kind == Kind::status) return asks_for_status(socket);
  gone(socket);
}

MemoryMoves Daemon::memory_moves() const {
  if (settings_.memory.whole || settings_.place == Place::migrate) return MemoryMoves::whole;
  return settings_.memory.managed ? MemoryMoves::managed : MemoryMoves::none;
}

std::optional<UserRights> Daemon::rights_of(uid_t user) const {
  if (user == 0 || user == geteuid()) return std::nullopt;
  const auto given = settings_.rights.find(user);
  return given != settings_.rights.end() ? given->second : UserRights{};
}

std::int32_t Daemon::highest_priority(uid_t user) const {
  const auto rights = rights_of(user);
  return rights ? rights->priority : kMostPriority;
}

// A priority, a weight or a deadline puts its client before others.
std::string Daemon::why_not(const Hello& hello, uid_t user) const {
  if (!(hello.weight >= 0.001 && hello.weight <= 1000) || hello.slo_ns < 0 ||
      hello.slo_ns > kLongestObjective.ns)
    return "expected a weight from 0.001 to 1000 and an objective from 0 to 100 days";
  const auto rights = rights_of(user);
  if (!rights) return {};
  if (hello.priority > rights->priority)
    return rights->priority > 0 ? fmt::format("this user may request priorities up to {}", rights->priority)
                                : "only root and the daemon's owner may raise priorities";
  if (hello.weight > rights->weight)
    return fmt::format("this user may request weights up to {}", rights->weight);
  if (hello.slo_ns == 0) return {};
  if (!rights->slo) return "only root and the daemon's owner may set objectives";
  if (hello.slo_ns < rights->slo->ns)
    return fmt::format("this user may request objectives of {} or longer", to_text(*rights->slo));
  return {};
}

void Daemon::greet_program(int socket, const Hello& hello, uid_t user) {
  if (const std::string why = why_not(hello, user); !why.empty()) return refuse(socket, why);
  if (programs_.size() >= kMostPrograms) return refuse(socket, "too many programs");
  std::string no_gpu;
  const auto gpu = placed(hello, user, no_gpu);
  if (!gpu) return refuse(socket, no_gpu);
  Welcome welcome;
  welcome.version = kVersion;
  welcome.accepted = 1;
  welcome.program = ++programs_so_far_;
  welcome.forms = ready_for_forms_ || forms_ != TakeForms::none ? 1 : 0;
  welcome.notes = settings_.wanted.empty() ? 0 : 1;
  welcome.daemon = origin_;
  welcome.whole = settings_.whole_jobs ? 1 : 0;
  if (several()) std::strncpy(welcome.gpu, text_of(gpus_[*gpu]->facts.uuid).c_str(), sizeof welcome.gpu - 1);
  welcome.memory = memory_moves();
  if (!send_record(socket, &welcome, sizeof welcome)) return gone(socket);
  programs_[welcome.program] = {
      std::move(strangers_[socket].socket), introduction_of(hello), hello.name, hello.group, 0, user, *gpu};
  strangers_.erase(socket);
  program_of_[socket] = welcome.program;
}

void Daemon::greet_client(int socket, const Hello& hello, const ucred& peer, Descriptor page) {
  if (clients_.size() >= kMostConnected) return refuse(socket, "too many clients");
  const bool returns = hello.returns != 0;
  if (returns != static_cast<bool>(page)) return gone(socket);
  if (returns)
    if (const std::string why = why_not(hello, peer.uid); !why.empty()) return refuse(socket, why);
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)));
  if (!pidfd) return gone(socket);
  // A client that returns names its program only if no daemon has answered it yet.
  const auto program = hello.daemon != origin_ ? programs_.end() : programs_.find(hello.program);
  // Nobody else's program, whose priority it would have.
  const bool started = program != programs_.end() && (program->second.user == peer.uid || peer.uid == 0);
  const std::string name = started                            ? program->second.name
                           : returns && hello.name[0] != '\0' ? hello.name
                                                              : "unknown";
  std::unique_ptr<LiveClient> client;
  try {
    client = std::make_unique<LiveClient>(peer.pid, std::move(pidfd), name, bell_.get(), std::move(page));
  } catch (const RunError& error) {  // no memory to share, no descriptors left, no page
    return refuse(socket, error.what());
  }
  const auto gpu = gpu_of(*client, hello, started ? &program->second : nullptr);
  if (!gpu) return refuse(socket, "its GPU is none of this daemon's");
  client->gpu = *gpu;
  if (several() || client->page().is_on() == kNoGpu) client->is_on(gpus_[*gpu]->facts.uuid);
  client->connect(std::move(strangers_[socket].socket));
  strangers_.erase(socket);
  client->polled(polling_);
  client->program = started ? hello.program : 0;
  client->user = peer.uid;
  client->highest_priority = highest_priority(peer.uid);
  if (started)
    client->group = program->second.group;
  else if (returns)
    client->group = hello.group;
  client->introduction = started   ? program->second.introduction
                         : returns ? introduction_of(hello)
                                   : Introduction{};
  client->introduction.program = number_of(client->name());
  ++totals_.clients;
  client->moved_by(memory_moves());
  if (returns && client->memory_kind() == MemoryKind::counted) start_checkpoints_for(*client);
  if (settings_.checkpoints) client->checkpointed_by(*settings_.checkpoints, returns);
  if (no_checkpoints_) client->helper_given_up();
  gpus_[*gpu]->keeper.comes(*client);
  client->kept_by(gpus_[*gpu]->keeper);
  if (several() || settings_.measures_use) windows_.emplace(client.get(), UseWindow(settings_.moves.window));
  if (watcher_ != nullptr) watcher_->came(*client);
  opens(*client);
  if (started) ++program->second.clients;
  LiveClient& welcomed = *(clients_[socket] = std::move(client));
  ends_[welcomed.process_descriptor()] = socket;
  watch(welcomed.process_descriptor());
  tell_of_company();
  conductor_of(welcomed).step(now());  // what it may do is known before it hears of it
  if (!welcomed.welcome(origin_, settings_.held)) gone(socket);
}

// Making a status holds up all decisions, so there is one at a time, for everybody who has asked meanwhile.
void Daemon::asks_for_status(int socket) {
  if (askers_.size() >= kMostAskers) {
    if (told_ && look_ - *told_ < kBetweenStatuses) return tell(socket);
    tell_askers();
  }
  askers_.insert(socket);
}

// When to call it again. A look at the sockets makes one status at most.
Time Daemon::tell_askers() {
  const bool too_soon = told_ && look_ - *told_ < kBetweenStatuses;
  if (!too_soon) status_.reset();
  if (askers_.empty()) return Time::max();
  if (too_soon) return *told_ + kBetweenStatuses;
  told_ = look_;
  status_ = status_file(status());
  for (const int socket : std::exchange(askers_, {})) tell(socket);
  return Time::max();
}

void Daemon::tell(int socket) {
  if (!status_) return refuse(socket, "there is no memory for it");
  Welcome welcome;
  welcome.version = kVersion;
  welcome.accepted = 1;
  const int files[] = {status_.get()};
  send_record(socket, &welcome, sizeof welcome, files, 1);
  gone(socket);
}

std::string Daemon::status() {
  std::vector<ClientFacts> facts;
  for (const auto& [fd, client] : clients_) {
    count(*client);
    const bool scheduled = client->id != kUnscheduled;
    const Gpu& gpu = *gpus_[client->gpu];
    ClientFacts& its = facts.emplace_back(ClientFacts{
        client.get(), scheduled, scheduled ? conductor_of(*client).state(client->id) : Conductor::State{},
        gpu.keeper.facts(*client), gpu.facts.number, move_ && move_->client == client.get()});
    const auto window = windows_.find(client.get());
    if (window == windows_.end()) continue;
    its.use = window->second.use();
    if (several()) its.demand = window->second.demand();
  }
  DaemonFacts daemon;
  daemon.policy = policy_name_;
  daemon.up = now() - Time{};
  daemon.totals = totals_;
  daemon.texts = ++statuses_;
  daemon.looks_all_the_time = polling_;
  daemon.use_window = settings_.moves.window;
  daemon.moves = moves_;
  daemon.failed_moves = failed_moves_;
  if (settings_.checkpoints) daemon.checkpoints = !no_checkpoints_;
  if (several()) daemon.place = text_of(settings_.place);
  if (on_devices_) daemon.others = DeviceProcesses{others(), on_devices_->not_looked_at};
  const std::vector<GpuLoad> all = loads();
  for (const auto& gpu : gpus_)
    daemon.gpus.push_back({&gpu->facts, &gpu->keeper, all[gpu->place], gpu->window.use()});
  return status_text(daemon, facts);
}

// Clients of one name are taken for the same program, whose jobs are alike.
std::uint32_t Daemon::number_of(const std::string& name) {
  const auto known = numbers_.find(name);
  if (known != numbers_.end() || numbers_.size() == kMostNames)
    return known == numbers_.end() ? 0 : known->second;
  return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

void Daemon::refuse(int socket, const std::string& why) {
  Welcome welcome;
  welcome.version = kVersion;
  std::strncpy(welcome.why_not, why.c_str(), sizeof welcome.why_not - 1);
  send_record(socket, &welcome, sizeof welcome);
  gone(socket);
}

}  // namespace gangway::live
