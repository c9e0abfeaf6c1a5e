// The GPU's side of recorded programs: streams, whose kernels are on it, and copy engines. Definition:
// README.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "models/identity.hpp"
#include "models/recording/played_program.hpp"
#include "sim/recorded/held_by_works.hpp"
#include "sim/recorded/leaving_waves.hpp"
#include "sim/recorded/shared_room.hpp"
#include "sim/recorded/time_slices.hpp"

namespace gangway {

// What streams require of their world.
class StreamHost {
 public:
  // Request a call of due() for a stream, copied() for an engine, or settle() for a GPU at that time. Return
  // the event's number.
  virtual std::uint64_t due_at(std::uint32_t stream, Time time) = 0;
  virtual std::uint64_t copied_at(std::uint32_t engine, Time time) = 0;
  virtual void look_at(std::uint32_t gpu, Time time) = 0;
  // Work in the client's streams has ended.
  virtual void progressed(ClientId client) = 0;
  virtual void work_over(JobId job) = 0;
  // From now on kernels of the client run on the GPU; the other: none do.
  virtual void busy(ClientId client) = 0;
  virtual void quiet(ClientId client) = 0;
  // Kernels of the client have begun, stopped or ended.
  virtual void other_kernels(ClientId client) = 0;
  virtual void copying(JobId job, bool to_host, bool begins) = 0;
  // A kernel of the client was evicted.
  virtual void left(ClientId client) = 0;
  // A slice of the client's current kernel has ended.
  virtual void sliced(ClientId client, bool kernel_over) = 0;

 protected:
  ~StreamHost() = default;
};

class GpuStreams {
 public:
  // A position in a stream: the number of items put into it.
  struct Place {
    std::uint32_t stream = 0;
    std::uint64_t position = 0;
  };

  GpuStreams(const Device& device, StreamHost& host) : device_(device), host_(host) {}

  // In client order, before the first reset().
  void add_client(const Recorded& recorded);
  // Call before the client submits anything.
  void place(ClientId client, std::uint32_t gpu) { clients_[client.index].gpu = gpu; }
  // What becomes of kernels with a form in a run.
  enum class Forms {
    none,    // they run to their end
    leave,   // they leave when their flag is set
    sliced,  // they are launched in slices
  };
  // A run begins, with each client on the GPU given by `gpus`.
  void reset(const std::vector<std::uint32_t>& gpus, Forms forms);

  // A stream's number here, from its row in the client's recording.
  std::uint32_t stream_of(ClientId client, recording::Index stream) const {
    return clients_[client.index].first_stream + stream;
  }
  // Unfinished works.
  std::uint64_t outstanding(std::uint32_t stream) const { return streams_[stream].works; }
  std::int64_t outstanding(ClientId client) const { return clients_[client.index].outstanding; }
  bool passed(const Place& place) const { return streams_[place.stream].passed >= place.position; }
  // The position after everything in the stream now.
  Place end_of(std::uint32_t stream) const { return {stream, streams_[stream].put}; }
  // Applies the null stream's rules to a record or work put into the stream now.
  void order_by_null(std::uint32_t stream, Time now);
  void put_work(std::uint32_t stream, const recording::PlayedWork& work, Time due, JobId job, Time now);
  void put_wait(std::uint32_t stream, const Place& place, Time now);

  // Events. Outdated ones have no effect.
  void due(std::uint32_t stream, std::uint64_t event, Time now);
  void copied(std::uint32_t engine, std::uint64_t event, Time now);
  void look(std::uint32_t gpu) { turns_[gpu].look(); }
  // Continues what waited for finished work. Returns whether there was any.
  bool follow(Time now);
  // The end of an instant. Returns whether something must be settled again.
  bool settle(Time now);
  bool moved() const { return !moved_.empty(); }
  bool changed() const;
  // Omits copies of a finished job from the trace.
  void end_copies(JobId job);
  // Whether a kernel of the client could run, but for others that have the GPU.
  bool awaits_turn(ClientId client) const;
  // Whether kernels of the job run.
  bool runs(JobId job) const;
  // The client's running kernel that began first: when, and a unique number.
  struct Begun {
    Time since;
    std::uint64_t number = 0;
  };
  std::optional<Begun> first_begun(ClientId client) const;
  // Whether the stream holds as many works behind its first kernel with a form as it may.
  bool full_behind_form(std::uint32_t stream) const;
  // Unfinished works, except those of streams that stand still.
  std::int64_t on_device(ClientId client) const;
  // Whether the job cannot be over yet because of a kernel with a form.
  bool holds(JobId job) const;

  // --- Kernels that leave (leaving.cpp). raise_flag() sets the flag for the job's kernels; lower_flag()
  // clears it, and evicted kernels continue.
  void raise_flag(JobId job, Time now);
  void lower_flag(ClientId client, Time now);

  // --- Sliced kernels (standing.cpp)
  struct Standing {
    std::uint64_t number = 0;  // unique
    recording::Index launch = 0;
    const LeavingWaves* kernel = nullptr;
    std::int64_t done = 0;  // blocks
  };
  // The client's current kernel; none: no kernel of it stands, or has a slice on the GPU.
  std::optional<Standing> current(ClientId client);
  // Launches the blocks of the current kernel that come before `until`. It stands.
  void slice(ClientId client, std::int64_t until, Time now);

  // Removes everything of the client, without telling anyone.
  void remove(ClientId client, Time now);

 private:
  struct Item {
    const recording::PlayedWork* work = nullptr;  // none: a wait
    Time due;                                     // of work
    JobId job;                                    // likewise
    Place place;                                  // of a wait
    std::optional<Time> held_up = {};             // of a wait: since when it has held the stream up
  };
  enum class Phase { empty, waiting, submitted, ready, queued, running, copying, left, standing };
  struct Stream {
    std::uint32_t client = 0, context = 0;  // context: counted over all clients
    recording::StreamKind kind = recording::StreamKind::blocking;
    std::deque<Item> items;
    std::uint64_t put = 0, passed = 0;  // works and waits
    std::uint64_t works = 0;            // unfinished
    Time last_end;                      // kNever: never had any
    Phase phase = Phase::empty;
    bool counted = false;               // counted as ready
    Time start;                         // of the work at the head, once due
    Duration left;                      // of that work
    std::optional<Time> began = {};     // kernel at the head, possibly stopped since
    Time since;                         // when it last began to run
    std::optional<Duration> rest = {};  // of the kernel at the head if it has left or is about to
    std::uint32_t in_form = 0;          // kernels
    std::int64_t done = 0, until = 0;   // blocks of the sliced kernel at the head: done, launched
    std::vector<RoomNeed> parts = {};   // of the work at the head, if it needs room
    std::size_t part = 0;
    std::uint64_t event = 0;
  };
  struct ClientStreams {
    const recording::PlayedProgram* program = nullptr;
    double scale = 1;
    std::vector<std::optional<LeavingWaves>> waves = {};  // by launch; empty: no preemptible kernels
    HeldByWorks held = {};
    NeedsOfWorks needs = {};
    std::optional<JobId> flag = {};             // kernels of that job must leave
    std::optional<std::uint32_t> current = {};  // stream whose head is the current kernel
    std::uint32_t first_stream = 0, first_context = 0, gpu = 0;
    std::int64_t outstanding = 0;  // works
    std::uint32_t running = 0;     // kernels
    bool was_busy = false, touched = false, wakes = false;
  };
  struct Context {
    std::uint32_t client = 0;
    std::uint32_t first_stream = 0;
    std::vector<std::uint32_t> streams;
    std::uint32_t ready = 0;  // streams
    std::int64_t held = 0;    // by kernels that run
  };
  struct CopyUnderWay {
    std::uint32_t stream = 0;
    std::int64_t left = 0;  // in ns / kShares
  };
  struct Engine {  // per GPU and direction
    std::vector<CopyUnderWay> copies;
    std::uint32_t clients = 0;  // that have copies
    Time since;
    std::uint64_t event = 0;
  };
  static constexpr Time kNever{INT64_MIN / 2};
  static constexpr std::uint64_t kMostBehind = 256;  // works behind a kernel with a form
  static constexpr std::int64_t kShares = 5'040;     // divisible evenly for up to ten clients

  const LeavingWaves* form_of(std::uint32_t client, const recording::PlayedWork* work, JobId job) const;
  const LeavingWaves* form_of(const Stream& s, const Item& item) const {
    return form_of(s.client, item.work, item.job);
  }
  Duration length_of(const Stream& s, const Item& item) const;
  void leave(std::uint32_t stream, Time now);
  void gone(std::uint32_t stream, Time now);
  void go_on(std::uint32_t stream, Time now);
  bool sliced(const Stream& s, const Item& item) const {
    return forms_ == Forms::sliced && form_of(s, item) != nullptr;
  }
  void stand(std::uint32_t stream, Time now);
  void slice_over(std::uint32_t stream, Time now);
  bool stands_still(const Stream& stream) const;
  void advance(std::uint32_t stream, Time now);
  bool pass_waits(std::uint32_t stream, Time now);
  void set_ready(Stream& stream, bool ready);
  void set_running(Stream& stream, bool running);
  void run(std::uint32_t stream, Time now);
  bool needs_room(std::uint32_t stream);
  void group_begun(std::uint32_t stream, Time now);
  void group_over(std::uint32_t stream, Time now);
  bool in_force(const LeavingWaves& form) const {
    return forms_ != Forms::none && (forms_ == Forms::leave ? form.leaves : form.sliced);
  }
  bool any_form_in_force() const;
  void stop(std::uint32_t stream, Time now);
  void over(std::uint32_t stream, Time now);
  void pop(std::uint32_t stream, Time now);
  void begin_copy(std::uint32_t stream, Time now);
  void settle_engine(std::uint32_t engine, Time now);
  void touch(std::uint32_t client);
  bool queued(std::uint32_t context, Time by) const;
  void tell_busy();
  SharedRoom& room_of(const Stream& stream) { return rooms_[clients_[stream.client].gpu]; }
  TimeSlices& turns_of(const Stream& stream) { return turns_[clients_[stream.client].gpu]; }
  std::uint32_t engine_of(const Stream& stream) const {
    return 2 * clients_[stream.client].gpu + (stream.items.front().work->to_host ? 1 : 0);
  }

  const Device& device_;
  StreamHost& host_;
  Forms forms_ = Forms::none;
  std::vector<ClientStreams> clients_;
  std::vector<Context> contexts_;
  std::vector<Stream> streams_;
  bool shares_room_ = false;            // kernels of several clients wait for room
  std::vector<TimeSlices> turns_;       // by GPU
  std::vector<SharedRoom> rooms_;       // likewise
  std::vector<Engine> engines_;         // by GPU and direction
  std::vector<std::uint32_t> moved_;    // streams that passed an item in this instant
  std::vector<std::uint32_t> touched_;  // clients whose kernels began, stopped or ended in this instant
  std::vector<std::uint32_t> waking_;   // clients with finished work in this instant
};

}  // namespace gangway
