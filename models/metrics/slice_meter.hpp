// How clients share GPU time slices while all are present (Share-a-GPU, III-B b).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

struct SliceUse {
  double share = 0;     // of all launches
  double in_a_row = 0;  // launches per turn: on a GPU, until another client's
};

// Counts launches while every client has an unfinished job, over any number of runs.
class SliceMeter {
 public:
  explicit SliceMeter(std::size_t clients) : launches_(clients), turns_(clients), unfinished_(clients) {}
  void reset();  // before the next run; keeps counts
  void record(const Record& record);
  std::vector<SliceUse> use() const;  // by client; NaN if nothing was counted

 private:
  std::vector<std::int64_t> launches_, turns_, unfinished_;  // by client
  std::array<std::optional<ClientId>, kMostGpus> last_;      // by GPU: whose turn it is
  std::size_t absent_ = 0;                                   // clients without an unfinished job
};

}  // namespace gangway
