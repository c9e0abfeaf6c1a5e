// SHA-256, by which programs, configurations and result files are told apart.
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
  std::string hex();  // of all that was added; ends it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What a file held when it was written.
struct FileFacts {
  std::uintmax_t bytes = 0;
  std::string sha256;
  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

std::string sha256_of(std::string_view text);
FileFacts facts_of(const std::filesystem::path& file);  // RunError when it cannot be read

// Of this program's executable, or of the shared library that this is: what two builds made is not mixed,
// whatever their sources were called. Worked out once. RunError where the executable cannot be read.
const std::string& program_hash();

}  // namespace gangway
