// NVTX, as far as ranges go: its first call in a program looks for InitializeInjectionNvtx2 and asks that for
// its own functions (NVTX 3's types; the layouts below are its ABI).
#include "hw/intercept/ranges.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw/live/thread_end.hpp"

namespace gangway::intercept {
namespace {

// nvtxEventAttributes_t, version 2 and 3.
struct EventAttributes {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type, reserved;
  std::uint64_t payload;
  std::int32_t message_type;  // 1: char, 2: wchar_t, 3: a registered string
  const void* message;
};
enum Message { kAscii = 1, kWide = 2, kRegistered = 3 };
enum Module { kCore = 1, kCore2 = 5 };
enum Core { kStartEx = 4, kStartA, kStartW, kEnd, kPushEx, kPushA, kPushW, kPop };
enum Core2 {
  kDomainStartEx = 2,
  kDomainEnd,
  kDomainPushEx,
  kDomainPop,
  kRegisterA = 10,
  kRegisterW,
  kCreateA,
  kCreateW
};
using Function = void (*)();
struct ExportedCallbacks {
  std::size_t size;
  int (*functions)(int module, Function*** table, unsigned* count);
};
constexpr std::uint32_t kCallbacks = 1;
using ExportTable = const void* (*)(std::uint32_t id);

live::Gate* watching = nullptr;
const char* wanted = nullptr;

// A thread's ranges by domain, innermost last: whether each has the name.
using Stack = std::vector<bool>;
thread_local std::map<void*, Stack>* stacks = nullptr;

std::mutex mutex;                 // of what threads share:
std::uint64_t ranges_so_far = 0;  // started
std::set<std::uint64_t>* started = nullptr;

std::string narrow(const wchar_t* wide) {
  std::string text;
  for (; *wide != L'\0'; ++wide) text += *wide < 128 ? static_cast<char>(*wide) : '?';
  return text;
}

// NAME, or DOMAIN/NAME; a domain's and a registered string's handle is its name.
bool is(const void* domain, std::string_view name) {
  std::string_view rest = wanted;
  if (domain != nullptr) {
    const auto& of = *static_cast<const std::string*>(domain);
    if (!rest.starts_with(of) || rest.size() <= of.size() || rest[of.size()] != '/') return false;
    rest.remove_prefix(of.size() + 1);
  }
  return rest == name;
}
bool is(const void* domain, const char* name) {
  return name != nullptr && is(domain, std::string_view(name));
}
bool is(const void* domain, const wchar_t* name) {
  return name != nullptr && is(domain, std::string_view(narrow(name)));
}

bool is(const void* domain, const EventAttributes* event) {
  if (event == nullptr || event->size < sizeof(EventAttributes) || event->message == nullptr) return false;
  switch (event->message_type) {
    case kAscii:
      return is(domain, static_cast<const char*>(event->message));
    case kWide:
      return is(domain, static_cast<const wchar_t*>(event->message));
    case kRegistered:
      return is(domain, std::string_view(*static_cast<const std::string*>(event->message)));
    default:
      return false;
  }
}

void forget_stacks() {
  delete stacks;
  stacks = nullptr;
}

int push(void* domain, bool named) {
  if (stacks == nullptr) {
    stacks = new std::map<void*, Stack>;
    live::ThreadEnd<&forget_stacks>::await();
  }
  Stack& stack = (*stacks)[domain];
  stack.push_back(named);
  if (named) watching->range_begins();
  return static_cast<int>(stack.size()) - 1;
}

int pop(void* domain) {
  Stack* stack = stacks != nullptr ? &(*stacks)[domain] : nullptr;
  if (stack == nullptr || stack->empty()) return -1;
  const bool named = stack->back();
  stack->pop_back();
  if (named) watching->range_ends();
  return static_cast<int>(stack->size());
}

std::uint64_t start(bool named) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex);
    if (started == nullptr) started = new std::set<std::uint64_t>;
    id = ++ranges_so_far;
    if (named) started->insert(id);
  }
  if (named) watching->range_begins();
  return id;
}

void end(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex);
    if (started == nullptr || started->erase(id) == 0) return;
  }
  watching->range_ends();
}

void* handle_of(const char* name) { return new std::string(name != nullptr ? name : ""); }
void* handle_of(const wchar_t* name) { return new std::string(name != nullptr ? narrow(name) : ""); }

int push_a(const char* name) { return push(nullptr, is(nullptr, name)); }
int push_w(const wchar_t* name) { return push(nullptr, is(nullptr, name)); }
int push_ex(const EventAttributes* event) { return push(nullptr, is(nullptr, event)); }
int pop_default() { return pop(nullptr); }
int domain_push(void* domain, const EventAttributes* event) { return push(domain, is(domain, event)); }
int domain_pop(void* domain) { return pop(domain); }
std::uint64_t start_a(const char* name) { return start(is(nullptr, name)); }
std::uint64_t start_w(const wchar_t* name) { return start(is(nullptr, name)); }
std::uint64_t start_ex(const EventAttributes* event) { return start(is(nullptr, event)); }
std::uint64_t domain_start(void* domain, const EventAttributes* event) { return start(is(domain, event)); }
void domain_end(void*, std::uint64_t id) { end(id); }
const void* register_a(void*, const char* string) { return handle_of(string); }
const void* register_w(void*, const wchar_t* string) { return handle_of(string); }
void* create_a(const char* name) { return handle_of(name); }
void* create_w(const wchar_t* name) { return handle_of(name); }

// What answers one of NVTX's functions, by its number in the module.
struct Answer {
  unsigned number;
  Function function;
};
template <typename F>
Answer with(unsigned number, F* function) {
  return {number, reinterpret_cast<Function>(function)};
}

// False: there is no such module.
bool answer(const ExportedCallbacks& callbacks, Module module, std::span<const Answer> answers) {
  Function** table = nullptr;
  unsigned count = 0;
  if (callbacks.functions(module, &table, &count) == 0) return false;
  for (const Answer& a : answers)
    if (a.number < count && table[a.number] != nullptr) *table[a.number] = a.function;
  return true;
}

bool answer(ExportTable exports) {
  const auto* callbacks = static_cast<const ExportedCallbacks*>(exports(kCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(ExportedCallbacks)) return false;
  const Answer core[] = {with(kPushA, push_a),     with(kPushW, push_w),   with(kPushEx, push_ex),
                         with(kPop, pop_default),  with(kStartA, start_a), with(kStartW, start_w),
                         with(kStartEx, start_ex), with(kEnd, end)};
  const Answer core2[] = {with(kDomainPushEx, domain_push),   with(kDomainPop, domain_pop),
                          with(kDomainStartEx, domain_start), with(kDomainEnd, domain_end),
                          with(kRegisterA, register_a),       with(kRegisterW, register_w),
                          with(kCreateA, create_a),           with(kCreateW, create_w)};
  if (!answer(*callbacks, kCore, core)) return false;
  answer(*callbacks, kCore2, core2);  // old programs have none
  return true;
}

}  // namespace

void watch_ranges(live::Gate& gate, const char* name) {
  wanted = name;
  watching = &gate;
}

}  // namespace gangway::intercept

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    gangway::intercept::ExportTable exports) {
  using namespace gangway::intercept;
  return watching != nullptr && exports != nullptr && answer(exports) ? 1 : 0;
}
