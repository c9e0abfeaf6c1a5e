// What is asked of the process for checkpoints, and what the keeper sees, as its answers come.
#include "hw/live/checkpoint/checkpointed.hpp"
#include "hw/live/checkpoint/driver_checkpoints.hpp"
#include "tests/catch.hpp"

namespace gangway::live {
namespace {

using Act = CheckpointOrder::Act;
using State = DriverCheckpoints::State;

constexpr std::uint64_t kCheckpointedMiB = 1 << 20;

KeptClient::Memory with(std::uint64_t bytes) {
  KeptClient::Memory client;
  client.claimed = client.movable = bytes;
  return client;
}

CheckpointAnswer answer(Act act, State state, int error = 0, bool hopeless = false) {
  return {{act, 1, 1}, error, hopeless ? 1U : 0U, static_cast<std::uint32_t>(state), 1000};
}

TEST_CASE("a client is saved and restored, and holds nothing meanwhile") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  CHECK(!client.next(memory));
  client.order(Goal::away, 1);
  CHECK(client.next(memory) == Act::save);
  CHECK(!client.next(memory));  // it is under way
  CHECK(client.seen(memory).done == 0);
  client.answered(answer(Act::save, State::checkpointed));
  CHECK(!client.next(memory));
  CHECK(client.seen(memory).done == 1);
  CHECK(client.seen(memory).away == 64 * kCheckpointedMiB);
  CHECK(client.seen(memory).claimed == 0);
  client.order(Goal::here, 2);
  client.budget(63 * kCheckpointedMiB);
  CHECK(!client.next(memory));  // there is no room for it yet
  client.budget(64 * kCheckpointedMiB);
  CHECK(client.next(memory) == Act::restore);
  client.answered(answer(Act::restore, State::running));
  CHECK(!client.next(memory));
  CHECK(client.seen(memory).done == 2);
  CHECK(client.seen(memory).claimed == 64 * kCheckpointedMiB);
}

TEST_CASE("a client whose checkpoint fails stays, and is not asked again") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.next(memory) == Act::save);
  client.answered(answer(Act::save, State::running, 801, true));
  CHECK(client.hopeless());
  CHECK(client.seen(memory).turned == 1);
  CHECK(client.seen(memory).error == 801);
  CHECK(client.seen(memory).no_host);
  CHECK(client.seen(memory).away == 0);
  client.order(Goal::away, 2);
  CHECK(!client.next(memory));
}

TEST_CASE("a client that cannot be locked in time can be saved later") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.next(memory) == Act::save);
  client.answered(answer(Act::save, State::running, 600));
  CHECK(!client.hopeless());
  CHECK(!client.next(memory));  // that order is given up
  client.order(Goal::away, 2);
  CHECK(client.next(memory) == Act::save);
}

TEST_CASE("a client that a failed checkpoint left locked is unlocked, whatever its budget") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.next(memory) == Act::save);
  client.answered(answer(Act::save, State::locked, 999, true));
  CHECK(client.next(memory) == Act::restore);
}

TEST_CASE("where the memory of a returning client is, the driver says") {
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  for (const State state : {State::running, State::locked, State::checkpointed}) {
    Checkpointed client(true);
    CHECK(client.seen(memory).away == 64 * kCheckpointedMiB);  // so that the keeper orders it back
    client.order(Goal::here, 1);
    REQUIRE(client.next(memory) == Act::look);
    CHECK(client.seen(memory).done == 0);
    client.answered(answer(Act::look, state));
    const auto next = client.next(memory);
    CHECK(next == (state == State::locked ? std::optional(Act::restore) : std::nullopt));
    CHECK(client.seen(memory).away == (state == State::checkpointed ? 64 * kCheckpointedMiB : 0));
    CHECK(client.seen(memory).done == (state == State::running ? 1 : 0));
  }
}

TEST_CASE("when the process for checkpoints is lost, another one looks first") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.next(memory) == Act::save);
  client.lost();
  CHECK(client.next(memory) == Act::look);
  client.answered(answer(Act::look, State::locked));
  CHECK(client.next(memory) == Act::restore);
  client.answered(answer(Act::restore, State::running));
  CHECK(client.next(memory) == Act::save);
}

TEST_CASE("a client moves from where it is, once, whatever comes of it") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  REQUIRE(client.move());
  CHECK(client.next(memory) == Act::move);
  CHECK(!client.next(memory));
  CHECK(client.moves());
  client.answered(answer(Act::move, State::running));
  CHECK(!client.moves());
  CHECK(!client.next(memory));
  // Neither GPU took it: it is brought back as others are.
  REQUIRE(client.move());
  REQUIRE(client.next(memory) == Act::move);
  client.answered(answer(Act::move, State::checkpointed, 999));
  CHECK(!client.moves());
  CHECK(client.seen(memory).away == 64 * kCheckpointedMiB);
  CHECK(!client.move());  // from where it is not
  client.budget(64 * kCheckpointedMiB);
  CHECK(client.next(memory) == Act::restore);
}

TEST_CASE("a client whose helper is lost in its move is looked for") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  REQUIRE(client.move());
  REQUIRE(client.next(memory) == Act::move);
  client.lost();
  CHECK(!client.moves());
  CHECK(client.next(memory) == Act::look);
}

TEST_CASE("once nobody checkpoints any more, orders for who is on the GPU are over at once") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.given_up());
  CHECK(client.seen(memory).done == 1);
  client.order(Goal::here, 2);
  CHECK(!client.next(memory));
  CHECK(client.seen(memory).done == 2);
  CHECK(client.seen(memory).away == 0);
}

TEST_CASE("a client of which a look could not be sent is as far away as before") {
  Checkpointed client(false);
  const KeptClient::Memory memory = with(64 * kCheckpointedMiB);
  client.order(Goal::away, 1);
  REQUIRE(client.next(memory) == Act::save);
  client.answered(answer(Act::save, State::checkpointed));
  client.lost();
  REQUIRE(client.next(memory) == Act::look);
  client.unsent();
  CHECK_FALSE(client.given_up());
}

}  // namespace
}  // namespace gangway::live
