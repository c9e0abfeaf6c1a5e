// How clients share the GPU's time slices while all of them are there (Share-a-GPU, III-B b).
#pragma once

#include <vector>

#include "models/trace.hpp"

namespace gangway {

// Counts launches while every client has a job that is released and not finished; over as many runs as it is
// fed.
class SliceMeter {
 public:
  explicit SliceMeter(std::size_t clients) : launches_(clients), unfinished_(clients) {}
  void reset();  // before the next run; keeps what was counted
  void record(const Record& record);
  std::vector<double> shares() const;  // by client; NaN when nothing was counted

 private:
  std::vector<std::int64_t> launches_, unfinished_;  // by client
  std::size_t absent_ = 0;                           // clients without an unfinished job
};

}  // namespace gangway
