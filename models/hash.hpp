// SHA-256, which identifies programs, configurations and result files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace gangway {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) = delete;

  void add(std::string_view bytes);
  std::string hex();  // of everything added; ends the computation

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A file's facts when it was written.
struct FileFacts {
  std::uintmax_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

std::string sha256_of(std::string_view text);
FileFacts facts_of(const std::filesystem::path& file);  // RunError if it is unreadable

// The hash of this program's executable, or of this shared library. Results of two builds are never mixed,
// whatever their sources. Computed once. RunError if the executable is unreadable.
const std::string& program_hash();

}  // namespace gangway
