// Receives a simulated run's records: for the trace, and for the history in messages.
#pragma once

#include "models/run/history.hpp"

namespace gangway {

class Journal {
 public:
  void begin(TraceSink& trace) {
    trace_ = &trace;
    wants_blocks_ = trace.wants_blocks();
    wants_off_gpu_ = trace.wants_off_gpu();
    history_.clear();
  }
  void note(const Record& record) {
    history_.add(record);
    trace_->record(record);
  }
  bool wants_blocks() const { return wants_blocks_; }
  bool wants_off_gpu() const { return wants_off_gpu_; }
  void off_gpu(const Record& record) { trace_->record(record); }
  void blocks(const BlockSpan& span) { trace_->blocks(span); }
  const History& history() const { return history_; }

 private:
  TraceSink* trace_ = nullptr;
  bool wants_blocks_ = false, wants_off_gpu_ = false;
  History history_;
};

}  // namespace gangway
