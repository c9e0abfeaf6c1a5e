// The GPU's side of recorded programs: their streams, whose kernels are on it, and its copy engines.
// README.md is the definition.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "models/identity.hpp"
#include "models/recording/played_program.hpp"
#include "sim/recorded/leaving_waves.hpp"
#include "sim/recorded/time_slices.hpp"

namespace gangway {

// What the streams need of the world that they are in.
class StreamHost {
 public:
  // Ask for due() of a stream, copied() of an engine and settle() of a GPU at that time; returns the event's
  // number.
  virtual std::uint64_t due_at(std::uint32_t stream, Time time) = 0;
  virtual std::uint64_t copied_at(std::uint32_t engine, Time time) = 0;
  virtual void look_at(std::uint32_t gpu, Time time) = 0;
  // Something of the client's streams is over.
  virtual void progressed(ClientId client) = 0;
  virtual void work_over(JobId job) = 0;
  // From now on kernels of the client run on the GPU; or none any more.
  virtual void busy(ClientId client) = 0;
  virtual void quiet(ClientId client) = 0;
  // Kernels of the client have begun, stopped or ended.
  virtual void other_kernels(ClientId client) = 0;
  virtual void copying(JobId job, bool to_host, bool begins) = 0;
  // A kernel of the client has left the GPU before its end.
  virtual void left(ClientId client) = 0;

 protected:
  ~StreamHost() = default;
};

class GpuStreams {
 public:
  // How far a stream has come: so many of what was put into it.
  struct Place {
    std::uint32_t stream = 0;
    std::uint64_t position = 0;
  };

  GpuStreams(const Device& device, StreamHost& host) : device_(device), host_(host) {}

  // Clients in their order, before the first reset().
  void add_client(const Recorded& recorded);
  // Before the client submits anything.
  void place(ClientId client, std::uint32_t gpu) { clients_[client.index].gpu = gpu; }
  // A run begins; each client is on the GPU that `gpus` says. `leaving`: kernels have the forms that they can
  // leave in.
  void reset(const std::vector<std::uint32_t>& gpus, bool leaving);

  // A stream's number here, from its row in the client's recording.
  std::uint32_t stream_of(ClientId client, recording::Index stream) const {
    return clients_[client.index].first_stream + stream;
  }
  // Works that are not over.
  std::uint64_t outstanding(std::uint32_t stream) const { return streams_[stream].works; }
  std::int64_t outstanding(ClientId client) const { return clients_[client.index].outstanding; }
  bool passed(const Place& place) const { return streams_[place.stream].passed >= place.position; }
  // Behind what is in the stream now.
  Place end_of(std::uint32_t stream) const { return {stream, streams_[stream].put}; }
  // What a record in the stream stands for, or work put there now follows: the null stream's rules.
  void order_by_null(std::uint32_t stream, Time now);
  void put_work(std::uint32_t stream, const recording::PlayedWork& work, Time due, JobId job, Time now);
  void put_wait(std::uint32_t stream, const Place& place, Time now);

  // Events. Those out of date do nothing.
  void due(std::uint32_t stream, std::uint64_t event, Time now);
  void copied(std::uint32_t engine, std::uint64_t event, Time now);
  void look(std::uint32_t gpu) { turns_[gpu].look(); }
  // What waited for what is over goes on. Returns whether anything was over.
  bool follow(Time now);
  // The end of an instant. Returns whether it brought something that has to be settled in turn.
  bool settle(Time now);
  bool moved() const { return !moved_.empty(); }
  bool changed() const;
  // The trace has no copies of a job that is over.
  void end_copies(JobId job);
  // Whether kernels of the job run.
  bool runs(JobId job) const;
  // Of the client's kernels that have begun and are not over the one that began first: when, and a number
  // that no other one has.
  struct Begun {
    Time since;
    std::uint64_t number = 0;
  };
  std::optional<Begun> first_begun(ClientId client) const;
  // Kernels that leave before their end (leaving.cpp). The flag goes up for those of the job; or down, and
  // what has left goes on.
  void raise_flag(JobId job, Time now);
  void lower_flag(ClientId client, Time now);
  // Works that are not over and not behind a kernel that has left, itself included.
  std::int64_t on_device(ClientId client) const;
  // Whether a kernel of the job has left, or is about to.
  bool holds(JobId job) const;
  // Whether the work, or nothing but an order, would come behind a kernel in one of the forms that is not
  // over.
  bool behind_leaving(std::uint32_t stream, const recording::PlayedWork* work, JobId job) const;
  // Nothing of the client is there any more; nobody is told of it.
  void remove(ClientId client, Time now);

 private:
  struct Item {
    const recording::PlayedWork* work = nullptr;  // none: a wait
    Time due;                                     // of work
    JobId job;                                    // likewise
    Place place;                                  // of a wait
    std::optional<Time> held_up = {};             // likewise: it has held the stream up since then
  };
  enum class Phase { empty, waiting, submitted, ready, running, copying, left };
  struct Stream {
    std::uint32_t client = 0, context = 0;  // context: over all clients
    recording::StreamKind kind = recording::StreamKind::blocking;
    std::deque<Item> items;
    std::uint64_t put = 0, passed = 0;  // works and waits
    std::uint64_t works = 0;            // that are not over
    Time last_end;                      // kNever: it has had nothing
    Phase phase = Phase::empty;
    bool counted = false;               // as ready
    Time start;                         // of the work at the head, if it is due
    Duration left;                      // of it
    std::optional<Time> began = {};     // the kernel at the head, perhaps stopped since
    Time since;                         // it runs
    std::optional<Duration> rest = {};  // of the kernel at the head once it has left, where it is about to
    std::uint32_t leaving = 0;          // kernels in one of the forms
    std::uint64_t event = 0;
  };
  struct ClientStreams {
    const recording::PlayedProgram* program = nullptr;
    double scale = 1;
    std::vector<std::optional<LeavingWaves>> waves = {};  // by launch; empty: no kernel leaves
    std::optional<JobId> flag = {};                       // kernels of that job are to leave
    std::uint32_t first_stream = 0, first_context = 0, gpu = 0;
    std::int64_t outstanding = 0;  // works
    std::uint32_t running = 0;     // kernels
    bool was_busy = false, touched = false, wakes = false;
  };
  struct Context {
    std::uint32_t client = 0;
    std::uint32_t first_stream = 0;
    std::vector<std::uint32_t> streams;
    std::uint32_t ready = 0, running = 0;  // streams
  };
  struct CopyUnderWay {
    std::uint32_t stream = 0;
    std::int64_t left = 0;  // in kShares of a ns
  };
  struct Engine {  // of one GPU and direction
    std::vector<CopyUnderWay> copies;
    std::uint32_t clients = 0;  // that have some
    Time since;
    std::uint64_t event = 0;
  };
  static constexpr Time kNever{INT64_MIN / 2};
  static constexpr std::int64_t kShares = 5'040;  // whole parts for up to ten clients

  const LeavingWaves* form_of(std::uint32_t client, const recording::PlayedWork* work, JobId job) const;
  const LeavingWaves* form_of(const Stream& s, const Item& item) const {
    return form_of(s.client, item.work, item.job);
  }
  Duration length_of(const Stream& s, const Item& item) const;
  void leave(std::uint32_t stream, Time now);
  void gone(std::uint32_t stream, Time now);
  void go_on(std::uint32_t stream, Time now);
  void advance(std::uint32_t stream, Time now);
  bool pass_waits(std::uint32_t stream, Time now);
  void set_ready(Stream& stream, bool ready);
  void run(std::uint32_t stream, Time now);
  void stop(std::uint32_t stream, Time now);
  void over(std::uint32_t stream, Time now);
  void pop(std::uint32_t stream);
  void begin_copy(std::uint32_t stream, Time now);
  void settle_engine(std::uint32_t engine, Time now);
  void touch(std::uint32_t client);
  bool queued(std::uint32_t context, Time now) const;
  void tell_busy();
  TimeSlices& turns_of(const Stream& stream) { return turns_[clients_[stream.client].gpu]; }
  std::uint32_t engine_of(const Stream& stream) const {
    return 2 * clients_[stream.client].gpu + (stream.items.front().work->to_host ? 1 : 0);
  }

  const Device& device_;
  StreamHost& host_;
  bool leaving_ = false;
  std::vector<ClientStreams> clients_;
  std::vector<Context> contexts_;
  std::vector<Stream> streams_;
  std::vector<TimeSlices> turns_;       // by GPU
  std::vector<Engine> engines_;         // by GPU and direction
  std::vector<std::uint32_t> moved_;    // streams in which something was passed, in this instant
  std::vector<std::uint32_t> touched_;  // clients, likewise: their kernels began, stopped or ended
  std::vector<std::uint32_t> waking_;   // clients, likewise: something of theirs is over
};

}  // namespace gangway
