// Whatever stands in a profile, importing it either succeeds, and leaves a recording that can be read and
// played, or throws an InputError of one line. 400 mutated profiles, 10,000 in the long mode.
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "models/database.hpp"
#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "models/recording/played_program.hpp"
#include "models/recording/summary.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/input/mutations.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/workloads/profile/made_profile.hpp"

namespace gangway::testing {
namespace {

const std::vector<std::string> kStrangeValues{"NULL",
                                              "0",
                                              "-1",
                                              "1",
                                              "7",
                                              "''",
                                              "'x'",
                                              "4294967295",
                                              "4294967296",
                                              "-9223372036854775808",
                                              "9223372036854775807",
                                              "4000000000000000000",
                                              "5000000100",
                                              "1.5",
                                              "1e300",
                                              "x'00ff'",
                                              "'\xff'",
                                              "281495679796434",
                                              "start",
                                              "rowid"};
const std::vector<std::string> kStrangeTokens{"null",
                                              "0",
                                              "-1",
                                              "1.5",
                                              "1e999",
                                              "-1e308",
                                              "\"\"",
                                              "\"x\"",
                                              "[]",
                                              "{}",
                                              "[[[[1]]]]",
                                              "4294967296",
                                              "18446744073709551615",
                                              "-9223372036854775808",
                                              "9223372036854775807",
                                              "5000000.123456789",
                                              "true",
                                              "{\"a\": [1, {\"traceEvents\": []}]}"};

std::string bytes_of(const std::filesystem::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

void spoil_bytes(Dice& dice, const std::filesystem::path& file) {
  std::string bytes = bytes_of(file);
  if (dice.below(4) == 0) bytes.resize(dice.below(bytes.size()));
  for (std::size_t changes = 1 + dice.below(6); changes > 0 && !bytes.empty(); --changes)
    bytes[dice.below(bytes.size())] = static_cast<char>(dice.below(256));
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// Values of rows, columns and tables changed.
void write_spoilt_export(Dice& dice, const std::filesystem::path& file) {
  std::string sql = kNsysExport;
  std::vector<std::string> changed;
  static const std::vector<std::string> tables{"StringIds",
                                               "CUPTI_ACTIVITY_KIND_RUNTIME",
                                               "CUPTI_ACTIVITY_KIND_KERNEL",
                                               "CUPTI_ACTIVITY_KIND_MEMCPY",
                                               "CUPTI_ACTIVITY_KIND_MEMSET",
                                               "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                               "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                               "NVTX_EVENTS",
                                               "TARGET_INFO_GPU",
                                               "ThreadNames",
                                               "PROCESSES"};
  // Nothing is NOT NULL, so that any value can be there.
  for (std::size_t at = 0; (at = sql.find(" NOT NULL", at)) != std::string::npos;) sql.erase(at, 9);
  for (std::size_t changes = 1 + dice.below(4); changes > 0; --changes) {
    const std::string& table = dice.of(tables);
    const std::size_t from = sql.find("CREATE TABLE " + table + "("), to = sql.find(";", from);
    std::vector<std::string> columns;
    std::istringstream list(sql.substr(sql.find("(", from) + 1, to - sql.find("(", from) - 2));
    for (std::string column; std::getline(list, column, ',');) {
      column.erase(0, column.find_first_not_of(" \n"));
      columns.push_back(column.substr(0, column.find(' ')));
    }
    const std::string& column = dice.of(columns);
    const std::string one = " WHERE rowid = " + std::to_string(1 + dice.below(9));
    const std::string set =
        "UPDATE OR IGNORE " + table + " SET \"" + column + "\" = " + dice.of(kStrangeValues);
    const std::size_t way = dice.below(8);
    if (way == 0)
      changed.push_back("DELETE FROM " + table + " WHERE rowid % 2 = " + std::to_string(dice.below(2)));
    if (way == 1) changed.push_back("INSERT OR IGNORE INTO " + table + " SELECT * FROM " + table);
    if (way == 2) changed.push_back(set);
    if (way > 2) changed.push_back(set + one);
  }
  if (dice.below(8) == 0) changed.push_back("ALTER TABLE " + dice.of(tables) + " RENAME TO gone");
  if (dice.below(8) == 0)
    changed.push_back("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN streamId TO \"s\"\"t\"");
  write_export(file, sql);
  Database database(file, Database::Mode::write,
                    [](const std::string& why) { throw std::runtime_error(why); });
  database.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF");
  for (const std::string& change : changed) {
    try {
      database.run(change.c_str());
    } catch (const std::runtime_error&) {  // no text for an id, say
    }
  }
}

// Tokens of JSON changed.
std::string spoilt_trace(Dice& dice) {
  std::string text = kTorchTrace;
  if (dice.below(3) == 0) {
    for (std::size_t changes = 1 + dice.below(4); changes > 0; --changes) mutate(dice, text);
    return text;
  }
  for (std::size_t changes = 1 + dice.below(4); changes > 0; --changes) {
    std::size_t at = text.find(": ", dice.below(text.size()));
    if (at == std::string::npos) at = text.find(": ");
    at += 2;
    const std::size_t to = text.find_first_of(",}]", at);
    text.replace(at, to - at, dice.of(kStrangeTokens));
  }
  return text;
}

void compress(const std::filesystem::path& file) {
  const std::string bytes = bytes_of(file);
  const gzFile out = gzopen(file.c_str(), "wb");
  gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(out);
}

bool is_message(const std::string& what) {
  return what.find("found ") != std::string::npos &&
         std::none_of(what.begin(), what.end(), [](unsigned char c) { return c < 0x20; });
}

}  // namespace

TEST_CASE("a mutated profile is imported, or refused with an InputError of one line", "[long]") {
  const ScratchFolder folder;
  std::size_t accepted = 0, refused = 0;
  for (const int number : case_numbers(400, 10'000)) {
    Dice dice(static_cast<std::uint64_t>(number));
    INFO("profile " << number);
    const bool nsys = number % 2 == 0;
    const auto file = folder / (nsys ? "p.sqlite" : "p.json");
    const bool of_bytes = dice.below(3) == 0;
    if (nsys && of_bytes)
      write_export(file, kNsysExport);
    else if (nsys)
      write_spoilt_export(dice, file);
    else
      write_trace(file, of_bytes ? std::string(kTorchTrace) : spoilt_trace(dice));
    if (!nsys && of_bytes && dice.below(2) == 0) compress(file);
    if (of_bytes) spoil_bytes(dice, file);
    profile::ImportSettings settings;
    if (dice.below(3) == 0) settings.jobs = recording::read_job_rule("whole");
    if (dice.below(8) == 0) settings.stream = "7";
    if (dice.below(8) == 0) settings.process = 1234;
    bool read = false;
    try {
      const recording::Recording r = imported(nsys ? "nsys" : "torch", file, settings);
      read = true;
      CHECK_FALSE(recording::to_text(r, recording::summarise(r)).empty());
      const recording::PlayedProgram program(file.string() + ".rec");
      ++accepted;
    } catch (const InputError& error) {
      INFO(error.what());
      CHECK(is_message(error.what()));
      CHECK((!read || std::string(error.what()).find("no job") != std::string::npos ||
             std::string(error.what()).find("several GPUs") != std::string::npos));
      ++refused;
    }
  }
  CHECK((accepted > 0 && refused > 0));
}

}  // namespace gangway::testing
