#include "hw/live/memory/passing.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace gangway::live {

using What = PassNote::What;

bool Passing::send(const PassNote& note, int file) {
  const int channel = gate_.passing();
  return channel >= 0 && send_record(channel, &note, sizeof note, &file, file >= 0 ? 1 : 0);
}

bool Passing::pass(std::uint64_t number, std::uint64_t size, int file) {
  const std::lock_guard lock(mutex_);
  return send({What::passed, 0, number, size}, number == 0 ? file : -1);
}

void Passing::freed(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  freed_.push_back({number, 0});
  say_freed();
}

// Without a daemon that knows of them, they are free already.
void Passing::say_freed() {
  while (!freed_.empty()) {
    const auto [number, declined] = freed_.back();
    if (!send({What::freed, 0, number, 0}) && errno == EAGAIN) break;
    gate_.page()->memory.lent.fetch_add(declined);
    freed_.pop_back();
  }
  gate_.ring();
}

std::optional<Passing::Lent> Passing::lent(std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  std::optional<Lent> found;
  while (gate_.passing() >= 0 && !found) {
    PassNote note;
    Descriptors files;
    const bool received = receive_record(gate_.passing(), &note, sizeof note, &files, 1);
    if (!received && errno != EMFILE) break;
    if (note.what != What::lent) continue;
    if (received && note.size == size) {
      found = Lent{note.number, std::move(files[0])};
      gate_.page()->memory.lent.fetch_add(size);
    } else {
      freed_.push_back({note.number, note.size});
    }
  }
  if (!freed_.empty()) say_freed();
  return found;
}

void Passing::decline() { lent(0); }

void Passing::forked() {
  if (const int file = open_.load(); file >= 0) close(file);
}

}  // namespace gangway::live
