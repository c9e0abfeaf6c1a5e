#include "workloads/profile/profiled_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "models/error.hpp"
#include "workloads/profile/distinct_rows.hpp"

namespace gangway::profile {
namespace {

namespace rec = recording;
using rec::CallKind;
using rec::MemoryKind;
using rec::OrderKind;
using rec::WorkKind;

// A program has some hundreds at most.
constexpr std::size_t kMostStreams = 10'000;

// GPU's and host's clocks agree within so much.
constexpr std::int64_t kClockError = 10'000;

using Interval = std::pair<std::int64_t, std::int64_t>;

// Sorted and without overlaps.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.first <= out.back().second)
      out.back().second = std::max(out.back().second, i.second);
    else
      out.push_back(i);
  }
  return out;
}

bool meets(const std::vector<Interval>& sorted, std::int64_t begin, std::int64_t end) {
  const auto next = std::upper_bound(sorted.begin(), sorted.end(), begin,
                                     [](std::int64_t time, const Interval& i) { return time < i.second; });
  return next != sorted.end() && next->first < end;
}

Duration middle_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return Duration{*middle};
}

std::string count_of(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

class ClientRecorder {
 public:
  ClientRecorder(const Profile& profile, Index process, const std::string& file)
      : p_(profile),
        process_(process),
        file_(file),
        threads_(p_.threads.size(), kNone),
        gpus_(p_.gpus.size(), kNone),
        functions_(p_.functions.size(), kNone),
        launches_(p_.launches.size(), kNone),
        range_names_(p_.range_names.size(), kNone),
        streams_of_works_(p_.works.size(), kNone) {}

  rec::Recording record(const std::optional<Submitter::OfStream>& stream) {
    find_origin();
    for (const Stream& s : p_.streams)
      if (s.process == process_ || s.process == kNone) add_fact(s);
    r_.processes = {{p_.processes[process_].pid, 0, p_.processes[process_].command, Time{}, true}};
    add_calls();
    add_works();
    if (r_.streams.size() > kMostStreams)
      throw InputError({file_, 0}, "profile", fmt::format("{} streams", r_.streams.size()),
                       fmt::format("at most {}", kMostStreams));
    add_orders();
    infer_orders();
    sort_orders();
    add_rest();
    if (stream) keep(*stream);
    mark_beside();
    describe();
    return std::move(r_);
  }

 private:
  // --- Times and names

  bool is_mine(Index thread) const { return p_.threads[thread].process == process_; }

  void find_origin() {
    std::int64_t first = kLatestTime, last = -kLatestTime;
    const auto see = [&](std::int64_t begin, std::int64_t end) {
      first = std::min(first, begin);
      last = std::max(last, end);
    };
    for (const Call& c : p_.calls)
      if (is_mine(c.thread)) see(c.begin, c.end);
    for (const Range& range : p_.ranges)
      if (is_mine(range.thread)) see(range.begin, range.end.value_or(range.begin));
    for (const MemoryChange& m : p_.memory)
      if (m.process == process_) see(m.at, m.at);
    std::int64_t earliest = first;  // GPUs' clocks may be a little behind
    for (const Work& w : p_.works)
      if (w.process == process_) {
        earliest = std::min(earliest, w.begin);
        last = std::max(last, w.end);
      }
    if (last - earliest > kLongestProfile)
      throw InputError({file_, 0}, "profile", "times that are more than a year apart",
                       "a profile that is not damaged");
    origin_ = first;
    r_.about.length = Duration{last - first};
    std::int64_t epoch = 0;
    if (p_.epoch && !__builtin_add_overflow(*p_.epoch, first, &epoch)) r_.about.origin = epoch;
  }
  Time at(std::int64_t time) const { return Time{time - origin_}; }

  Index thread(Index of) {
    Index& place = threads_[of];
    if (place == kNone) {
      place = static_cast<Index>(r_.threads.size());
      r_.threads.push_back({0, p_.threads[of].tid, p_.threads[of].name});
    }
    return place;
  }
  Index gpu(Index of) {
    Index& place = gpus_[of];
    if (place == kNone) {
      place = static_cast<Index>(r_.gpus.size());
      r_.gpus.push_back(p_.gpus[of]);
    }
    return place;
  }
  Index function(Index of) {
    Index& place = functions_[of];
    if (place == kNone) {
      place = static_cast<Index>(r_.functions.size());
      r_.functions.push_back(p_.functions[of]);
    }
    return place;
  }
  Index launch(Index of) {
    Index& place = launches_[of];
    if (place == kNone) {
      place = static_cast<Index>(r_.launches.size());
      r_.launches.push_back(p_.launches[of]);
    }
    return place;
  }

  void add_fact(const Stream& s) {
    rec::Stream& fact = facts_[{s.context, s.number}];
    if (s.kind == rec::StreamKind::null) {
      fact.kind = s.kind;
      return;
    }
    if (fact.kind != rec::StreamKind::null) fact.kind = s.kind;
    fact.priority = s.priority;
  }
  // Where a profile has no context it has one.
  Index context(std::uint32_t number, Index on) {
    const auto [place, is_new] = contexts_.try_emplace(number, static_cast<Index>(r_.contexts.size()));
    if (is_new) r_.contexts.push_back({0, on, number == kUnknown ? 0 : number});
    return place->second;
  }
  Index stream(std::uint32_t in, std::uint32_t number, Index of_context) {
    const auto [place, is_new] =
        streams_.try_emplace({of_context, number}, static_cast<Index>(r_.streams.size()));
    if (is_new) {
      rec::Stream s{of_context, number == kUnknown ? 0 : number, rec::StreamKind::blocking, 0};
      if (const auto fact = facts_.find({in, number}); fact != facts_.end()) {
        s.kind = fact->second.kind;
        s.priority = fact->second.priority;
      }
      r_.streams.push_back(s);
    }
    return place->second;
  }
  // A stream may record an event or be waited for before it has anything to do.
  Index stream_waited_for(std::uint32_t in, std::uint32_t number) {
    if (number == kUnknown) return kNone;
    const auto known = contexts_.find(in);
    if (known != contexts_.end()) return stream(in, number, known->second);
    if (contexts_.size() != 1 || in != kUnknown) return kNone;
    return stream(contexts_.begin()->first, number, 0);
  }

  // --- Calls

  struct Placed {
    rec::Call call;
    Index place = 0;  // before it was sorted
  };

  // Calls that were made inside other calls are theirs. Where times are whole microseconds, or clocks of
  // several cores differ, one may seem to begin before the one before it ends.
  void add_calls() {
    std::vector<Index> mine;
    for (Index c = 0; c < p_.calls.size(); ++c)
      if (is_mine(p_.calls[c].thread)) mine.push_back(c);
    std::stable_sort(mine.begin(), mine.end(), [&](Index a, Index b) {
      return std::tie(p_.calls[a].begin, p_.calls[b].end) < std::tie(p_.calls[b].begin, p_.calls[a].end);
    });
    struct Last {
      std::int64_t end = INT64_MIN;
      Index place = 0;
    };
    std::vector<Last> last(p_.threads.size());
    std::vector<Placed> calls;
    std::vector<std::pair<std::uint32_t, Index>> correlations;
    for (const Index c : mine) {
      const Call& call = p_.calls[c];
      Last& before = last[call.thread];
      if (call.begin < before.end && call.end <= before.end) {
        correlations.emplace_back(call.correlation, before.place);
        continue;
      }
      const std::int64_t begin = std::max(call.begin, before.end);
      const auto place = static_cast<Index>(calls.size());
      correlations.emplace_back(call.correlation, place);
      before = {call.end, place};
      calls.push_back({{thread(call.thread), function(call.function), at(begin), Duration{call.end - begin},
                        call.result, kNone},
                       place});
    }
    std::stable_sort(calls.begin(), calls.end(),
                     [](const Placed& a, const Placed& b) { return a.call.begin < b.call.begin; });
    std::vector<Index> places(calls.size());
    r_.calls.reserve(calls.size());
    for (const Placed& placed : calls) {
      places[placed.place] = static_cast<Index>(r_.calls.size());
      r_.calls.push_back(placed.call);
    }
    by_correlation_.reserve(correlations.size());
    for (const auto& [correlation, place] : correlations)
      if (correlation != 0) by_correlation_.try_emplace(correlation, places[place]);
    for (const rec::Function& f : r_.functions)
      asynchronous_.push_back(f.name.find("Async") != std::string::npos);
  }
  Index call_of(std::uint32_t correlation) const {
    const auto known = by_correlation_.find(correlation);
    return known != by_correlation_.end() ? known->second : kNone;
  }

  // --- Works

  struct Pending {
    Index call = 0, work = 0;
  };

  void add_works() {
    std::vector<Pending> pending;
    for (Index w = 0; w < p_.works.size(); ++w) {
      if (p_.works[w].process == kNone) ++r_.about.lost;  // it may be this one's
      if (p_.works[w].process != process_) continue;
      const Index call = call_of(p_.works[w].correlation);
      if (call == kNone)
        ++r_.about.lost;
      else
        pending.push_back({call, w});
    }
    std::stable_sort(pending.begin(), pending.end(), [&](const Pending& a, const Pending& b) {
      return std::tie(a.call, p_.works[a.work].begin) < std::tie(b.call, p_.works[b.work].begin);
    });
    for (std::size_t from = 0; from < pending.size();) {
      std::size_t to = from + 1;
      while (to < pending.size() && pending[to].call == pending[from].call) ++to;
      const std::span<const Pending> of_call(pending.data() + from, to - from);
      if (r_.kind(r_.calls[of_call[0].call]) == CallKind::graph)
        add_graph(of_call);
      else
        for (const Pending& one : of_call) add_work(one);
      from = to;
    }
    add_nodes();
  }

  Index stream_of(const Work& w) { return stream(w.context, w.stream, context(w.context, gpu(w.gpu))); }

  void add_work(const Pending& one) {
    const Work& w = p_.works[one.work];
    Index shape = 0;
    if (w.kind == WorkKind::graph)
      shape = graph({w.graph, {}});
    else
      shape = w.kind == WorkKind::kernel ? launch(w.shape) : transfer(w, one.call);
    push(w, one, w.kind, shape, w.begin, w.end);
  }
  void push(const Work& w, const Pending& one, WorkKind kind, Index shape, std::int64_t begin,
            std::int64_t end) {
    const Index in = stream_of(w);
    streams_of_works_[one.work] = in;
    r_.works.push_back({one.call, in, kind, shape, at(begin), Duration{end - begin}});
  }

  // Whether the host waited says which kind of its memory it was, where the profile does not.
  Index transfer(const Work& w, Index of) {
    const Transfer& t = p_.transfers[w.shape];
    const rec::Call& call = r_.calls[of];
    const bool in_graph = r_.kind(call) == CallKind::graph;
    rec::Transfer out{t.bytes, t.from, t.to,
                      w.kind == WorkKind::memset || in_graph || asynchronous_[call.function]};
    const bool waited = !out.asynchronous || call.end() >= at(w.end);
    const MemoryKind of_host = waited ? MemoryKind::pageable : MemoryKind::pinned;
    if (t.direction == Direction::to_device) out.from = of_host;
    if (t.direction == Direction::to_host) out.to = of_host;
    return transfers_.index(
        {out.bytes.count, static_cast<int>(out.from), static_cast<int>(out.to), out.asynchronous},
        [&] { return out; });
  }

  // --- Graphs: launched as one, whether their nodes were timed or they as wholes

  // Its number, or, where there is none, its nodes or what they do.
  using GraphKey = std::pair<std::uint32_t, std::vector<std::uint64_t>>;
  struct Samples {
    WorkKind kind = WorkKind::kernel;
    Index shape = 0;
    std::uint32_t stream = 0;
    std::vector<std::int64_t> after, length;
  };

  Index graph(const GraphKey& key) {
    const auto [place, is_new] = graphs_.try_emplace(key, static_cast<Index>(r_.graphs.size()));
    if (is_new) {
      r_.graphs.push_back({0, key.first != 0 ? key.first : place->second});
      nodes_.emplace_back();
    }
    return place->second;
  }

  void add_graph(std::span<const Pending> of_call) {
    const Work* whole = nullptr;
    GraphKey key;
    std::int64_t end = INT64_MIN;
    const Pending* first_node = nullptr;
    for (const Pending& one : of_call) {
      const Work& w = p_.works[one.work];
      if (w.kind == WorkKind::graph) whole = &w;
      if (w.kind != WorkKind::graph && first_node == nullptr) first_node = &one;
      if (w.graph != 0) key.first = w.graph;
      end = std::max(end, w.end);
    }
    if (key.first == 0)
      for (const Pending& one : of_call) {
        const Work& w = p_.works[one.work];
        if (w.kind != WorkKind::graph)
          key.second.push_back(w.node != 0 ? w.node : static_cast<std::uint64_t>(w.kind) << 32 | w.shape);
      }
    std::sort(key.second.begin(), key.second.end());
    const Index number = graph(key);
    const Work& first = whole != nullptr ? *whole : p_.works[of_call[0].work];
    push(first, of_call[0], WorkKind::graph, number, first.begin, whole != nullptr ? whole->end : end);
    for (const Pending& one : of_call) streams_of_works_[one.work] = r_.works.back().stream;
    if (first_node == nullptr) return;
    const std::int64_t begin = p_.works[first_node->work].begin;
    std::uint64_t ordinal = 0;
    for (const Pending& one : of_call) {
      const Work& w = p_.works[one.work];
      if (w.kind == WorkKind::graph) continue;
      ++ordinal;
      Samples& samples = nodes_[number][w.node != 0 ? w.node : ordinal];
      samples.kind = w.kind;
      samples.shape = w.kind == WorkKind::kernel ? launch(w.shape) : transfer(w, one.call);
      samples.stream = w.stream;
      samples.after.push_back(w.begin - begin);
      samples.length.push_back(w.end - w.begin);
    }
  }

  void add_nodes() {
    for (Index g = 0; g < nodes_.size(); ++g) {
      const std::size_t from = r_.nodes.size();
      for (const auto& [node, s] : nodes_[g])
        r_.nodes.push_back({g, s.kind, s.shape, s.stream, middle_of(s.after), middle_of(s.length),
                            static_cast<std::uint32_t>(s.after.size())});
      const auto first = r_.nodes.begin() + static_cast<std::ptrdiff_t>(from);
      std::stable_sort(first, r_.nodes.end(),
                       [](const rec::GraphNode& a, const rec::GraphNode& b) { return a.after < b.after; });
      std::map<std::uint32_t, std::uint32_t> lanes;  // by stream
      for (auto node = first; node != r_.nodes.end(); ++node)
        node->lane = lanes.try_emplace(node->lane, static_cast<std::uint32_t>(lanes.size())).first->second;
    }
  }

  // --- Orders

  void order(Index call, OrderKind kind, Index place, Index recorded = kNone) {
    if (place == kNone && kind != OrderKind::event) return;
    r_.orders.push_back({call, kind, place, recorded});
  }

  void add_orders() {
    std::unordered_map<std::uint64_t, std::vector<Index>> recordings;  // by event: calls, in their order
    std::unordered_map<std::uint64_t, Index> synchronisations;
    for (const EventRecord& e : p_.events) {
      if (e.process != process_) continue;
      const Index call = call_of(e.correlation);
      if (call == kNone) continue;
      order(call, OrderKind::record, stream_waited_for(e.context, e.stream));
      if (e.event != 0) recordings[e.event].push_back(call);
      if (e.synchronisation != 0) synchronisations[e.synchronisation] = call;
    }
    for (auto& [event, calls] : recordings) std::sort(calls.begin(), calls.end());
    const auto recorded = [&](const Wait& w, Index call) {
      Index found = kNone;
      const auto by_id = synchronisations.find(w.synchronisation);
      const auto by_event = recordings.find(w.event);
      if (w.recorded_by != 0) {
        found = call_of(w.recorded_by);
      } else if (by_id != synchronisations.end()) {
        found = by_id->second;
      } else if (by_event != recordings.end()) {
        const auto behind = std::lower_bound(by_event->second.begin(), by_event->second.end(), call);
        if (behind != by_event->second.begin()) found = *(behind - 1);
      }
      return found != kNone && found < call ? found : kNone;
    };
    for (const Wait& w : p_.waits) {
      if (w.process != process_) continue;
      const Index call = call_of(w.correlation);
      if (call == kNone) continue;
      if (w.kind == WaitKind::event) {
        const Index by = recorded(w, call);
        if (by == kNone) ++unknown_waits_;
        order(call, OrderKind::event, kNone, by);
      } else if (w.kind == WaitKind::stream_for_event) {
        if (const Index by = recorded(w, call); by != kNone)  // in a capture there is none
          order(call, OrderKind::wait_event, stream_waited_for(w.context, w.stream), by);
      } else if (w.kind == WaitKind::stream) {
        order(call, OrderKind::stream, stream_waited_for(w.context, w.stream));
      } else if (const auto known = contexts_.find(w.context); known != contexts_.end()) {
        order(call, OrderKind::context, known->second);
      }
    }
    sort_orders();
  }

  void sort_orders() {
    std::stable_sort(r_.orders.begin(), r_.orders.end(),
                     [](const rec::Order& a, const rec::Order& b) { return a.call < b.call; });
    r_.orders.erase(std::unique(r_.orders.begin(), r_.orders.end(),
                                [](const rec::Order& a, const rec::Order& b) { return a.call == b.call; }),
                    r_.orders.end());
  }

  // For what calls wait of which the profile says nothing: certain where there is one stream or context.
  void infer_orders() {
    std::vector<Index> submitted(r_.threads.size(), kNone);  // by thread: the stream of its last work
    std::vector<Time> end(r_.streams.size(), Time{INT64_MIN / 2});
    std::size_t work = 0, known = 0;
    const std::size_t orders = r_.orders.size();
    for (Index c = 0; c < r_.calls.size(); ++c) {
      const rec::Call& call = r_.calls[c];
      for (; work < r_.works.size() && r_.works[work].call == c; ++work) {
        const rec::Work& w = r_.works[work];
        submitted[call.thread] = w.stream;
        end[w.stream] = std::max(end[w.stream], w.end());
      }
      const bool has_order = known < orders && r_.orders[known].call == c;
      while (known < orders && r_.orders[known].call == c) ++known;
      if (has_order) continue;
      if (r_.kind(call) == CallKind::wait_event && r_.streams.size() > 1) ++unknown_waits_of_streams_;
      if (r_.kind(call) == CallKind::synchronize) infer(c, submitted[call.thread], end);
    }
  }
  void infer(Index c, Index last, const std::vector<Time>& end) {
    const rec::Call& call = r_.calls[c];
    const std::string& name = r_.functions[call.function].name;
    if (name.find("EventSynchronize") != std::string::npos) {
      ++unknown_waits_;
      return order(c, OrderKind::event, kNone);
    }
    const bool of_stream = name.find("StreamSynchronize") != std::string::npos;
    const bool one = of_stream ? r_.streams.size() == 1 : r_.contexts.size() == 1;
    if (one) return order(c, of_stream ? OrderKind::stream : OrderKind::context, 0);
    // Who waits for a stream returns when its work is over.
    if (last == kNone || end[last] > call.end() + Duration{kClockError}) {
      ++unknown_waits_;
      return;
    }
    ++assumed_waits_;
    order(c, of_stream ? OrderKind::stream : OrderKind::context, of_stream ? last : r_.streams[last].context);
  }

  // --- The rest

  void add_rest() {
    for (const Range& range : p_.ranges) {
      if (!is_mine(range.thread)) continue;
      Index& name = range_names_[range.name];
      if (name == kNone) {
        name = static_cast<Index>(r_.range_names.size());
        r_.range_names.push_back(p_.range_names[range.name]);
      }
      std::optional<Duration> length;
      if (range.end) length = Duration{*range.end - range.begin};
      r_.ranges.push_back({name, thread(range.thread), at(range.begin), length});
    }
    std::stable_sort(r_.ranges.begin(), r_.ranges.end(),
                     [](const rec::Range& a, const rec::Range& b) { return a.begin < b.begin; });
    for (const MemoryChange& m : p_.memory)
      if (m.process == process_) r_.memory.push_back({at(m.at), gpu(m.gpu), 0, m.kind, m.bytes});
    std::stable_sort(r_.memory.begin(), r_.memory.end(),
                     [](const rec::MemoryChange& a, const rec::MemoryChange& b) { return a.at < b.at; });
  }

  // What concerns one stream: its works, what waits for it or for its context, and who waits in it.
  void keep(const Submitter::OfStream& wanted) {
    const auto in = contexts_.find(wanted.context);
    const auto found = in != contexts_.end() ? streams_.find({in->second, wanted.number}) : streams_.end();
    const Index kept = found != streams_.end() ? found->second : kNone;
    const Index kept_context = kept != kNone ? r_.streams[kept].context : kNone;
    const auto is_elsewhere = [&](const rec::Order& o) {
      if (o.kind == OrderKind::event) return false;
      return o.place != (o.kind == OrderKind::context ? kept_context : kept);
    };
    std::vector<bool> keeps(r_.calls.size());
    for (const rec::Work& w : r_.works)
      if (w.stream == kept) keeps[w.call] = true;
    for (const rec::Order& o : r_.orders) {
      const bool of_other_event = o.kind == OrderKind::event && (o.recorded == kNone || !keeps[o.recorded]);
      if (!is_elsewhere(o) && !of_other_event) keeps[o.call] = true;
    }
    std::vector<Index> places(r_.calls.size(), kNone);
    Index next = 0;
    for (Index c = 0; c < r_.calls.size(); ++c)
      if (keeps[c]) places[c] = next++;
    std::erase_if(r_.works, [&](const rec::Work& w) { return w.stream != kept; });
    std::erase_if(r_.orders, [&](const rec::Order& o) {
      const bool unknown = o.recorded != kNone && places[o.recorded] == kNone;
      return places[o.call] == kNone || is_elsewhere(o) || (unknown && o.kind == OrderKind::wait_event);
    });
    for (rec::Work& w : r_.works) {
      w.call = places[w.call];
      w.stream = 0;
    }
    for (rec::Order& o : r_.orders) {
      o.call = places[o.call];
      if (o.place != kNone) o.place = 0;
      if (o.recorded != kNone) o.recorded = places[o.recorded];
    }
    for (Index c = 0; c < r_.calls.size(); ++c)
      if (keeps[c]) r_.calls[places[c]] = r_.calls[c];
    r_.calls.resize(next);
    for (Index& of : streams_of_works_)
      if (of != kept) of = kNone;
    if (kept == kNone) return;
    r_.streams = {r_.streams[kept]};
    r_.contexts = {r_.contexts[kept_context]};
    r_.streams[0].context = 0;
  }

  // Works of others on the same GPU at the same time: they may have taken longer for it.
  void mark_beside() {
    std::vector<std::vector<Interval>> others(p_.gpus.size());
    for (Index w = 0; w < p_.works.size(); ++w)
      if (streams_of_works_[w] == kNone)
        others[p_.works[w].gpu].emplace_back(p_.works[w].begin, p_.works[w].end);
    std::vector<std::vector<Interval>> here(r_.gpus.size());
    for (Index g = 0; g < others.size(); ++g)
      if (gpus_[g] != kNone) here[gpus_[g]] = united(std::move(others[g]));
    Duration all, beside;
    for (Index w = 0; w < r_.works.size(); ++w) {
      const rec::Work& work = r_.works[w];
      all += work.length;
      const std::int64_t begin = work.begin.ns + origin_;
      if (!meets(here[r_.contexts[r_.streams[work.stream].context].gpu], begin, begin + work.length.ns))
        continue;
      r_.beside.push_back(w);
      beside += work.length;
    }
    if (!r_.beside.empty())
      trouble(fmt::format(
          "{:.3g} % of its time on the GPU was beside other work there, so alone it may be shorter",
          100 * static_cast<double>(beside.ns) / static_cast<double>(std::max<std::int64_t>(1, all.ns))));
  }

  void describe() {
    const rec::About& known = p_.about;
    rec::About& about = r_.about;
    about.command = p_.processes[process_].command;
    about.source = p_.source;
    about.lost += p_.lost;
    about.cupti = known.cupti;
    about.driver = known.driver;
    about.cpu = known.cpu;
    about.cores = known.cores;
    about.system = known.system;
    if (assumed_waits_ > 0)
      trouble("for what " + count_of(assumed_waits_, "call waits", "calls wait") +
              " is not said: the stream is taken to which its thread submitted last");
    if (unknown_waits_ > 0)
      trouble(count_of(unknown_waits_, "call waits", "calls wait") +
              " for something that the profile does not name: it counts as the host's time");
    if (unknown_waits_of_streams_ > 0)
      trouble(count_of(unknown_waits_of_streams_, "wait", "waits") +
              " of streams for events that the profile does not name are left out");
  }
  void trouble(const std::string& what) { r_.about.trouble += (r_.about.trouble.empty() ? "" : "; ") + what; }

  const Profile& p_;
  Index process_;
  const std::string& file_;
  rec::Recording r_;
  std::int64_t origin_ = 0;
  // Rows here, by the profile's.
  std::vector<Index> threads_, gpus_, functions_, launches_, range_names_;
  std::vector<Index> streams_of_works_;  // kNone: not of this client
  std::vector<bool> asynchronous_;       // by function
  std::map<std::uint32_t, Index> contexts_;
  std::map<std::pair<Index, std::uint32_t>, Index> streams_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, rec::Stream> facts_;
  std::unordered_map<std::uint32_t, Index> by_correlation_;
  DistinctRows<rec::Transfer, std::array<std::int64_t, 4>> transfers_{r_.transfers};
  std::map<GraphKey, Index> graphs_;
  std::vector<std::map<std::uint64_t, Samples>> nodes_;  // by graph, by node
  std::int64_t assumed_waits_ = 0, unknown_waits_ = 0, unknown_waits_of_streams_ = 0;
};

}  // namespace

void settle_processes(Profile& p) {
  std::vector<bool> calls(p.processes.size());
  for (const Call& c : p.calls) calls[p.threads[c.thread].process] = true;
  const auto only = std::count(calls.begin(), calls.end(), true) == 1
                        ? static_cast<Index>(std::find(calls.begin(), calls.end(), true) - calls.begin())
                        : kNone;
  const auto open = [](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.process == kNone; });
  };
  std::unordered_map<std::uint32_t, Index> by_correlation;  // kNone: of several
  if (only == kNone && (open(p.works) || open(p.waits) || open(p.events)))
    for (const Call& c : p.calls) {
      const Index process = p.threads[c.thread].process;
      const auto [known, is_new] = by_correlation.try_emplace(c.correlation, process);
      if (!is_new && known->second != process) known->second = kNone;
    }
  const auto settle = [&](auto& rows) {
    for (auto& row : rows) {
      if (row.process != kNone) continue;
      row.process = only;
      if (const auto known = by_correlation.find(row.correlation); known != by_correlation.end())
        row.process = known->second;
    }
  };
  settle(p.works);
  settle(p.waits);
  settle(p.events);
}

std::vector<Submitter> submitters(const Profile& p) {
  struct Submission {
    bool graph = false;
    const Work* first = nullptr;  // of a graph: its nodes are no submissions
  };
  std::vector<std::unordered_map<std::uint32_t, Submission>> calls(p.processes.size());
  for (const Call& c : p.calls)
    if (c.correlation != 0)
      calls[p.threads[c.thread].process].try_emplace(
          c.correlation, Submission{p.functions[c.function].kind == CallKind::graph, nullptr});
  std::map<Index, std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>> found;
  for (const Work& w : p.works) {
    if (w.process == kNone) continue;
    const auto call = calls[w.process].find(w.correlation);
    if (call == calls[w.process].end()) continue;
    const Work*& first = call->second.first;
    if (!call->second.graph)
      ++found[w.process][{w.context, w.stream}];
    else if (first == nullptr || w.begin < first->begin)
      first = &w;
  }
  for (const auto& of_process : calls)
    for (const auto& [correlation, call] : of_process)
      if (call.first != nullptr) ++found[call.first->process][{call.first->context, call.first->stream}];
  std::vector<Submitter> out;
  for (const auto& [process, streams] : found) {
    Submitter& s = out.emplace_back();
    s.process = process;
    for (const auto& [stream, count] : streams) {
      s.submissions += count;
      s.streams.push_back({stream.first, stream.second, count});
    }
  }
  return out;
}

rec::Recording record_client(const Profile& profile, Index process,
                             const std::optional<Submitter::OfStream>& stream, const std::string& file) {
  return ClientRecorder(profile, process, file).record(stream);
}

}  // namespace gangway::profile
