#include "experiments/results/files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <utility>

#include "models/error.hpp"

namespace gangway {

namespace fs = std::filesystem;

NewFile::NewFile(fs::path path) : path_(std::move(path)), temporary_(path_) {
  temporary_.replace_filename("." + path_.filename().string() + ".part");
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (file_ == nullptr) fail();
}

NewFile::~NewFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::error_code ignored;
  fs::remove(temporary_, ignored);
}

void NewFile::fail() {
  const std::string reason = std::strerror(errno);
  throw RunError("cannot write " + path_.string() + ": " + reason);
}

void NewFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail();
  hash_.add(text);
  bytes_ += text.size();
}

FileFacts NewFile::facts() { return {bytes_, hash_.hex()}; }

void NewFile::overwrite(std::uint64_t place, const std::string& text) {
  if (fseeko(file_, static_cast<off_t>(place), SEEK_SET) != 0) fail();
  write(text);
  if (fseeko(file_, 0, SEEK_END) != 0) fail();
}

void NewFile::commit() {
  if (std::fflush(file_) != 0) fail();
  std::FILE* done = std::exchange(file_, nullptr);
  if (std::fclose(done) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    std::remove(temporary_.c_str());
    errno = reason;
    fail();
  }
}

void write_file(const fs::path& path, const std::string& text) {
  NewFile file(path);
  file.write(text);
  file.commit();
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw RunError("cannot read " + path.string());
  return text.str();
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error && !fs::is_directory(path))  // another process may have made it meanwhile
    throw RunError("cannot create the folder " + path.string() + ": " + error.message());
}

void refuse_file(const fs::path& out, const char* option) {
  std::error_code error;
  fs::path there = out;
  while (there.has_relative_path() && !fs::exists(there, error)) there = there.parent_path();
  if (fs::exists(there, error) && !fs::is_directory(there, error))
    throw InputError({out.string(), 0}, option, "the file " + quote(there.string()), "a folder");
}

void make_empty_folder(const fs::path& path, const char* option) {
  refuse_file(path, option);
  make_folder(path);
  if (!fs::is_empty(path))
    throw InputError({path.string(), 0}, option, "a folder that is not empty", "an empty folder");
}

}  // namespace gangway
