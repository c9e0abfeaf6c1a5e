// `gangway serve`: accepts programs and clients on a Unix socket and plays a policy over them, on one GPU or
// on several (gpus/README.md).
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hw/live/background_preparation.hpp"
#include "hw/live/client.hpp"
#include "hw/live/client_group.hpp"
#include "hw/live/conductor.hpp"
#include "hw/live/cores.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/gpus/gpu_list.hpp"
#include "hw/live/gpus/placement.hpp"
#include "hw/live/gpus/use_window.hpp"
#include "hw/live/status.hpp"

namespace gangway::live {

// What a user other than root and the daemon's owner may request.
struct UserRights {
  std::int32_t priority = 0;         // at most
  double weight = 1;                 // at most
  std::optional<Duration> slo = {};  // the shortest objective; none: no objective
};

struct DaemonSettings {
  std::string socket;                  // its folder is created, with mode 0700, if missing
  std::vector<std::string> also = {};  // paths, one for each further GPU, that become links to it
  std::vector<GpuFacts> gpus = {{}};   // at least one; several: the driver's, with UUIDs
  Place place = Place::least_loaded;   // on several GPUs
  MoveRule moves = {};                 // where clients migrate, which needs `checkpoints`
  // Makes another instance of the policy, for policies that GPUs cannot share. None: those are refused.
  std::function<std::shared_ptr<Policy>()> another = {};
  GateSettings gate;
  std::string group;        // its users may connect; empty: only root and the daemon's owner
  std::string wanted = {};  // folder of modules to prepare in the background; empty: none are prepared
  MemorySettings memory = {};
  bool whole_jobs = false;  // a program is one job, unless its `exec` says otherwise
  std::shared_ptr<CheckpointHelper> checkpoints = {};  // that `memory.whole` and moves need
  bool held = false;  // whether clients wait for a new daemon when this one is gone
  std::map<uid_t, UserRights> rights = {};
  std::FILE* log = nullptr;  // one line per step (README.md); null: no log
  std::FILE* out = stdout;   // one line per client that leaves; null: none
  // Whether clients are asked, now and then, which of their work is over: then the status has the use of the
  // GPU. Experiments do without.
  bool measures_use = false;
  std::string device_file = {};  // who has it open is on a GPU; empty: nobody looks for them
  Duration device_look_every{5'000'000'000};
};

// Takes the lock that a daemon holds while it listens on the socket. RunError if another has it.
Descriptor lock_of(const std::string& socket);

inline constexpr ClientId kUnscheduled{kMostClients};  // a client beyond the limit

// Is told of clients, in addition to the log.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void came(LiveClient& client) = 0;  // its gate is closed; its introduction can still be changed
  virtual void left(const LiveClient& client) = 0;
  virtual void step(Time now, Step step, ClientId client) = 0;
};

class Daemon : private MoveJournal {
 public:
  // Starts listening. InputError if the policy does not support live clients; RunError if the socket is
  // unavailable, for example because another daemon has it.
  Daemon(const std::string& name, std::shared_ptr<Policy> policy, const DaemonSettings& settings,
         Watcher* watcher = nullptr);
  ~Daemon();

  // Runs until `stop` is set, then opens all gates.
  void run(const std::atomic<bool>& stop);

  // For playing several policies in turn. Closes all clients and introduces them to the new policy, with
  // their current introductions, those of `first` in this order before the others. InputError as above.
  void play(const std::string& name, std::shared_ptr<Policy> policy, const GateSettings& gate,
            const std::vector<LiveClient*>& first = {});
  // For the policy the client is gone, until the next play(). Its gate stays closed.
  void dismiss(LiveClient& client);
  // Programs that start from now on load prepared modules, even if the current policy takes no forms.
  void make_programs_ready_for_forms(bool ready) { ready_for_forms_ = ready; }
  // One pass over all clients, then a wait of at most `most`.
  void turn(Duration most);
  bool log_is_whole() const { return log_is_whole_; }  // all of it could be written
  Time now() const;
  std::int64_t origin() const { return origin_; }  // CLOCK_MONOTONIC at time 0, ns

 private:
  struct Program {
    Descriptor socket;
    Introduction introduction;  // without `program`
    std::string name, group;
    std::uint32_t clients = 0;  // so far
    uid_t user = 0;
    std::size_t gpu = 0;
    std::string why_killed = {};  // the latest client that was; empty: none was
  };
  // One of the GPUs that are scheduled, by its place among them.
  struct Gpu : Journal {
    Gpu(Daemon& its, std::size_t at, const GpuFacts& about, const MemorySettings& memory)
        : daemon(its), place(at), facts(about), keeper(memory, &its), window(its.settings_.moves.window) {}
    void note(Time now, Step step, ClientId client, std::int64_t value) override {
      daemon.note(place, now, step, client, value);
    }
    Daemon& daemon;
    const std::size_t place;
    const GpuFacts facts;
    Keeper keeper;
    UseWindow window;
  };
  // A client on its way to another GPU: it belongs to no policy meanwhile.
  struct Move {
    LiveClient* client = nullptr;
    std::size_t to = 0;
    Time began;
    std::uint64_t bytes = 0;
    bool asked = false;   // the helper has the order
    bool looked = false;  // the client was asked to look at its streams
  };

  void note(std::size_t place, Time now, Step step, ClientId client, std::int64_t value);
  void moved(const KeptClient& client, const char* step, std::int64_t value) override;
  void cannot_leave(const KeptClient& client) override;
  void wait(Time now, Time until);
  void serve_socket(int socket);
  void serve(const epoll_event* events, int count);
  void accept_all();
  bool accept_one();
  void drop_oldest_stranger();
  void greet(int socket);
  void greet_program(int socket, const Hello& hello, uid_t user);
  void greet_client(int socket, const Hello& hello, const ucred& peer, Descriptor page);
  std::optional<UserRights> rights_of(uid_t user) const;  // none: any
  std::int32_t highest_priority(uid_t user) const;
  MemoryMoves memory_moves() const;
  std::string why_not(const Hello& hello, uid_t user) const;  // empty: acceptable
  void asks_for_status(int socket);
  Time tell_askers();
  void tell(int socket);
  std::string status();
  std::uint32_t number_of(const std::string& name);
  void refuse(int socket, const std::string& why);
  void gone(int socket);
  void report(const LiveClient& client);
  void say(const std::string& line);
  void say_killed(const LiveClient& client, const std::string& why);  // also to its program's `exec`
  void watch(int fd);
  void opens(LiveClient& client);
  void closes(LiveClient& client);
  void log(Time time, const std::string& step, const std::string& client, std::int64_t value,
           std::size_t gpu);
  void check_log();
  Time move_memory();  // when to look again

  // daemon_gpus.cpp
  std::vector<std::unique_ptr<Conductor>> conductors(const std::string& name, std::shared_ptr<Policy> policy,
                                                     GateSettings gate);
  void conduct(std::vector<std::unique_ptr<Conductor>> conductors, const GateSettings& gate);
  Conductor& conductor_of(const LiveClient& client) {
    return *conductors_[conductors_.size() == 1 ? 0 : client.gpu];
  }
  bool several() const { return gpus_.size() > 1; }
  void link_sockets();
  std::optional<std::size_t> placed(const Hello& hello, uid_t user, std::string& why_not);
  std::optional<std::size_t> gpu_of(const LiveClient& client, const Hello& hello, const Program* program);
  bool is_on_the_only_gpu(const LiveClient& client);
  std::size_t with_uuid(const std::string& text) const;  // gpus_.size(): none
  std::vector<GpuLoad> loads() const;
  std::uint64_t resident_on(std::size_t gpu) const;
  Time look_at_gpus(Time time);  // when to look again
  Time sample_use(Time time);    // likewise
  void add_sample(Time time);
  void hear_of_processes();
  std::vector<DeviceProcess> others() const;
  void count(LiveClient& client);
  void find_moved();
  void is_now_on(LiveClient& client, std::size_t gpu);
  void tell_of_company();

  // daemon_moves.cpp
  void consider_moves(Time time);
  void begin_move(LiveClient& client, std::size_t to, Time time);
  void go_on_moving(Time time);
  void end_move(const std::string& why_not);
  void forget_move(const LiveClient& client);
  std::vector<std::uint64_t> rooms() const;
  void say_slice();
  void say_who_waits(LiveClient& client);
  void hear_of_checkpoints();
  void start_checkpoints_for(const LiveClient& client);
  void start_checkpoints_again();
  bool may_checkpoint();
  void did_not_start(const std::string& why);
  void say_stays(const LiveClient& client, const std::string& why);
  void give_up_checkpoints(const std::string& why);

  DaemonSettings settings_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  Duration said_slice_;
  Watcher* watcher_;
  std::string policy_name_;
  std::vector<std::unique_ptr<Conductor>> conductors_;  // one for all GPUs, or one for each
  std::optional<BackgroundPreparation> preparation_;
  Descriptor lock_, restoring_, listener_, events_, bell_;
  std::vector<Descriptor> further_locks_;
  struct Stranger {
    Descriptor socket;
    std::uint64_t number = 0;  // of connections so far
  };
  std::map<int, Stranger> strangers_;  // connected, no Hello yet
  std::uint64_t strangers_so_far_ = 0;
  std::map<int, std::uint64_t> program_of_;
  std::map<std::uint64_t, Program> programs_;
  std::map<int, std::unique_ptr<LiveClient>> clients_;  // by socket
  std::map<int, int> ends_;                             // by the client's process descriptor: its socket
  using GroupName = std::pair<uid_t, std::string>;
  std::map<GroupName, std::unique_ptr<ClientGroup>> groups_;
  struct Named {
    std::string name;
    std::size_t gpu = 0;
  };
  std::map<std::pair<std::size_t, std::uint32_t>, Named> names_;  // by conductor and client, for the log
  std::map<const LiveClient*, UseWindow> windows_;                // where use is sampled
  std::optional<Time> asked_;                                     // clients were, for the sample under way
  Time sample_due_, considered_;
  std::minstd_rand moments_;  // of samples
  std::optional<DeviceWatch> device_watch_;
  std::optional<DeviceProcesses> on_devices_;  // as of its latest look
  std::map<pid_t, unsigned> others_;           // those that are no clients: in how many looks in a row
  Totals totals_;
  std::set<int> askers_;      // sockets of those who wait for the next status
  Descriptor status_;         // the latest, as long as it may be given
  std::optional<Time> told_;  // when it was made
  Time look_;                 // when the latest look at the sockets began
  std::uint64_t statuses_ = 0;
  std::optional<Time> helper_lost_;  // the helper ended then, and no other has started yet
  std::optional<Time> helper_tried_;
  bool locked_ = false;  // `restoring_`, so that states may be restored
  Time lock_again_;
  std::optional<GpuUuid> only_gpu_;  // looked up when a client returns that was on one of several
  bool no_checkpoints_ = false;      // no helper will start any more
  std::optional<Move> move_;
  MovePace pace_;
  std::uint64_t moves_ = 0, failed_moves_ = 0;
  std::size_t in_turn_ = 0;                       // programs placed so far
  std::map<std::string, std::uint32_t> numbers_;  // by name
  std::uint64_t programs_so_far_ = 0;
  bool polling_ = false;
  const bool has_a_core_ = has_many_cores();
  TakeForms forms_ = TakeForms::none;  // that the policy wants
  bool slices_ = false;                // whether it wants slices
  Duration drain_limit_;
  bool ready_for_forms_ = false;
  std::int64_t origin_ = 0;
  bool log_is_whole_ = true;
  std::uint64_t unsaid_ = 0;  // lines dropped since the last one written
};

}  // namespace gangway::live
