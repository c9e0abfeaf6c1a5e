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

std::optional<PassedMemory> Lender::passed() {
  constexpr int kMost = 64;  // a client that talks without end holds nobody up
  for (int n = 0; n < kMost && end_; ++n) {
    PassNote note;
    Descriptors files;
    if (!receive_record(end_.get(), &note, sizeof note, &files, 1, true)) {
      if (errno != EAGAIN) end_.reset();  // it is gone, or makes no sense
      break;
    }
    if (note.what == PassNote::What::freed) lent_.erase(note.number);
    if (note.what != PassNote::What::passed) continue;
    if (note.number == 0 && files[0]) {
      static std::uint64_t last = static_cast<std::uint64_t>(monotonic_ns());
      return PassedMemory{++last, note.size, std::make_shared<Descriptor>(std::move(files[0]))};
    }
    if (auto known = lent_.extract(note.number)) return std::move(known.mapped());
  }
  return std::nullopt;
}

bool Lender::lend(const PassedMemory& memory) {
  const PassNote note{PassNote::What::lent, 0, memory.number, memory.size};
  const int file = memory.file->get();
  if (!end_ || !send_record(end_.get(), &note, sizeof note, &file, 1)) return false;
  lent_[memory.number] = memory;
  return true;
}

}  // namespace gangway::live
