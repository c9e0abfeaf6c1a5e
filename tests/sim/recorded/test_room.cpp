// Kernels of several recorded programs that wait for room under MPS, by hand: "Room under MPS" of
// sim/recorded/README.md.
#include "sim/recorded/shared_room.hpp"
#include "tests/catch.hpp"
#include "tests/sim/recorded/recorded_scenario.hpp"

namespace gangway::testing {
namespace {

using recording::OrderKind;
using Jobs = std::vector<std::string>;

// From 10 on, of so many blocks.
recording::Recording kernel_of(std::int64_t blocks, std::int64_t length) {
  recording::Recording made = one_kernel(length);
  made.launches[0].grid = {static_cast<std::uint32_t>(blocks), 1, 1};
  return made;
}

// Room for four blocks of 32 threads.
struct SmallGpu : RecordedScenario {
  SmallGpu() { device.sm = {128, 4, 65536, Bytes{48 * 1024}}; }
};

}  // namespace

TEST_CASE("under MPS a kernel waits until one before it has begun its last blocks", "[recorded]") {
  SmallGpu s;
  SECTION("which leave no room") {
    // A's three waves of 100 begin at 10, 110 and 210. B comes at 60.
    s.client("A", kernel_of(12, 300));
    s.client("B", kernel_of(2, 50)).arrive = Duration{50};
    s.play();
    CHECK(s.jobs == Jobs{"0-312", "50-362"});
    CHECK(s.off_gpu == std::vector<std::string>{"0 A on host", "50 B on host", "60 B awaits GPU",
                                                "310 A on host", "360 B on host"});
  }
  SECTION("which leave room for all of its blocks") {
    // From 210 on A has two blocks: B until 260.
    s.client("A", kernel_of(10, 300));
    s.client("B", kernel_of(2, 50)).arrive = Duration{50};
    s.play();
    CHECK(s.jobs == Jobs{"0-312", "50-262"});
  }
  SECTION("which leave room for some") {
    // Two of B's blocks until 260, then the third one.
    s.client("A", kernel_of(10, 300));
    s.client("B", kernel_of(3, 50)).arrive = Duration{50};
    s.play();
    CHECK(s.jobs == Jobs{"0-312", "50-312"});
  }
  SECTION("in the order in which they came") {
    // C, of one block, comes before B's third block has begun.
    s.client("A", kernel_of(10, 300));
    s.client("B", kernel_of(3, 50)).arrive = Duration{50};
    s.client("C", kernel_of(1, 30)).arrive = Duration{70};
    s.play();
    CHECK(s.jobs == Jobs{"0-312", "50-312", "70-292"});
  }
  SECTION("and those that come in one instant in the order of clients") {
    // B's blocks begin first: all four until 60, then A's second wave.
    s.client("C", kernel_of(4, 50));
    s.client("B", kernel_of(4, 50));
    s.play();
    CHECK(s.jobs == Jobs{"0-62", "0-112"});
  }
}

TEST_CASE("room that a kernel cannot use is not given to one behind it", "[recorded]") {
  // A leaves a quarter until 110. B's block needs all of the GPU, so C, which would have room, waits for its
  // turn, until 160.
  SmallGpu s;
  recording::Recording whole = kernel_of(1, 50);
  whole.launches[0].block = {128, 1, 1};
  s.client("A", kernel_of(3, 100));
  s.client("B", whole).arrive = Duration{20};
  s.client("C", kernel_of(1, 30)).arrive = Duration{30};
  s.play();
  CHECK(s.jobs == Jobs{"0-112", "20-162", "30-192"});
}

TEST_CASE("of very many waves several count as one", "[recorded]") {
  // 10,001 waves, so that 11 blocks count as one: 3,637 of them in 910 waves of 100. The last one, of
  // one block, begins at 10 + 90,900 and leaves room for two of B.
  SmallGpu s;
  s.client("A", kernel_of(40'001, 91'000));
  s.client("B", kernel_of(2, 50)).arrive = Duration{50};
  s.play();
  CHECK(s.jobs == Jobs{"0-91012", "50-90962"});
}

TEST_CASE("kernels of one program do not wait for each other's room", "[recorded]") {
  // Two of A's at once, each of which fills the GPU; B waits for the longer one.
  MadeRecording m;
  const auto a = m.stream(), b = m.stream();
  m.kernel(a, 0, 10, 100);
  m.kernel(b, 6, 16, 120);
  m.wait(OrderKind::context, 0, 12, 126);
  SmallGpu s;
  s.client("A", m.r);
  s.client("B", kernel_of(1, 50)).arrive = Duration{50};
  s.play();
  CHECK(s.jobs == Jobs{"0-138", "50-188"});
}

TEST_CASE("a program that is alone on its GPU is not held up under MPS", "[recorded]") {
  SmallGpu s;
  s.device.gpus = 2;
  s.client("A", kernel_of(10, 301));
  s.client("B", kernel_of(12, 302));
  s.play();
  CHECK(s.jobs == Jobs{"0-313", "0-314"});
}

TEST_CASE("kernels of a graph come one after the other", "[recorded]") {
  // Three quarters and a quarter of 80. A's first one begins at 10; B, which has come at 30, begins when it
  // is over, before A's second one.
  recording::Recording a = kernel_of(4, 80);
  a.works[0].kind = recording::WorkKind::graph;
  a.graphs = {{0, 1}};
  const auto b = kernel_of(4, 50);
  SmallGpu s;
  SECTION("if they are known") {
    a.nodes = {{0, recording::WorkKind::kernel, 0, 0, {}, Duration{30}, 1},
               {0, recording::WorkKind::kernel, 0, 0, Duration{30}, Duration{10}, 1}};
    s.client("A", a);
    s.client("B", b).arrive = Duration{20};
    s.play();
    CHECK(s.jobs == Jobs{"0-142", "20-122"});
    // Between its kernels A does not run.
    CHECK(s.lines == Jobs{"0 A released", "10 A submitted", "10 A started", "20 B released", "70 A paused",
                          "70 B submitted", "70 B started", "120 A resumed", "120 B paused", "122 B gone",
                          "122 B finished", "140 A paused", "142 A gone", "142 A finished"});
    CHECK(s.off_gpu[3] == "70 A awaits GPU");
  }
  SECTION("else it holds nobody up and does not wait") {
    s.client("A", a);
    s.client("B", b).arrive = Duration{20};
    s.play();
    CHECK(s.jobs == Jobs{"0-92", "20-82"});
  }
}

TEST_CASE("a kernel without length waits for room, too", "[recorded]") {
  // A's two waves until 110; B's three take no time.
  SmallGpu s;
  s.client("A", kernel_of(8, 100));
  s.client("B", kernel_of(9, 0)).arrive = Duration{50};
  s.play();
  CHECK(s.jobs == Jobs{"0-112", "50-112"});
}

TEST_CASE("a kernel that waits when the run ends has not begun", "[recorded]") {
  SmallGpu s;
  s.client("A", kernel_of(40, 1'000));
  s.client("B", kernel_of(4, 50)).arrive = Duration{50};
  s.horizon = Time{500};
  s.play();
  CHECK(s.jobs == Jobs{"", ""});
  CHECK(std::count(s.lines.begin(), s.lines.end(), "60 B submitted") == 0);
}

TEST_CASE("where kernels can leave early, none waits for room", "[recorded]") {
  SmallGpu s;
  s.client("A", kernel_of(10, 300));
  s.client("B", kernel_of(2, 50)).arrive = Duration{50};
  s.granting.of = GrantOf::job;
  s.granting.overlap = true;
  s.clients[1].priority = 1;
  // B comes at 60, and has room from 210 on.
  s.play("piv");
  CHECK(s.jobs[1] == "50-262");
  // A leaves at 110, but B does not wait.
  s.recorded(0).leaving = {in_form(10, 300, "loop")};
  s.play("piv");
  CHECK(s.jobs[1] == "50-112");
  s.granting.forms = TakeForms::none;
  s.play("piv");
  CHECK(s.jobs[1] == "50-262");
}

TEST_CASE("what a kernel held is there for others when it is removed", "[recorded]") {
  SharedRoom room;
  room.reset(3, 3);
  std::vector<std::uint32_t> begun;
  const auto give = [&](std::int64_t now) {
    begun.clear();
    room.give(Time{now}, [&](std::uint32_t stream) { begun.push_back(stream); });
  };
  room.join(0, 0, {12, 4, Duration{300}});
  give(0);
  CHECK(begun == std::vector<std::uint32_t>{0});
  room.join(2, 2, {1, 4, Duration{50}});
  room.join(1, 1, {4, 4, Duration{50}});
  give(10);
  CHECK(begun.empty());
  room.remove(1);  // while it waits
  room.remove(0);  // while its blocks run
  CHECK(room.changed());
  give(20);
  CHECK(begun == std::vector<std::uint32_t>{2});
  CHECK(room.next_end(2) == Time{70});
  CHECK_FALSE(room.next_end(0));
  CHECK_FALSE(room.end_groups(2, Time{69}));
  CHECK(room.end_groups(2, Time{70}));
}

}  // namespace gangway::testing
