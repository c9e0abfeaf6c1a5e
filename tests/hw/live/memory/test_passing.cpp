// Memory that is passed on: both ends of the channel, and two processes.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "tests/hw/live/memory/moved_process.hpp"

namespace gangway::live {
namespace {

using testing::FakeDriver;
using testing::FakeMemory;
using testing::FakeSource;
using testing::kManagedMiB;
using testing::MovedProcess;

struct Ends {
  Ends() {
    source.channel = lender.client_end();
    gate.introduce();
  }
  FakeDriver driver;
  FakeSource source;
  Lender lender;
  Gate gate{driver, source};
  Passing passing{gate};
};

// The piece that the client has passed on since, if it is one.
std::optional<PassedMemory> one_of(Lender& lender) {
  auto all = lender.passed();
  REQUIRE(all.size() <= 1);
  return all.empty() ? std::nullopt : std::optional(std::move(all.front()));
}

Descriptor a_file() { return Descriptor(memfd_create("piece", MFD_CLOEXEC)); }

// Whether the file behind the descriptor of this number is open anywhere in this process.
bool open_here(const std::shared_ptr<Descriptor>& file) {
  return file.use_count() != 0 && fcntl(file->get(), F_GETFD) != -1;
}

TEST_CASE("a piece keeps its number and the daemon's file, whoever has it", "[live][memory]") {
  Ends one, other;
  CHECK(!one_of(one.lender));
  const Descriptor file = a_file();
  REQUIRE(one.passing.pass(0, 64, file.get()));
  auto piece = one_of(one.lender);
  REQUIRE(piece);
  CHECK(piece->size == 64);
  CHECK(piece->number != 0);
  CHECK(open_here(piece->file));
  const std::weak_ptr<Descriptor> kept = piece->file;
  const std::uint64_t number = piece->number;

  REQUIRE(other.lender.lend(*piece));
  piece.reset();
  CHECK(!kept.expired());  // the lender has it
  const auto lent = other.passing.lent(64);
  REQUIRE(lent);
  CHECK(lent->number == number);
  CHECK(lent->file);
  CHECK(other.source.client.memory.lent.load() == 64);
  CHECK(!other.passing.lent(64));

  REQUIRE(other.passing.pass(number, 64, -1));  // no file comes with it
  piece = one_of(other.lender);
  REQUIRE(piece);
  CHECK(piece->number == number);
  CHECK(piece->file == kept.lock());
  CHECK(!one_of(other.lender));
  piece.reset();
  CHECK(kept.expired());
}

TEST_CASE("what a client frees or does not take is free", "[live][memory]") {
  Ends one;
  std::vector<std::weak_ptr<Descriptor>> files;
  for (const std::uint64_t size : {64, 128, 64, 64}) {
    REQUIRE(one.passing.pass(0, size, a_file().get()));
    const auto piece = one_of(one.lender);
    REQUIRE(piece);
    files.push_back(piece->file);
    REQUIRE(one.lender.lend(*piece));
  }
  const auto kept = [&] {
    static_cast<void>(one_of(one.lender));
    std::vector<bool> all;
    for (const auto& file : files) all.push_back(!file.expired());
    return all;
  };
  const auto first = one.passing.lent(64);
  REQUIRE(first);
  CHECK(kept() == std::vector<bool>{true, true, true, true});
  const auto third = one.passing.lent(64);  // one of another size comes before it
  REQUIRE(third);
  CHECK(kept() == std::vector<bool>{true, false, true, true});
  one.passing.decline();
  CHECK(kept() == std::vector<bool>{true, false, true, false});
  CHECK(one.source.client.memory.lent.load() == 64 + 128 + 64 + 64);
  one.passing.freed(first->number);
  CHECK(kept() == std::vector<bool>{false, false, true, false});
  one.passing.freed(first->number);  // nobody knows of it
  CHECK(kept() == std::vector<bool>{false, false, true, false});
}

TEST_CASE("nothing that is freed is forgotten while the daemon does not listen", "[live][memory]") {
  Ends one;
  std::vector<std::uint64_t> numbers;
  std::vector<std::weak_ptr<Descriptor>> files;
  for (int n = 0; n < 2000; ++n) {
    REQUIRE(one.passing.pass(0, 64, a_file().get()));
    const auto piece = one_of(one.lender);
    REQUIRE(piece);
    REQUIRE(one.lender.lend(*piece));
    const auto lent = one.passing.lent(64);
    REQUIRE(lent);
    numbers.push_back(lent->number);
    files.push_back(piece->file);
  }
  for (const std::uint64_t number : numbers) one.passing.freed(number);  // more than the channel holds
  for (int turn = 0; turn < 100; ++turn) {
    static_cast<void>(one_of(one.lender));
    one.passing.decline();
  }
  for (const auto& file : files) REQUIRE(file.expired());
}

TEST_CASE("without a daemon nothing is passed on, and one that has gone takes nothing", "[live][memory]") {
  FakeDriver driver;
  FakeSource source;
  Gate gate{driver, source};
  gate.introduce();
  Passing passing{gate};
  CHECK(!passing.possible());
  CHECK(!passing.pass(0, 64, a_file().get()));
  CHECK(!passing.lent(64));
  passing.freed(5);
  {
    Lender lender;
    source.channel = dup(lender.client_end());
    lender.welcomed();
    CHECK(passing.possible());
    CHECK(passing.pass(0, 64, a_file().get()));
  }
  CHECK(!passing.pass(0, 64, a_file().get()));
  CHECK(!passing.lent(64));
  passing.freed(5);
  close(source.channel);
}

TEST_CASE("a client that makes no sense is not listened to", "[live][memory]") {
  Ends one;
  SECTION("a piece without a file") {
    CHECK(one.passing.pass(0, 64, -1));
    CHECK(!one_of(one.lender));
  }
  SECTION("a piece that was not lent to it") {
    CHECK(one.passing.pass(77, 64, -1));
    CHECK(!one_of(one.lender));
  }
  SECTION("no record") {
    const Descriptor file = a_file();
    const int number = file.get();
    REQUIRE(send_record(one.source.channel, "junk", 4, &number, 1));
    REQUIRE(one.passing.pass(0, 64, file.get()));
    CHECK(!one_of(one.lender));
    CHECK(!one_of(one.lender));
    CHECK(!one.lender.lend({1, 64, std::make_shared<Descriptor>(a_file())}));
  }
}

TEST_CASE("what a client has that the daemon no longer listens to is its own", "[live][memory]") {
  Ends one;
  REQUIRE(one.passing.pass(0, 64, a_file().get()));
  auto piece = one_of(one.lender);
  REQUIRE(piece);
  const std::weak_ptr<Descriptor> file = piece->file;
  REQUIRE(one.lender.lend(*piece));
  piece.reset();
  CHECK(!file.expired());
  const int none = 0;
  REQUIRE(send_record(one.source.channel, "junk", 4, &none, 0));
  CHECK(!one_of(one.lender));
  CHECK(file.expired());
}

// While it lives, the process cannot have one more descriptor.
struct NoDescriptors {
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before);
    const int next = dup(STDERR_FILENO);
    close(next);
    rlimit now = before;
    now.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

TEST_CASE("where no descriptor is left, a piece is free and the next one passes", "[live][memory]") {
  Ends one;
  const Descriptor file = a_file();
  SECTION("at the daemon") {
    REQUIRE(one.passing.pass(0, 64, file.get()));
    {
      const NoDescriptors none;
      CHECK(!one_of(one.lender));
    }
    REQUIRE(one.passing.pass(0, 64, file.get()));
    CHECK(one_of(one.lender));
  }
  SECTION("at the client") {
    std::vector<std::weak_ptr<Descriptor>> files;
    for (int n = 0; n < 2; ++n) {
      REQUIRE(one.passing.pass(0, 64, file.get()));
      const auto piece = one_of(one.lender);
      REQUIRE(piece);
      files.push_back(piece->file);
      REQUIRE(one.lender.lend(*piece));
      if (n == 1) break;
      const NoDescriptors none;
      CHECK(!one.passing.lent(64));
    }
    CHECK(one.source.client.memory.lent.load() == 64);
    CHECK(one.passing.lent(64));
    CHECK(one.source.client.memory.lent.load() == 128);
    CHECK(!one_of(one.lender));
    CHECK(files[0].expired());
    CHECK(!files[1].expired());
  }
}

// The words of a state of 512 and 138 MiB.
struct Stateful : MovedProcess {
  explicit Stateful(std::uint64_t first) : MovedProcess(1000 * kManagedMiB), value(first) {
    passes(512 * kManagedMiB);
    REQUIRE(memory.allocate(650 * kManagedMiB, owner(), at) == MemoryDriver::kSuccess);
    for (std::uint64_t a = at; a < at + 650 * kManagedMiB; a += kManagedMiB) device.word(a) = value + a;
    source->client.slots.store(1);
    used();
  }
  void used() { source->client.threads[0].submissions.fetch_add(1); }
  void check() {
    for (std::uint64_t a = at; a < at + 650 * kManagedMiB; a += kManagedMiB)
      REQUIRE(device.word(a) == value + a);
  }
  std::uint64_t value, at = 0;
};

TEST_CASE("a state comes into the memory of one that has left", "[live][memory]") {
  Stateful a(1000), b(2000);
  b.order(Goal::away);  // for the first time: nobody could share it
  CHECK(!one_of(b.lender));
  CHECK(b.source->client.memory.passed.load() == 0);
  b.order(Goal::here);
  b.used();
  for (int turn = 0; turn < 3; ++turn) {
    for (auto [leaves, comes] : {std::pair(&b, &a), std::pair(&a, &b)}) {
      if (turn == 0 && comes == &a) comes->order(Goal::away);
      leaves->order(Goal::away);
      const auto piece = one_of(leaves->lender);
      REQUIRE(piece);
      CHECK(!one_of(leaves->lender));
      CHECK(leaves->device.used() == 0);
      REQUIRE(comes->lender.lend(*piece));
      comes->device.calls.clear();
      comes->order(Goal::here);
      CHECK(comes->device.calls["create"] == 1);
      CHECK(comes->device.calls["adopt"] == 1);
      comes->check();
      comes->used();
    }
  }
  CHECK(b.source->client.memory.passed.load() == 3 * 512 * kManagedMiB);
  b.order(Goal::away);
  auto piece = one_of(b.lender);
  REQUIRE(piece);
  SECTION("what cannot be adopted or mapped is created") {
    a.order(Goal::away);
    static_cast<void>(one_of(a.lender));
    a.device.plant(GENERATE("adopt", "map"), 0);
    REQUIRE(a.lender.lend(*piece));
    a.order(Goal::here);
    a.check();
  }
  SECTION("a piece that was lent and is freed by the program") {
    const std::weak_ptr<Descriptor> file = piece->file;
    REQUIRE(b.lender.lend(*piece));
    b.order(Goal::here);
    piece.reset();
    CHECK(!file.expired());
    REQUIRE(b.memory.free(b.at));
    static_cast<void>(one_of(b.lender));
    CHECK(file.expired());
  }
}

TEST_CASE("room that comes with a piece is not spent beside it", "[live][memory]") {
  MovedProcess a(3000 * kManagedMiB);
  std::uint64_t at = 0, handle = 0;
  REQUIRE(a.memory.allocate(512 * kManagedMiB, a.owner(), at) == MemoryDriver::kSuccess);
  REQUIRE(a.memory.create(4 * kManagedMiB, {}, 7, handle) == MemoryDriver::kSuccess);
  a.order(Goal::away);
  a.passes(512 * kManagedMiB);
  a.order(Goal::here);
  a.source->client.threads[0].submissions.fetch_add(1);
  a.source->client.slots.store(1);
  a.order(Goal::away);
  const auto piece = one_of(a.lender);
  REQUIRE(piece);
  REQUIRE(a.lender.lend(*piece));
  REQUIRE(a.lender.lend({piece->number + 1, piece->size, std::make_shared<Descriptor>(a_file())}));
  a.device.calls.clear();
  a.device.meanwhile = [&] {  // by when the second piece of the state is created, nobody has the other one
    if (a.device.calls["create"] != 0) CHECK(a.source->client.memory.lent.load() == 1024 * kManagedMiB);
  };
  a.order(Goal::here);
  CHECK(a.device.calls["adopt"] == 1);
  CHECK(a.device.calls["create"] == 1);
}

TEST_CASE("what is left of a large piece is passed on if it is large", "[live][memory]") {
  MovedProcess a(3000 * kManagedMiB);
  std::uint64_t at = 0;
  REQUIRE(a.memory.allocate(570 * kManagedMiB, a.owner(), at) == MemoryDriver::kSuccess);
  a.passes(58 * kManagedMiB);
  for (int move = 0; move < 2; ++move) {
    a.order(Goal::away);
    CHECK(!one_of(a.lender));
    a.order(Goal::here);
    a.source->client.threads[0].submissions.fetch_add(1);
    a.source->client.slots.store(1);
  }
}

}  // namespace
}  // namespace gangway::live
