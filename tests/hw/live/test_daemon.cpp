// The daemon against those who talk to it: garbage, floods, truncated records, files it never asked for.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "hw/live/daemon.hpp"
#include "hw/live/pause.hpp"
#include "hw/live/status.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/listening.hpp"

namespace gangway::live {
namespace {

using testing::answer_to, testing::hello_of, testing::kPageSeals, testing::Listening, testing::memory,
    testing::open_files, testing::policy_named;

// A client like any other: welcomed, with its four files.
bool is_served(const std::string& socket) {
  const Descriptor fd = connect_to(socket);
  const Hello hello = hello_of(Kind::client);
  Welcome welcome;
  Descriptors files;
  return fd && send_record(fd.get(), &hello, sizeof hello) &&
         receive_record(fd.get(), &welcome, sizeof welcome, &files, kDescriptors) && welcome.accepted == 1;
}

std::vector<char> bytes_of(const Hello& hello) {
  const auto* at = reinterpret_cast<const char*>(&hello);
  return {at, at + sizeof hello};
}

// What one stranger does. `kept`: connections that stay open.
void disturb(const std::string& socket, Stream& random, std::deque<Descriptor>& kept) {
  Descriptor fd = connect_to(socket);
  REQUIRE(fd);
  const auto kind = static_cast<Kind>(1 + random.below(3));
  Hello hello = hello_of(kind);
  hello.returns = static_cast<std::uint32_t>(random.below(2));
  std::vector<char> message = bytes_of(hello);
  switch (random.below(5)) {
    case 0:  // garbage
      message.resize(random.below(600));
      for (char& byte : message) byte = static_cast<char>(random.below(256));
      break;
    case 1:  // some bytes are wrong
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
        message[random.below(message.size())] = static_cast<char>(random.below(256));
      break;
    case 2:  // cut off, or more
      message.resize(random.below(2 * message.size()));
      break;
    default:  // right
      break;
  }
  int files[10];
  const std::size_t count = random.below(4) == 0 ? 1 + random.below(4) : 0;
  const Descriptor page =
      memory(random.below(4) == 0 ? 4096 : sizeof(ClientPage), random.below(4) == 0 ? 0 : kPageSeals);
  for (std::size_t f = 0; f < count; ++f) files[f] = random.below(2) == 0 ? fd.get() : page.get();
  const bool speaks = random.below(10) != 0;
  if (speaks) static_cast<void>(send_record(fd.get(), message.data(), message.size(), files, count));
  for (std::uint64_t n = random.below(3); n > 0; --n) {  // and goes on
    Question question;
    if (random.below(2) == 0) question.magic = static_cast<std::uint32_t>(random.below(1000));
    static_cast<void>(send_record(fd.get(), &question, random.below(2) == 0 ? sizeof question : 1));
  }
  if (speaks && random.below(3) == 0) {
    Welcome welcome;
    Descriptors received;
    static_cast<void>(
        receive_record(fd.get(), &welcome, sizeof welcome, &received, random.below(kDescriptors + 1)));
  }
  if (random.below(4) == 0) kept.push_back(std::move(fd));
  while (kept.size() > 100) kept.pop_front();
}

TEST_CASE("Nobody who talks nonsense harms the daemon or others", "[live][threads][long]") {
  const gangway::testing::CaseNumbers numbers = gangway::testing::case_numbers(4'000, 1'000'000);
  Listening listening("piv");
  const std::string& socket = listening.settings.socket;
  REQUIRE(is_served(socket));
  const std::size_t before = open_files();
  std::deque<Descriptor> kept;
  for (const int number : numbers) {
    Stream random(static_cast<std::uint64_t>(number), "stranger", {});
    disturb(socket, random, kept);
    if (number % 500 == 0) REQUIRE(is_served(socket));
  }
  kept.clear();
  REQUIRE(is_served(socket));
  const nlohmann::json status = nlohmann::json::parse(ask_for_status(socket));
  CHECK(status["clients_so_far"] >= 2);
  // The daemon forgets them all.
  for (int wait = 0; wait < 3000 && open_files() > before; ++wait) usleep(10'000);
  CHECK(open_files() <= before);
}

TEST_CASE("A client returns with its own page, as it was introduced, and with nothing else",
          "[live][threads]") {
  Listening listening("piv");
  const std::string& socket = listening.settings.socket;
  Hello hello = hello_of(Kind::client);
  hello.returns = 1;
  std::strcpy(hello.name, "it");
  hello.priority = 7;
  hello.weight = 2;
  hello.slo_ns = 5'000'000;
  const auto taken = answer_to(socket, hello, memory(sizeof(ClientPage), kPageSeals));
  REQUIRE(taken);
  CHECK(taken->accepted == 1);
  CHECK(taken->introduction.returns == 1);
  CHECK(std::string(taken->introduction.name) == "it");
  CHECK(taken->introduction.priority == 7);
  CHECK(taken->introduction.weight == 2);
  CHECK(taken->introduction.slo_ns == 5'000'000);

  CHECK_FALSE(answer_to(socket, hello, Descriptor()));
  for (const int seals : {0, F_SEAL_SHRINK | F_SEAL_SEAL, kPageSeals | F_SEAL_WRITE}) {
    const auto refused = answer_to(socket, hello, memory(sizeof(ClientPage), seals));
    REQUIRE(refused);
    CHECK(refused->accepted == 0);
  }
  const auto small = answer_to(socket, hello, memory(sizeof(ClientPage) - 4096, kPageSeals));
  REQUIRE(small);
  CHECK(std::string(small->why_not) == "the page of a returning client is not valid");
  const auto device = answer_to(socket, hello, Descriptor(open("/dev/zero", O_RDWR)));
  REQUIRE(device);
  CHECK(device->accepted == 0);
  hello.weight = 0;
  const auto light = answer_to(socket, hello, memory(sizeof(ClientPage), kPageSeals));
  REQUIRE(light);
  CHECK(std::string(light->why_not).find("expected a weight from 0.001 to 1000") == 0);
  hello.returns = 0;
  CHECK_FALSE(answer_to(socket, hello, memory(sizeof(ClientPage), kPageSeals)));
  REQUIRE(is_served(socket));
}

TEST_CASE("A client is told whether others are on its GPU", "[live]") {
  Listening served("piv");
  // The connection, and the permit page that came with the welcome.
  struct Connected {
    Descriptor fd;
    const PermitPage* permit = nullptr;
  };
  const auto connected = [&] {
    Connected made{connect_to(served.settings.socket)};
    const Hello hello = hello_of(Kind::client);
    Welcome welcome;
    Descriptors files;
    REQUIRE(send_record(made.fd.get(), &hello, sizeof hello));
    REQUIRE(receive_record(made.fd.get(), &welcome, sizeof welcome, &files, kDescriptors));
    void* at = mmap(nullptr, sizeof(PermitPage), PROT_READ, MAP_SHARED, files[0].get(), 0);
    REQUIRE(at != MAP_FAILED);
    made.permit = static_cast<const PermitPage*>(at);
    return made;
  };
  const Connected first = connected();
  CHECK(first.permit->company.load() == 0);
  {
    const Connected second = connected();
    CHECK(first.permit->company.load() == 1);
    CHECK(second.permit->company.load() == 1);
  }
  while (first.permit->company.load() != 0) sleep_ns(100'000);
  // Nobody closes its gate.
  Listening open("passthrough");
  served.settings.socket = open.settings.socket;
  const Connected third = connected(), fourth = connected();
  CHECK(third.permit->company.load() == 0);
  CHECK(fourth.permit->company.load() == 0);
}

TEST_CASE("Whoever connects and says nothing makes room for others", "[live][threads]") {
  Listening listening("disengaged-timeslice");
  std::vector<Descriptor> silent;
  for (int n = 0; n < 400; ++n) {
    Descriptor fd = connect_to(listening.settings.socket);
    REQUIRE(fd);
    silent.push_back(std::move(fd));
    if (n % 50 == 0) REQUIRE(is_served(listening.settings.socket));
  }
  REQUIRE(is_served(listening.settings.socket));
  char byte = 0;
  CHECK(read(silent.front().get(), &byte, 1) == 0);  // it had to go
}

TEST_CASE("Who gets the descriptor of one that has just gone is not taken for it", "[live]") {
  gangway::testing::ScratchFolder folder;
  DaemonSettings settings;
  settings.socket = folder / "socket";
  settings.out = nullptr;
  Daemon daemon("piv", policy_named("piv"), settings);
  std::vector<Descriptor> silent;
  for (int n = 0; n < 256; ++n) {
    silent.push_back(connect_to(settings.socket));
    REQUIRE(silent.back());
    if (n % 32 == 0 || n == 255) daemon.turn(Duration{0});
  }
  // In one look two more come, for the first of whom the oldest has to go, and the oldest speaks.
  const Descriptor first = connect_to(settings.socket), second = connect_to(settings.socket);
  const Hello hello = hello_of(Kind::status);
  REQUIRE(send_record(silent.front().get(), &hello, sizeof hello));
  for (int turn = 0; turn < 3; ++turn) daemon.turn(Duration{0});
  for (const Descriptor* const each : {&first, &second}) {
    REQUIRE(send_record(each->get(), &hello, sizeof hello));
    pollfd answer{each->get(), POLLIN, 0};
    for (int turn = 0; turn < 1000 && poll(&answer, 1, 0) == 0; ++turn) daemon.turn(Duration{1'000'000});
    Welcome welcome;
    Descriptors files;
    REQUIRE(receive_record(each->get(), &welcome, sizeof welcome, &files, 1));
    CHECK(welcome.accepted == 1);
  }
}

}  // namespace
}  // namespace gangway::live
