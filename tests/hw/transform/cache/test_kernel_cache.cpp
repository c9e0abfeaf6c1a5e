// The cache of compiled kernels: what is put in comes out, byte for byte, and nothing else does.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/entry_file.hpp"
#include "hw/transform/cache/kernel_cache.hpp"
#include "hw/transform/forms_json.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {
namespace {

using namespace transform;
namespace fs = std::filesystem;

constexpr Architecture kGpu{90, 0};
const std::string kPtx = ".version 9.0\n.target sm_90\n.entry k(){ret;}";

std::vector<KernelForms> made_forms() {
  KernelForms k;
  k.kernel = "k";
  k.line = 3;
  k.parameters = {{0, 8, 8}, {8, 4, 4}};
  k.forms = {{"slice", "k$slice", {16}, 0, false}, {"prologue", "k$prologue", {16}, 16, true}};
  k.refused = {{"loop", "waits for other blocks", "ld.volatile.u32 %r1, [%rd1];", 7}};
  k.report = "k$gangway_report";
  return {k, {"other", 9, {}, {}, {{"slice", "a \"reason\"", "", 0}}, {}}};
}

CacheEntry made_entry(const std::string& cubin = std::string("\x7f"
                                                             "ELF\0\n\n",
                                                             7),
                      const std::string& assembler = "V13") {
  return {{cubin, made_forms()}, assembler, "sm_90", cubin.empty() ? "why not" : "", "a program: module 1"};
}

struct Scratch {
  ScratchFolder scratch;
  std::string folder = (scratch / "kernels").string();
  std::vector<std::string> said;
  KernelCache cache() {
    return KernelCache(folder, [this](const std::string& line) { said.push_back(line); });
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& each : fs::directory_iterator(folder)) out.push_back(each.path());
    return out;
  }
};

std::string forms_text(const std::vector<KernelForms>& forms) { return forms_to_json(forms).dump(); }

void set_age(const fs::path& file, int seconds) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

void change(const fs::path& file, std::size_t at) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(static_cast<std::streamoff>(at));
  const int was = bytes.get();
  bytes.seekp(static_cast<std::streamoff>(at));
  bytes.put(static_cast<char>(was ^ 1));
}

}  // namespace

TEST_CASE("forms survive being written down", "[cache]") {
  const auto again = forms_from_json(forms_to_json(made_forms()));
  REQUIRE(again);
  REQUIRE(again->size() == 2);
  const KernelForms& k = again->front();
  CHECK(k.kernel == "k");
  CHECK(k.parameters.at(1).offset == 8);
  CHECK(k.parameters.at(1).bytes == 4);
  CHECK(k.forms.at(1).entry == "k$prologue");
  CHECK(k.forms.at(1).hidden.offset == 16);
  CHECK(k.forms.at(1).shared_bytes == 16);
  CHECK(k.forms.at(1).one_dimension);
  CHECK(k.refused.at(0).line == 7);
  CHECK(forms_text(*again) == forms_text(made_forms()));
  for (const char* wrong : {"{}", "[1]", "[{}]", "null", R"([{"kernel": "k"}])"})
    CHECK_FALSE(forms_from_json(nlohmann::json::parse(wrong)));
}

TEST_CASE("what was put in is found by the same PTX, options and GPU alone", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  CHECK_FALSE(cache.find(kPtx, kGpu));  // without a folder
  cache.put(kPtx, {"-O1"}, made_entry());
  struct stat status {};
  REQUIRE(stat(s.folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  const auto found = cache.find(kPtx, kGpu, {"-O1"});
  REQUIRE(found);
  CHECK(found->cubin == made_entry().prepared.cubin);
  CHECK(forms_text(found->kernels) == forms_text(made_forms()));
  CHECK(s.cache().find(kPtx, kGpu, {"-O1"}));  // another process's
  CHECK_FALSE(cache.find(kPtx, kGpu));
  CHECK_FALSE(cache.find(kPtx, kGpu, {"-O", "1"}));
  CHECK_FALSE(cache.find(kPtx + " ", kGpu, {"-O1"}));
  CHECK_FALSE(cache.find(kPtx, {80, 0}, {"-O1"}));
  CHECK(s.said.empty());
  CHECK(s.files().size() == 1);
}

TEST_CASE("of several assemblers' work the own is taken, else the latest", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  cache.put(kPtx, {}, made_entry("first", "V12"));
  set_age(s.files().front(), 100);
  cache.put(kPtx, {}, made_entry("second", "V13"));
  CHECK(cache.find(kPtx, kGpu, {}, "V12")->cubin == "first");
  CHECK(cache.find(kPtx, kGpu, {}, "V13")->cubin == "second");
  for (const fs::path& file : s.files()) {
    std::string text;
    std::getline(std::ifstream(file, std::ios::binary), text, '\0');
    set_age(file, text.ends_with("first") ? 10 : 500);
  }
  CHECK(cache.find(kPtx, kGpu, {}, "V14")->cubin == "first");
  CHECK_FALSE(cache.entry(kPtx, kGpu, {}, "V14"));
}

TEST_CASE("without a cubin nothing is found, but it is known why", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  cache.put(kPtx, {}, made_entry(""));
  CHECK_FALSE(cache.find(kPtx, kGpu));
  CHECK(cache.entry(kPtx, kGpu, {}, "V13")->trouble == "why not");
}

TEST_CASE("a damaged or foreign entry is not used, and said once", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  cache.put(kPtx, {}, made_entry());
  const fs::path file = s.files().front();
  const auto size = fs::file_size(file);
  for (std::size_t at = 0; at < size; at += 5) {  // anywhere
    Scratch other;
    fs::create_directory(other.folder);
    fs::permissions(other.folder, fs::perms::owner_all);
    fs::copy(file, fs::path(other.folder) / file.filename());
    change(fs::path(other.folder) / file.filename(), at);
    KernelCache damaged = other.cache();
    INFO("byte " << at);
    CHECK_FALSE(damaged.find(kPtx, kGpu));
    CHECK_FALSE(damaged.find(kPtx, kGpu));
    CHECK(other.said.size() == 1);
  }
  fs::resize_file(file, size - 1);
  CHECK_FALSE(cache.find(kPtx, kGpu));
  CHECK(s.said.size() == 1);
  cache.put(kPtx, {}, made_entry());  // anew
  CHECK(cache.find(kPtx, kGpu));
  // Another module's, under this one's name.
  cache.put("another text", {}, made_entry("another"));
  for (const fs::path& each : s.files())
    if (each != file) fs::rename(each, file);
  CHECK_FALSE(s.cache().find(kPtx, kGpu));
  // A link to somewhere else.
  fs::rename(file, s.scratch / "elsewhere");
  fs::create_symlink(s.scratch / "elsewhere", file);
  CHECK_FALSE(s.cache().find("another text", kGpu));
}

TEST_CASE("a folder that is open to others is not used", "[cache]") {
  Scratch s;
  s.cache().put(kPtx, {}, made_entry());
  for (const int mode : {0755, 0770, 0702}) {
    chmod(s.folder.c_str(), static_cast<mode_t>(mode));
    CHECK_THROWS_AS(s.cache(), RunError);
  }
  chmod(s.folder.c_str(), 0700);
  CHECK_NOTHROW(s.cache());
  if (geteuid() == 0) {
    REQUIRE(chown(s.folder.c_str(), 12345, 0) == 0);
    CHECK_THROWS_AS(s.cache(), RunError);
  }
  const std::string link = (s.scratch / "link").string();
  fs::create_symlink(s.folder, link);
  CHECK_THROWS_AS(check_cache_folder(link), RunError);
}

TEST_CASE("the least recently used goes first", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  std::uint64_t each = 0;
  for (int i = 0; i < 4; ++i)
    cache.put("text " + std::to_string(i), {}, made_entry(std::string(10'000, 'x')));
  for (const fs::path& file : s.files()) {
    set_age(file, 1000);
    each = fs::file_size(file);
  }
  REQUIRE(cache.find("text 2", kGpu));  // is used now
  CHECK(cache.shrink(4 * each) == 0);
  CHECK(cache.shrink(4 * each - 1) == 1);
  CHECK(cache.find("text 2", kGpu));
  CHECK(cache.shrink(each) == 2);
  CHECK(cache.list().size() == 1);
  CHECK(cache.find("text 2", kGpu));
  CHECK(cache.clear() == 1);
  CHECK_FALSE(cache.find("text 2", kGpu));
  CHECK(s.files().empty());
}

TEST_CASE("nothing half-written is left where there is no room", "[cache]") {
  Scratch s;
  KernelCache cache = s.cache();
  cache.put(kPtx, {}, made_entry());
  const fs::path target = s.files().front();
  fs::remove(target);
  fs::create_directory(target);  // so that the name cannot be taken
  CHECK_THROWS_AS(cache.put(kPtx, {}, made_entry()), RunError);
  CHECK(s.files().size() == 1);
}

TEST_CASE("the folder is where the variables say", "[cache]") {
  const auto with = [](const char* cache, const char* caches, const char* home) {
    setenv("HOME", home, 1);
    cache != nullptr ? setenv("GANGWAY_CACHE", cache, 1) : unsetenv("GANGWAY_CACHE");
    caches != nullptr ? setenv("XDG_CACHE_HOME", caches, 1) : unsetenv("XDG_CACHE_HOME");
    return cache_folder();
  };
  const char* const before = std::getenv("HOME");
  const std::string home = before != nullptr ? before : "";
  CHECK(with("/a/b", "/c", "/home/x") == "/a/b");
  CHECK(with(nullptr, "/c", "/home/x") == "/c/gangway/kernels");
  CHECK(with(nullptr, "relative", "/home/x") == "/home/x/.cache/gangway/kernels");
  CHECK(with(nullptr, nullptr, "/home/x") == "/home/x/.cache/gangway/kernels");
  setenv("HOME", home.c_str(), 1);
}

}  // namespace gangway::testing
