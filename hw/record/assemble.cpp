#include "hw/record/assemble.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "hw/record/shapes.hpp"

namespace gangway::spool {
namespace {

namespace rec = recording;
using rec::Index;
using rec::kNone;

// CUPTI's numbers (cupti_activity.h), so that recordings can be assembled where there is no CUDA.
constexpr std::uint32_t kEventSynchronize = 1, kStreamWaitEvent = 2, kStreamSynchronize = 3,
                        kContextSynchronize = 4;
constexpr std::uint32_t kNonBlocking = 2, kNullStream = 3;
constexpr std::uint32_t kNoValue = UINT32_MAX;

class Assembler {
 public:
  explicit Assembler(const std::vector<Contents>& processes) : processes_(processes), shapes_(r_) {}

  rec::Recording assemble() {
    origin();
    for (const Contents& process : processes_) add(process);
    sort();
    return std::move(r_);
  }

 private:
  using Uuid = std::array<std::uint8_t, 16>;
  // Of works, until calls are in their final order.
  struct Pending {
    rec::Work work;
    std::size_t call = 0;
  };

  void origin() {
    std::uint64_t first = UINT64_MAX;
    for (const Contents& p : processes_) {
      if (p.begin) first = std::min(first, p.begin->time);
      for (const Call& c : p.calls) first = std::min(first, c.begin);
      for (const Marker& m : p.markers) first = std::min(first, m.time);
      for (const Memory& m : p.memory) first = std::min(first, m.time);
    }
    r_.about.origin = first == UINT64_MAX ? 0 : static_cast<std::int64_t>(first);
  }
  Time at(std::uint64_t time) const { return Time{static_cast<std::int64_t>(time) - r_.about.origin}; }

  void add(const Contents& p) {
    process_ = &p;
    process_index_ = static_cast<Index>(r_.processes.size());
    const Begin begin = p.begin.value_or(Begin{});
    r_.processes.push_back({begin.pid, begin.parent, p.command, at(begin.time), p.finished});
    if (begin.cupti != 0) r_.about.cupti = std::to_string(begin.cupti);
    if (r_.about.trouble.empty()) r_.about.trouble = p.trouble;
    r_.about.lost += static_cast<std::int64_t>(p.lost);
    gpus_.clear();
    threads_.clear();
    contexts_.clear();
    streams_.clear();
    functions_.clear();
    graphs_.clear();
    by_correlation_.clear();
    recorded_.clear();
    machine();
    calls();
    works();
    orders();
    rest();
  }

  void machine() {
    for (const Device& d : process_->devices) {
      Uuid uuid;
      std::copy(std::begin(d.uuid), std::end(d.uuid), uuid.begin());
      gpus_[d.id] = uuid == Uuid{} ? unknown_gpu(d.id) : one_of(known_gpus_, uuid);
      rec::Gpu& gpu = r_.gpus[gpus_[d.id]];
      gpu = {text(d.name),
             d.sms,
             d.major,
             d.minor,
             d.clock_khz,
             d.copy_engines,
             Bytes{static_cast<std::int64_t>(d.memory)},
             Bytes{d.l2}};
    }
    for (const Thread& t : process_->threads) thread_names_[{process_index_, t.id}] = text(t.name);
    for (const Context& c : process_->contexts) null_streams_[{process_index_, c.id}] = c.null_stream;
    for (const Stream& s : process_->streams) known_streams_[{process_index_, s.context, s.id}] = s;
    for (const Function& f : process_->functions) {
      const auto kind = static_cast<rec::CallKind>(std::min<std::uint32_t>(f.kind, rec::kCallKinds - 1));
      functions_[f.id] = {text(f.name), kind};
    }
  }

  std::string text(std::uint32_t id) const {
    return id < process_->texts.size() ? process_->texts[id] : std::string();
  }

  // Processes number the GPUs that they see, each its own way.
  Index gpu(std::uint32_t device) {
    const auto known = gpus_.find(device);
    return known != gpus_.end() ? known->second : gpus_[device] = unknown_gpu(device);
  }
  Index unknown_gpu(std::uint32_t device) { return one_of(unknown_gpus_, device); }
  template <typename Key>
  Index one_of(std::map<Key, Index>& gpus, const Key& key) {
    const auto [place, is_new] = gpus.try_emplace(key, static_cast<Index>(r_.gpus.size()));
    if (is_new) r_.gpus.emplace_back();
    return place->second;
  }
  Index thread(std::uint32_t tid) {
    const auto [place, is_new] = threads_.try_emplace(tid, static_cast<Index>(r_.threads.size()));
    if (is_new) {
      const auto name = thread_names_.find({process_index_, tid});
      r_.threads.push_back({process_index_, tid, name != thread_names_.end() ? name->second : ""});
    }
    return place->second;
  }
  Index context(std::uint32_t number, std::uint32_t device) {
    const auto [place, is_new] = contexts_.try_emplace(number, static_cast<Index>(r_.contexts.size()));
    if (is_new) r_.contexts.push_back({process_index_, gpu(device), number});
    return place->second;
  }
  // Only what is used is kept: the driver makes streams of its own.
  Index stream(std::uint32_t context_number, std::uint32_t device, std::uint32_t number) {
    const Index c = context(context_number, device);
    const auto [place, is_new] = streams_.try_emplace({c, number}, static_cast<Index>(r_.streams.size()));
    if (!is_new) return place->second;
    rec::Stream s{c, number, rec::StreamKind::blocking, 0};
    const auto known = known_streams_.find({process_index_, context_number, number});
    if (known != known_streams_.end()) {
      s.priority = known->second.priority;
      if (known->second.flag == kNonBlocking) s.kind = rec::StreamKind::non_blocking;
      if (known->second.flag == kNullStream) s.kind = rec::StreamKind::null;
    }
    const auto null = null_streams_.find({process_index_, context_number});
    if (null != null_streams_.end() && null->second == number) s.kind = rec::StreamKind::null;
    r_.streams.push_back(s);
    return place->second;
  }
  Index function(std::uint32_t id) {
    const auto known = functions_.find(id);
    if (known == functions_.end()) return kNone;
    return function_rows_.index(known->second.name, [&] { return known->second; });
  }

  // Calls that were made inside other calls are theirs.
  void calls() {
    std::vector<Call> calls = process_->calls;
    std::stable_sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) {
      return std::tie(a.begin, b.end) < std::tie(b.begin, a.end);
    });
    std::map<std::uint32_t, std::pair<std::uint64_t, std::size_t>> last;  // by thread: its end, its place
    for (const Call& c : calls) {
      const Index f = function(c.function);
      if (f == kNone || c.end < c.begin) {
        ++r_.about.lost;
        continue;
      }
      const auto before = last.find(c.thread);
      if (before != last.end() && c.begin < before->second.first) {
        by_correlation_.try_emplace(c.correlation, before->second.second);
        continue;
      }
      const std::size_t place = r_.calls.size();
      by_correlation_[c.correlation] = place;
      last[c.thread] = {c.end, place};
      r_.calls.push_back({thread(c.thread), f, at(c.begin), at(c.end) - at(c.begin),
                          static_cast<std::int32_t>(c.result), kNone});
    }
  }

  void works() {
    const Contents& p = *process_;
    std::vector<Index> launches(p.shapes.size(), kNone);  // by shape
    for (const Kernel& k : p.kernels) {
      if (k.shape == 0 || k.shape > p.shapes.size()) continue;
      Index& launch = launches[k.shape - 1];
      if (launch == kNone) launch = shapes_.launch(p, p.shapes[k.shape - 1]);
      add(k.work, rec::WorkKind::kernel, launch);
    }
    for (const Copy& c : p.copies) add(c.work, rec::WorkKind::copy, shapes_.copy(c));
    for (const Memset& m : p.memsets) add(m.work, rec::WorkKind::memset, shapes_.memset(m));
    std::vector<const Graph*> graphs;
    for (const Graph& g : p.graphs) graphs.push_back(&g);
    std::stable_sort(graphs.begin(), graphs.end(),
                     [](const Graph* a, const Graph* b) { return a->work.begin < b->work.begin; });
    for (const Graph* g : graphs) {
      const auto [place, is_new] = graphs_.try_emplace(g->work.graph, static_cast<Index>(r_.graphs.size()));
      if (is_new) r_.graphs.push_back({process_index_, g->work.graph});
      add(g->work, rec::WorkKind::graph, place->second);
    }
  }

  void add(const Work& w, rec::WorkKind kind, Index shape) {
    const auto call = by_correlation_.find(w.correlation);
    if (call == by_correlation_.end() || w.end < w.begin) {
      ++r_.about.lost;
      return;
    }
    pending_.push_back(
        {{0, stream(w.context, w.device, w.stream), kind, shape, at(w.begin), at(w.end) - at(w.begin)},
         call->second});
  }

  void orders() {
    for (const Event& e : process_->events) {
      const auto call = by_correlation_.find(e.correlation);
      if (call == by_correlation_.end()) continue;
      recorded_[e.event] = call->second;
      order(call->second, rec::OrderKind::record, existing_stream(e.context, e.stream), std::nullopt);
    }
    for (const Sync& s : process_->syncs) {
      const auto call = by_correlation_.find(s.correlation);
      if (call == by_correlation_.end()) continue;
      const auto event = s.kind == kEventSynchronize || s.kind == kStreamWaitEvent ? recorded_.find(s.event)
                                                                                   : recorded_.end();
      std::optional<std::size_t> recorded;
      if (event != recorded_.end()) recorded = event->second;
      if (s.kind == kContextSynchronize) {
        if (const auto c = contexts_.find(s.context); c != contexts_.end())
          order(call->second, rec::OrderKind::context, c->second, std::nullopt);
      } else if (s.kind == kStreamSynchronize) {
        order(call->second, rec::OrderKind::stream, existing_stream(s.context, s.stream), std::nullopt);
      } else if (s.kind == kEventSynchronize) {
        order(call->second, rec::OrderKind::event, kNone, recorded);
      } else if (s.kind == kStreamWaitEvent && recorded) {  // in a capture there is none
        order(call->second, rec::OrderKind::wait_event, existing_stream(s.context, s.stream), recorded);
      }
    }
  }

  // A stream may record an event or be waited for before it has anything to do.
  Index existing_stream(std::uint32_t context_number, std::uint32_t number) {
    if (number == kNoValue) return kNone;
    const auto c = contexts_.find(context_number);
    return stream(context_number, c != contexts_.end() ? r_.contexts[c->second].gpu : 0, number);
  }

  struct PendingOrder {
    std::size_t call;
    rec::OrderKind kind;
    Index place;
    std::optional<std::size_t> recorded;
  };
  void order(std::size_t call, rec::OrderKind kind, Index place, std::optional<std::size_t> recorded) {
    if (place == kNone && kind != rec::OrderKind::event) return;
    pending_orders_.push_back({call, kind, place, recorded});
  }

  void rest() {
    std::map<std::uint64_t, std::int64_t> sizes;  // by address
    for (const Memory& m : process_->memory) {
      std::int64_t bytes = static_cast<std::int64_t>(m.bytes);
      if (m.released != 0) {
        if (const auto known = sizes.find(m.address); known != sizes.end()) bytes = known->second;
        bytes = -bytes;
      } else {
        sizes[m.address] = bytes;
      }
      r_.memory.push_back({at(m.time), gpu(m.device), process_index_, Shapes::memory(m.kind), bytes});
    }
    std::map<std::uint32_t, std::size_t> open;  // ranges by id
    std::vector<Marker> markers = process_->markers;
    std::stable_sort(markers.begin(), markers.end(), [](const Marker& a, const Marker& b) {
      return std::tie(a.time, a.ends) < std::tie(b.time, b.ends);
    });
    for (const Marker& m : markers) {
      if (m.ends == 0) {
        const Index name = range_names_.index(std::pair(text(m.domain), text(m.name)), [&] {
          return rec::RangeName{text(m.domain), text(m.name)};
        });
        open[m.id] = r_.ranges.size();
        r_.ranges.push_back({name, thread(m.thread), at(m.time), std::nullopt});
      } else if (const auto range = open.find(m.id); range != open.end()) {
        r_.ranges[range->second].length = at(m.time) - r_.ranges[range->second].begin;
        open.erase(range);
      }
    }
  }

  void sort() {
    std::vector<Index> order(r_.calls.size()), place(r_.calls.size());
    for (Index i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return r_.calls[a].begin < r_.calls[b].begin; });
    std::vector<rec::Call> calls;
    calls.reserve(order.size());
    for (const Index i : order) {
      place[i] = static_cast<Index>(calls.size());
      calls.push_back(r_.calls[i]);
    }
    r_.calls = std::move(calls);
    for (Pending& p : pending_) {
      p.work.call = place[p.call];
      r_.works.push_back(p.work);
    }
    std::stable_sort(r_.works.begin(), r_.works.end(), [](const rec::Work& a, const rec::Work& b) {
      return std::tie(a.call, a.begin) < std::tie(b.call, b.begin);
    });
    for (const PendingOrder& o : pending_orders_)
      r_.orders.push_back({place[o.call], o.kind, o.place, o.recorded ? place[*o.recorded] : kNone});
    std::stable_sort(r_.orders.begin(), r_.orders.end(),
                     [](const rec::Order& a, const rec::Order& b) { return a.call < b.call; });
    r_.orders.erase(std::unique(r_.orders.begin(), r_.orders.end(),
                                [](const rec::Order& a, const rec::Order& b) { return a.call == b.call; }),
                    r_.orders.end());
    // An event that was recorded again in the meantime, on another thread, is known by its last recording.
    for (rec::Order& o : r_.orders)
      if (o.recorded != kNone && o.recorded >= o.call) o.recorded = kNone;
    std::stable_sort(r_.memory.begin(), r_.memory.end(),
                     [](const rec::MemoryChange& a, const rec::MemoryChange& b) { return a.at < b.at; });
    std::stable_sort(r_.ranges.begin(), r_.ranges.end(),
                     [](const rec::Range& a, const rec::Range& b) { return a.begin < b.begin; });
  }

  const std::vector<Contents>& processes_;
  rec::Recording r_;
  Shapes shapes_;
  Distinct<rec::Function, std::string> function_rows_{r_.functions};
  Distinct<rec::RangeName, std::pair<std::string, std::string>> range_names_{r_.range_names};
  std::map<std::pair<Index, std::uint32_t>, std::string> thread_names_;
  std::map<std::pair<Index, std::uint32_t>, std::uint32_t> null_streams_;
  std::map<std::tuple<Index, std::uint32_t, std::uint32_t>, Stream> known_streams_;
  std::map<Uuid, Index> known_gpus_;
  std::map<std::uint32_t, Index> unknown_gpus_;  // by number, if nothing is told of them
  std::vector<Pending> pending_;
  std::vector<PendingOrder> pending_orders_;

  // Of the process at hand.
  const Contents* process_ = nullptr;
  Index process_index_ = 0;
  std::map<std::uint32_t, Index> gpus_, threads_, contexts_, graphs_;
  std::map<std::pair<Index, std::uint32_t>, Index> streams_;
  std::map<std::uint32_t, rec::Function> functions_;
  std::unordered_map<std::uint32_t, std::size_t> by_correlation_;
  std::unordered_map<std::uint64_t, std::size_t> recorded_;  // by recording of an event: the call
};

}  // namespace

rec::Recording assemble(const std::vector<Contents>& processes) { return Assembler(processes).assemble(); }

}  // namespace gangway::spool
