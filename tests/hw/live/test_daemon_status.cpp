// What the daemon tells of its clients and of others on its GPUs.
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "hw/live/device_processes.hpp"
#include "hw/live/monotonic.hpp"
#include "hw/live/status.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/listening.hpp"

namespace gangway::live {
namespace {

using testing::answer_to, testing::hello_of, testing::kPageSeals, testing::Listening, testing::memory,
    testing::open_files;

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

}  // namespace
}  // namespace gangway::live
