// Writing files so that nothing half-written is ever left under a final name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "models/hash.hpp"

namespace gangway {

// A file that appears under its name when commit() returns, and not before; without commit() nothing is left.
// Every failure (no permission, disk full) is a RunError that names the file and the system's reason.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  // Bytes that were written before; what is written afterwards still goes to the end.
  void overwrite(std::uint64_t place, const std::string& text);
  FileFacts facts();  // of what was written, unless overwritten; nothing more can be
  void commit();

 private:
  [[noreturn]] void fail();
  std::filesystem::path path_, temporary_;
  std::FILE* file_ = nullptr;
  Sha256 hash_;
  std::uintmax_t bytes_ = 0;
};

void write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);  // RunError when it cannot be read
void make_folder(const std::filesystem::path& path);       // with parents; RunError when it cannot be made

// Throws InputError where what was given as --out cannot be a folder, as it or what leads to it is a file.
void refuse_file(const std::filesystem::path& out, const char* option = "--out");

// Makes a folder, with parents, for files that `option` asks for. Throws InputError where there is a file, or
// a folder that holds anything.
void make_empty_folder(const std::filesystem::path& path, const char* option);

}  // namespace gangway
