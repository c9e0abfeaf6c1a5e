#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "models/database.hpp"
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/schema.hpp"

namespace gangway::recording {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstBytes("SQLite format 3\0", 16);
constexpr std::size_t kHead = 100;  // of an SQLite file

[[noreturn]] void refuse(const std::string& file, const std::string& found, const std::string& expected) {
  throw InputError({file, 0}, "recording", found, expected);
}

// The first bytes; of a compressed file, those of what it holds.
std::string head_of(const fs::path& file) {
  std::string head(kHead, '\0');
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> in(gzopen(file.c_str(), "rb"), gzclose_r);
  const int read = in ? gzread(in.get(), head.data(), kHead) : 0;
  head.resize(static_cast<std::size_t>(std::max(read, 0)));
  return head;
}

bool is_compressed(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return in.get() == 0x1f && in.get() == 0x8b;
}

// All that a compressed file holds.
std::string inflated(const fs::path& file) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose_r)> in(gzopen(file.c_str(), "rb"), gzclose_r);
  std::string content;
  for (std::string chunk(1 << 20, '\0'); in;) {
    const int read = gzread(in.get(), chunk.data(), static_cast<unsigned>(chunk.size()));
    int code = Z_OK;
    gzerror(in.get(), &code);
    if (read < 0 || code != Z_OK)
      refuse(file.string(), "truncated or damaged compressed data", "a whole file");
    if (read == 0) break;
    content.append(chunk, 0, static_cast<std::size_t>(read));
  }
  return content;
}

std::uint64_t big_endian(const std::string& head, std::size_t from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(head[from + i]);
  return value;
}

// SQLite opens a file that was cut off between two pages, and fails when it misses one.
void check_size(const std::string& name, const std::string& head, std::uintmax_t size) {
  if (head.size() >= kFirstBytes.size() && !head.starts_with(kFirstBytes))
    refuse(name, "another kind of file", "a recording");
  if (head.size() < kHead) refuse(name, fmt::format("a file of {} bytes", size), "a recording");
  const std::uint64_t stored = big_endian(head, 16, 2);
  const std::uint64_t whole = (stored == 1 ? 65'536 : stored) * big_endian(head, 28, 4);
  if (size != whole)
    refuse(name, fmt::format("{} bytes", size), fmt::format("{}; it is truncated or damaged", whole));
  if (big_endian(head, 68, 4) != static_cast<std::uint32_t>(kApplication))
    refuse(name, "another SQLite database", "a recording");
  const std::uint64_t version = big_endian(head, 60, 4);
  if (version != static_cast<std::uint64_t>(kVersion))
    refuse(name, fmt::format("version {} of recordings", version),
           fmt::format("{}, which this Gangway reads", kVersion));
}

Database open(const fs::path& file) {
  const std::string name = file.string();
  const auto damaged = [name](const std::string& reason) {
    refuse(name, quote(reason), "an undamaged recording");
  };
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(file, failed);
  if (failed) refuse(name, failed.message(), "a file that can be read");
  if (is_compressed(file)) {
    std::string content = inflated(file);
    check_size(name, content.substr(0, kHead), content.size());
    return Database(std::move(content), damaged);
  }
  check_size(name, head_of(file), size);
  return Database(file, Database::Mode::read, damaged);
}

// The rows of one table, in the order of their ids. Every value is checked for its type.
class Rows {
 public:
  Rows(Database& database, const std::string& file, const std::string& table, const std::string& columns)
      : file_(file),
        table_(table),
        select_(database, "SELECT " + columns + " FROM " + table + " ORDER BY 1") {}

  bool next() {
    column_ = 0;
    ++row_;
    return select_.step();
  }
  // Those of tables whose ids are counted from 0.
  bool next_counted() {
    if (!next()) return false;
    if (number() != row_ - 1) bad("ids not counted from 0");
    return true;
  }
  std::int64_t number() {
    if (!select_.is_integer(column_)) bad("a value that is not a whole number");
    return select_.integer(column_++);
  }
  template <typename Value>
  Value number_as() {
    const std::int64_t value = number();
    if (value < 0 || static_cast<std::uint64_t>(value) > std::numeric_limits<Value>::max())
      bad(fmt::format("the value {}", value));
    return static_cast<Value>(value);
  }
  std::int32_t small_number() {
    const std::int64_t value = number();
    if (value < INT32_MIN || value > INT32_MAX) bad(fmt::format("the value {}", value));
    return static_cast<std::int32_t>(value);
  }
  Index index() { return number_as<std::uint32_t>(); }
  Index index_or_none() {
    if (!select_.is_null(column_)) return index();
    ++column_;
    return kNone;
  }
  template <typename Kind>
  Kind kind(std::uint8_t count) {
    const std::int64_t value = number();
    if (value < 0 || value >= count) bad(fmt::format("the kind {}", value));
    return static_cast<Kind>(value);
  }
  bool truth() { return kind<std::uint8_t>(2) == 1; }
  std::optional<std::int64_t> number_or_none() {
    if (!select_.is_null(column_)) return number();
    ++column_;
    return std::nullopt;
  }
  std::string text() {
    if (!select_.is_text(column_)) bad("a value that is no text");
    return std::string(select_.text(column_++));
  }
  std::vector<std::string> words() {
    const auto json = nlohmann::json::parse(text(), nullptr, false);
    std::vector<std::string> command;
    if (!json.is_array()) bad("a command that is no list");
    for (const auto& word : json) {
      if (!word.is_string()) bad("a command that is not a list of words");
      command.push_back(word.get<std::string>());
    }
    return command;
  }
  [[noreturn]] void bad(const std::string& what) {
    refuse(file_, fmt::format("table {}, row {}: {}", table_, row_ - 1, what), "an undamaged recording");
  }

 private:
  const std::string& file_;
  std::string table_;
  Statement select_;
  int column_ = 0;
  std::int64_t row_ = 0;
};

class Reader {
 public:
  explicit Reader(const fs::path& file) : file_(file.string()), database_(open(file)) {}

  Recording read(Extent extent) {
    about();
    machine();
    shapes();
    rest();
    if (extent == Extent::everything) calls();
    return std::move(r_);
  }
  Origins origins() {
    gpus();
    Statement select(database_, "SELECT min(gpu) FROM contexts");
    const std::int64_t used = select.step() && select.is_integer(0) ? select.integer(0) : -1;
    if (used < 0 || static_cast<std::size_t>(used) >= r_.gpus.size())
      refuse(file_, "no GPU", "an undamaged recording");
    Statement about(database_, "SELECT value FROM about WHERE key = 'unrecorded'");
    std::map<std::string, std::int64_t> numbers;
    if (about.step() && about.is_integer(0)) numbers["unrecorded"] = about.integer(0);
    return {r_.gpus[static_cast<std::size_t>(used)], has_table("beside") && any("beside"),
            unrecorded(numbers)};
  }

 private:
  Rows rows(const std::string& table, const std::string& columns) {
    return Rows(database_, file_, table, columns);
  }

  Duration unrecorded(const std::map<std::string, std::int64_t>& numbers) const {
    const auto found = numbers.find("unrecorded");
    if (found == numbers.end()) return {};
    if (found->second <= 0)
      refuse(file_, "table about: unrecorded is " + std::to_string(found->second), "a time");
    return Duration{found->second};
  }

  void about() {
    About& a = r_.about;
    std::map<std::string, std::string> texts;
    std::map<std::string, std::int64_t> numbers;
    Statement select(database_, "SELECT key, value FROM about");
    while (select.step()) {
      const std::string key(select.text(0));
      if (select.is_integer(1))
        numbers[key] = select.integer(1);
      else
        texts[key] = std::string(select.text(1));
    }
    const auto need = [&](const auto& values, const char* key) {
      const auto found = values.find(key);
      if (found == values.end()) refuse(file_, fmt::format("table about without {}", key), "a recording");
      return found->second;
    };
    const auto command = nlohmann::json::parse(need(texts, "command"), nullptr, false);
    if (!command.is_array()) refuse(file_, "table about: a command that is not a list", "a recording");
    for (const auto& word : command) {
      if (!word.is_string())
        refuse(file_, "table about: a command that is not a list of words", "a recording");
      a.command.push_back(word.get<std::string>());
    }
    a.origin = need(numbers, "origin");
    a.length = Duration{need(numbers, "length")};
    const std::string ending = need(texts, "ending");
    if (ending != "exited" && ending != "killed")
      refuse(file_, "table about: ending " + quote(ending), "exited or killed");
    a.ending = ending == "exited" ? Ending::exited : Ending::killed;
    a.code = static_cast<int>(need(numbers, "code"));
    a.jobs = need(texts, "jobs");
    a.skip = static_cast<std::uint32_t>(need(numbers, "skip"));
    a.lost = need(numbers, "lost");
    a.gangway = need(texts, "gangway");
    a.cupti = need(texts, "cupti");
    a.driver = need(texts, "driver");
    a.cpu = need(texts, "cpu");
    a.cores = static_cast<std::uint32_t>(need(numbers, "cores"));
    a.system = need(texts, "system");
    a.trouble = need(texts, "trouble");
    a.unrecorded = unrecorded(numbers);
    if (const auto source = texts.find("source"); source != texts.end()) a.source = source->second;
  }

  void gpus() {
    for (Rows t = rows("gpus", "id, name, sms, major, minor, clock_khz, copy_engines, memory, l2");
         t.next_counted();) {
      Gpu& g = r_.gpus.emplace_back();
      g.name = t.text();
      for (std::uint32_t* value : {&g.sms, &g.major, &g.minor, &g.clock_khz, &g.copy_engines})
        *value = t.number_as<std::uint32_t>();
      g.memory = Bytes{t.number()};
      g.l2 = Bytes{t.number()};
    }
  }

  void machine() {
    gpus();
    for (Rows t = rows("processes", "id, pid, parent, command, began, finished"); t.next_counted();) {
      Process& p = r_.processes.emplace_back();
      p.pid = t.number_as<std::uint32_t>();
      p.parent = t.number_as<std::uint32_t>();
      p.command = t.words();
      p.began = Time{t.number()};
      p.finished = t.truth();
    }
    for (Rows t = rows("threads", "id, process, tid, name"); t.next_counted();) {
      Thread& thread = r_.threads.emplace_back();
      thread.process = t.index();
      thread.tid = t.number_as<std::uint32_t>();
      thread.name = t.text();
    }
    for (Rows t = rows("contexts", "id, process, gpu, number"); t.next_counted();) {
      Context& c = r_.contexts.emplace_back();
      c.process = t.index();
      c.gpu = t.index();
      c.number = t.number_as<std::uint32_t>();
    }
    for (Rows t = rows("streams", "id, context, number, kind, priority"); t.next_counted();) {
      Stream& s = r_.streams.emplace_back();
      s.context = t.index();
      s.number = t.number_as<std::uint32_t>();
      s.kind = t.kind<StreamKind>(3);
      s.priority = t.small_number();
    }
    for (Rows t = rows("functions", "id, name, kind"); t.next_counted();) {
      Function& f = r_.functions.emplace_back();
      f.name = t.text();
      f.kind = t.kind<CallKind>(kCallKinds);
    }
  }

  void shapes() {
    std::vector<std::string> kernels;
    for (Rows t = rows("kernels", "id, name"); t.next_counted();) kernels.push_back(t.text());
    for (Rows t = rows("launches",
                       "id, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, "
                       "cluster_z, registers, static_shared, dynamic_shared, local, cooperative");
         t.next_counted();) {
      Launch& l = r_.launches.emplace_back();
      const Index kernel = t.index();
      if (kernel >= kernels.size()) t.bad("a missing kernel");
      l.kernel = kernels[kernel];
      for (Dim* dim : {&l.grid, &l.block, &l.cluster})
        for (std::uint32_t* value : {&dim->x, &dim->y, &dim->z}) *value = t.number_as<std::uint32_t>();
      l.registers = t.number_as<std::uint32_t>();
      for (Bytes* value : {&l.static_shared, &l.dynamic_shared, &l.local}) *value = Bytes{t.number()};
      l.cooperative = t.truth();
    }
    for (Rows t = rows("transfers", "id, bytes, \"from\", \"to\", asynchronous"); t.next_counted();) {
      Transfer& transfer = r_.transfers.emplace_back();
      transfer.bytes = Bytes{t.number()};
      transfer.from = t.kind<MemoryKind>(kMemoryKinds);
      transfer.to = t.kind<MemoryKind>(kMemoryKinds);
      transfer.asynchronous = t.truth();
    }
    for (Rows t = rows("graphs", "id, process, number"); t.next_counted();) {
      const Index process = t.index();
      r_.graphs.push_back({process, t.number_as<std::uint32_t>()});
    }
    for (Rows t = rows("nodes", "id, graph, kind, shape, lane, after, length, launches"); t.next_counted();) {
      GraphNode& n = r_.nodes.emplace_back();
      n.graph = t.index();
      n.kind = t.kind<WorkKind>(kWorkKinds);
      n.shape = t.index();
      n.lane = t.number_as<std::uint32_t>();
      n.after = Duration{t.number()};
      n.length = Duration{t.number()};
      n.launches = t.number_as<std::uint32_t>();
    }
  }

  void rest() {
    for (Rows t = rows("range_names", "id, domain, name"); t.next_counted();) {
      RangeName& n = r_.range_names.emplace_back();
      n.domain = t.text();
      n.name = t.text();
    }
    for (Rows t = rows("ranges", "id, name, thread, \"begin\", length"); t.next_counted();) {
      Range& range = r_.ranges.emplace_back();
      range.name = t.index();
      range.thread = t.index();
      range.begin = Time{t.number()};
      if (const auto length = t.number_or_none()) range.length = Duration{*length};
    }
    for (Rows t = rows("memory", "id, at, gpu, process, kind, bytes"); t.next_counted();) {
      MemoryChange& m = r_.memory.emplace_back();
      m.at = Time{t.number()};
      m.gpu = t.index();
      m.process = t.index();
      m.kind = t.kind<MemoryKind>(kMemoryKinds);
      m.bytes = t.number();
    }
    for (Rows t = rows("jobs", "id, kind, thread, \"begin\", length, warm_up"); t.next_counted();) {
      Job& job = r_.jobs.emplace_back();
      job.kind = t.kind<JobKind>(kJobKinds);
      job.thread = t.index_or_none();
      job.begin = Time{t.number()};
      job.length = Duration{t.number()};
      job.warm_up = t.truth();
    }
  }

  // Sums of what the file says, where they may leave the numbers' range.
  static Time later(Rows& t, Time time, std::int64_t ns) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(time.ns, ns, &sum)) t.bad("a time that is too long");
    return Time{sum};
  }

  void calls() {
    std::vector<Time> returned(r_.threads.size());
    for (Rows t = rows("calls", "id, thread, function, gap, length, result, job"); t.next_counted();) {
      Call& c = r_.calls.emplace_back();
      c.thread = t.index();
      if (c.thread >= returned.size()) t.bad("a missing thread");
      c.function = t.index();
      c.begin = later(t, returned[c.thread], t.number());
      c.length = Duration{t.number()};
      returned[c.thread] = later(t, c.begin, c.length.ns);
      c.result = t.small_number();
      c.job = t.index_or_none();
    }
    for (Rows t = rows("works", "id, call, stream, kind, shape, after, length"); t.next_counted();) {
      Work& w = r_.works.emplace_back();
      w.call = t.index();
      if (w.call >= r_.calls.size()) t.bad("a call that is not there");
      w.stream = t.index();
      w.kind = t.kind<WorkKind>(kWorkKinds);
      w.shape = t.index();
      w.begin = later(t, r_.calls[w.call].begin, t.number());
      w.length = Duration{t.number()};
      later(t, w.begin, w.length.ns);
    }
    for (Rows t = rows("orders", "call, kind, place, recorded"); t.next();) {
      Order& o = r_.orders.emplace_back();
      o.call = t.index();
      o.kind = t.kind<OrderKind>(kOrderKinds);
      o.place = t.index_or_none();
      o.recorded = t.index_or_none();
    }
    if (!has_table("beside")) return;  // it came later
    for (Rows t = rows("beside", "work"); t.next();) r_.beside.push_back(t.index());
  }

  bool any(const std::string& table) {
    Statement select(database_, "SELECT 1 FROM " + table + " LIMIT 1");
    return select.step();
  }
  bool has_table(const char* name) {
    Statement select(database_, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
    return select.bind(std::string_view(name)).step();
  }

  std::string file_;
  Database database_;
  Recording r_;
};

}  // namespace

bool is_recording(const fs::path& file) {
  std::error_code failed;
  return fs::is_regular_file(file, failed) && head_of(file).starts_with(kFirstBytes);
}

Recording read_recording(const fs::path& file, Extent extent) {
  Recording recording = Reader(file).read(extent);
  check_recording(recording, file.string());
  return recording;
}

Origins origins_of_recording(const fs::path& file) { return Reader(file).origins(); }

}  // namespace gangway::recording
