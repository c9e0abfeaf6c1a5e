// The same program, worked out by hand, from both kinds of profiles; and what they leave open.
#include <sstream>

#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/played_program.hpp"
#include "models/recording/timing.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/workloads/profile/made_profile.hpp"
#include "workloads/profile/chrome_events.hpp"
#include "workloads/profile/profiled_client.hpp"

namespace gangway::testing {
namespace {

namespace rec = recording;
using Catch::Matchers::ContainsSubstring;

// Rows as words, to be read beside the program in made_profile.hpp.
std::string calls_of(const rec::Recording& r) {
  std::ostringstream out;
  for (const rec::Call& c : r.calls)
    out << c.begin.ns << '-' << c.end().ns << ' ' << static_cast<int>(r.kind(c)) << '\n';
  return out.str();
}
std::string works_of(const rec::Recording& r) {
  std::ostringstream out;
  for (const rec::Work& w : r.works)
    out << "call " << w.call << " stream " << r.streams[w.stream].number << " kind "
        << static_cast<int>(w.kind) << ' ' << w.begin.ns << '-' << w.end().ns << '\n';
  return out.str();
}
std::string orders_of(const rec::Recording& r) {
  std::ostringstream out;
  for (const rec::Order& o : r.orders) {
    out << "call " << o.call << " kind " << static_cast<int>(o.kind);
    if (o.kind == rec::OrderKind::context) out << " context " << r.contexts[o.place].number;
    if (o.kind != rec::OrderKind::context && o.place != rec::kNone)
      out << " stream " << r.streams[o.place].number;
    if (o.recorded != rec::kNone) out << " recorded by " << o.recorded;
    out << '\n';
  }
  return out.str();
}

// Both kinds of profiles, as files of the same program.
struct Both {
  ScratchFolder folder;
  std::filesystem::path file(const std::string& profiler) const {
    return profiler == "nsys" ? write_export(folder / "p.sqlite", kNsysExport)
                              : write_trace(folder / "p.json", kTorchTrace);
  }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a program worked out by hand is the same from both kinds of profiles") {
  const std::string profiler = GENERATE("nsys", "torch");
  INFO(profiler);
  const Both both;
  const rec::Recording r = imported(profiler, both.file(profiler));

  // The origin is the beginning of the range, 100 ns before the first call.
  CHECK(calls_of(r) ==
        "100-400 1\n500-700 3\n800-850 9\n900-940 10\n1000-1200 1\n1300-5800 7\n8100-8500 2\n8600-9600 7\n");
  CHECK(works_of(r) ==
        "call 0 stream 7 kind 0 1100-4100\n"
        "call 1 stream 7 kind 1 4300-5000\n"
        "call 4 stream 13 kind 0 5100-5600\n"
        "call 6 stream 7 kind 3 9100-9400\n");
  CHECK(orders_of(r) ==
        "call 2 kind 3 stream 7\n"
        "call 3 kind 4 stream 13 recorded by 2\n"
        "call 5 kind 1 stream 13\n"
        "call 7 kind 0 context 1\n");

  // The wait for stream 13 covers stream 7, too, by the event.
  REQUIRE(r.jobs.size() == 2);
  CHECK((r.jobs[0].begin.ns == 100 && r.jobs[0].length.ns == 5700));
  CHECK((r.jobs[1].begin.ns == 8100 && r.jobs[1].length.ns == 1500));

  // A, B and the nodes of the graph are launched in two shapes.
  REQUIRE(r.launches.size() == 2);
  const rec::Launch& a = r.launches[0];
  CHECK(a.kernel == (profiler == "nsys" ? "_Z3addIfEvPT_i" : "void add<float>(float *, int)"));
  CHECK((a.grid == rec::Dim{800, 2, 1} && a.block == rec::Dim{512, 1, 1} && a.registers == 40));
  CHECK(a.static_shared.count + a.dynamic_shared.count == 48);
  CHECK((r.transfers[0].bytes.count == 4096 && r.transfers[0].asynchronous));
  CHECK((r.transfers[0].from == rec::MemoryKind::device && r.transfers[0].to == rec::MemoryKind::pinned));

  REQUIRE(r.nodes.size() == 3);
  const std::int64_t after[] = {0, 50, 120}, length[] = {100, 30, 180};
  const std::uint32_t lane[] = {0, 1, 0};
  for (int n = 0; n < 3; ++n)
    CHECK(
        (r.nodes[n].after.ns == after[n] && r.nodes[n].length.ns == length[n] && r.nodes[n].lane == lane[n]));

  CHECK((r.gpus.size() == 1 && r.gpus[0].name == "NVIDIA H100" && r.gpus[0].sms == 132));
  CHECK((r.processes[0].pid == 1234 && r.processes[0].command == std::vector<std::string>{"app"}));
  CHECK((r.threads[0].tid == 1234 && r.threads[0].name == "main"));
  CHECK((r.about.lost == 0 && r.about.trouble.empty() && r.beside.empty()));
  CHECK_THAT(r.about.source, ContainsSubstring(profiler == "nsys" ? "Nsight Systems" : "PyTorch"));
  if (profiler == "torch") CHECK(r.about.origin == 1'700'000'004'999'999'900);
}

TEST_CASE("gaps of the host and waits are told apart") {
  const std::string profiler = GENERATE("nsys", "torch");
  const Both both;
  const rec::Recording r = imported(profiler, both.file(profiler));
  const rec::Timing t = rec::take_apart(r);
  CHECK(t.calls[1].gap.ns == 100);
  CHECK((t.calls[5].waits && t.calls[5].wake.ns == 200));  // B ends at 5600, the wait at 5800
  CHECK(t.calls[6].gap.ns == 2300);                        // thought
  CHECK((t.works[0].launch.ns == 1000 && t.works[1].behind.ns == 200 && t.works[2].behind.ns == 100));
}

TEST_CASE("an imported program is played like a recorded one") {
  const std::string profiler = GENERATE("nsys", "torch");
  const Both both;
  const auto file = both.file(profiler);
  imported(profiler, file);
  const rec::PlayedProgram program(file.string() + ".rec");
  REQUIRE(program.job_count() == 2);
  CHECK((program.jobs[0].length.ns == 5700 && program.jobs[1].length.ns == 1500));
  CHECK((program.jobs[0].busy.ns == 4200 && program.jobs[1].busy.ns == 300));
}

TEST_CASE("ranges can be jobs, with a pattern, too") {
  const std::string profiler = GENERATE("nsys", "torch");
  const Both both;
  profile::ImportSettings settings;
  settings.jobs = rec::read_job_rule("nvtx:step*");
  const rec::Recording r = imported(profiler, both.file(profiler), settings);
  REQUIRE(r.jobs.size() == 1);
  CHECK((r.jobs[0].begin.ns == 0 && r.jobs[0].length.ns == 5900));
  settings.jobs = rec::read_job_rule("nvtx:stop*");
  CHECK_THROWS_WITH(imported(profiler, both.file(profiler), settings), ContainsSubstring("'step 1'"));
}

TEST_CASE("one stream alone has what concerns it, and its works ran beside the others'") {
  const std::string profiler = GENERATE("nsys", "torch");
  INFO(profiler);
  const ScratchFolder folder;
  // B runs beside the copy.
  std::string text = profiler == "nsys" ? kNsysExport : kTorchTrace;
  text = profiler == "nsys"
             ? replaced(text, "(5000005000, 5000005500", "(5000004800, 5000005500")
             : replaced(text, "\"ts\": 5000005.000, \"dur\": 0.500", "\"ts\": 5000004.800, \"dur\": 0.700");
  const auto file =
      profiler == "nsys" ? write_export(folder / "p.sqlite", text) : write_trace(folder / "p.json", text);
  profile::ImportSettings settings;
  CHECK(imported(profiler, file, settings).beside.empty());  // these are its own
  settings.stream = "13";
  const rec::Recording r = imported(profiler, file, settings);
  CHECK(calls_of(r) == "900-940 10\n1000-1200 1\n1300-5800 7\n8600-9600 7\n");
  CHECK(works_of(r) == "call 1 stream 13 kind 0 4900-5600\n");
  CHECK(orders_of(r) == "call 2 kind 1 stream 13\ncall 3 kind 0 context 1\n");
  CHECK((r.streams.size() == 1 && r.jobs.size() == 1));
  CHECK(r.beside == std::vector<rec::Index>{0});
  CHECK_THAT(r.about.trouble, ContainsSubstring("100 % of its time on the GPU was beside other work"));
  CHECK(rec::origins_of_recording(file.string() + ".rec").beside);
  settings.stream = "8";
  CHECK_THROWS_WITH(imported(profiler, file, settings),
                    ContainsSubstring("one of 7 (3 submissions), 13 (1 submissions)"));
}

TEST_CASE("what a wait waits for is worked out where the profile does not say it, and said") {
  const ScratchFolder folder;
  std::string text = kNsysExport;
  text = replaced(text, "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CREATE TABLE unknown");
  text = replaced(text, "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "INSERT INTO unknown");
  const rec::Recording r = imported("nsys", write_export(folder / "p.sqlite", text));
  // There is one context; of two streams that which was used last, whose work is over by then.
  CHECK(orders_of(r) == "call 2 kind 3 stream 7\ncall 5 kind 1 stream 13\ncall 7 kind 0 context 1\n");
  CHECK_THAT(r.about.trouble, ContainsSubstring("for what 1 call waits is not said"));
  CHECK_THAT(r.about.trouble, ContainsSubstring("1 wait of streams for events"));

  // Work that goes on behind the call is not what it waited for.
  text = replaced(text, "(5000005000, 5000005500", "(5000005000, 5000055500");
  const rec::Recording s = imported("nsys", write_export(folder / "q.sqlite", text));
  CHECK(orders_of(s) == "call 2 kind 3 stream 7\ncall 7 kind 0 context 1\n");
  CHECK_THAT(s.about.trouble, ContainsSubstring("1 call waits for something that the profile does not name"));
}

TEST_CASE("whether the host waited tells what kind its memory is") {
  const ScratchFolder folder;
  const auto kind_of = [&](const std::string& text) {
    const rec::Recording r = imported("nsys", write_export(folder / "p.sqlite", text));
    return r.transfers[0].to;
  };
  const std::string unknown = replaced(kNsysExport, "4096, 2, 2, 1)", "4096, 2, NULL, NULL)");
  CHECK(kind_of(unknown) == rec::MemoryKind::pinned);
  CHECK(kind_of(replaced(unknown, "(5000000400, 5000000600", "(5000000400, 5000000650")) ==
        rec::MemoryKind::pinned);
  CHECK(kind_of(replaced(unknown, "'cudaMemcpyAsync_v3020'", "'cudaMemcpy_v3020'")) ==
        rec::MemoryKind::pageable);
}

TEST_CASE("calls inside calls belong to them, and one that overlaps the one before begins behind it") {
  const ScratchFolder folder;
  std::string text = replaced(kNsysExport, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES",
                              "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5000000410, 5000000590, 1, "
                              "281495679796434, 91, 1, 0, NULL),");
  text = replaced(text, "0, 1, 7, 2, 281495679795200, 4096", "0, 1, 7, 91, 281495679795200, 4096");
  text = replaced(text, "(5000000700, 5000000750", "(5000000580, 5000000750");
  const rec::Recording r = imported("nsys", write_export(folder / "p.sqlite", text));
  CHECK_THAT(calls_of(r), ContainsSubstring("500-700 3\n700-850 9\n"));
  CHECK(r.works[1].call == 1);
}

TEST_CASE("works without their calls are counted as missing") {
  const std::string profiler = GENERATE("nsys", "torch");
  const ScratchFolder folder;
  const rec::Recording r =
      profiler == "nsys"
          ? imported(profiler, write_export(folder / "p.sqlite", replaced(kNsysExport, "0, 1, NULL, 13, 5,",
                                                                          "0, 1, NULL, 13, 77,")))
          : imported(profiler, write_trace(folder / "p.json",
                                           replaced(kTorchTrace, "\"stream\": 13, \"correlation\": 5",
                                                    "\"stream\": 13, \"correlation\": 77")));
  CHECK((r.works.size() == 3 && r.about.lost == 1));
}

TEST_CASE("two processes have to be told apart") {
  const ScratchFolder folder;
  // Process 7, with a kernel beside the copy.
  const std::string text = std::string(kNsysExport) +
                           "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5000000000, 5000000300, 0, "
                           "281475094151175, 1, 1, 0, NULL);"
                           "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000004100, 5000004300, 0, 1, "
                           "NULL, 7, 1, 281475094151168, 8, 8, 9, "
                           "40, 800, 2, 1, 512, 1, 1, 16, 32, 8, NULL);";
  const auto file = write_export(folder / "p.sqlite", text);
  CHECK_THROWS_WITH(imported("nsys", file), ContainsSubstring("none, and 2 processes") &&
                                                ContainsSubstring("1234 ('app', 4 submissions)"));
  profile::ImportSettings settings;
  settings.process = 1234;
  const rec::Recording r = imported("nsys", file, settings);
  CHECK((r.works.size() == 4 && r.beside == std::vector<rec::Index>{1}));
  settings.process = 7;
  CHECK(imported("nsys", file, settings).works.size() == 1);
  settings.process = 8;
  CHECK_THROWS_WITH(imported("nsys", file, settings), ContainsSubstring("found 8"));

  settings.process = std::nullopt;
  settings.split = profile::Split::process;
  settings.profiler = "nsys";
  settings.file = file.string();
  settings.out = (folder / "all.rec").string();
  std::vector<std::string> written;
  profile::import_profile(settings,
                          [&](const std::string& name, const rec::Recording&) { written.push_back(name); });
  CHECK(written ==
        std::vector<std::string>{(folder / "all-1234.rec").string(), (folder / "all-7.rec").string()});
  CHECK_THROWS_AS(profile::import_profile(settings, [](const auto&, const auto&) {}),
                  InputError);  // they are there
}

TEST_CASE("times are read with all their digits") {
  using profile::nanoseconds;
  CHECK(nanoseconds("1743521598000123.463") == 1'743'521'598'000'123'463);
  CHECK(nanoseconds("12") == 12'000);
  CHECK(nanoseconds("0.0005") == 1);
  CHECK(nanoseconds("0.0004") == 0);
  CHECK(nanoseconds("-1.5") == -1'500);
  CHECK(nanoseconds("1.5e3") == 1'500'000);
  CHECK(nanoseconds("1743521598000123463") == std::nullopt);
  CHECK(nanoseconds("1e300") == std::nullopt);
  for (const char* bad : {"", "-", ".", "1.", ".5", "1.2.3", "nan", "inf", "1e", "e5", "0x10", "1 "}) {
    INFO(bad);
    CHECK(nanoseconds(bad) == std::nullopt);
  }
}

TEST_CASE("times a year apart are refused") {
  const ScratchFolder folder;
  const std::string text =
      replaced(kNsysExport, "(5000008500, 5000009500, 0, 281", "(5000008500, 3999999999999999999, 0, 281");
  CHECK_THROWS_WITH(imported("nsys", write_export(folder / "p.sqlite", text)),
                    ContainsSubstring("more than a year"));
}

TEST_CASE("a profile without work, calls or tables is refused with what would help") {
  const ScratchFolder folder;
  const auto refused = [&](const std::string& sql, const std::string& why) {
    CHECK_THROWS_WITH(imported("nsys", write_export(folder / "p.sqlite", sql)), ContainsSubstring(why));
    CHECK_FALSE(std::filesystem::exists(folder / "p.sqlite.rec"));
  };
  refused("CREATE TABLE a(b)", "without Nsight Systems' tables");
  refused("CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT)", "no kernels, copies or memsets");
  refused(replaced(kNsysExport, "TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER NOT NULL",
                   "TABLE CUPTI_ACTIVITY_KIND_RUNTIME(began INTEGER NOT NULL"),
          "key 'CUPTI_ACTIVITY_KIND_RUNTIME': found no column start");
  refused(std::string(kNsysExport) + "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME;",
          "none with the call that submitted it");
  const auto refused_trace = [&](const std::string& json, const std::string& why) {
    CHECK_THROWS_WITH(imported("torch", write_trace(folder / "p.json", json)), ContainsSubstring(why));
  };
  refused_trace("", "p.json:1: key 'profile': found 'syntax error");
  refused_trace("{\"traceEvents\": [\n{\"ph\": }]}", "p.json:2: key 'profile'");
  refused_trace("{\"events\": []}", "key 'traceEvents': found nothing");
  refused_trace("[]", "no kernels, copies or memsets");
  refused_trace("{\"traceEvents\": 1}", "key 'traceEvents': found nothing");
}

}  // namespace gangway::testing
