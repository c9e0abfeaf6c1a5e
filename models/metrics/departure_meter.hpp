// How often kernels of unmodified programs have left before their end.
#pragma once

#include <cstdint>
#include <vector>

#include "models/trace.hpp"

namespace gangway {

class DepartureMeter {
 public:
  explicit DepartureMeter(std::size_t clients) : counts_(clients) {}
  void record(const Record& record) {
    if (record.mark == Mark::kernels_left) counts_[record.job.client.index] += record.amount;
  }
  // By client, of this many runs: kernels per run.
  std::vector<double> per_run(std::uint32_t runs) const {
    std::vector<double> all;
    for (const std::int64_t count : counts_) all.push_back(static_cast<double>(count) / runs);
    return all;
  }

 private:
  std::vector<std::int64_t> counts_;
};

}  // namespace gangway
