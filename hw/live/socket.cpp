#include "hw/live/socket.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "hw/live/monotonic.hpp"

namespace gangway::live {

namespace {

constexpr timeval kMost{5, 0};  // a daemon that is stopped must not stop its clients

// Calls again when a signal has interrupted it. But a program whose timers keep interrupting it has an end,
// too, if the socket has one (`limit`: its option): then `last` is called, which does not wait.
template <typename Call, typename Last>
auto uninterrupted(int socket, int limit, const Call& call, const Last& last) {
  const std::int64_t until = monotonic_ns() + std::int64_t{kMost.tv_sec} * 1'000'000'000;
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
    if (monotonic_ns() < until) continue;
    timeval most{};
    socklen_t size = sizeof most;
    getsockopt(socket, SOL_SOCKET, limit, &most, &size);
    if (most.tv_sec != 0 || most.tv_usec != 0) return last();
  }
}

}  // namespace

void Descriptor::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Descriptor beyond_standard(int fd) {
  Descriptor owned(fd);
  if (fd < 0 || fd > STDERR_FILENO) return owned;
  return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

Descriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Descriptor fd = beyond_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) return {};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kMost, sizeof kMost);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kMost, sizeof kMost);  // also of connect()
  const auto made = [&] {
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  };
  const auto given_up = [] {
    errno = EAGAIN;
    return -1;
  };
  if (uninterrupted(fd.get(), SO_SNDTIMEO, made, given_up) != 0) return {};
  return fd;
}

bool send_record(int socket, const void* data, std::size_t size, const int* descriptors, std::size_t count) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(kDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  const auto sent = [&](int flags) { return sendmsg(socket, &message, MSG_NOSIGNAL | flags); };
  return uninterrupted(
             socket, SO_SNDTIMEO, [&] { return sent(0); }, [&] { return sent(MSG_DONTWAIT); }) ==
         static_cast<ssize_t>(size);
}

bool receive_record(int socket, void* data, std::size_t size, Descriptors* descriptors, std::size_t expected,
                    bool or_fewer) {
  iovec part{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto received_by = [&](int flags) { return recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags); };
  const ssize_t got = uninterrupted(
      socket, SO_RCVTIMEO, [&] { return received_by(0); }, [&] { return received_by(MSG_DONTWAIT); });
  if (got < 0) return false;
  std::size_t received = 0;
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof fd);
      Descriptor owned = beyond_standard(fd);
      if (descriptors != nullptr && received < expected) (*descriptors)[received] = std::move(owned);
      ++received;
    }
  }
  const bool truncated = got == static_cast<ssize_t>(size) && (message.msg_flags & MSG_CTRUNC) != 0;
  errno = truncated ? EMFILE : EBADMSG;  // if it is none
  return got == static_cast<ssize_t>(size) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
         (received == expected || (or_fewer && received < expected));
}

}  // namespace gangway::live
