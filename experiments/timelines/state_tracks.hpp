// A trace's tracks of kernel states: for each client that a policy manages, which state its kernel is in;
// of programs that run as they are, from when their kernels were told to leave until they go on and end.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "models/kernel_state.hpp"
#include "models/workload.hpp"

namespace gangway {

class StateTracks {
 public:
  // The workload must outlive this object. `process`: the trace's number for these tracks.
  // `emit` is given the Chrome trace events; none where no policy manages a kernel.
  using Emit = std::function<void(const nlohmann::ordered_json&)>;
  StateTracks(const Workload& workload, int process, Emit emit);
  void record(const Record& record);

 private:
  struct Track {
    KernelState state = KernelState::done;
    Record since;
    bool named = false;
    bool native = false;  // or recorded: its kernels have no states of the mechanism
    bool leaves = false;  // a program whose kernels have left before their end
  };
  void enter(Track& track, KernelState state, const Record& record);
  void close(Track& track, Time now);
  void name(int thread, const std::string& kind, const std::string& name);

  const Workload* workload_;
  int process_;
  std::vector<Track> tracks_;  // by client
  Emit emit_;
  bool named_ = false;  // the process
};

}  // namespace gangway
