// `gangway serve`: accepts programs and clients on a Unix socket and plays a policy over them.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hw/live/background_preparation.hpp"
#include "hw/live/client.hpp"
#include "hw/live/client_group.hpp"
#include "hw/live/conductor.hpp"

namespace gangway::live {

struct DaemonSettings {
  std::string socket;  // its folder is created, with mode 0700, if missing
  GateSettings gate;
  std::string group;        // its users may connect; empty: only root and the daemon's owner
  std::string wanted = {};  // folder of modules to prepare in the background; empty: nobody does
  MemorySettings memory = {};
  std::shared_ptr<CheckpointHelper> checkpoints = {};  // that `memory.whole` needs
  bool held = false;  // whether clients wait for a new daemon when this one is gone
  std::map<uid_t, std::int32_t> priorities = {};  // the highest that a user may request; others: 0
  std::FILE* log = nullptr;                       // one line per step (README.md); null: no log
  std::FILE* out = stdout;                        // one line per client that leaves; null: none
};

inline constexpr ClientId kUnscheduled{kMostClients};  // a client beyond the limit

// Is told of clients, in addition to the log.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void came(LiveClient& client) = 0;  // its gate is closed; its introduction can still be changed
  virtual void left(const LiveClient& client) = 0;
  virtual void step(Time now, Step step, ClientId client) = 0;
};

class Daemon : private Journal, private MoveJournal {
 public:
  // Starts listening. InputError if the policy does not support live clients; RunError if the socket is
  // unavailable, for example because another daemon has it.
  Daemon(const std::string& name, std::shared_ptr<Policy> policy, const DaemonSettings& settings,
         Watcher* watcher = nullptr);
  ~Daemon();

  // Runs until `stop` is set, then opens all gates.
  void run(const std::atomic<bool>& stop);

  // For playing several policies in turn. Closes all clients and introduces them to the new policy, with
  // their current introductions. InputError as above.
  void play(const std::string& name, std::shared_ptr<Policy> policy, const GateSettings& gate);
  // Programs that start from now on can take forms, whether or not this policy wants that.
  void make_programs_ready_for_forms(bool ready) { ready_for_forms_ = ready; }
  // One pass over all clients, then a wait of at most `most`.
  void turn(Duration most);
  Time now() const;
  std::int64_t origin() const { return origin_; }  // CLOCK_MONOTONIC at time 0, ns

 private:
  struct Program {
    Descriptor socket;
    Introduction introduction;  // without `program`
    std::string name, group;
    std::uint32_t clients = 0;  // so far
    uid_t user = 0;
  };

  void note(Time now, Step step, ClientId client, std::int64_t value) override;
  void moved(const KeptClient& client, const char* step, std::int64_t value) override;
  void wait(Time now, Time until);
  void serve_socket(int socket);
  void serve(const epoll_event* events, int count);
  void accept_all();
  bool accept_one();
  void drop_oldest_stranger();
  void greet(int socket);
  void greet_program(int socket, const Hello& hello, uid_t user);
  void greet_client(int socket, const Hello& hello, const ucred& peer, Descriptor page);
  std::int32_t highest_priority(uid_t user) const;
  std::string why_not(const Hello& hello, uid_t user) const;  // empty: acceptable
  void tell_status(int socket);
  std::uint32_t number_of(const std::string& name);
  void refuse(int socket, const std::string& why);
  void gone(int socket);
  void report(const LiveClient& client);
  void say(const std::string& line);
  void watch(int fd);
  void opens(LiveClient& client);
  void closes(LiveClient& client);
  GateSettings with_memory(GateSettings gate);
  void conduct(std::unique_ptr<Conductor> conductor, const GateSettings& gate);
  Time move_memory();  // when to look again
  void say_slice();
  void say_who_waits(LiveClient& client);
  void hear_of_checkpoints();
  void start_checkpoints_again();

  DaemonSettings settings_;
  Keeper keeper_;
  Duration said_slice_;
  Watcher* watcher_;
  std::string policy_name_;
  std::unique_ptr<Conductor> conductor_;
  std::optional<BackgroundPreparation> preparation_;
  Descriptor lock_, restoring_, listener_, events_, bell_;
  struct Stranger {
    Descriptor socket;
    std::uint64_t number = 0;  // of connections so far
  };
  std::map<int, Stranger> strangers_;  // connected, no Hello yet
  std::uint64_t strangers_so_far_ = 0;
  std::map<int, std::uint64_t> program_of_;
  std::map<std::uint64_t, Program> programs_;
  std::map<int, std::unique_ptr<LiveClient>> clients_;  // by socket
  using GroupName = std::pair<uid_t, std::string>;
  std::map<GroupName, std::unique_ptr<ClientGroup>> groups_;
  std::map<std::uint32_t, std::string> names_;    // by client, for the log
  std::map<std::string, std::uint32_t> numbers_;  // by name
  std::uint64_t programs_so_far_ = 0;
  bool polling_ = false;
  TakeForms forms_ = TakeForms::none;  // that the policy wants
  bool slices_ = false;                // and that they are launched in slices
  Duration drain_limit_;
  bool ready_for_forms_ = false;
  std::int64_t origin_ = 0;
  std::uint64_t clients_so_far_ = 0;
  std::uint64_t unsaid_ = 0;  // lines dropped since the last one written
};

}  // namespace gangway::live
