// A timeline file: written incrementally, gzip-compressed if its name ends in .gz, never above its size
// limit.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/results/files.hpp"

namespace gangway {

class TraceFile {
 public:
  // `head` comes first and may be replaced at the end by one at most kLongerHead bytes longer. `most`: bytes
  // on disk. The file appears only with finish().
  TraceFile(const std::filesystem::path& path, std::string head, std::uint64_t most);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  static constexpr std::size_t kLongerHead = 512;

  // Whether this many more bytes certainly fit.
  bool fits(std::size_t bytes);
  // Writes without checking the limit.
  void write(std::string_view text);
  // Returns the bytes on disk.
  std::uint64_t finish(const std::string& head);

 private:
  void flush(int how);
  std::uint64_t most_size(std::size_t more) const;  // on disk, if only this many bytes follow

  NewFile file_;
  const bool compressed_;
  const std::size_t head_size_;
  const std::uint64_t most_;
  std::uint64_t on_disk_ = 0;
  std::string chunk_;  // not yet passed to zlib
  std::vector<unsigned char> out_;
  std::uint64_t read_ = 0;      // bytes of text after the head passed to zlib
  std::uint32_t checksum_ = 0;  // of these
  z_stream zlib_{};
};

// Copies a timeline to another name; compressed or not, as its name says. RunError if it cannot be read or
// written.
void copy_trace(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace gangway
