#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "models/database.hpp"
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/schema.hpp"

namespace gangway::recording {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& why) {
  throw RunError("cannot write " + file.string() + ": " + why);
}

// A file beside the one it will be; gone with this object unless it was moved there.
class Unfinished {
 public:
  explicit Unfinished(const fs::path& file)
      : file_(file), path_(file.string() + ".tmp" + std::to_string(getpid())) {
    const int made = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (made < 0) fail(file, std::strerror(errno));
    ::close(made);
  }
  ~Unfinished() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const fs::path& path() const { return path_; }
  void finish(bool replace) {
    const int failed = replace ? rename(path_.c_str(), file_.c_str()) : link(path_.c_str(), file_.c_str());
    if (failed != 0) fail(file_, std::strerror(errno));
  }

 private:
  fs::path file_, path_;
};

// Rows of one table, numbered from 0.
class Table {
 public:
  Table(Database& database, const std::string& name, int columns)
      : insert_(database, "INSERT INTO " + name + " VALUES(?" + repeated(columns) + ")") {}

  template <typename... Values>
  void row(const Values&... values) {
    insert_.bind(next_++);
    (put(values), ...);
    insert_.go();
  }
  // Of a table whose key is not just counted.
  template <typename... Values>
  void keyed(const Values&... values) {
    (put(values), ...);
    insert_.go();
  }

 private:
  static std::string repeated(int columns) {
    std::string text;
    for (int i = 0; i < columns; ++i) text += ",?";
    return text;
  }
  void put(const std::string& text) { insert_.bind(std::string_view(text)); }
  void put(std::int64_t number) { insert_.bind(number); }
  void put(const std::optional<std::int64_t>& number) {
    if (number)
      insert_.bind(*number);
    else
      insert_.bind_null();
  }

  Statement insert_;
  std::int64_t next_ = 0;
};

std::int64_t number(auto value) { return static_cast<std::int64_t>(value); }
std::optional<std::int64_t> reference(Index index) {
  if (index == kNone) return std::nullopt;
  return index;
}
std::string words(const std::vector<std::string>& command) {
  return nlohmann::json(command).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string random_identity() {
  std::random_device device;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    char part[9];
    std::snprintf(part, sizeof part, "%08x", device());
    text += part;
  }
  return text;
}

void put_about(Database& database, const About& about) {
  Table table(database, "about", 1);
  table.keyed(std::string("identity"), random_identity());
  table.keyed(std::string("command"), words(about.command));
  table.keyed(std::string("origin"), about.origin);
  table.keyed(std::string("length"), about.length.ns);
  table.keyed(std::string("ending"), std::string(about.ending == Ending::exited ? "exited" : "killed"));
  table.keyed(std::string("code"), number(about.code));
  table.keyed(std::string("jobs"), about.jobs);
  table.keyed(std::string("skip"), number(about.skip));
  table.keyed(std::string("lost"), about.lost);
  table.keyed(std::string("gangway"), about.gangway);
  table.keyed(std::string("cupti"), about.cupti);
  table.keyed(std::string("driver"), about.driver);
  table.keyed(std::string("cpu"), about.cpu);
  table.keyed(std::string("cores"), number(about.cores));
  table.keyed(std::string("system"), about.system);
  table.keyed(std::string("trouble"), about.trouble);
  if (about.unrecorded > Duration{}) table.keyed(std::string("unrecorded"), about.unrecorded.ns);
  if (!about.source.empty()) table.keyed(std::string("source"), about.source);
}

void put_machine(Database& database, const Recording& r) {
  Table gpus(database, "gpus", 8);
  for (const Gpu& g : r.gpus)
    gpus.row(g.name, number(g.sms), number(g.major), number(g.minor), number(g.clock_khz),
             number(g.copy_engines), g.memory.count, g.l2.count);
  Table processes(database, "processes", 5);
  for (const Process& p : r.processes)
    processes.row(number(p.pid), number(p.parent), words(p.command), p.began.ns, number(p.finished));
  Table threads(database, "threads", 3);
  for (const Thread& t : r.threads) threads.row(number(t.process), number(t.tid), t.name);
  Table contexts(database, "contexts", 3);
  for (const Context& c : r.contexts) contexts.row(number(c.process), number(c.gpu), number(c.number));
  Table streams(database, "streams", 4);
  for (const Stream& s : r.streams)
    streams.row(number(s.context), number(s.number), number(s.kind), number(s.priority));
  Table functions(database, "functions", 2);
  for (const Function& f : r.functions) functions.row(f.name, number(f.kind));
}

void put_shapes(Database& database, const Recording& r) {
  std::map<std::string, std::int64_t> kernels;
  Table names(database, "kernels", 1);
  Table launches(database, "launches", 15);
  for (const Launch& l : r.launches) {
    const auto [kernel, is_new] = kernels.try_emplace(l.kernel, number(kernels.size()));
    if (is_new) names.row(l.kernel);
    launches.row(kernel->second, number(l.grid.x), number(l.grid.y), number(l.grid.z), number(l.block.x),
                 number(l.block.y), number(l.block.z), number(l.cluster.x), number(l.cluster.y),
                 number(l.cluster.z), number(l.registers), l.static_shared.count, l.dynamic_shared.count,
                 l.local.count, number(l.cooperative));
  }
  Table transfers(database, "transfers", 4);
  for (const Transfer& t : r.transfers)
    transfers.row(t.bytes.count, number(t.from), number(t.to), number(t.asynchronous));
  Table graphs(database, "graphs", 2);
  for (const Graph& g : r.graphs) graphs.row(number(g.process), number(g.number));
  Table nodes(database, "nodes", 7);
  for (const GraphNode& n : r.nodes)
    nodes.row(number(n.graph), number(n.kind), number(n.shape), number(n.lane), n.after.ns, n.length.ns,
              number(n.launches));
}

void put_calls(Database& database, const Recording& r) {
  Table calls(database, "calls", 6);
  std::vector<Time> returned(r.threads.size());
  for (const Call& c : r.calls) {
    calls.row(number(c.thread), number(c.function), (c.begin - returned[c.thread]).ns, c.length.ns,
              number(c.result), reference(c.job));
    returned[c.thread] = c.end();
  }
  Table works(database, "works", 6);
  for (const Work& w : r.works)
    works.row(number(w.call), number(w.stream), number(w.kind), number(w.shape),
              (w.begin - r.calls[w.call].begin).ns, w.length.ns);
  Table orders(database, "orders", 3);
  for (const Order& o : r.orders)
    orders.keyed(number(o.call), number(o.kind), reference(o.place), reference(o.recorded));
  Table beside(database, "beside", 0);
  for (const Index work : r.beside) beside.keyed(number(work));
}

void put_rest(Database& database, const Recording& r) {
  Table names(database, "range_names", 2);
  for (const RangeName& n : r.range_names) names.row(n.domain, n.name);
  Table ranges(database, "ranges", 4);
  for (const Range& range : r.ranges)
    ranges.row(number(range.name), number(range.thread), range.begin.ns,
               range.length ? std::optional(range.length->ns) : std::nullopt);
  Table memory(database, "memory", 5);
  for (const MemoryChange& m : r.memory)
    memory.row(m.at.ns, number(m.gpu), number(m.process), number(m.kind), m.bytes);
  Table jobs(database, "jobs", 5);
  for (const Job& j : r.jobs)
    jobs.row(number(j.kind), reference(j.thread), j.begin.ns, j.length.ns, number(j.warm_up));
}

}  // namespace

void write_recording(const Recording& recording, const fs::path& file, bool replace) {
  check_recording(recording, file.string());
  Unfinished unfinished(file);
  Database database(unfinished.path(), Database::Mode::write,
                    [&](const std::string& why) { fail(file, why); });
  // Nobody sees it before it is whole.
  database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;");
  database.run(("PRAGMA application_id=" + std::to_string(kApplication) +
                "; PRAGMA user_version=" + std::to_string(kVersion))
                   .c_str());
  database.run("BEGIN");
  database.run(kSchema);
  put_about(database, recording.about);
  put_machine(database, recording);
  put_shapes(database, recording);
  put_calls(database, recording);
  put_rest(database, recording);
  database.run("COMMIT");
  database.close();
  unfinished.finish(replace);
}

}  // namespace gangway::recording
