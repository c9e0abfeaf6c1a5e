#include "models/data_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "models/hash.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path, const Field& field) {
  errno = 0;
  std::error_code error;
  const bool regular = fs::is_regular_file(path, error);  // reading others may never end
  std::ifstream in;
  std::ostringstream text;
  if (regular || !fs::exists(path, error)) in.open(path, std::ios::binary);
  if (in.is_open()) text << in.rdbuf();
  if (!in.is_open() || in.bad())
    field.fail(quote(path.string()) + ", which cannot be read" +
                   (errno != 0 ? std::string(": ") + std::strerror(errno) : std::string()),
               "a file of data");
  return text.str();
}

}  // namespace

DataFile read_data_file(const Field& field) {
  if (!field.is_mapping()) return {fs::path(field.node().origin().file).parent_path() / field.text(), {}};
  Mapping m = field.mapping();
  DataFile file{m.need("path").text(), m.need("sha256").text()};
  m.finish();
  return file;
}

std::string content_of(const DataFile& file, const Field& field) {
  std::string text = read_text(file.path, field);
  if (!file.sha256) return text;
  if (const std::string found = sha256_of(text); found != *file.sha256)
    field.fail(quote(file.path.string()) + " with the SHA-256 " + found,
               "the content that it had, with " + quote(*file.sha256));
  return text;
}

}  // namespace gangway
