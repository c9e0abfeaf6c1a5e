// Writes files so that no partial file appears under a final name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "models/hash.hpp"

namespace gangway {

// A file that appears under its name when commit() returns; without commit() nothing remains. Failures (no
// permission, disk full) are RunErrors with the file and the system's reason.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  // Overwrites earlier bytes; later writes still append.
  void overwrite(std::uint64_t place, const std::string& text);
  FileFacts facts();  // of the written content, unless overwritten; writing is then finished
  void commit();

 private:
  [[noreturn]] void fail();
  std::filesystem::path path_, temporary_;
  std::FILE* file_ = nullptr;
  Sha256 hash_;
  std::uintmax_t bytes_ = 0;
};

void write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);  // RunError if unreadable
void make_folder(const std::filesystem::path& path);       // with parents; RunError on failure

// Throws InputError if the --out path, or part of it, is a file.
void refuse_file(const std::filesystem::path& out, const char* option = "--out");

// Creates a folder, with parents, for files requested by `option`. Throws InputError if it is a file or not
// empty.
void make_empty_folder(const std::filesystem::path& path, const char* option);

}  // namespace gangway
