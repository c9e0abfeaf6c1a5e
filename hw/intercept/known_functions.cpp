#include "hw/intercept/known_functions.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <string_view>

#include "hw/intercept/driver.hpp"

namespace gangway::intercept {
namespace {

// Without version and kind of default stream: programs ask for functions by this name.
constexpr std::string_view family_of(std::string_view symbol) {
  if (symbol.ends_with("_ptsz") || symbol.ends_with("_ptds")) symbol.remove_suffix(5);
  const std::size_t version = symbol.rfind("_v");
  if (version != std::string_view::npos &&
      symbol.find_first_not_of("0123456789", version + 2) == std::string_view::npos)
    symbol = symbol.substr(0, version);
  return symbol;
}

struct ListedFunction {
  std::string_view family;
  const char* symbol;
  bool gated;
};

constexpr ListedFunction listed(const char* symbol, bool gated) { return {family_of(symbol), symbol, gated}; }

// By family.
constexpr auto kListed = [] {
  std::array all{
#define SUBMISSION(symbol, kind) listed(#symbol, true),
#define SYNCHRONISATION(symbol, what) listed(#symbol, true),
#define OBSERVED(symbol, what) listed(#symbol, true),
#define SERVED(symbol) listed(#symbol, true),
#define PASSED(symbol) listed(#symbol, false),
#include "hw/intercept/functions.def"
#undef SUBMISSION
#undef SYNCHRONISATION
#undef OBSERVED
#undef SERVED
#undef PASSED
  };
  std::sort(all.begin(), all.end(),
            [](const ListedFunction& a, const ListedFunction& b) { return a.family < b.family; });
  return all;
}();

// The runtime asks for these at its start, whether or not the program draws. Debuggers ask for cudbg...
bool of_another_api(std::string_view symbol) {
  constexpr std::string_view kMarks[] = {"GL", "Egl", "VDPAU", "D3D", "NVN", "cudbg"};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view mark) { return symbol.find(mark) != std::string_view::npos; });
}

}  // namespace

bool bypasses_gate(const char* symbol, const void* answer) {
  const std::string_view family = family_of(symbol);
  const auto first = std::lower_bound(
      kListed.begin(), kListed.end(), family,
      [](const ListedFunction& function, std::string_view name) { return function.family < name; });
  const auto last = std::find_if(first, kListed.end(),
                                 [&](const ListedFunction& function) { return function.family != family; });
  if (first == last) return !of_another_api(symbol);
  if (std::none_of(first, last, [](const ListedFunction& function) { return function.gated; })) return false;
  return std::none_of(
      first, last, [&](const ListedFunction& function) { return real_function(function.symbol) == answer; });
}

bool seen_first(const void* answer) {
  static std::atomic<const void*> seen[256];  // without a lock: a fork could find it taken
  for (std::atomic<const void*>& place : seen) {
    const void* there = nullptr;
    if (place.compare_exchange_strong(there, answer)) return true;
    if (there == answer) return false;
  }
  return false;
}

}  // namespace gangway::intercept
