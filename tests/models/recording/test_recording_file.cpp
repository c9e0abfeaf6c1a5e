// Recordings as files: what is written is read again, and what is not whole is refused in one line.
#include <sys/stat.h>

#include <fstream>

#include "models/database.hpp"
#include "models/error.hpp"
#include "models/random.hpp"
#include "models/recording/file.hpp"
#include "models/recording/jobs.hpp"
#include "models/recording/played_program.hpp"
#include "models/recording/summary.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"

using namespace gangway;
using namespace gangway::recording;
using gangway::testing::MadeRecording;
using gangway::testing::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

MadeRecording something() {
  MadeRecording m;
  const Index s = m.stream(), t = m.stream(StreamKind::null), thread = m.thread();
  m.r.about.lost = 3;
  m.r.about.trouble = "a \"word\", öß";
  m.r.graphs = {{0, 5}};
  m.r.nodes = {{0, WorkKind::kernel, 0, 1, Duration{0}, Duration{7}, 9}};
  m.r.range_names = {{"", "step"}, {"mine", "a name"}};
  m.r.ranges = {{0, 0, Time{3}, Duration{100}}, {1, thread, Time{4}, std::nullopt}};
  m.r.memory = {{Time{1}, 0, 0, MemoryKind::device, 4096}, {Time{9}, 0, 0, MemoryKind::device, -4096}};
  m.kernel(s, 10, 8, 30);  // as clocks have it
  m.kernel(t, 12, 40, 30, thread);
  m.copy(s, 20, 45, 20, {Bytes{1LL << 40}, MemoryKind::pinned, MemoryKind::device, true});
  const Index event = m.record(s, 30);
  m.wait_event(t, event, 31);
  const Index launch = m.call(0, CallKind::graph, 33, 2);
  m.r.works.push_back({launch, s, WorkKind::graph, 0, Time{50}, Duration{500}});
  m.r.works.push_back({launch, t, WorkKind::memset, 0, Time{60}, Duration{1}});
  m.wait(OrderKind::event, event, 36, 10);
  m.wait(OrderKind::context, 0, 50, 1'000'000'000'000);
  m.r.calls.back().result = -7;
  m.r.beside = {1, 3};
  m.r.about.source = "a profiler";
  cut_jobs(m.r, {});
  return m;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_bytes(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// The tables of a file as text, whoever wrote it.
std::string dump(const fs::path& file) {
  Database database(file, Database::Mode::read,
                    [](const std::string& why) { throw std::runtime_error(why); });
  std::string out;
  for (const char* table :
       {"about",   "gpus",     "processes", "threads", "contexts", "streams",     "functions",
        "kernels", "launches", "transfers", "graphs",  "nodes",    "range_names", "ranges",
        "calls",   "works",    "orders",    "beside",  "memory",   "jobs"}) {
    Statement columns(database,
                      std::string("SELECT group_concat('quote(\"' || name || '\")', ' || '','' || ') "
                                  "FROM pragma_table_info('") +
                          table + "')");
    columns.step();
    Statement rows(database, "SELECT " + std::string(columns.text(0)) + " FROM " + table +
                                 (std::string(table) == "about" ? " WHERE key != 'identity'" : ""));
    while (rows.step()) out += std::string(table) + ": " + std::string(rows.text(0)) + '\n';
  }
  return out;
}

std::string refusal(const fs::path& file) {
  try {
    read_recording(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("what is written is read again") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec", again = folder.path / "b.rec";
  write_recording(something().r, file, false);
  const Recording read = read_recording(file);
  CHECK(read.about.trouble == "a \"word\", öß");
  CHECK(read.calls.back().end() == Time{1'000'000'000'050});
  CHECK(read.works[0].begin == Time{8});
  CHECK(read.jobs.size() == 1);
  write_recording(read, again, false);
  CHECK(dump(file) == dump(again));
  CHECK(read_recording(file, Extent::tables).calls.empty());
  CHECK(bytes_of(file) != bytes_of(again));  // each has an identity of its own
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("what ran beside other work is marked, which older files do not do") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec";
  write_recording(something().r, file, false);
  CHECK(read_recording(file).beside == std::vector<Index>{1, 3});
  CHECK(origins_of_recording(file).beside);
  CHECK(origins_of_recording(file).gpu.name == "A GPU");
  {
    Database database(file, Database::Mode::write,
                      [](const std::string& why) { throw std::runtime_error(why); });
    database.run("DROP TABLE beside; DELETE FROM about WHERE key = 'source'; VACUUM");
  }
  CHECK(read_recording(file).beside.empty());
  CHECK(read_recording(file).about.source.empty());
  CHECK_FALSE(origins_of_recording(file).beside);
  MadeRecording wrong = something();
  for (const std::vector<Index>& works :
       {std::vector<Index>{1, 1}, std::vector<Index>{3, 1}, std::vector<Index>{99}}) {
    wrong.r.beside = works;
    CHECK_THROWS_AS(check_recording(wrong.r, "x"), InputError);
  }
}

TEST_CASE("a recording takes another's place only if it may") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec";
  write_bytes(file, "mine");
  CHECK_THROWS_WITH(write_recording(something().r, file, false),
                    "cannot write " + file.string() + ": File exists");
  CHECK(bytes_of(file) == "mine");
  write_recording(something().r, file, true);
  CHECK(is_recording(file));
  CHECK_THROWS_AS(write_recording(something().r, folder.path / "no" / "a.rec", false), RunError);
}

TEST_CASE("the views say in names and times what the tables say in numbers") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec";
  const MadeRecording m = something();
  write_recording(m.r, file, false);
  Database database(file, Database::Mode::read,
                    [](const std::string& why) { throw std::runtime_error(why); });
  Statement calls(database, "SELECT \"begin\", \"end\" FROM call_times ORDER BY id");
  for (const Call& call : m.r.calls) {
    REQUIRE(calls.step());
    CHECK(calls.integer(0) == call.begin.ns);
    CHECK(calls.integer(1) == call.end().ns);
  }
  Statement works(database,
                  "SELECT \"begin\", \"end\", kind, kernel, bytes, called FROM submissions ORDER BY id");
  for (const Work& work : m.r.works) {
    REQUIRE(works.step());
    CHECK(works.integer(0) == work.begin.ns);
    CHECK(works.integer(1) == work.end().ns);
    CHECK(works.is_text(3) == (work.kind == WorkKind::kernel));
    CHECK(works.integer(5) == m.r.calls[work.call].begin.ns);
  }
}

TEST_CASE("a recording that is cut off at any byte is refused in one line") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec", cut = folder.path / "cut.rec";
  write_recording(something().r, file, false);
  const std::string bytes = bytes_of(file);
  for (std::size_t size = 0; size < bytes.size(); size += size < 1'100 ? 1 : 509) {
    write_bytes(cut, bytes.substr(0, size));
    const std::string line = refusal(cut);
    INFO(size << " bytes: " << line);
    REQUIRE(line.starts_with(cut.string()));
    REQUIRE(line.find('\n') == std::string::npos);
  }
  write_bytes(cut, bytes + "x");
  CHECK_FALSE(refusal(cut).empty());
}

TEST_CASE("a recording with bytes changed is read or refused, and nothing else") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec", changed = folder.path / "changed.rec";
  write_recording(something().r, file, false);
  const std::string bytes = bytes_of(file);
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    gangway::Stream random(seed, "bytes", {});
    std::string other = bytes;
    for (int n = 0; n < 4; ++n) other[random.below(other.size())] = static_cast<char>(random.below(256));
    write_bytes(changed, other);
    refused += !refusal(changed).empty();
  }
  CHECK(refused > 30);
}

TEST_CASE("references to nothing, disorder and other files are refused") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec";
  const auto after = [&](const std::string& sql) {
    fs::remove(file);
    write_recording(something().r, file, false);
    Database database(file, Database::Mode::write,
                      [](const std::string& why) { throw std::runtime_error(why); });
    database.run(sql.c_str());
    database.close();
    return refusal(file);
  };
  const auto damaged = [&](const std::string& what) {
    return file.string() + ": key 'recording': found " + what + ", expected an undamaged recording";
  };
  CHECK(after("UPDATE works SET stream = 2 WHERE id = 1") ==
        damaged("table works, row 1: a reference to a missing row"));
  CHECK(after("UPDATE works SET call = 99 WHERE id = 1") ==
        damaged("table works, row 1: a call that is not there"));
  CHECK(after("UPDATE calls SET length = -1 WHERE id = 2") ==
        damaged("table calls, row 2: a negative length"));
  CHECK(after("UPDATE calls SET gap = 1.5 WHERE id = 2") ==
        damaged("table calls, row 2: a value that is not a whole number"));
  CHECK(after("UPDATE calls SET gap = 9223372036854775807 WHERE id = 2") ==
        damaged("table calls, row 2: a time that is too long"));
  CHECK(after("DELETE FROM calls WHERE id = 2") == damaged("table calls, row 2: ids not counted from 0"));
  CHECK(after("UPDATE streams SET kind = 9") == damaged("table streams, row 0: the kind 9"));
  CHECK(after("UPDATE orders SET recorded = call WHERE recorded IS NOT NULL").find("recorded later") !=
        std::string::npos);
  CHECK(after("DELETE FROM about WHERE key = 'driver'").find("without driver") != std::string::npos);
  CHECK(after("DROP TABLE jobs").find("no such table") != std::string::npos);
  CHECK(after("PRAGMA user_version = 2").find("version 2 of recordings") != std::string::npos);
  CHECK(after("PRAGMA application_id = 1").find("another SQLite database") != std::string::npos);
  CHECK(after("UPDATE jobs SET warm_up = 1").find("warm-up") != std::string::npos);
  write_bytes(file, std::string(200, 'x'));
  CHECK(refusal(file).find("another kind of file") != std::string::npos);
  CHECK(refusal(folder.path / "nothing").find("No such file") != std::string::npos);
}

TEST_CASE("100,000 submissions take a few MiB, and the program played is that of the tables") {
  MadeRecording m;
  const Index s = m.stream();
  m.r.launches.resize(40, m.r.launches[0]);
  gangway::Stream random(7, "times", {});
  Time at{0};
  for (int job = 0; job < 1'000; ++job) {
    for (int k = 0; k < 100; ++k) {
      const auto gap = static_cast<std::int64_t>(random.below(8'000));
      m.kernel(s, at.ns + gap, at.ns + gap + 9'000, static_cast<std::int64_t>(random.below(60'000)));
      m.r.works.back().shape = static_cast<Index>(random.below(40));
      at = m.r.calls.back().end();
    }
    m.wait(OrderKind::stream, s, at.ns, 100'000);
    at = m.r.calls.back().end();
  }
  cut_jobs(m.r, {});
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.rec";
  write_recording(m.r, file, false);
  CHECK(fs::file_size(file) < 5u << 20);

  const auto compare = [&] {
    const PlayedProgram program(file);
    REQUIRE(program.job_count() == m.r.jobs.size());
    REQUIRE(program.works.size() == m.r.works.size());
    bool same = true;
    for (std::size_t w = 0; w < m.r.works.size(); ++w)
      same = same && program.works[w].length == m.r.works[w].length && program.works[w].stream == s;
    for (std::size_t j = 0; j < m.r.jobs.size(); ++j)
      same = same && program.jobs[j].length == m.r.jobs[j].length;
    CHECK(same);
    CHECK(program.orders[0].place == s);
  };
  compare();
  const fs::path kept = file.string() + ".played";
  REQUIRE(fs::exists(kept));
  const std::string good = bytes_of(kept);
  compare();
  for (const std::size_t size : {std::size_t{0}, std::size_t{20}, std::size_t{5'000}, good.size() - 1}) {
    write_bytes(kept, good.substr(0, size));
    compare();
    CHECK(bytes_of(kept) == good);
  }
  std::string wrong = good;
  wrong[good.size() - 1'000'000] ^= 0x40;  // in a table of references or of times
  write_bytes(kept, wrong);
  compare();
  CHECK(bytes_of(kept) == good);

  write_recording(m.r, folder.path / "other.rec", false);
  fs::copy_file(kept, folder.path / "other.rec.played");  // of a recording that has another identity
  const PlayedProgram other(folder.path / "other.rec");
  CHECK(bytes_of(folder.path / "other.rec.played") != good);
}
