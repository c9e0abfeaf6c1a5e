// Timelines on their way to disk: what is read back is what was written, and never too large.
#include <zlib.h>

#include <nlohmann/json.hpp>

#include "experiments/timelines/trace_file.hpp"
#include "experiments/timelines/trace_files.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {
namespace {

namespace fs = std::filesystem;

std::string unzipped(const fs::path& file) {
  gzFile in = gzopen(file.c_str(), "rb");  // reads what is not compressed as it is
  REQUIRE(in != nullptr);
  std::string text, chunk(1 << 16, '\0');
  int count = 0;
  while ((count = gzread(in, chunk.data(), 1 << 16)) > 0)
    text.append(chunk, 0, static_cast<std::size_t>(count));
  CHECK(count == 0);  // the checksum is right
  CHECK(gzclose(in) == Z_OK);
  return text;
}

std::string some_text(Stream& random, std::size_t size, unsigned letters) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.below(letters));
  return text;
}

}  // namespace

TEST_CASE("a timeline reads back as it was written, with the head it got last", "[trace]") {
  const ScratchFolder folder;
  Stream random(3, "test-trace-file", {});
  for (const char* name : {"t.json", "t.json.gz"})
    for (const std::size_t size : {0u, 1u, 1000u, 300'000u, 1'500'000u}) {
      const fs::path file = folder.path() / name;
      const std::string text = some_text(random, size, 3);
      TraceFile trace(file, "short", std::uint64_t{1} << 40);
      for (std::size_t at = 0; at < size; at += 777) {
        CHECK(trace.fits(777));
        trace.write(std::string_view(text).substr(at, 777));
      }
      CHECK_FALSE(fs::exists(file));
      const std::string head = "a longer head " + std::to_string(size);
      const std::uint64_t on_disk = trace.finish(head);
      CHECK(on_disk == fs::file_size(file));
      const std::string read = unzipped(file);
      CHECK(read.starts_with(head + " "));
      CHECK(read.substr(read.size() - size) == text);
      CHECK(read.size() == size + 5 + TraceFile::kLongerHead);
      if (size > 10'000) CHECK((fs::file_size(file) < size / 2) == (file.extension() == ".gz"));
      fs::remove(file);
    }
}

TEST_CASE("what fits never makes a timeline too large, and much fits", "[trace]") {
  const ScratchFolder folder;
  Stream random(4, "test-trace-file", {});
  for (const char* name : {"t.json", "t.json.gz"})
    for (const std::uint64_t most : {2'000u, 10'000u, 400'000u, 900'000u})
      for (const unsigned letters : {1u, 3u, 26u}) {
        const fs::path file = folder.path() / name;
        TraceFile trace(file, "head", most);
        std::string text;
        while (text.size() < 3'000'000) {
          const std::string more = some_text(random, 1 + random.below(700), letters);
          if (!trace.fits(more.size())) break;
          trace.write(more);
          text += more;
        }
        trace.finish("head");
        CHECK(fs::file_size(file) <= most);
        CHECK(unzipped(file).ends_with(text));
        if (most >= 400'000) CHECK(text.size() > most / 2);
        if (most >= 400'000 && letters == 3 && file.extension() == ".gz") CHECK(text.size() > 2 * most);
        fs::remove(file);
      }
}

TEST_CASE("a timeline that is not finished leaves nothing", "[trace]") {
  const ScratchFolder folder;
  { TraceFile(folder.path() / "t.json.gz", "head", 1 << 20).write("text"); }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a compressed timeline is copied as it is, or unpacked", "[trace]") {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "t.json.gz";
  TraceFile trace(file, "head", 1 << 20);
  trace.write("text");
  trace.finish("head");
  copy_trace(file, folder.path() / "u.json.gz");
  copy_trace(file, folder.path() / "u.json");
  CHECK(fs::file_size(folder.path() / "u.json.gz") == fs::file_size(file));
  CHECK(fs::file_size(folder.path() / "u.json") == 4 + TraceFile::kLongerHead + 4);
  CHECK(unzipped(folder.path() / "u.json") == unzipped(file));
  CHECK_THROWS(copy_trace(folder.path() / "absent.json.gz", folder.path() / "v.json"));
}

TEST_CASE("timelines that will be large are announced, and those that will not are not", "[trace]") {
  const ScratchFolder folder;
  const Experiment experiment = read_experiment(GANGWAY_SOURCE_DIR "/experiments/frs/fig4.yaml", {});
  std::vector<std::string> said;
  ResultParts parts(folder.path() / "results", {}, {}, false);
  const TraceFiles traces(experiment, PointSet::all(1), parts, TraceFiles::kUsualLimit,
                          [&](const std::string& line) { said.push_back(line); });
  traces.announce(1e6);
  CHECK(said.empty());
  traces.announce(1e12);
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Matchers::StartsWith("--trace: about ") &&
                          Catch::Matchers::EndsWith(", of which --trace-limit allows 1.0 GiB"));
}

}  // namespace gangway::testing
