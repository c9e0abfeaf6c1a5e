// Loads and stores.
#include <fmt/format.h>

#include <algorithm>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

std::string_view name_of(Space space) {
  switch (space) {
    case Space::global:
      return "global";
    case Space::constant:
      return "constant";
    case Space::shared:
      return "shared";
    case Space::local:
      return "local";
    case Space::param:
      return "parameter";
    default:
      return "generic";
  }
}

[[noreturn]] void stray(Space space, std::uint64_t address, std::uint32_t bytes, std::string_view why) {
  throw Fault{fmt::format("{} bytes of {} memory at {:#x}: {}", bytes, name_of(space), address, why)};
}

bool within(const Range& range, std::uint64_t address, std::uint32_t bytes) {
  const auto first = reinterpret_cast<std::uint64_t>(range.begin);
  return address >= first && address - first <= range.bytes && range.bytes - (address - first) >= bytes;
}

bool allowed(Machine& m, std::uint64_t address, std::uint32_t bytes) {
  if (within(m.last, address, bytes)) return true;
  auto after = std::upper_bound(
      m.ranges.begin(), m.ranges.end(), address,
      [](std::uint64_t a, const Range& range) { return a < reinterpret_cast<std::uint64_t>(range.begin); });
  while (after != m.ranges.begin()) {
    --after;
    if (within(*after, address, bytes)) {
      m.last = *after;
      return true;
    }
    if (address - reinterpret_cast<std::uint64_t>(after->begin) > (std::uint64_t{1} << 40)) break;
  }
  for (const auto& [begin, size] : *m.heap)
    if (within({begin, size}, address, bytes)) return true;
  return false;
}

std::uint64_t loaded(const std::byte* from, std::uint32_t bytes) {
  switch (bytes) {
    case 1:
      return __atomic_load_n(reinterpret_cast<const std::uint8_t*>(from), __ATOMIC_RELAXED);
    case 2:
      return __atomic_load_n(reinterpret_cast<const std::uint16_t*>(from), __ATOMIC_RELAXED);
    case 4:
      return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(from), __ATOMIC_RELAXED);
    default:
      return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(from), __ATOMIC_RELAXED);
  }
}
void stored(std::byte* to, std::uint32_t bytes, std::uint64_t value) {
  switch (bytes) {
    case 1:
      return __atomic_store_n(reinterpret_cast<std::uint8_t*>(to), static_cast<std::uint8_t>(value),
                              __ATOMIC_RELAXED);
    case 2:
      return __atomic_store_n(reinterpret_cast<std::uint16_t*>(to), static_cast<std::uint16_t>(value),
                              __ATOMIC_RELAXED);
    case 4:
      return __atomic_store_n(reinterpret_cast<std::uint32_t*>(to), static_cast<std::uint32_t>(value),
                              __ATOMIC_RELAXED);
    default:
      return __atomic_store_n(reinterpret_cast<std::uint64_t*>(to), value, __ATOMIC_RELAXED);
  }
}

// o[0], o[1]: base and offset; o[2] or `more`: what is loaded or stored. mode: 1 sign-extends.
Step load(Machine& m, Thread& t, const Instruction& i) {
  const std::byte* const from = memory_at(m, t, i.space, address_of(m, t, i, 0), i.width, i.width, false);
  std::uint64_t value = loaded(from, i.width);
  if (i.mode != 0) {
    const std::uint32_t above = 64 - i.width * 8u;
    value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << above) >> above);
  }
  write(t, i.o[2], value);
  return Step::next;
}
Step load_vector(Machine& m, Thread& t, const Instruction& i) {
  const std::uint32_t bytes = i.width * i.count;
  const std::byte* const from = memory_at(m, t, i.space, address_of(m, t, i, 0), bytes, bytes, false);
  std::uint64_t values[8];
  for (std::uint32_t k = 0; k < i.count; ++k) values[k] = loaded(from + k * i.width, i.width);
  for (std::uint32_t k = 0; k < i.count; ++k) {
    if (i.mode != 0) {
      const std::uint32_t above = 64 - i.width * 8u;
      values[k] = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[k] << above) >> above);
    }
    write(t, i.more[k], values[k]);
  }
  return Step::next;
}
Step store(Machine& m, Thread& t, const Instruction& i) {
  stored(memory_at(m, t, i.space, address_of(m, t, i, 0), i.width, i.width, true), i.width,
         read(m, t, i.o[2]));
  return Step::next;
}
Step store_vector(Machine& m, Thread& t, const Instruction& i) {
  const std::uint32_t bytes = i.width * i.count;
  std::byte* const to = memory_at(m, t, i.space, address_of(m, t, i, 0), bytes, bytes, true);
  for (std::uint32_t k = 0; k < i.count; ++k) stored(to + k * i.width, i.width, read(m, t, i.more[k]));
  return Step::next;
}

Step nothing(Machine&, Thread&, const Instruction&) { return Step::next; }

Space take_space(Decoding& d) {
  if (d.take("global")) return Space::global;
  if (d.take("shared") || d.take("shared::cta")) return Space::shared;
  if (d.take("local")) return Space::local;
  if (d.take("const")) return Space::constant;
  if (d.take("param") || d.take("param::entry") || d.take("param::func")) return Space::param;
  return Space::none;
}

void decode_access(Decoding& d, bool loads) {
  const bool policy = d.take("L2::cache_hint");
  take_hints(d);
  d.made.space = take_space(d);
  d.made.count = d.take("v2") ? 2 : d.take("v4") ? 4 : d.take("v8") ? 8 : 1;
  const Type type = d.take_type();
  if (type.bits > 64 || type.kind == 'p') throw Unknown{"type"};
  d.finish();
  if (d.operands() != (policy ? 3u : 2u)) throw Unknown{"operands"};
  d.address(loads ? 1 : 0, 0);
  d.made.width = static_cast<std::uint8_t>(type.pair ? 4 : type.bytes());
  d.made.mode = type.is_signed() ? 1 : 0;
  const Written& value = d.written(loads ? 0 : 1);
  if (value.kind == Written::Kind::vector) {
    if (value.parts.size() != d.made.count) throw Unknown{"vector"};
    for (const Written& part : value.parts) d.made.more.push_back(d.operand(part, type));
    d.made.run = loads ? &load_vector : &store_vector;
  } else {
    if (d.made.count != 1) throw Unknown{"vector"};
    d.made.o[2] = d.operand(value, type);
    d.made.run = loads ? &load : &store;
  }
}

}  // namespace

void take_hints(Decoding& d) {
  static constexpr std::string_view kHints[] = {"weak",
                                                "volatile",
                                                "relaxed",
                                                "acquire",
                                                "release",
                                                "mmio",
                                                "cta",
                                                "gpu",
                                                "sys",
                                                "cluster",
                                                "ca",
                                                "cg",
                                                "cs",
                                                "lu",
                                                "cv",
                                                "wb",
                                                "wt",
                                                "nc",
                                                "L1::evict_normal",
                                                "L1::evict_unchanged",
                                                "L1::evict_first",
                                                "L1::evict_last",
                                                "L1::no_allocate",
                                                "L2::64B",
                                                "L2::128B",
                                                "L2::256B",
                                                "L2::evict_last",
                                                "L2::evict_normal",
                                                "L2::evict_first"};
  for (const std::string_view hint : kHints) (void)d.take(hint);
}

std::uint64_t address_of(const Machine& m, const Thread& t, const Instruction& i, std::uint32_t at) {
  return read(m, t, i.o[at]) + i.o[at + 1].value;
}

std::byte* memory_at(Machine& m, Thread& t, Space space, std::uint64_t address, std::uint32_t bytes,
                     std::uint32_t alignment, bool writes) {
  if ((address & (alignment - 1)) != 0) stray(space, address, bytes, "misaligned");
  if (space == Space::none || space == Space::param) {
    const std::uint64_t window = address & kWindowMask;
    if (window == kSharedWindow) space = Space::shared;
    if (window == kLocalWindow) space = Space::local;
    if (window == kParamWindow) space = Space::param;
    if (window != 0) address &= ~kWindowMask;
  }
  switch (space) {
    case Space::shared: {
      if (!t.copies.empty() && m.random() % 8 == 0) finish_some_copy(m, t);
      address &= 0xFFFFFFFF;  // shared addresses have 32 bits
      const std::uint64_t first = address - kSharedBase, size = t.block->shared.size();
      const bool is_static = first + bytes <= m.layout->static_bytes;
      const bool is_dynamic = first >= m.layout->dynamic_offset && first + bytes <= size;
      if (address < kSharedBase || (!is_static && !is_dynamic))
        stray(space, address, bytes, fmt::format("the block has {} from {:#x} on", size, kSharedBase));
      return t.block->shared.data() + (address - kSharedBase);
    }
    case Space::local:
      address &= 0xFFFFFFFF;
      if (address + bytes > t.memory.size())
        stray(space, address, bytes, fmt::format("the thread has {}", t.memory.size()));
      return t.memory.data() + address;
    case Space::param:
      if (writes) stray(space, address, bytes, "parameters of kernels are not written to");
      if (address + bytes > m.parameters.size())
        stray(space, address, bytes, fmt::format("there are {}", m.parameters.size()));
      return m.parameters.data() + address;
    default:
      break;
  }
  if (writes && space == Space::constant) stray(space, address, bytes, "constants are not written to");
  if (address < 4096) stray(space, address, bytes, "null");
  if (!m.ranges.empty() && !allowed(m, address, bytes)) stray(space, address, bytes, "not the kernel's");
  return reinterpret_cast<std::byte*>(address);
}

void add_memory(Decoders& all) {
  all["ld"] = all["ldu"] = [](Decoding& d) { decode_access(d, true); };
  all["st"] = [](Decoding& d) { decode_access(d, false); };
  const Decoder hint = [](Decoding& d) { d.made.run = &nothing; };
  all["prefetch"] = all["prefetchu"] = all["discard"] = all["applypriority"] = hint;
  all["createpolicy"] = [](Decoding& d) {  // what it makes is read by nothing
    d.made.o[0] = d.operand(0, {'b', 64, false});
    d.made.run = [](Machine&, Thread& t, const Instruction& i) {
      write(t, i.o[0], 0);
      return Step::next;
    };
  };
}

}  // namespace gangway::testing::ptx
