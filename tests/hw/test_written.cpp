// Which part of a launch each GPU takes, and what it has written.
#include "hw/kernels/written.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

TEST_CASE("several GPUs divide a launch among them, each block-task once") {
  CHECK(part_of({{0}, {10}}, 0, 2).last == BlockCount{5});
  CHECK(part_of({{0}, {10}}, 1, 2).first == BlockCount{5});
  CHECK(part_of({{7}, {8}}, 0, 2).last == BlockCount{7});  // the second has it
  for (const std::uint32_t gpus : {1U, 2U, 3U, 8U})
    for (std::int64_t count = 1; count < 40; ++count) {
      std::int64_t next = 100;
      for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
        const BlockRange part = part_of({{100}, {100 + count}}, gpu, gpus);
        CHECK(part.first.count == next);
        const std::int64_t size = part.last.count - part.first.count;
        CHECK((size == count / gpus || size == count / gpus + (count % gpus != 0 ? 1 : 0)));
        next = part.last.count;
      }
      CHECK(next == 100 + count);
    }
}

TEST_CASE("the parts that GPUs have written are all of the output, without an overlap") {
  // 1,000 floats in pieces of 256: the last block-task has 232.
  const auto last = *pieces_written({{1000, 4}}, 256, {{3}, {4}});
  REQUIRE(last.size() == 1);
  CHECK(last[0].first == 3072);
  CHECK(last[0].last == 4000);
  const auto two = *pieces_written({{10, 8}, {10, 1}}, 5, {{0}, {1}});
  REQUIRE(two.size() == 2);
  CHECK(two[0].last == 40);
  CHECK(two[1].output == 1);
  CHECK(two[1].last == 5);
  std::uint64_t next = 0;
  for (std::uint32_t gpu = 0; gpu < 3; ++gpu) {
    const WrittenBytes part = pieces_written({{1000, 4}}, 256, part_of({{0}, {4}}, gpu, 3))->front();
    CHECK(part.first == next);
    next = part.last;
  }
  CHECK(next == 4000);
}

}  // namespace
}  // namespace gangway
