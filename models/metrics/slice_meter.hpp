// How clients share GPUs' time slices while all of them are there (Share-a-GPU, III-B b).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

struct SliceUse {
  double share = 0;     // of all launches
  double in_a_row = 0;  // launches of a turn: on a GPU, until another client's
};

// Counts launches while every client has a job that is released and not finished; over as many runs as it is
// fed.
class SliceMeter {
 public:
  explicit SliceMeter(std::size_t clients) : launches_(clients), turns_(clients), unfinished_(clients) {}
  void reset();  // before the next run; keeps what was counted
  void record(const Record& record);
  std::vector<SliceUse> use() const;  // by client; NaN where nothing was counted

 private:
  std::vector<std::int64_t> launches_, turns_, unfinished_;  // by client
  std::array<std::optional<ClientId>, kMostGpus> last_;      // by GPU: whose turn it is
  std::size_t absent_ = 0;                                   // clients without an unfinished job
};

}  // namespace gangway
