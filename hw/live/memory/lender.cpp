#include "hw/live/memory/lender.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "hw/live/monotonic.hpp"
#include "models/error.hpp"

namespace gangway::live {

Lender::Lender() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw RunError(std::string("no channel for a client's memory: ") + std::strerror(errno));
  end_ = Descriptor(ends[0]);
  client_end_ = Descriptor(ends[1]);
}

// Some may wait for the next call: a channel holds fewer.
std::vector<PassedMemory> Lender::passed() {
  constexpr int kMostNotes = 1024;
  std::vector<PassedMemory> pieces;
  for (int n = 0; n < kMostNotes && end_; ++n) {
    PassNote note;
    Descriptors files;
    if (!receive_record(end_.get(), &note, sizeof note, &files, 1, true)) {
      if (errno == EAGAIN) break;
      if (errno == EMFILE) continue;  // its file is lost, so the piece is free
      end_.reset();                   // it is gone, or makes no sense; what it has is its own
      lent_.clear();
    } else if (note.what == PassNote::What::freed) {
      lent_.erase(note.number);
    } else if (note.what != PassNote::What::passed) {
      continue;
    } else if (note.number == 0 && files[0]) {
      static std::uint64_t last = static_cast<std::uint64_t>(monotonic_ns());
      pieces.push_back({++last, note.size, std::make_shared<Descriptor>(std::move(files[0]))});
    } else if (auto known = lent_.extract(note.number)) {
      pieces.push_back(std::move(known.mapped()));
    }
  }
  return pieces;
}

bool Lender::lend(const PassedMemory& memory) {
  constexpr std::size_t kMost = 4096;
  const PassNote note{PassNote::What::lent, 0, memory.number, memory.size};
  const int file = memory.file->get();
  if (!end_ || lent_.size() >= kMost || !send_record(end_.get(), &note, sizeof note, &file, 1)) return false;
  lent_[memory.number] = memory;
  return true;
}

}  // namespace gangway::live
