// A run as Chrome trace JSON, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "experiments/running/unit.hpp"

namespace gangway {

// What became of a timeline.
struct TraceEnd {
  bool written = false;         // or there was no room for a beginning, or nobody wanted it any more
  std::uint64_t size = 0;       // bytes on disk
  std::optional<Time> full_at;  // nothing after that is in it: the file may not be larger
};

// The timeline of the run whose records it is given: a track per client (copy in, waiting, running, draining,
// copy out), GPU ownership, the scheduler's commands, the copy engines and, in real worlds, the scheduler's
// decisions; the lengths of the device's own queues and the blocks on SMs, where there are any. Spans on one
// track never overlap. Times in microseconds.
class ChromeTrace : public TraceSink {
 public:
  // The experiment must outlive this object. `file` is compressed (gzip) if it ends in .gz, and at most
  // `most` bytes large; it appears with finish().
  ChromeTrace(const Experiment& experiment, const Unit& unit, std::uint32_t permutation,
              const std::filesystem::path& file, std::uint64_t most);
  ~ChromeTrace() override;
  void record(const Record& record) override;
  void blocks(const BlockSpan& span) override;
  bool wants_blocks() const override { return true; }
  bool wants_off_gpu() const override { return true; }
  void uncertain(Duration clock) override;
  bool stopped() const override;  // the file is full
  TraceEnd finish();              // the run must be over

 private:
  struct State;
  const Experiment& experiment_;
  Unit unit_;
  std::uint32_t permutation_;
  std::unique_ptr<State> state_;
};

// Plays one run and writes its timeline, or nothing when `stop` gets set.
TraceEnd write_chrome_trace(const Experiment& experiment, const WorldEntry& world, const Unit& unit,
                            std::uint32_t permutation, const std::filesystem::path& file, std::uint64_t most,
                            const std::atomic<bool>& stop);

// point-0-frs-r0-p0.json.gz
std::string trace_name(const Experiment& experiment, const Unit& unit, std::uint32_t permutation);

}  // namespace gangway
