// Writes a spool, inside the recorded program.
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

// The file and what was defined in it. One thread at a time.
class Spool {
 public:
  static constexpr std::size_t kLongestText = 60'000;

  // Creates a file in `folder`. False on failure, with errno.
  bool open(const char* folder);
  // Stops writing for good.
  void forget();
  // Whether a file exists that this process opened.
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
  // Writes what was added. On failure, says so on stderr and ends the recording.
  void write();

  // The id of a text or shape, which is added if new. 0 is never a text's id.
  std::uint32_t text(const char* text);
  std::uint32_t shape(Shape shape);
  // Adds a thread of this process and its name, if new.
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
