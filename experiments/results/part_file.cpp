#include "experiments/results/part_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "experiments/results/result_parts.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPartExpected = "a part that `gangway run --points` finished";

}  // namespace

bool is_finished(PartStore& store) {
  return !store.said(kPartManifest).empty() && store.said(kPartContent) == store.hash();
}

void reopen(PartStore& store) {
  store.say(kPartManifest, "");
  store.commit();
}

PartFile::PartFile(const fs::path& given) : name_(given.string()) {
  const fs::path file = find(given);
  database_ = std::make_unique<Database>(file, Database::Mode::read,
                                         [this](const std::string& reason) { damaged(reason); });
  read();
}

PartFile::PartFile(std::string bytes, std::string name) : name_(std::move(name)) {
  database_ =
      std::make_unique<Database>(std::move(bytes), [this](const std::string& reason) { damaged(reason); });
  read();
}

fs::path PartFile::find(const fs::path& given) {
  std::error_code error;
  if (fs::is_regular_file(given, error)) return given;
  if (!fs::is_directory(given, error)) refuse("no folder and no file", kPartExpected);
  folder_ = given;
  const bool finished = fs::exists(given / "manifest.json", error);
  if (finished && read_manifest_of_any(given).key.points.empty()) refuse("whole results", kPartExpected);
  fs::path file = ResultParts::store_of(given);
  if (fs::exists(file, error) && finished) return file;
  if (fs::exists(file, error)) refuse("a run that is not finished", kPartExpected);
  refuse(finished ? "a part without " + ResultParts::store_of("").string() : "no results", kPartExpected);
}

void PartFile::read() {
  const std::string manifest = said(kPartManifest);
  if (manifest.empty()) refuse("a run that is not finished", kPartExpected);
  manifest_ = std::make_shared<Json>(Json::parse(manifest, nullptr, false));
  if (!manifest_->is_object()) damaged("no manifest");
  key_ = ResultKey::from_json(*manifest_);
  if (key_.points.empty()) damaged("no points");
}

std::string PartFile::said(const char* name) {
  Statement row(*database_, "SELECT text FROM said WHERE name = ?");
  return row.bind(name).step() ? std::string(row.text(0)) : std::string();
}

std::string PartFile::configuration() { return said(kPartConfiguration); }

void PartFile::each(const VisitPart& visit) { each_part(*database_, visit); }

void PartFile::each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit) {
  gangway::each_text(*database_, number, visit);
}

bool PartFile::content_is(const std::string& hash) { return said(kPartContent) == hash; }

void PartFile::refuse(const std::string& found, const std::string& expected) const {
  throw InputError(fmt::format("{}: found {}, expected {}", name_, found, expected));
}

void PartFile::damaged(const std::string& how) const {
  refuse("a damaged part (" + how + ")", kPartExpected);
}

}  // namespace gangway
