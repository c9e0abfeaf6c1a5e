#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/error.hpp"
#include "models/recording/file.hpp"

namespace gangway::recording {
namespace {

constexpr std::uint32_t kMostThreads = 1024;  // of a block

// What every table refers to, and the order of its rows.
class Checker {
 public:
  Checker(const Recording& recording, const std::string& file) : r_(recording), file_(file) {}

  void check() {
    each("threads", r_.threads, [&](const Thread& t) { there(t.process, r_.processes); });
    each("contexts", r_.contexts, [&](const Context& c) {
      there(c.process, r_.processes);
      there(c.gpu, r_.gpus);
    });
    each("streams", r_.streams, [&](const Stream& s) { there(s.context, r_.contexts); });
    each("launches", r_.launches, [&](const Launch& l) {
      ok(l.static_shared.count >= 0 && l.dynamic_shared.count >= 0 && l.local.count >= 0, "a negative size");
      ok(std::min({l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z}) > 0,
         "an empty grid or block");
      ok(l.grid.x <= INT32_MAX && std::max(l.grid.y, l.grid.z) <= UINT16_MAX, "a grid that no GPU takes");
      ok(std::max({l.block.x, l.block.y, l.block.z}) <= kMostThreads &&
             l.block.x * l.block.y * l.block.z <= kMostThreads,
         "a block that no GPU takes");
    });
    each("transfers", r_.transfers, [&](const Transfer& t) { ok(t.bytes.count >= 0, "a negative size"); });
    each("graphs", r_.graphs, [&](const Graph& g) { there(g.process, r_.processes); });
    Index graph = 0;
    each("nodes", r_.nodes, [&](const GraphNode& n) {
      there(n.graph, r_.graphs);
      ok(n.kind != WorkKind::graph, "a graph in a graph");
      shape(n.kind, n.shape);
      positive(n.after);
      positive(n.length);
      ok(n.graph >= graph, "an order of its own");
      graph = n.graph;
    });
    Time last{INT64_MIN};
    const auto in_order = [&](Time time) {
      ok(time >= last, "a time before the previous row's");
      last = time;
    };
    each("ranges", r_.ranges, [&](const Range& range) {
      there(range.name, r_.range_names);
      there(range.thread, r_.threads);
      if (range.length) positive(*range.length);
      in_order(range.begin);
    });
    last = Time{INT64_MIN};
    each("memory", r_.memory, [&](const MemoryChange& m) {
      there(m.gpu, r_.gpus);
      there(m.process, r_.processes);
      in_order(m.at);
    });
    last = Time{INT64_MIN};
    each("jobs", r_.jobs, [&](const Job& job) {
      if (job.thread != kNone) there(job.thread, r_.threads);
      positive(job.length);
      in_order(job.begin);
      ok(job.warm_up == (row_ < r_.about.skip), "a warm-up other than the first jobs");
    });
    last = Time{INT64_MIN};
    std::vector<Time> returned(r_.threads.size(), Time{INT64_MIN});
    each("calls", r_.calls, [&](const Call& c) {
      there(c.thread, r_.threads);
      there(c.function, r_.functions);
      if (c.job != kNone) there(c.job, r_.jobs);
      positive(c.length);
      in_order(c.begin);
      ok(c.begin >= returned[c.thread], "a call inside another");
      returned[c.thread] = c.end();
    });
    Index call = 0;
    each("works", r_.works, [&](const Work& w) {
      there(w.call, r_.calls);
      there(w.stream, r_.streams);
      shape(w.kind, w.shape);
      positive(w.length);
      ok(w.call >= call, "an order of its own");
      call = w.call;
    });
    Index beside = 0;
    each("beside", r_.beside, [&](const Index& work) {
      there(work, r_.works);
      ok(row_ == 0 || work > beside, "an order of its own");
      beside = work;
    });
    call = kNone;
    each("orders", r_.orders, [&](const Order& o) {
      there(o.call, r_.calls);
      ok(call == kNone || o.call > call, "an order of its own");
      call = o.call;
      if (o.recorded != kNone) {
        there(o.recorded, r_.calls);
        ok(o.recorded < o.call, "an event recorded later");
      }
      if (o.kind == OrderKind::context)
        there(o.place, r_.contexts);
      else if (o.kind != OrderKind::event)
        there(o.place, r_.streams);
    });
  }

 private:
  template <typename Row, typename Check>
  void each(const char* table, const std::vector<Row>& rows, Check check_row) {
    table_ = table;
    ok(rows.size() < kNone, "too many rows");
    for (row_ = 0; row_ < rows.size(); ++row_) check_row(rows[row_]);
  }
  template <typename Row>
  void there(Index index, const std::vector<Row>& rows) {
    ok(index < rows.size(), "a reference to a missing row");
  }
  void shape(WorkKind kind, Index index) {
    if (kind == WorkKind::kernel)
      there(index, r_.launches);
    else if (kind == WorkKind::graph)
      there(index, r_.graphs);
    else
      there(index, r_.transfers);
  }
  void positive(Duration length) { ok(length.ns >= 0, "a negative length"); }
  void ok(bool fine, const char* problem) {
    if (!fine)
      throw InputError({file_, 0}, "recording", fmt::format("table {}, row {}: {}", table_, row_, problem),
                       "an undamaged recording");
  }

  const Recording& r_;
  const std::string& file_;
  const char* table_ = "";
  std::size_t row_ = 0;
};

}  // namespace

void check_recording(const Recording& recording, const std::string& file) {
  Checker(recording, file).check();
}

}  // namespace gangway::recording
