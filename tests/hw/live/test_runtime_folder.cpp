#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>

#include "experiments/results/files.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/socket.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live {
namespace {

TEST_CASE("programs join the user's own daemon, else the machine's service", "[live]") {
  const gangway::testing::ScratchFolder folder;
  const char* const before = std::getenv("XDG_RUNTIME_DIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  const std::string own = default_socket(), service = (folder / "service").string();
  CHECK(socket_to_join(0, service) == own);  // there is neither: this one is named
  write_file(service, "");
  CHECK(socket_to_join(0, service) == service);
  CHECK(socket_to_join(1, service) == default_socket(1));  // the service has GPU 0
  write_file(service + "-1", "");
  CHECK(socket_to_join(1, service) == service + "-1");
  CHECK(socket_to_join(2, service) == default_socket(2));
  std::filesystem::create_directory(own_folder_path());
  write_file(own, "");  // left behind by a daemon that was killed
  CHECK(socket_to_join(0, service) == service);
  std::filesystem::remove(own);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(own.size() < sizeof address.sun_path);
  own.copy(address.sun_path, own.size());
  const Descriptor daemon(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(bind(daemon.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(socket_to_join(0, service) == service);
  REQUIRE(listen(daemon.get(), 1) == 0);
  CHECK(socket_to_join(0, service) == own);
  CHECK(socket_to_join(1, service) == service + "-1");
  if (before != nullptr)
    setenv("XDG_RUNTIME_DIR", kept.c_str(), 1);
  else
    unsetenv("XDG_RUNTIME_DIR");
}

}  // namespace
}  // namespace gangway::live
