#include "experiments/timelines/trace_file.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "models/error.hpp"

namespace gangway {
namespace {

constexpr std::size_t kChunk = 1 << 18;
constexpr std::size_t kSmallChunk = 1 << 12;  // near the end of what may be written
constexpr std::size_t kTrailer = 8 + 16;      // of gzip, and the empty blocks before it
constexpr int kLevel = 5;
// RFC 1952: no name, no time, so that the same run gives the same bytes; made on Unix.
constexpr std::array<unsigned char, 10> kGzip{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

// The head is a stored block (RFC 1951, 3.2.4) of its own, so that it can be overwritten in place: what
// follows never refers back to it.
TraceFile::TraceFile(const std::filesystem::path& path, std::string head, std::uint64_t most)
    : file_(path),
      compressed_(path.extension() == ".gz"),
      head_size_(head.size() + kLongerHead),
      most_(most),
      out_(1 << 16) {
  head.resize(head_size_, ' ');
  if (compressed_) {
    if (head_size_ > 0xffff) throw RunError("the head of " + path.string() + " is too long");
    if (deflateInit2(&zlib_, kLevel, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw RunError("no memory to compress " + path.string());
    file_.write(std::string(kGzip.begin(), kGzip.end()) + '\0' + little_endian(head_size_, 2) +
                little_endian(~head_size_ & 0xffff, 2));
    on_disk_ = kGzip.size() + 5;
  }
  file_.write(head);
  on_disk_ += head_size_;
}

TraceFile::~TraceFile() {
  if (compressed_) deflateEnd(&zlib_);
}

std::uint64_t TraceFile::most_size(std::size_t more) const {
  const std::size_t text = chunk_.size() + more;
  // What deflate may make of a text that does not compress: stored blocks (deflateBound), and a flush for
  // each chunk.
  const std::size_t bound = compressed_ ? text + (text >> 10) + 32 * (text / kChunk + 2) + kTrailer : text;
  return on_disk_ + bound;
}

bool TraceFile::fits(std::size_t bytes) {
  if (most_size(bytes) <= most_) return true;
  if (!compressed_ || chunk_.size() < kSmallChunk) return false;
  flush(Z_SYNC_FLUSH);  // compressed, there is less of it
  return most_size(bytes) <= most_;
}

void TraceFile::write(std::string_view text) {
  chunk_ += text;
  if (chunk_.size() >= kChunk) flush(Z_SYNC_FLUSH);
}

void TraceFile::flush(int how) {
  if (!compressed_) {
    file_.write(chunk_);
    on_disk_ += chunk_.size();
    return chunk_.clear();
  }
  read_ += chunk_.size();
  checksum_ =
      static_cast<std::uint32_t>(crc32(checksum_, bytes_of(chunk_), static_cast<unsigned>(chunk_.size())));
  zlib_.next_in = const_cast<unsigned char*>(bytes_of(chunk_));
  zlib_.avail_in = static_cast<unsigned>(chunk_.size());
  do {
    zlib_.next_out = out_.data();
    zlib_.avail_out = static_cast<unsigned>(out_.size());
    deflate(&zlib_, how);
    const std::size_t made = out_.size() - zlib_.avail_out;
    file_.write(std::string(reinterpret_cast<const char*>(out_.data()), made));
    on_disk_ += made;
  } while (zlib_.avail_out == 0);
  chunk_.clear();
}

std::uint64_t TraceFile::finish(const std::string& head) {
  if (head.size() > head_size_) throw RunError("the head of a timeline outgrew its reserved space");
  const std::string padded = head + std::string(head_size_ - head.size(), ' ');
  flush(Z_FINISH);
  if (compressed_) {
    const auto of_head = crc32(0, bytes_of(padded), static_cast<unsigned>(padded.size()));
    const auto checksum = crc32_combine(of_head, checksum_, static_cast<z_off_t>(read_));
    file_.write(little_endian(checksum, 4) + little_endian(read_ + head_size_, 4));
    on_disk_ += 8;
  }
  file_.overwrite(compressed_ ? kGzip.size() + 5 : 0, padded);
  file_.commit();
  return on_disk_;
}

void copy_trace(const std::filesystem::path& from, const std::filesystem::path& to) {
  NewFile copy(to);
  if (to.extension() == ".gz") {
    copy.write(read_file(from));
    return copy.commit();
  }
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(from.c_str(), "rb"), gzclose);
  std::string chunk(kChunk, '\0');
  int count = 0;
  while (in && (count = gzread(in.get(), chunk.data(), static_cast<unsigned>(chunk.size()))) > 0)
    copy.write(chunk.substr(0, static_cast<std::size_t>(count)));
  if (!in || count < 0) throw RunError("cannot read " + from.string());
  copy.commit();
}

}  // namespace gangway
