// Recorded programs that share GPUs: as the driver shares them, under whole-job grants, or under access
// control. Exact definition: README.md.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "sim/access_world.hpp"
#include "sim/recorded/gpu_streams.hpp"
#include "sim/recorded/kept_states.hpp"
#include "sim/recorded/recorded_client.hpp"

namespace gangway {

class RecordedWorld final : public AccessWorld, private StreamHost, private KeptStatesHost {
 public:
  explicit RecordedWorld(const WorldSetup& setup);

 private:
  enum Kind : std::uint32_t {
    kRelease = kOwnKinds,
    kHost,    // a host thread continues
    kDue,     // of a stream
    kCopied,  // of a copy engine
    kLook,    // check whose turn it is
    kOpens,   // a gate opens
    kCloses,  // a gate closes
    kLeaves,  // a policy hears of a grant's end
    kIdle,
    kStateCopied,
  };
  static_assert(kStateCopied < 1U << kKindBits);

  // --- Requests of streams
  std::uint64_t due_at(std::uint32_t stream, Time time) override { return push(time, kDue, stream); }
  std::uint64_t copied_at(std::uint32_t engine, Time time) override { return push(time, kCopied, engine); }
  void look_at(std::uint32_t gpu, Time time) override { push(time, kLook, gpu); }
  void progressed(ClientId client) override;
  void work_over(JobId job) override;
  void busy(ClientId client) override;
  void quiet(ClientId client) override;
  void other_kernels(ClientId client) override;
  void copying(JobId job, bool to_host, bool begins) override;
  void left(ClientId client) override;
  void sliced(ClientId client, bool kernel_over) override;

  // --- Orders of the policy
  LaunchId launch(JobId job, DeviceId gpu, std::optional<BlockRange> range) override;
  void evict(LaunchId launch) override;
  void restore(JobId job, DeviceId gpu, BlockRange blocks) override;
  void save(JobId job, DeviceId gpu) override;

  // --- Requests of clients' memory (gates.cpp)
  bool works_on_device(ClientId client) const override { return streams_.on_device(client) > 0; }
  bool owns_gpu(ClientId client) const override;
  bool asks_for_gpu(ClientId client) const override;
  std::uint64_t copied_state_at(std::uint32_t copy, Time time) override {
    return push(time, kStateCopied, copy);
  }
  void moving(ClientId client, CopyDirection direction, Bytes size, bool begins) override;
  void holds_memory(ClientId client, Bytes size) override;
  void state_moved(ClientId client, MemoryMove move) override;

  // --- Events
  void reset(const Policy& policy, const RunSeed& seed, std::span<const std::uint32_t> order) override;
  std::uint64_t play_instant() override;
  void handle(const EventQueue::Event& event);
  void go_on_in_order();

  // --- Jobs and host threads (hosts.cpp)
  void first_or_next_release(RecordedClient& client);
  void begin_threads(RecordedClient& client);
  void release(RecordedClient& client);
  void note_released(const RecordedClient& client, std::optional<recording::Index> played);
  void take_next(RecordedClient& client, HostThread& thread);
  recording::Index draw(const RecordedClient& client, const HostThread& thread, std::uint32_t number) const;
  void lead(RecordedClient& client, HostThread& thread, Time from);
  void ready_for_job(RecordedClient& client, HostThread& thread);
  void begin_job(RecordedClient& client, HostThread& thread);
  void begin_part(RecordedClient& client, HostThread& thread, const recording::Segment& segment, JobId job,
                  Time job_began);
  void go_on(HostThread& thread, RecordedClient& client);
  void call(RecordedClient& client, HostThread& thread);
  Duration host_time(const RecordedClient& client, HostThread& thread, Duration recorded) const;
  void cool(HostThread& thread, Duration waited) const;
  bool may_submit(const RecordedClient& client, const HostThread& thread);
  bool is_limited(const RecordedClient& client) const;
  Duration cost_of_limit() const;
  bool submits(const RecordedClient& client, const HostThread& thread) const;
  bool has_room(const RecordedClient& client, const HostThread& thread) const;
  void submit(RecordedClient& client, HostThread& thread);
  void order(RecordedClient& client, const recording::PlayedOrder& order, HostThread& thread);
  void call_ends(RecordedClient& client, HostThread& thread, Time end);
  void part_over(RecordedClient& client, HostThread& thread);
  void perhaps_finish(RecordedClient& client, JobId job);
  HostThread* longest(RecordedClient& client, HostThread::Doing doing,
                      const std::function<bool(const HostThread&)>& may_go_on);
  PlayedRun* open_job(RecordedClient& client, JobId job);
  void wait_until(RecordedClient& client, HostThread& thread, HostThread::Doing doing, Time time);
  void forget_events(RecordedClient& client);
  bool none_to_begin(const RecordedClient& client) const;
  bool none_under_way(const RecordedClient& client) const;
  bool has_jobs(const RecordedClient& client) const;
  void exits(RecordedClient& client);
  std::uint32_t index_of_thread(const RecordedClient& client, const HostThread& thread) const {
    return first_thread_[client.run.id().index] + static_cast<std::uint32_t>(&thread - client.threads.data());
  }
  RecordedClient& client_of_thread(std::uint32_t index);
  HostThread& thread_of(RecordedClient& client, std::uint32_t index) const {
    return client.threads[index - first_thread_[client.run.id().index]];
  }

  // --- Placement of clients (places.cpp)
  void place_in_turn();
  void place_where_least_is_used(const RecordedClient& client);

  // --- A job's stay on a GPU in the trace
  void begin_stay(RecordedClient& client, JobId job);
  void end_stay(RecordedClient& client);
  void end_stay_of_grant(RecordedClient& client);
  void note_stay(const RecordedClient& client, Mark mark);
  void renew_stay(RecordedClient& client);
  void note_off_gpu(RecordedClient& client);

  // --- Access (controlled_access.cpp)
  bool traps_at_gate(RecordedClient& client, HostThread& thread);
  void pass(std::uint32_t thread) override;
  bool on_device(ClientId client) const override { return streams_.outstanding(client) > 0; }
  std::optional<RunningRequest> running(ClientId client) const override;
  std::int64_t channels_needed(ClientId client) const override;
  void opened(ClientId client) override { begin_threads(clients_[client.index]); }
  void vanish(ClientId client, Mark how) override;
  void look_who_uses();
  void bring_use_up_to_date() override;
  bool sampled_one_by_one() const override { return true; }

  // --- Grants (gates.cpp)
  using Granted = RecordedClient::Granted;
  bool under_grants() const { return sees_grants_; }
  bool takes_forms() const { return setup_.granting.forms != TakeForms::none; }
  static bool waits_at_gate(const RecordedClient& client, JobId job);
  void ask(RecordedClient& client);
  bool has_turn(RecordedClient& client);
  void tell_of_job(RecordedClient& client, JobId job);
  void check_move(JobId job, const char* order, const std::string& refusal) const;
  void open_gate(RecordedClient& client, std::uint64_t event);
  void let_in(RecordedClient& client);
  void close_gate(RecordedClient& client, std::uint64_t event);
  void call_at_gate(RecordedClient& client);
  void end_grants();
  void look_at_grant(RecordedClient& client);
  void leave_grant(RecordedClient& client, Why why);
  void grant_left(RecordedClient& client, std::uint64_t event);
  void tell_left(RecordedClient& client);
  bool lift_limits();
  void close_account(RecordedClient& client, Grant& grant, bool job_over);
  void job_over(RecordedClient& client, JobId job);

  // --- Slices (range_grants.cpp)
  LaunchId launch_range(JobId job, DeviceId gpu, std::optional<BlockRange> range);
  bool can_be_launched(const RecordedClient& client);
  bool others_wait(ClientId owner) const;
  void describe_kernels(RecordedClient& client);
  void asks_again(RecordedClient& client);
  void open_for_range(RecordedClient& client);
  void let_in_range(RecordedClient& client);
  bool change_gates();
  void look_at_ranges();
  void look_at_rest(RecordedClient& client);
  void order_to_close(RecordedClient& client);
  static const Kernel& current_kernel(const RecordedClient& client);
  void leave_range(RecordedClient& client, Why why, BlockCount done);
  void range_left(RecordedClient& client);
  void job_over_between_ranges(RecordedClient& client, JobId job);

  std::vector<RecordedClient> clients_;
  std::vector<std::uint32_t> first_thread_;                         // by client, in event indices
  std::vector<std::uint32_t> gpus_;                                 // by client: its GPU
  std::vector<std::pair<std::uint32_t, std::uint64_t>> due_hosts_;  // in this instant: number, event
  GpuStreams streams_;
  KeptStates states_;
  bool moves_states_ = false;  // in this run
  Time use_told_;              // device use was reported to the policy's world up to then
  RunSeed seed_;
  bool slices_ = false;             // in this run the policy launches ranges of kernels
  bool limits_may_end_ = false;     // in this instant a job was over while others may be limited
  std::optional<ClientId> parked_;  // its gate is open, or not yet drained, without a grant
  std::uint64_t launches_ = 0;
};

}  // namespace gangway
