#include "analysis/core/running.hpp"

#include <atomic>

namespace gangway::python {
namespace {

std::atomic<int> runs_under_way = 0;

}  // namespace

Running::Running() { ++runs_under_way; }
Running::~Running() { --runs_under_way; }
bool Running::any() { return runs_under_way > 0; }

}  // namespace gangway::python
