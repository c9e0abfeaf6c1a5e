#include "models/recording/played_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "models/error.hpp"
#include "models/hash.hpp"
#include "models/recording/file.hpp"
#include "models/recording/stream_order.hpp"
#include "models/recording/summary.hpp"
#include "models/recording/timing.hpp"

namespace gangway::recording {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMagic = 0x3279616c70727767;  // "gwrplay2"

std::size_t padded(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// Of what the recording holds and of the program that takes it apart: another build may do it otherwise.
std::uint64_t identity_of(const fs::path& recording) {
  const std::string hash = sha256_of(facts_of(recording).sha256 + program_hash());
  return std::stoull(hash.substr(0, 16), nullptr, 16);
}

std::uint64_t checksum_of(const char* bytes, std::size_t count) {
  return crc32_z(0, reinterpret_cast<const Bytef*>(bytes), count);
}

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Whether it is there now. Others may be doing the same.
bool keep(const fs::path& file, const std::string& text) {
  std::string made = file.string() + ".XXXXXX";
  const int out = mkostemp(made.data(), O_CLOEXEC);
  if (out < 0) return false;
  const bool whole = write_all(out, text);
  close(out);
  if (whole && rename(made.c_str(), file.c_str()) == 0) return true;
  unlink(made.c_str());
  return false;
}

std::int64_t count(const Dim& dim) { return std::int64_t{dim.x} * dim.y * dim.z; }

Duration positive(Duration value) { return std::max(Duration{}, value); }

// Time in which at least one of them goes on.
Duration covered(std::vector<std::pair<Time, Time>>& intervals) {
  std::sort(intervals.begin(), intervals.end());
  Duration sum;
  Time until{INT64_MIN};
  for (const auto& [begin, end] : intervals) {
    if (end > until) sum += end - std::max(begin, until);
    until = std::max(until, end);
  }
  return sum;
}

}  // namespace

// Puts the tables together.
class PlayedProgram::Maker {
 public:
  Maker(const Recording& r, const std::string& file) : r_(r), file_(file), timing_(take_apart(r)) {
    check_gpus();
    first_work_ = firsts(r.works);
    first_order_ = firsts(r.orders);
    for (const Timeline& timeline : timing_.timelines) lines_.push_back({&timeline.calls, 0, {}, {}});
    is_home_.resize(lines_.size());
    taken_.resize(r.calls.size());
    for (Index j = 0; j < r.jobs.size(); ++j)
      if (!r.jobs[j].warm_up) is_home_[home_of(j)] = true;
    for (Index j = 0; j < r.jobs.size(); ++j)
      if (!r.jobs[j].warm_up) add_job(j);
    if (jobs_.empty()) throw InputError({file, 0}, "recording", "no job after its warm-up", "at least one");
    settle_leads();
    steps_.push_back({{}, {}, {}, 0, static_cast<Index>(works_.size()), static_cast<Index>(orders_.size())});
    jobs_.emplace_back().first_segment = static_cast<Index>(segments_.size());
    for (const Stream& s : r.streams) streams_.push_back({s.context, s.kind});
    for (const Launch& l : r.launches)
      launches_.push_back({count(l.grid), count(l.block), (std::int64_t{l.registers} + 7) / 8 * 8,
                           l.static_shared + l.dynamic_shared});
    for (const GraphNode& n : r.nodes)
      if (n.kind == WorkKind::kernel) nodes_.push_back({n.graph, n.shape, n.length});
  }

  std::string text(std::uint64_t identity) const {
    Head head;
    head.magic = kMagic;
    head.identity = identity;
    head.steps = steps_.size();
    head.works = works_.size();
    head.orders = orders_.size();
    head.segments = segments_.size();
    head.jobs = jobs_.size();
    head.streams = streams_.size();
    head.launches = launches_.size();
    head.nodes = nodes_.size();
    head.timelines = static_cast<Index>(lines_.size());
    head.contexts = static_cast<Index>(r_.contexts.size());
    head.graphs = static_cast<Index>(r_.graphs.size());
    head.depth = timing_.depth.value_or(0);
    head.unplayed = unplayed_work(r_, timing_.timeline_of);
    for (Index gpu = 0; gpu < r_.gpus.size(); ++gpu)
      head.most_memory = std::max(head.most_memory, recording::most_memory(r_, gpu));
    std::string out(sizeof head, '\0');
    put(out, steps_);
    put(out, works_);
    put(out, orders_);
    put(out, segments_);
    put(out, jobs_);
    put(out, streams_);
    put(out, launches_);
    put(out, nodes_);
    head.checksum = checksum_of(out.data() + sizeof head, out.size() - sizeof head);
    std::memcpy(out.data(), &head, sizeof head);
    return out;
  }

 private:
  // What has been made of a timeline.
  struct Line {
    const std::vector<Index>* calls;
    std::size_t next = 0;     // of these, the first that is not played yet
    std::optional<Time> end;  // of the last that is
    std::optional<Index> first_segment;
  };

  template <typename Row>
  std::vector<Index> firsts(const std::vector<Row>& rows) const {
    std::vector<Index> first(r_.calls.size() + 1);
    for (const Row& row : rows) ++first[row.call + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    return first;
  }

  void check_gpus() const {
    std::optional<Index> gpu;
    for (const Work& work : r_.works) {
      const Index job = r_.calls[work.call].job;
      if (job == kNone || r_.jobs[job].warm_up) continue;
      const Index here = r_.contexts[r_.streams[work.stream].context].gpu;
      if (gpu && *gpu != here)
        throw InputError({file_, 0}, "recording", "jobs that use several GPUs", "a program that uses one");
      gpu = here;
    }
  }

  template <typename Row>
  static void put(std::string& out, const std::vector<Row>& rows) {
    static_assert(std::is_trivially_copyable_v<Row>);
    // Padding is zero, so that the same recording gives the same bytes.
    for (const Row& row : rows) {
      Row clean;
      std::memset(static_cast<void*>(&clean), 0, sizeof clean);
      copy_fields(row, clean);
      out.append(reinterpret_cast<const char*>(&clean), sizeof clean);
    }
    out.resize(padded(out.size()));
  }
  static void copy_fields(const Step& s, Step& to) {
    to.gap = s.gap, to.own = s.own, to.wake = s.wake, to.call = s.call;
    to.first_work = s.first_work, to.first_order = s.first_order, to.waits = s.waits;
  }
  static void copy_fields(const PlayedWork& w, PlayedWork& to) {
    to.length = w.length, to.launch = w.launch, to.behind = w.behind, to.stream = w.stream;
    to.kind = w.kind, to.shape = w.shape;
    to.to_device = w.to_device, to.to_host = w.to_host, to.host_waits = w.host_waits;
  }
  static void copy_fields(const PlayedOrder& o, PlayedOrder& to) {
    to.kind = o.kind, to.place = o.place, to.recorded = o.recorded;
  }
  static void copy_fields(const Segment& s, Segment& to) {
    to.job = s.job, to.timeline = s.timeline, to.before = s.before, to.begin = s.begin, to.end = s.end;
    to.lead = s.lead, to.least_lead = s.least_lead, to.head = s.head, to.tail = s.tail;
  }
  static void copy_fields(const PlayedJob& j, PlayedJob& to) {
    to.kind = j.kind, to.begin = j.begin, to.length = j.length, to.busy = j.busy,
    to.first_segment = j.first_segment;
  }
  static void copy_fields(const PlayedStream& s, PlayedStream& to) {
    to.context = s.context, to.kind = s.kind;
  }
  static void copy_fields(const PlayedLaunch& l, PlayedLaunch& to) {
    to.blocks = l.blocks, to.threads = l.threads, to.registers = l.registers;
    to.shared_memory = l.shared_memory;
  }
  static void copy_fields(const PlayedNode& n, PlayedNode& to) {
    to.graph = n.graph, to.launch = n.launch, to.length = n.length;
  }

  void add_job(Index j) {
    const Job& job = r_.jobs[j];
    PlayedJob played;
    played.kind = job.kind;
    played.begin = job.begin;
    played.length = job.length;
    played.first_segment = static_cast<Index>(segments_.size());
    busy_.clear();
    const Index home = home_of(j);
    add_home_segment(j, home);
    for (Index line = 0; line < lines_.size(); ++line)
      if (line != home && !is_home_[line]) add_helping_segment(j, line);
    played.busy = covered(busy_);
    jobs_.push_back(played);
  }

  // That of its thread; of a job of the whole program, that of its first call.
  Index home_of(Index j) const {
    const Index thread = r_.jobs[j].thread;
    if (thread != kNone && timing_.timeline_of[thread] != kNone) return timing_.timeline_of[thread];
    for (const Call& call : r_.calls)
      if (call.job == j) return timing_.timeline_of[call.thread];
    return 0;
  }

  // Where a timeline's calls of the job stand: from the first to behind the last, of those from one on.
  std::pair<std::size_t, std::size_t> range_of(const std::vector<Index>& calls, std::size_t start,
                                               Index j) const {
    const Time begin = r_.jobs[j].begin, end = begin + r_.jobs[j].length;
    const auto from = std::partition_point(calls.begin() + static_cast<std::ptrdiff_t>(start), calls.end(),
                                           [&](Index c) { return r_.calls[c].begin < begin; });
    std::size_t first = static_cast<std::size_t>(from - calls.begin()), last = first;
    bool any = false;
    for (std::size_t at = first; at < calls.size() && r_.calls[calls[at]].begin <= end; ++at) {
      if (r_.calls[calls[at]].job != j) continue;
      if (!any) first = at;
      any = true;
      last = at + 1;
    }
    return {first, any ? last : first};
  }

  void add_home_segment(Index j, Index place) {
    Line& line = lines_[place];
    const auto [first, last] = range_of(*line.calls, line.next, j);
    const Job& job = r_.jobs[j];
    Segment segment;
    segment.job = static_cast<Index>(jobs_.size());
    segment.timeline = place;
    segment.before = static_cast<Index>(steps_.size());
    if (line.end)
      for (std::size_t at = line.next; at < first; ++at) {
        const Index c = (*line.calls)[at];
        const Duration since_job = positive(r_.calls[c].begin - *line.end);
        add_step(line, c, false);
        if (at == line.next) steps_.back().gap = std::min(steps_.back().gap, since_job);
      }
    segment.begin = static_cast<Index>(steps_.size());
    if (line.end) segment.lead = positive(job.begin - *line.end);
    if (first < last) segment.head = positive(r_.calls[(*line.calls)[first]].begin - job.begin);
    for (std::size_t at = first; at < last; ++at) add_step(line, (*line.calls)[at], true);
    segment.end = static_cast<Index>(steps_.size());
    line.next = last;
    if (!line.first_segment) line.first_segment = static_cast<Index>(segments_.size());
    const Time through = first < last ? *line.end : job.begin, end = job.begin + job.length;
    // Jobs that nobody waits for end with their last work.
    if (job.kind == JobKind::sync || job.kind == JobKind::nvtx) segment.tail = positive(end - through);
    line.end = std::max(through, segment.tail > Duration{} ? end : through);
    segments_.push_back(segment);
  }

  // Jobs that others help may overlap: each has its own steps, and those of none between them.
  void add_helping_segment(Index j, Index place) {
    Line& line = lines_[place];
    const auto [first, last] = range_of(*line.calls, 0, j);
    if (first == last) return;
    Segment segment;
    segment.job = static_cast<Index>(jobs_.size());
    segment.timeline = place;
    segment.before = segment.begin = static_cast<Index>(steps_.size());
    segment.head = positive(r_.calls[(*line.calls)[first]].begin - r_.jobs[j].begin);
    for (std::size_t at = first; at < last; ++at) {
      const Index c = (*line.calls)[at];
      const bool of_none = r_.calls[c].job == kNone && !taken_[c];
      if (!of_none && r_.calls[c].job != j) continue;
      taken_[c] = true;
      add_step(line, c, true);
    }
    segment.end = static_cast<Index>(steps_.size());
    segments_.push_back(segment);
  }

  void add_step(Line& line, Index c, bool of_job) {
    const CallTiming& timing = timing_.calls[c];
    Step step;
    step.gap = timing.gap;
    step.own = timing.own;
    step.wake = timing.wake;
    step.waits = timing.waits;
    step.call = c;
    step.first_work = static_cast<Index>(works_.size());
    step.first_order = static_cast<Index>(orders_.size());
    steps_.push_back(step);
    for (Index w = first_work_[c]; w < first_work_[c + 1]; ++w) add_work(w, of_job);
    for (Index o = first_order_[c]; o < first_order_[c + 1]; ++o)
      orders_.push_back({r_.orders[o].kind, r_.orders[o].place, r_.orders[o].recorded});
    line.end = std::max(line.end.value_or(Time{INT64_MIN}), r_.calls[c].end());
  }

  void add_work(Index w, bool of_job) {
    const Work& work = r_.works[w];
    PlayedWork played;
    played.length = work.length;
    played.launch = timing_.works[w].launch;
    played.behind = timing_.works[w].behind;
    played.stream = work.stream;
    played.kind = work.kind;
    if (work.kind == WorkKind::kernel || work.kind == WorkKind::graph) played.shape = work.shape;
    if (work.kind == WorkKind::copy) {
      const Transfer& t = r_.transfers[work.shape];
      const auto on_host = [](MemoryKind kind) {
        return kind == MemoryKind::pageable || kind == MemoryKind::pinned;
      };
      played.to_device = on_host(t.from) && !on_host(t.to);
      played.to_host = on_host(t.to) && !on_host(t.from);
      played.host_waits =
          timing_.calls[work.call].waits &&
          (host_waits_for(r_, work) || (!t.asynchronous && r_.calls[work.call].end() >= work.end()));
    }
    works_.push_back(played);
    if (of_job) busy_.emplace_back(work.begin, work.end());
  }

  // How a timeline's first job follows the recording's start says nothing of how it would follow another one.
  void settle_leads() {
    for (Index l = 0; l < lines_.size(); ++l) {
      if (!lines_[l].first_segment) continue;
      std::vector<std::int64_t> leads;
      for (const Segment& s : segments_)
        if (s.timeline == l && &s != &segments_[*lines_[l].first_segment]) leads.push_back(s.lead.ns);
      if (leads.empty()) continue;
      const auto middle = leads.begin() + static_cast<std::ptrdiff_t>((leads.size() - 1) / 2);
      std::nth_element(leads.begin(), middle, leads.end());
      segments_[*lines_[l].first_segment].lead = Duration{*middle};
      const Duration least{*std::min_element(leads.begin(), leads.end())};
      for (Segment& s : segments_)
        if (s.timeline == l) s.least_lead = least;
    }
  }

  const Recording& r_;
  const std::string& file_;
  Timing timing_;
  std::vector<Index> first_work_, first_order_;  // by call
  std::vector<Line> lines_;                      // by timeline
  std::vector<bool> is_home_;                    // likewise
  std::vector<bool> taken_;                      // by call: it is a step of a job that it helps
  std::vector<Step> steps_;
  std::vector<PlayedWork> works_;
  std::vector<PlayedOrder> orders_;
  std::vector<Segment> segments_;
  std::vector<PlayedJob> jobs_;
  std::vector<PlayedStream> streams_;
  std::vector<PlayedLaunch> launches_;
  std::vector<PlayedNode> nodes_;
  std::vector<std::pair<Time, Time>> busy_;  // of the job that is being added
};

PlayedProgram::PlayedProgram(const fs::path& recording) {
  const std::uint64_t identity = identity_of(recording);
  const fs::path file = recording.string() + ".played";
  if (map(file, identity)) return;
  const std::string name = recording.string();
  const std::string text = Maker(read_recording(recording), name).text(identity);
  if (keep(file, text) && map(file, identity)) return;
  const int memory = memfd_create("gangway-program", MFD_CLOEXEC);
  const bool mapped =
      memory >= 0 && write_all(memory, text) && map("/proc/self/fd/" + std::to_string(memory), identity);
  if (memory >= 0) close(memory);
  if (!mapped) throw RunError("no memory for the program of " + name);
}

PlayedProgram::~PlayedProgram() {
  if (data_ != nullptr) munmap(data_, size_);
}

std::optional<std::uint32_t> PlayedProgram::depth() const {
  if (head_->depth == 0) return std::nullopt;
  return static_cast<std::uint32_t>(head_->depth);
}

// In the order in which they stand in the file, each with the number of its rows. Each begins at a multiple
// of 8 bytes.
template <typename Counts, typename Visit>
void PlayedProgram::each_table(const Counts& counts, Visit visit) {
  visit(steps, counts.steps);
  visit(works, counts.works);
  visit(orders, counts.orders);
  visit(segments, counts.segments);
  visit(jobs, counts.jobs);
  visit(streams, counts.streams);
  visit(launches, counts.launches);
  visit(nodes, counts.nodes);
}

// Whether the file has this recording's tables, whole and as they were written.
bool PlayedProgram::map(const fs::path& path, std::uint64_t identity) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  Head head;
  const bool has_head = fstat(file, &status) == 0 && ::read(file, &head, sizeof head) == sizeof head &&
                        head.magic == kMagic && head.identity == identity &&
                        std::max({head.steps, head.works, head.orders, head.segments, head.jobs, head.streams,
                                  head.launches, head.nodes}) < kNone;
  std::size_t size = sizeof head;
  if (has_head)
    each_table(head, [&]<typename Row>(std::span<const Row>&, std::size_t count) {
      size += padded(count * sizeof(Row));
    });
  void* data = MAP_FAILED;
  if (has_head && static_cast<std::size_t>(status.st_size) == size)
    data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (data == MAP_FAILED) return false;
  if (data_ != nullptr) munmap(data_, size_);
  data_ = data;
  size_ = size;
  head_ = static_cast<const Head*>(data);
  const char* at = static_cast<const char*>(data) + sizeof head;
  each_table(head, [&]<typename Row>(std::span<const Row>& table, std::size_t count) {
    table = {reinterpret_cast<const Row*>(at), count};
    at += padded(count * sizeof(Row));
  });
  return checksum_of(static_cast<const char*>(data) + sizeof head, size - sizeof head) == head_->checksum;
}

}  // namespace gangway::recording
