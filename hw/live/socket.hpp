// Messages between `gangway exec`, clients and the daemon: small records over a Unix socket that preserves
// record boundaries, some with file descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "hw/live/gpus/gpu_name.hpp"

namespace gangway::live {

inline constexpr std::uint32_t kMagic = 0x79776761;  // "agwy"

enum class Kind : std::uint32_t { program = 1, client = 2, status = 3 };

// How a program's memory leaves the GPU: not at all; allocation by allocation (memory/README.md); or with the
// whole process, by the driver (checkpoint/README.md).
enum class MemoryMoves : std::uint32_t { none, managed, whole };

struct Hello {
  std::uint32_t magic = kMagic, version = 0;
  Kind kind = Kind::program;
  std::int32_t priority = 0;  // of a program
  std::uint64_t program = 0;  // a client's, from its Welcome; 0: none
  std::int64_t daemon = 0;    // the daemon that assigned `program`
  double weight = 1;          // of a program, from 0.001 to 1000
  std::int64_t slo_ns = 0;    // of a program: latency objective of its jobs; 0: none
  char name[64] = {};         // of a program
  char group[64] = {};        // likewise: programs of one group are one client; empty: each its own
  // Set if a client whose daemon is gone comes to another one, with its page and its former introduction.
  std::uint32_t returns = 0;
  std::int32_t gpu = -1;        // of a program: the number that its user has chosen; -1: the daemon chooses
  char visible[kGpuText] = {};  // of a client: the GPU that its `exec` was given; empty: none
};

// The answer. A client receives the permit page, the client page, the daemon's bell, its own bell and the
// channel for memory that is passed on; a status request receives a sealed file with the status as JSON
// (README.md).
struct Welcome {
  std::uint32_t magic = kMagic, version = 0;
  std::uint32_t accepted = 0;
  std::uint32_t held = 0;   // whether clients wait for another daemon when this one is gone
  std::uint32_t forms = 0;  // to a program: its kernels may have to take forms
  std::uint32_t notes = 0;  // to a program: it notes unprepared modules
  std::uint32_t whole = 0;  // to a program: it is one job, unless its user says otherwise
  std::uint64_t program = 0;
  std::int64_t daemon = 0;
  MemoryMoves memory = MemoryMoves::none;  // to a program: how the memory of its processes leaves the device
  // To a program: the only GPU that it may see; empty: all that it would see anyway.
  char gpu[kGpuText] = {};
  Hello introduction;  // of a client: what to say when it returns
  char why_not[128] = {};
};

// Asked by a program's `exec` at its end: what became of its clients.
struct Question {
  std::uint32_t magic = kMagic;
};
struct Answer {
  std::uint32_t clients = 0;  // that it had
  char why_killed[128] = {};  // one of them by the daemon; empty: none
};

// A file descriptor, closed by its destructor.
class Descriptor {
 public:
  constexpr Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  constexpr ~Descriptor() {
    if (fd_ >= 0) reset();
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

inline constexpr std::size_t kDescriptors = 5;
using Descriptors = std::array<Descriptor, kDescriptors>;

// With a number above those of standard input, output and error, which a program that has closed them takes
// for its own.
Descriptor beyond_standard(int fd);
// On failure, errno gives the reason; EAGAIN: nobody has answered for long.
Descriptor connect_to(const std::string& path);
// False: refused, or the peer is gone. Never blocks for long, never raises SIGPIPE.
bool send_record(int socket, const void* data, std::size_t size, const int* descriptors = nullptr,
                 std::size_t count = 0);
// False: no complete record of that size, or fewer descriptors than expected (unless `or_fewer`); `errno` is
// EAGAIN if there is no record yet, and EMFILE if the record is there but this process cannot have all of its
// descriptors. Surplus descriptors are closed.
bool receive_record(int socket, void* data, std::size_t size, Descriptors* descriptors = nullptr,
                    std::size_t expected = 0, bool or_fewer = false);

}  // namespace gangway::live
