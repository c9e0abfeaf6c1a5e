// Writes a spool, in the program that is recorded.
#pragma once

#include <sys/types.h>

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "hw/record/spool.hpp"

namespace gangway::spool {

// The file and what was defined in it. For one thread at a time.
class Spool {
 public:
  static constexpr std::size_t kLongestText = 60'000;

  // A new file in `folder`. Returns whether there is one; else errno says why.
  bool open(const char* folder);
  // From now on nothing is written.
  void forget();
  // Whether there is a file, and this process opened it.
  bool ours() const;

  template <typename Record>
  void put(Record record, std::string_view text = {}) {
    text = text.substr(0, kLongestText);
    const std::size_t size = (sizeof(Record) + text.size() + 7) / 8 * 8;
    record.head = {Record::kType, static_cast<std::uint16_t>(size), 0};
    const std::size_t from = pending_.size();
    pending_.resize(from + size);
    std::memcpy(pending_.data() + from, &record, sizeof(Record));
    std::memcpy(pending_.data() + from + sizeof(Record), text.data(), text.size());
  }
  // All that was put since. Where that fails it is said on stderr, and the recording ends.
  void write();

  // The id of a text or shape, which is put where it is new. No text has the id 0.
  std::uint32_t text(const char* text);
  std::uint32_t shape(Shape shape);
  // Puts a thread of this process and its name, where it is new.
  void thread(std::uint32_t id);

 private:
  int file_ = -1;
  pid_t pid_ = 0;
  std::vector<char> pending_;
  std::deque<std::string> kept_;
  std::unordered_map<std::string_view, std::uint32_t> texts_;
  std::unordered_map<std::string, std::uint32_t> shapes_;
  std::unordered_set<std::uint32_t> threads_;
};

}  // namespace gangway::spool
