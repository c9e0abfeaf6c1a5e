// A timeline on its way to disk: written as it comes, compressed (gzip) where its name ends in .gz, and never
// larger than it may be.
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
  // `head` stands first and may be another one in the end, by at most kLongerHead bytes longer. `most`: bytes
  // on disk. Nothing appears under the name before finish(), and nothing at all if that is not called.
  TraceFile(const std::filesystem::path& path, std::string head, std::uint64_t most);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  static constexpr std::size_t kLongerHead = 512;

  // Whether so many bytes more are sure to fit.
  bool fits(std::size_t bytes);
  // Written whether they fit or not.
  void write(std::string_view text);
  // Returns how many bytes are on disk.
  std::uint64_t finish(const std::string& head);

 private:
  void flush(int how);
  std::uint64_t most_size(std::size_t more) const;  // on disk, if as many bytes more come and nothing else

  NewFile file_;
  const bool compressed_;
  const std::size_t head_size_;
  const std::uint64_t most_;
  std::uint64_t on_disk_ = 0;
  std::string chunk_;  // not handed to zlib yet
  std::vector<unsigned char> out_;
  std::uint64_t read_ = 0;      // of the text behind the head, by zlib
  std::uint32_t checksum_ = 0;  // of that
  z_stream zlib_{};
};

// The same timeline under another name; compressed (both are) or not as that ends. RunError where it cannot
// be read or written.
void copy_trace(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace gangway
