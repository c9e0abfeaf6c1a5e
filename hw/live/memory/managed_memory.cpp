#include "hw/live/memory/managed_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "hw/live/kill_points.hpp"
#include "hw/live/pause.hpp"

namespace gangway::live {
namespace {

constexpr std::uint64_t kSmall = 1 << 20;  // allocations up to that have pieces of their own
constexpr Heap::Shape kSmallShape{512, 2 << 20, 64 << 20, 64 << 20};
// A piece above `spare` belongs to one allocation, so it goes when that is freed, unless its pool keeps it.
// Some drivers take a millisecond to create any large piece. So it is divided only when it leaves: then
// smaller pieces are better.
constexpr Heap::Shape kLargeShape{2 << 20, 2 << 20, 64 << 20, std::uint64_t{8} << 30};
constexpr std::uint64_t kDivided = 512 << 20;
constexpr std::uint64_t kLargeKept = 64 << 20, kSmallKept = 2 << 20;
constexpr int kAttempts = 2000;               // to create memory that the daemon has granted
constexpr std::int64_t kBetween = 1'000'000;  // ns: of a client that was killed, the driver frees it late

}  // namespace

ManagedMemory::ManagedMemory(MemoryDriver& driver, Gate& gate)
    : driver_(driver), gate_(gate), claims_(gate), passing_(gate), host_(driver) {
  gate.introduce();
  gate.page()->memory.kind.store(static_cast<std::uint32_t>(MemoryKind::managed));
  note_device();
}

// --- Who may change what

ManagedMemory::Held ManagedMemory::when_here() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!moving_ && away_.load() == 0) return {std::move(lock), gate_};
    lock.unlock();
    claims_.wait_at_gate();
    sleep_ns(20'000);  // it may have been told to leave again
  }
}

// A state that leaves does so at once. One that comes may wait for room, which the daemon gives to a client
// that waits for the GPU.
ManagedMemory::Held ManagedMemory::when_still() {
  for (;;) {
    std::unique_lock lock(mutex_);
    still_.wait(lock, [&] { return !moving_ || coming_; });
    if (!moving_) return {std::move(lock), gate_};
    lock.unlock();
    claims_.wait_at_gate();
    sleep_ns(20'000);
  }
}

void ManagedMemory::begin_move(Goal goal) {
  {
    const std::lock_guard lock(mutex_);
    moving_ = true;
    coming_ = goal == Goal::here;
  }
  still_.notify_all();
}

void ManagedMemory::end_move() {
  {
    const std::lock_guard lock(mutex_);
    moving_ = false;
  }
  still_.notify_all();
}

void ManagedMemory::moved_away(std::uint64_t bytes) {
  away_.fetch_add(bytes);
  gate_.page()->memory.away.fetch_add(bytes);
}

void ManagedMemory::moved_here(std::uint64_t bytes) {
  away_.fetch_sub(bytes);
  gate_.page()->memory.away.fetch_sub(bytes);
}

// --- Pieces

int ManagedMemory::add_chunk(std::uint64_t size, const MemoryDriver::Properties& properties, Chunk*& made) {
  std::uint64_t handle = 0;
  if (const int failed = driver_.create(size, properties, false, handle)) return failed;
  made = &chunks_.emplace_back();
  made->size = size;
  made->handle = handle;
  made->properties = properties;
  gate_.page()->memory.movable.fetch_add(size);
  return MemoryDriver::kSuccess;
}

// Nothing is mapped to it any more.
void ManagedMemory::remove(Chunk& chunk) {
  MemoryStanding& standing = gate_.page()->memory;
  if (chunk.on_device()) {
    driver_.release(chunk.handle);
    if (chunk.lent != 0) passing_.freed(chunk.lent);
    claims_.give_back(chunk.size);
  } else {
    moved_here(chunk.size);  // what is no more is not away either
  }
  (chunk.fixed ? standing.fixed : standing.movable).fetch_sub(chunk.size);
  if (chunk.declared) standing.declared.fetch_sub(chunk.size);
  chunk.give_host_back(host_);
  chunks_.remove_if([&](const Chunk& other) { return &other == &chunk; });
}

// Access is set once for all of it: that costs as much for a piece as for many.
int ManagedMemory::back(Store& store, Heap::Span to_back, const Owner& owner) {
  std::vector<Heap::Span> done;
  int failed = MemoryDriver::kSuccess;
  std::uint64_t created = 0;
  for (const Heap::Span piece : store.heap.pieces(to_back, owner.kept ? kDivided : UINT64_MAX)) {
    Chunk* chunk = nullptr;
    failed = add_chunk(piece.size(), owner.properties, chunk);
    if (failed != MemoryDriver::kSuccess) break;
    created += piece.size();
    chunk->references = 1;
    chunk->context = owner.context;
    chunk->divides = piece.size() > kDivided;
    chunk->passable = piece.size() >= kLeastPassed;
    failed = driver_.map(piece.begin, piece.size(), 0, chunk->handle);
    if (failed == MemoryDriver::kSuccess)
      chunk->mappings.push_back({piece.begin, piece.size(), 0, owner.access});
    store.chunks[piece.begin] = chunk;
    done.push_back(piece);
    if (failed != MemoryDriver::kSuccess) break;
  }
  if (failed == MemoryDriver::kSuccess) failed = driver_.allow(to_back.begin, to_back.size(), owner.access);
  if (failed == MemoryDriver::kSuccess) {
    store.heap.back(to_back);
    return failed;
  }
  for (const Heap::Span piece : done) {
    Chunk& chunk = *store.chunks[piece.begin];
    if (!chunk.mappings.empty()) driver_.unmap(piece.begin, piece.size());
    store.chunks.erase(piece.begin);
    remove(chunk);
  }
  claims_.give_back(to_back.size() - created);
  return failed;
}

void ManagedMemory::declare(Store& store, Heap::Span span) {
  for (auto& [at, chunk] : store.chunks)
    if (at >= span.begin && at < span.end) {
      chunk->declared = true;
      gate_.page()->memory.declared.fetch_add(chunk->size);
    }
}

void ManagedMemory::divide(Chunk& chunk) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(chunk.divides, false)) return;
  const auto holds = [&](const auto& entry) {
    const auto found = entry.second->chunks.find(chunk.mappings.front().address);
    return found != entry.second->chunks.end() && found->second == &chunk;
  };
  Store& store = *std::find_if(stores_.begin(), stores_.end(), holds)->second;
  auto at =
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& other) { return &other == &chunk; });
  while (at->size > kDivided) {
    Chunk rest = at->divide(kDivided);
    at = chunks_.insert(std::next(at), std::move(rest));
    store.chunks[at->mappings.front().address] = &*at;
  }
}

// Empty pieces in the span go, but for `keep` bytes.
bool ManagedMemory::trim(Store& store, Heap::Span span, std::uint64_t keep) {
  bool any = false;
  auto at = store.chunks.upper_bound(span.begin);
  if (at != store.chunks.begin()) at = std::prev(at);
  while (at != store.chunks.end() && at->first < span.end) {
    Chunk& chunk = *at->second;
    const Heap::Span piece{at->first, at->first + chunk.size};
    if (!store.heap.is_free(piece) || store.heap.idle() <= keep) {
      ++at;
      continue;
    }
    if (chunk.on_device()) driver_.unmap(piece.begin, piece.size());
    store.heap.unback(piece);
    at = store.chunks.erase(at);
    remove(chunk);
    any = true;
  }
  return any;
}

// --- Allocations

ManagedMemory::Kind ManagedMemory::kind_of(std::uint64_t size) const {
  if (std::find(declared_.begin(), declared_.end(), size) != declared_.end()) return Kind::declared;
  return size <= kSmall ? Kind::small : Kind::large;
}

ManagedMemory::Store& ManagedMemory::store_for(Kind kind, std::int32_t device) {
  const bool small = kind == Kind::small;
  std::unique_ptr<Store>& store = stores_[{device, kind}];
  if (store == nullptr)
    store = std::make_unique<Store>(Store{Heap(small ? kSmallShape : kLargeShape),
                                          {},
                                          small                    ? kSmallKept
                                          : kind == Kind::declared ? 0
                                                                   : kLargeKept});
  return *store;
}

void ManagedMemory::declare_read_only(std::vector<std::uint64_t> sizes, bool check) {
  declared_ = std::move(sizes);
  check_ = check;
}

// Their gate is open: nothing moves.
void ManagedMemory::written(std::uint64_t address) {
  if (declared_.empty()) return;
  const std::lock_guard lock(mutex_);
  if (address == 0) {
    for (auto& [which, store] : stores_)
      if (which.second == Kind::declared) not_as_on_host(*store, {0, UINT64_MAX});
    return;
  }
  const auto after = taken_.upper_bound(address);
  if (after == taken_.begin()) return;
  const Taken& taken = std::prev(after)->second;
  if (address < taken.span.end) not_as_on_host(*taken.store, taken.span);
}

void ManagedMemory::not_as_on_host(Store& store, Heap::Span span) {
  for (auto& [at, chunk] : store.chunks)
    if (at < span.end && at + chunk->size > span.begin) chunk->same_on_host = false;
}

bool ManagedMemory::reserve(Store& store, std::uint64_t size) {
  constexpr std::uint64_t kAddresses = std::uint64_t{256} << 30;
  if (size > kAddresses) return false;
  std::uint64_t address = 0;
  if (driver_.reserve(kAddresses, address) != MemoryDriver::kSuccess) return false;
  store.heap.add({address, address + kAddresses});
  reserved_.push_back({address, address + kAddresses});
  return true;
}

bool ManagedMemory::reserved(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  return std::any_of(reserved_.begin(), reserved_.end(),
                     [&](const Heap::Span& span) { return address >= span.begin && address < span.end; });
}

bool ManagedMemory::device_has(std::uint64_t bytes) {
  std::uint64_t free = 0, total = 0;
  return driver_.info(free, total) == MemoryDriver::kSuccess && free >= bytes;
}

// After a claim that failed, or memory that the device did not have though the daemon had granted it.
// Success: look again.
int ManagedMemory::more(std::uint64_t bytes, int& attempts) {
  if (attempts == 0 && ask(bytes) == Claims::Answer::again) return MemoryDriver::kSuccess;
  if (attempts == 0 || ++attempts > kAttempts) return MemoryDriver::kNoMemory;
  sleep_ns(kBetween);
  return MemoryDriver::kSuccess;
}

int ManagedMemory::allocate(std::uint64_t size, const Owner& owner, std::uint64_t& address) {
  const std::uint64_t context = owner.context != 0 ? owner.context : owner.current;
  contexts_.used(context);  // where it waits for memory, that of the host is pinned first
  bool spare = true;
  for (int attempts = 0;;) {
    Held lock = when_here();
    const Kind kind = kind_of(size);
    Store& store = store_for(kind, owner.device);
    const std::optional<Heap::Plan> plan = store.heap.plan(size, spare && kind != Kind::declared);
    if (!plan) {
      if (!reserve(store, size)) return MemoryDriver::kNoMemory;
      continue;
    }
    if (const std::uint64_t missing = plan->to_back.size(); missing != 0) {
      const bool claimed = claims_.claim(missing);
      const int failed = claimed ? back(store, plan->to_back, owner) : MemoryDriver::kNoMemory;
      if (failed == MemoryDriver::kSuccess && kind == Kind::declared) declare(store, plan->to_back);
      // Where others would have to leave for it, what is idle here goes first.
      const bool tight = failed == MemoryDriver::kNoMemory && !device_has(missing);
      if (tight && !gate_.captures() && trim_all(0)) continue;
      if (failed != MemoryDriver::kSuccess) {
        lock.unlock();
        if (failed != MemoryDriver::kNoMemory) return failed;
        attempts = claimed ? std::max(attempts, 1) : 0;
        if (more(missing, attempts) == MemoryDriver::kSuccess) continue;
        if (!spare) return MemoryDriver::kNoMemory;
        spare = false;
        attempts = 0;
        continue;
      }
      GANGWAY_POINT("memory-created");
    }
    store.heap.take(plan->taken);
    if (kind == Kind::declared) not_as_on_host(store, plan->taken);
    address = plan->taken.begin;
    taken_[address] = {
        {address, size, owner.context, owner.pool, owner.device, ++last_number_}, plan->taken, &store};
    return MemoryDriver::kSuccess;
  }
}

std::optional<ManagedMemory::Allocation> ManagedMemory::find(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto after = taken_.upper_bound(address);
  if (after == taken_.begin()) return std::nullopt;
  const Allocation& facts = std::prev(after)->second.facts;
  if (address - facts.address >= facts.size) return std::nullopt;
  return facts;
}

void ManagedMemory::set_sync_memops(std::uint64_t address, bool set) {
  const std::lock_guard lock(mutex_);
  const auto after = taken_.upper_bound(address);
  if (after != taken_.begin()) std::prev(after)->second.facts.sync_memops = set;
}

void ManagedMemory::release_taken(const Taken& taken, std::uint64_t keep) {
  taken.store->heap.free(taken.span);
  trim(*taken.store, taken.span, std::max(taken.store->kept, keep));
}

bool ManagedMemory::free(std::uint64_t address, std::uint64_t keep) {
  const Held lock = when_still();
  const auto found = taken_.find(address);
  if (found == taken_.end()) return false;
  const Taken taken = found->second;
  taken_.erase(found);
  release_taken(taken, keep);
  return true;
}

std::uint64_t ManagedMemory::size_class(std::uint64_t size) const {
  constexpr std::uint64_t kDeclaredMark = std::uint64_t{1} << 63;
  const Kind kind = kind_of(size);
  if (kind == Kind::declared) return size | kDeclaredMark;
  const std::uint64_t grain = kind == Kind::small ? kSmallShape.grain : kLargeShape.grain;
  return (size + grain - 1) / grain * grain;
}

bool ManagedMemory::reuse(std::uint64_t address, std::uint64_t size, const Owner& owner) {
  const Held lock = when_here();
  const auto found = taken_.find(address);
  if (found == taken_.end() || size_class(found->second.facts.size) != size_class(size)) return false;
  Taken& taken = found->second;
  taken.facts.size = size;
  taken.facts.number = ++last_number_;
  taken.facts.sync_memops = false;
  contexts_.used(owner.current);
  if (kind_of(size) == Kind::declared) not_as_on_host(*taken.store, taken.span);
  return true;
}

bool ManagedMemory::release_idle(std::uint64_t keep) {
  const Held lock = when_still();
  return trim_all(keep);
}

bool ManagedMemory::trim_all(std::uint64_t keep) {
  bool any = false;
  for (auto& [which, store] : stores_) any = trim(*store, {0, UINT64_MAX}, keep) || any;
  return any;
}

// A move under way ends first; the mover goes on in another one.
bool ManagedMemory::context_ends(std::uint64_t context) {
  if (!contexts_.ends(context)) return false;
  {
    const Held lock = when_still();
    driver_.forget(context);
  }
  contexts_.wait_until_unused(context);
  return true;
}

void ManagedMemory::context_gone(std::uint64_t context) {
  const Held lock = when_still();
  for (auto it = taken_.begin(); it != taken_.end();) {
    if (it->second.facts.context != context) {
      ++it;
      continue;
    }
    const Taken taken = it->second;
    it = taken_.erase(it);
    release_taken(taken, 0);
  }
  contexts_.ends(context);
  driver_.forget(context);
}

// --- What the driver allocates by itself

std::optional<ChangesMemory> ManagedMemory::claim_fixed(std::uint64_t bytes) {
  for (;;) {
    {
      const Held lock = when_here();
      ChangesMemory changes(gate_);
      if (claims_.claim(bytes)) {
        gate_.page()->memory.fixed.fetch_add(bytes);
        return changes;
      }
    }
    if (ask(bytes) == Claims::Answer::no) return std::nullopt;
  }
}

void ManagedMemory::give_back_fixed(std::uint64_t bytes) {
  gate_.page()->memory.fixed.fetch_sub(bytes);
  claims_.give_back(bytes);
}

Claims::Answer ManagedMemory::ask(std::uint64_t bytes) {
  note_device();
  return claims_.ask(bytes, [this] { note_device(); });
}

void ManagedMemory::note_device() { claims_.look_at_device(driver_); }

std::uint64_t ManagedMemory::idle() {
  const Held lock = when_still();
  std::uint64_t sum = 0;
  for (const auto& [which, store] : stores_) sum += store->heap.idle();
  return sum;
}

int ManagedMemory::info(std::uint64_t& free, std::uint64_t& total) {
  if (const int failed = driver_.info(free, total)) return failed;
  const MemoryOrders* orders = gate_.memory_orders();
  const std::uint64_t kept = idle();
  const MemoryStanding& standing = gate_.page()->memory;
  const std::uint64_t used = standing.claimed.load() + standing.away.load();
  if (orders != nullptr) {
    const std::uint64_t available = orders->available.load();
    free = available > used ? available - used : 0;
  }
  free = std::min(free + kept, total);
  return MemoryDriver::kSuccess;
}

}  // namespace gangway::live
