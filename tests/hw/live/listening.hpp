// A daemon that runs in a thread of the test, and what its clients say to it.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "hw/live/daemon.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live::testing {

inline std::unique_ptr<Policy> policy_named(const std::string& name) {
  const PolicyEntry& entry = Policies::named(name, "test", "policy");
  const Node none = parse_yaml("{}", "test");
  return entry.make(ParameterValues(entry.parameters, Field(none, name)));
}

// A daemon of its own thread.
struct Listening {
  explicit Listening(const std::string& policy, const std::function<void(DaemonSettings&)>& also = {}) {
    settings.socket = folder / "socket";
    settings.out = nullptr;
    if (also) also(settings);
    daemon = std::make_unique<Daemon>(policy, policy_named(policy), settings);
    thread = std::thread([this] { daemon->run(stop); });
  }
  ~Listening() {
    stop = true;
    thread.join();
  }
  gangway::testing::ScratchFolder folder;
  DaemonSettings settings;
  std::unique_ptr<Daemon> daemon;
  std::atomic<bool> stop{false};
  std::thread thread;
};

inline std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

inline Hello hello_of(Kind kind) {
  Hello hello;
  hello.version = kVersion;
  hello.kind = kind;
  return hello;
}

inline constexpr int kPageSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

inline Descriptor memory(std::size_t size, int seals) {
  Descriptor file(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(file.get(), static_cast<off_t>(size)) == 0);
  if (seals != 0) REQUIRE(fcntl(file.get(), F_ADD_SEALS, seals) == 0);
  return file;
}

// What the daemon answers to a client that returns with this page; nothing: the connection has ended.
inline std::optional<Welcome> answer_to(const std::string& socket, const Hello& hello,
                                        const Descriptor& page) {
  const Descriptor fd = connect_to(socket);
  REQUIRE(fd);
  const int file = page.get();
  REQUIRE(send_record(fd.get(), &hello, sizeof hello, &file, page ? 1 : 0));
  Welcome welcome;
  Descriptors files;
  if (!receive_record(fd.get(), &welcome, sizeof welcome, &files, kDescriptors, true)) return std::nullopt;
  CHECK(static_cast<bool>(files[0]) == (welcome.accepted == 1));
  return welcome;
}

}  // namespace gangway::live::testing
