// A recorded program prepared for replay: its jobs, step by step, with what each step submits, orders and
// waits for. Computed once per recording, then memory-mapped by any number of simulations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "models/recording/recording.hpp"

namespace gangway::recording {

// A call of a host thread. Its works and orders end where the next step's begin.
struct Step {
  Duration gap, own, wake;  // models/recording/timing.hpp
  Index call = 0;           // of the recording; events refer to it
  Index first_work = 0, first_order = 0;
  bool waits = false;
};

struct PlayedWork {
  Duration length, launch, behind;  // models/recording/timing.hpp
  Index stream = 0;
  WorkKind kind = WorkKind::kernel;
  Index shape = 0;  // of a kernel: the recording's launch; of a graph: that graph
  // Copies between host and GPU; others stay on the GPU.
  bool to_device = false, to_host = false;
  bool host_waits = false;  // the call returns only when the work is over
};

struct PlayedOrder {
  OrderKind kind = OrderKind::context;
  Index place = kNone, recorded = kNone;  // as in Order
};

// What one timeline does for one job: steps [begin, end), and steps from `before` on between the timeline's
// previous job and this one.
struct Segment {
  Index job = 0, timeline = 0;
  Index before = 0, begin = 0, end = 0;
  Duration lead;        // from the end of the previous step until the job can begin
  Duration least_lead;  // the timeline's least lead
  Duration head;        // from the job's begin to its first step
  Duration tail;        // from the end of its last step to the job's end, on the host
};

struct PlayedJob {
  JobKind kind = JobKind::sync;
  Time begin;               // as recorded
  Duration length;          // likewise
  Duration busy;            // time with its work on a GPU
  Index first_segment = 0;  // its segments end where the next job's begin
};

struct PlayedStream {
  Index context = 0;
  StreamKind kind = StreamKind::blocking;
};

// What a launch has of a device.
struct PlayedLaunch {
  std::int64_t blocks = 1;
  std::int64_t threads = 1;    // of a block
  std::int64_t registers = 0;  // of a thread, in eights, as GPUs give them
  Bytes shared_memory;         // of a block
};

// A kernel of a graph whose nodes were recorded.
struct PlayedNode {
  Index graph = 0, launch = 0;
  Duration length;
};

class PlayedProgram {
 public:
  // Maps FILE.played beside the recording, which is created if missing or made from another recording or
  // build. If the folder is not writable, it is computed in memory each time. InputError as read_recording,
  // and if the recording has no jobs after warm-up or its jobs use several GPUs.
  explicit PlayedProgram(const std::filesystem::path& recording);
  ~PlayedProgram();
  PlayedProgram(const PlayedProgram&) = delete;
  PlayedProgram& operator=(const PlayedProgram&) = delete;

  // One extra step and job mark the end of the last ones.
  std::span<const Step> steps;
  std::span<const PlayedWork> works;
  std::span<const PlayedOrder> orders;
  std::span<const Segment> segments;  // by job, home timeline first
  std::span<const PlayedJob> jobs;    // without warm-up
  std::span<const PlayedStream> streams;
  std::span<const PlayedLaunch> launches;  // by launch of the recording
  std::span<const PlayedNode> nodes;       // by graph

  std::size_t job_count() const { return jobs.size() - 1; }
  Index timelines() const { return head_->timelines; }
  Index contexts() const { return head_->contexts; }
  Index graphs() const { return head_->graphs; }
  std::optional<std::uint32_t> depth() const;            // models/recording/timing.hpp
  Duration unplayed() const { return head_->unplayed; }  // models/recording/timing.hpp
  Bytes most_memory() const {
    return head_->most_memory;
  }  // on any of its GPUs; models/recording/summary.hpp
  std::uint64_t identity() const { return head_->identity; }

 private:
  struct Head {
    std::uint64_t magic = 0, identity = 0;  // of the recording and this program
    std::uint64_t steps = 0, works = 0, orders = 0, segments = 0, jobs = 0, streams = 0;
    std::uint64_t launches = 0, nodes = 0;
    Index timelines = 0, contexts = 0, graphs = 0, unused = 0;
    std::uint64_t depth = 0;  // 0: none
    Duration unplayed;
    Bytes most_memory;
    std::uint64_t checksum = 0;  // of the rest
  };
  class Maker;

  bool map(const std::filesystem::path& file, std::uint64_t identity);
  template <typename Counts, typename Visit>
  void each_table(const Counts& counts, Visit visit);

  const Head* head_ = nullptr;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace gangway::recording
