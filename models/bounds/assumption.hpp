// Checks a run against the assumptions of a theorem.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace gangway {

// The worst observation of one kind for one task, in ns.
struct Assumption {
  std::string name;
  std::string task;
  std::int64_t measured = 0, allowed = 0;
  bool held() const { return measured <= allowed; }
};

class Assumptions {
 public:
  // Keeps the observation that most exceeds what is allowed, or comes closest to it.
  void note(const char* name, const std::string& task, std::int64_t measured, std::int64_t allowed) {
    for (Assumption& known : seen_) {
      if (known.name != name || known.task != task) continue;
      if (measured - allowed > known.measured - known.allowed) {
        known.measured = measured;
        known.allowed = allowed;
      }
      return;
    }
    seen_.push_back({name, task, measured, allowed});
  }
  // Sorted by name afterwards.
  void add(const Assumptions& other) {
    for (const Assumption& a : other.seen_) note(a.name.c_str(), a.task, a.measured, a.allowed);
    std::stable_sort(seen_.begin(), seen_.end(),
                     [](const Assumption& a, const Assumption& b) { return a.name < b.name; });
  }
  const std::vector<Assumption>& all() const { return seen_; }
  bool held() const {
    return std::all_of(seen_.begin(), seen_.end(), [](const Assumption& a) { return a.held(); });
  }

 private:
  std::vector<Assumption> seen_;
};

}  // namespace gangway
