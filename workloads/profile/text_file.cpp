#include "workloads/profile/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "models/error.hpp"

namespace gangway::profile {
namespace {

constexpr std::size_t kBuffer = 1 << 18;

}  // namespace

TextFile::TextFile(const std::filesystem::path& file)
    : name_(file.string()), buffer_(kBuffer, '\0'), file_(gzopen(file.c_str(), "rb"), gzclose_r) {
  std::error_code failed;
  if (!file_) throw InputError({name_, 0}, "profile", std::strerror(errno), "a file that can be read");
  if (!std::filesystem::is_regular_file(file, failed))
    throw InputError({name_, 0}, "profile", "no regular file", "a profile");
}

bool TextFile::fill() {
  const int read = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  gzerror(file_.get(), &code);
  if (read < 0 || code != Z_OK)
    throw InputError({name_, 0}, "profile", "truncated or damaged compressed data", "a whole file");
  next_ = buffer_.data();
  end_ = next_ + std::max(read, 0);
  return read > 0;
}

}  // namespace gangway::profile
