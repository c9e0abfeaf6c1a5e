// Asynchronous copies. They come at any time up to the wait.
#include <algorithm>
#include <cstring>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

void copied(const AsyncCopy& copy) {
  std::memcpy(copy.to, copy.from, copy.from_bytes);
  std::memset(copy.to + copy.from_bytes, 0, copy.bytes - copy.from_bytes);
}

// o: shared address (2), global address (2), bytes to read. width: bytes to write. extra: 1 with bytes to
// read.
Step copy_async(Machine& m, Thread& t, const Instruction& i) {
  AsyncCopy copy;
  copy.bytes = i.width;
  copy.from_bytes =
      i.extra != 0 ? std::min<std::uint32_t>(in<std::uint32_t>(m, t, i.o[4]), i.width) : i.width;
  copy.to = memory_at(m, t, Space::shared, address_of(m, t, i, 0), copy.bytes, copy.bytes, true);
  const std::uint64_t from = address_of(m, t, i, 2);
  if (copy.from_bytes > 0)
    copy.from = memory_at(m, t, Space::global, from, copy.from_bytes, copy.bytes, false);
  copy.group = t.copy_group;
  if (copy.from_bytes == 0)
    std::memset(copy.to, 0, copy.bytes);
  else if (m.random() % 4 == 0)
    copied(copy);  // at once; else as late as the program allows
  else
    t.copies.push_back(copy);
  return Step::next;
}
Step commit_copies(Machine&, Thread& t, const Instruction&) {
  ++t.copy_group;
  return Step::next;
}
// mode: 1 all, committed or not; else all but the newest groups
Step wait_for_copies(Machine& m, Thread& t, const Instruction& i) {
  const std::uint64_t newest = i.mode != 0 ? 0 : read(m, t, i.o[0]);
  if (i.mode != 0)
    finish_copies(t, t.copy_group);
  else if (t.copy_group > newest)
    finish_copies(t, static_cast<std::uint32_t>(t.copy_group - newest - 1));
  return Step::next;
}

void decode_copy(Decoding& d) {
  if (!d.take("async")) throw Unknown{"not asynchronous"};
  if (d.take("commit_group")) {
    d.made.run = &commit_copies;
    return d.finish();
  }
  const bool every = d.take("wait_all");
  if (every || d.take("wait_group")) {
    d.made.mode = every ? 1 : 0;
    if (!every) d.all({'u', 32, false});
    d.made.run = &wait_for_copies;
    return d.finish();
  }
  const bool policy = d.take("L2::cache_hint");
  take_hints(d);
  if (!d.take("shared") && !d.take("shared::cta")) throw Unknown{"destination"};
  if (!d.take("global")) throw Unknown{"source"};
  d.finish();
  d.address(0, 0);
  d.address(1, 2);
  const Written& size = d.written(2);
  if (size.kind != Written::Kind::integer || (size.bits != 4 && size.bits != 8 && size.bits != 16))
    throw Unknown{"size"};
  d.made.width = static_cast<std::uint8_t>(size.bits);
  const std::size_t plain = policy ? 4 : 3;
  if (d.operands() == plain + 1) {
    d.made.extra = 1;
    d.made.o[4] = d.operand(3, {'u', 32, false});
  } else {
    d.need(plain);
  }
  d.made.run = &copy_async;
}

}  // namespace

void finish_copies(Thread& t, std::uint32_t group) {
  std::erase_if(t.copies, [&](const AsyncCopy& copy) {
    if (copy.group > group) return false;
    copied(copy);
    return true;
  });
}

void finish_some_copy(Machine& m, Thread& t) {
  const std::size_t one = m.random() % t.copies.size();
  copied(t.copies[one]);
  t.copies.erase(t.copies.begin() + static_cast<std::ptrdiff_t>(one));
}

void add_copies(Decoders& all) { all["cp"] = decode_copy; }

}  // namespace gangway::testing::ptx
