// Writes Chrome trace events while the file has room.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/timelines/trace_file.hpp"
#include "models/quantity.hpp"

namespace gangway {

class TraceEvents {
 public:
  using Json = nlohmann::ordered_json;

  // The file must outlive this object. `reserve`: bytes kept for closing a full file.
  TraceEvents(TraceFile& file, std::size_t reserve) : file_(file), reserve_(reserve) {}

  // Always writes; full() may be true afterwards.
  void emit(const Json& event);
  bool full() const { return full_; }

  // Names a track. A process's threads are shown in numeric order.
  void process(int pid, const std::string& name);
  void thread(int pid, int tid, const std::string& name);

  void span(int pid, int tid, const std::string& name, Time from, Time until, const Json& args = nullptr);
  void instant(int pid, int tid, const std::string& name, Time at, const Json& args);
  void counter(int pid, const std::string& name, Time at, const Json& values);

 private:
  TraceFile& file_;
  const std::size_t reserve_;
  bool first_ = true, full_ = false;
};

}  // namespace gangway
