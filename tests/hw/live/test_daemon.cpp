// The daemon against those who talk to it: garbage, floods, truncated records, files it never asked for.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "hw/live/daemon.hpp"
#include "hw/live/device_processes.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/pause.hpp"
#include "hw/live/status.hpp"
#include "models/random.hpp"
#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::live {
namespace {

std::unique_ptr<Policy> policy_named(const std::string& name) {
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

std::size_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

Hello hello_of(Kind kind) {
  Hello hello;
  hello.version = kVersion;
  hello.kind = kind;
  return hello;
}

// A client like any other: welcomed, with its four files.
bool is_served(const std::string& socket) {
  const Descriptor fd = connect_to(socket);
  const Hello hello = hello_of(Kind::client);
  Welcome welcome;
  Descriptors files;
  return fd && send_record(fd.get(), &hello, sizeof hello) &&
         receive_record(fd.get(), &welcome, sizeof welcome, &files, kDescriptors) && welcome.accepted == 1;
}

constexpr int kPageSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Descriptor memory(std::size_t size, int seals) {
  Descriptor file(memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(ftruncate(file.get(), static_cast<off_t>(size)) == 0);
  if (seals != 0) REQUIRE(fcntl(file.get(), F_ADD_SEALS, seals) == 0);
  return file;
}

// What the daemon answers to a client that returns with this page; nothing: the connection has ended.
std::optional<Welcome> answer_to(const std::string& socket, const Hello& hello, const Descriptor& page) {
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

TEST_CASE("Latencies of a client count from when its jobs were due, and jobs under way do not count",
          "[live]") {
  LiveClient client(getpid(), Descriptor(), "a", -1);
  auto& page = const_cast<ClientPage&>(client.page());  // which only the client writes
  for (std::uint64_t j = 0; j < 11; ++j) {
    JobSlot& slot = page.jobs[j];
    slot.number.store(j + 1);
    slot.arrived.store(1'000'000);
    slot.begun.store(5'000'000);
    slot.ended.store(j < 10 ? 6'000'000 + static_cast<std::int64_t>(j) : 90'000'000);
  }
  page.counted.store(2 * 10 + 1);
  const nlohmann::json status = nlohmann::json::parse(status_text({}, {{&client, true, {}, {}}}));
  const nlohmann::json& shown = status["clients"][0];
  CHECK(shown["jobs"] == 11);
  CHECK(shown["latency_ns"]["p50"] == 5'000'004);
  CHECK(shown["latency_ns"]["p99"] == 5'000'009);
}

TEST_CASE("The status of as many clients as can connect is read, whatever they are called", "[live]") {
  const LiveClient client(getpid(), Descriptor(), std::string(63, '\x01'), -1);
  const std::string text =
      status_text({}, std::vector<ClientFacts>(1024, ClientFacts{&client, true, {}, {}}));
  const gangway::testing::ScratchFolder folder;
  const std::string path = folder / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(listen(listener.get(), 1) == 0);
  const std::jthread daemon([&] {
    const Descriptor one(accept(listener.get(), nullptr, nullptr)), file = status_file(text);
    Hello hello;
    receive_record(one.get(), &hello, sizeof hello);
    Welcome welcome;
    welcome.accepted = 1;
    const int files[] = {file.get()};
    send_record(one.get(), &welcome, sizeof welcome, files, 1);
  });
  CHECK(ask_for_status(path) == text);
}

TEST_CASE("Processes that have a file open are found, with their commands", "[live]") {
  const gangway::testing::ScratchFolder folder;
  const std::string file = std::filesystem::canonical(folder.path()) / "device";
  CHECK(processes_with(file).found.empty());
  const Descriptor open_file(open(file.c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(open_file);
  const std::vector<DeviceProcess> found = processes_with(file).found;
  REQUIRE(found.size() == 1);
  CHECK(found[0].process == getpid());
  CHECK(found[0].command.find("gangway_tests") != std::string::npos);
}

TEST_CASE("Where there is no GPU, nobody can be on one, whoever may look where", "[live]") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
    const DeviceProcesses none = processes_with("/dev/gangway-none");
    _exit(none.found.empty() && none.not_looked_at == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("Who may not look everywhere is told what somebody else has seen", "[live]") {
  const DeviceProcess here{getpid(), "here"}, ended{999'999'999, "ended"};
  const DeviceProcesses earlier{{here, ended}, 0};
  const DeviceProcesses some = completed({{}, 3}, earlier);
  REQUIRE(some.found.size() == 1);
  CHECK(some.found[0].command == "here");
  CHECK(some.not_looked_at == 0);
  CHECK(completed({{}, 3}, {{}, 2}).not_looked_at == 2);
  CHECK(completed({{here}, 3}, earlier).found.size() == 1);
  CHECK(completed({}, earlier).found.empty());  // it has looked everywhere, and later
}

TEST_CASE("The daemon looks for processes on a GPU that are no clients", "[live]") {
  const gangway::testing::ScratchFolder folder;
  const std::string file = std::filesystem::canonical(folder.path()) / "device";
  const Descriptor device(open(file.c_str(), O_RDWR | O_CREAT, 0600));
  REQUIRE(device);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> lines(std::tmpfile(), std::fclose);
  const auto said = [&] {
    std::string text(4096, '\0');
    text.resize(static_cast<std::size_t>(
        std::max<ssize_t>(0, pread(fileno(lines.get()), text.data(), text.size(), 0))));
    return text;
  };
  const Listening listening("piv", [&](DaemonSettings& settings) {
    settings.device_file = file;
    settings.device_look_every = Duration{10'000'000};
    settings.out = lines.get();
  });
  const std::string line = "process " + std::to_string(getpid()) + " uses a GPU but is not a client";
  for (int wait = 0; wait < 1000 && said().empty(); ++wait) usleep(10'000);
  usleep(1'000'000);  // many looks
  CHECK(said().find(line) == 0);
  CHECK(said().find(line, 1) == std::string::npos);  // once
  const auto others = [&] {
    return nlohmann::json::parse(ask_for_status(listening.settings.socket))["others"];
  };
  REQUIRE(others().size() == 1);
  CHECK(others()[0]["process"] == getpid());
  const Descriptor client = connect_to(listening.settings.socket);
  const Hello hello = hello_of(Kind::client);
  REQUIRE(send_record(client.get(), &hello, sizeof hello));
  for (int wait = 0; wait < 1000 && !others().empty(); ++wait) usleep(10'000);
  CHECK(others().empty());
}

// A client with its pages and its bell.
struct Paged {
  explicit Paged(const std::string& daemon) : fd(connect_to(daemon)) {
    const Hello hello = hello_of(Kind::client);
    Welcome welcome;
    Descriptors files;
    REQUIRE(send_record(fd.get(), &hello, sizeof hello));
    REQUIRE(receive_record(fd.get(), &welcome, sizeof welcome, &files, kDescriptors));
    void* const at = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, files[1].get(), 0);
    REQUIRE(at != MAP_FAILED);
    page = static_cast<ClientPage*>(at);
    bell = std::move(files[3]);
  }
  void submits() const {
    page->streams.store(1);
    page->stream[0].begun.fetch_add(1);
  }
  // As its helper thread, once.
  void answers(bool works) const {
    std::uint64_t rings = 0;
    pollfd rung{bell.get(), POLLIN, 0};
    if (poll(&rung, 1, 1) != 1 || read(bell.get(), &rings, sizeof rings) < 0) return;
    page->works.store(works ? 1 : 0);
    page->looked.store(monotonic_ns());
  }
  Descriptor fd, bell;
  ClientPage* page = nullptr;
};

TEST_CASE("Use of the GPU is divided among clients with work on it, as they answer", "[live][threads]") {
  const Listening listening("passthrough", [](DaemonSettings& settings) {
    settings.measures_use = true;
    settings.moves.window = Duration{300'000'000};
  });
  const auto seen = [&] { return nlohmann::json::parse(ask_for_status(listening.settings.socket)); };
  const auto use_of = [&](const nlohmann::json& status, std::size_t client) {
    const nlohmann::json& use = status["clients"][client]["use"];
    return use.is_null() ? -1 : use.get<double>();
  };
  const Paged first(listening.settings.socket), second(listening.settings.socket),
      idle(listening.settings.socket);
  first.submits();
  second.submits();
  bool works = true;
  const auto play = [&](int ms, bool second_answers) {
    for (const std::int64_t end = monotonic_ns() + ms * 1'000'000LL; monotonic_ns() < end;) {
      first.answers(works);
      if (second_answers) second.answers(true);
    }
  };
  play(600, true);
  nlohmann::json status = seen();
  CHECK(use_of(status, 0) > 0.35);
  CHECK(use_of(status, 0) < 0.65);
  CHECK(use_of(status, 1) > 0.35);
  CHECK(use_of(status, 2) == 0);
  CHECK(status["gpus"][0]["use"] > 0.9);
  CHECK(status["use_window_ns"] == 300'000'000);
  // What a page says is long over is not at work. Of one that does not answer nothing is known.
  works = false;
  play(600, false);
  status = seen();
  CHECK(use_of(status, 0) < 0.1);
  CHECK(use_of(status, 1) == -1);
  CHECK(use_of(status, 2) == 0);
  CHECK(status["gpus"][0]["use"].is_null());
}

TEST_CASE("Totals grow only, and stay when clients have gone", "[live]") {
  const Listening listening("piv");
  const auto totals = [&] { return nlohmann::json::parse(ask_for_status(listening.settings.socket)); };
  {
    const Paged client(listening.settings.socket);
    client.page->counted.store(7);
    client.page->crowd_submissions.store(100);
    CHECK(totals()["totals"]["jobs"] == 4);
    client.page->counted.store(1);  // it lies
    CHECK(totals()["totals"]["jobs"] == 4);
    client.page->counted.store(9);
  }
  nlohmann::json status;
  for (int wait = 0; wait < 1000 && (status = totals())["clients"].size() != 0; ++wait) usleep(1'000);
  CHECK(status["totals"]["jobs"] == 5);
  CHECK(status["totals"]["submissions"] == 100);
  // What one that returns did under an earlier daemon is none of this one's.
  const Descriptor page = memory(sizeof(ClientPage), kPageSeals);
  void* const at = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, page.get(), 0);
  REQUIRE(at != MAP_FAILED);
  static_cast<ClientPage*>(at)->counted.store(2000);
  Hello hello = hello_of(Kind::client);
  hello.returns = 1;
  REQUIRE(answer_to(listening.settings.socket, hello, page));
  CHECK(totals()["totals"]["jobs"] == 5);
  CHECK(totals()["clients_so_far"] == 2);
}

TEST_CASE("Many who ask for the status share few", "[live][threads]") {
  const Listening listening("piv");
  const auto texts = [&] {
    return nlohmann::json::parse(ask_for_status(listening.settings.socket))["status_texts"].get<int>();
  };
  const std::size_t open_before = open_files();
  const int before = texts();
  const std::int64_t began = monotonic_ns();
  std::atomic<int> answered{0};
  {
    std::vector<std::jthread> askers;
    for (int thread = 0; thread < 4; ++thread)
      askers.emplace_back([&] {
        for (int round = 0; round < 4; ++round) {
          std::vector<Descriptor> waiting;
          for (int n = 0; n < 60; ++n) {
            waiting.push_back(connect_to(listening.settings.socket));
            const Hello hello = hello_of(Kind::status);
            send_record(waiting.back().get(), &hello, sizeof hello);
          }
          for (const Descriptor& each : waiting) {
            Welcome welcome;
            Descriptors files;
            if (receive_record(each.get(), &welcome, sizeof welcome, &files, 1) && welcome.accepted == 1)
              ++answered;
          }
        }
      });
  }
  const std::int64_t took = monotonic_ns() - began;
  CHECK(answered == 4 * 4 * 60);
  CHECK(texts() - before <= took / 50'000'000 + 2);
  // The latest is not kept for long.
  for (int wait = 0; wait < 1000 && open_files() > open_before; ++wait) usleep(10'000);
  CHECK(open_files() <= open_before);
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
