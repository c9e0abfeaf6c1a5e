// A run as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <string>

#include "experiments/unit.hpp"

namespace gangway {

// The timeline of the run whose records it is given: a track per client (copy in, waiting, running, draining,
// copy out), GPU ownership, the scheduler's commands, the copy engines and, in real worlds, the scheduler's
// decisions; the lengths of the device's own queues and the blocks on SMs, where there are any. Spans on one
// track never overlap. Times in microseconds.
class ChromeTrace : public TraceSink {
 public:
  // The experiment must outlive this object.
  ChromeTrace(const Experiment& experiment, const Unit& unit, std::uint32_t permutation);
  ~ChromeTrace() override;
  void record(const Record& record) override;
  void blocks(const BlockSpan& span) override;
  bool wants_blocks() const override { return true; }
  void uncertain(Duration clock) override;
  std::string text() const;  // the run must be over

 private:
  struct State;
  const Experiment& experiment_;
  Unit unit_;
  std::uint32_t permutation_;
  std::unique_ptr<State> state_;
};

// Plays one run and returns its timeline.
std::string chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                         std::uint32_t permutation);

// point-0-frs-r0-p0.json
std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation);

}  // namespace gangway
