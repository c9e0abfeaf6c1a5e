// The finished parts of a run, by number, and its written files, in one file on disk. Memory does not grow
// with the number of parts.
//
// Thread-safe. Content is durable once committed: at commit(), in the destructor, and from time to time.
// Failures to write are RunErrors that name the file and the reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "models/database.hpp"
#include "models/hash.hpp"

namespace gangway {

struct Part {
  std::uint32_t point = 0;
  std::string name;                    // of the policy or queue order
  std::string rows;                    // empty if it failed
  std::string error;                   // reason of failure, one line; else empty
  std::uint64_t events = 0, jobs = 0;  // cost of playing it
  friend bool operator==(const Part&, const Part&) = default;
};

// Visits the parts in numeric order.
using VisitPart = std::function<void(std::uint64_t, const Part&)>;
void each_part(Database& store, const VisitPart& visit);
// The texts of a part, piece by piece as stored.
void each_text(Database& store, std::uint64_t number, const std::function<void(std::string_view)>& visit);

// A hash over parts and their texts, in stored order.
class PartsHash {
 public:
  void add(std::uint64_t number, const Part& part);
  void add_text(std::string_view piece);
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

class PartStore {
 public:
  // Opens or creates the file; a damaged one is replaced.
  explicit PartStore(std::filesystem::path file);
  ~PartStore();
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;

  // Whether the part exists and did not fail.
  bool has(std::uint64_t number);
  std::uint64_t count();  // number of such parts

  // Adds long texts to a part, in the order of `piece`; call keep() afterwards. Replaces leftovers of an
  // interrupted run.
  void keep_text(std::uint64_t number, std::uint32_t piece, std::string_view text);
  void keep(std::uint64_t number, const Part& part);
  void commit();

  std::optional<Part> first();  // first part that did not fail
  std::optional<Part> find(std::uint64_t number);
  struct Totals {
    std::uint64_t events = 0, jobs = 0, failed = 0;
  };
  Totals totals();  // over all parts; `failed`: their number

  // In numeric order.
  void each(const VisitPart& visit);
  void each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit);
  std::string hash();  // PartsHash of all parts

  // Runs `keep_some`, which stores parts; if it throws, none of these is kept. One thread only.
  void all_or_none(const std::function<void()>& keep_some);

  // Named entries about the store; an empty text means none.
  void say(const std::string& name, const std::string& text);
  std::string said(const std::string& name);

  // The source, folder or file, of parts made elsewhere, for a range of points.
  void keep_origin(std::uint32_t first_point, std::uint32_t last_point, const std::string& name);
  std::string origin_of(std::uint32_t point);  // the first source; empty if none
  void each_origin(const std::function<void(std::uint32_t first, std::uint32_t last)>& visit);

  // Commits and leaves no side files, so that the file can be copied.
  void settle();

  // Files that this run wrote or is about to write, by their path in the result folder. Committed at once.
  void keep_file(const std::string& name, const FileFacts& facts);
  std::map<std::string, FileFacts> files();

 private:
  void open();
  bool sound();
  void begin();
  void commit_old();
  [[noreturn]] void fail(const std::string& reason);

  std::filesystem::path file_;
  std::mutex mutex_;
  std::optional<Database> database_;
  bool in_transaction_ = false, all_or_none_ = false;
  std::string failure_;  // after the first nothing more is written
  std::chrono::steady_clock::time_point begun_{};
};

}  // namespace gangway
