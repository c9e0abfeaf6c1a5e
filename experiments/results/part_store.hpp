// What a run has finished so far, in one file on disk: the parts of its results by number, and the files that
// it wrote. Memory does not grow with the number of parts.
//
// Calls may come from any thread. What was kept is safe from the end of this process once it is committed,
// which happens at the latest with commit() and in the destructor, and from time to time before. Every
// failure to write is a RunError that names the file and the reason.
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
  std::string name;                    // of the policy or the order
  std::string rows;                    // empty where it failed
  std::string error;                   // why it failed, in one line; empty otherwise
  std::uint64_t events = 0, jobs = 0;  // what it took to play it
  friend bool operator==(const Part&, const Part&) = default;
};

// Visits the parts of a store in the order of their numbers.
using VisitPart = std::function<void(std::uint64_t, const Part&)>;
void each_part(Database& store, const VisitPart& visit);
// The texts of a part, as they were kept piece by piece.
void each_text(Database& store, std::uint64_t number, const std::function<void(std::string_view)>& visit);

// A hash of parts and their texts, which are added as a store has them.
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
  // Opens or makes the file; one that is damaged is begun anew.
  explicit PartStore(std::filesystem::path file);
  ~PartStore();
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;

  // Whether it is there and did not fail.
  bool has(std::uint64_t number);
  std::uint64_t count();  // of those

  // Long texts that belong to a part, piece by piece in the order of `piece`; keep() comes after them. What a
  // run that was cut off left is replaced.
  void keep_text(std::uint64_t number, std::uint32_t piece, std::string_view text);
  void keep(std::uint64_t number, const Part& part);
  void commit();

  std::optional<Part> first();  // that did not fail
  std::optional<Part> find(std::uint64_t number);
  struct Totals {
    std::uint64_t events = 0, jobs = 0, failed = 0;
  };
  Totals totals();  // of all parts; `failed`: how many did

  // In the order of their numbers.
  void each(const VisitPart& visit);
  void each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit);
  std::string hash();  // PartsHash of all

  // Calls `keep_some`, which keeps parts; where that throws, none of these is kept. For one thread.
  void all_or_none(const std::function<void()>& keep_some);

  // What the store says of itself, by name; an empty text is none.
  void say(const std::string& name, const std::string& text);
  std::string said(const std::string& name);

  // Where parts came from that others made: the folder or file, for a range of points.
  void keep_origin(std::uint32_t first_point, std::uint32_t last_point, const std::string& name);
  std::string origin_of(std::uint32_t point);  // the first; empty where there is none
  void each_origin(const std::function<void(std::uint32_t first, std::uint32_t last)>& visit);

  // Commits, and leaves nothing beside the file: others may copy it.
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
