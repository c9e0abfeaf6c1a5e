#include "workloads/profile/submitters.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace gangway::profile {

void settle_processes(Profile& p) {
  std::vector<bool> calls(p.processes.size());
  for (const Call& c : p.calls) calls[p.threads[c.thread].process] = true;
  const auto only = std::count(calls.begin(), calls.end(), true) == 1
                        ? static_cast<Index>(std::find(calls.begin(), calls.end(), true) - calls.begin())
                        : kNone;
  const auto open = [](const auto& rows) {
    return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.process == kNone; });
  };
  std::unordered_map<std::uint32_t, Index> by_correlation;  // kNone: of several
  if (only == kNone && (open(p.works) || open(p.waits) || open(p.events)))
    for (const Call& c : p.calls) {
      const Index process = p.threads[c.thread].process;
      const auto [known, is_new] = by_correlation.try_emplace(c.correlation, process);
      if (!is_new && known->second != process) known->second = kNone;
    }
  const auto settle = [&](auto& rows) {
    for (auto& row : rows) {
      if (row.process != kNone) continue;
      row.process = only;
      if (const auto known = by_correlation.find(row.correlation); known != by_correlation.end())
        row.process = known->second;
    }
  };
  settle(p.works);
  settle(p.waits);
  settle(p.events);
}

std::vector<Submitter> submitters(const Profile& p) {
  struct Submission {
    bool graph = false;
    const Work* first = nullptr;  // of a graph: its nodes are no submissions
  };
  std::vector<std::unordered_map<std::uint32_t, Submission>> calls(p.processes.size());
  for (const Call& c : p.calls)
    if (c.correlation != 0)
      calls[p.threads[c.thread].process].try_emplace(
          c.correlation, Submission{p.functions[c.function].kind == recording::CallKind::graph, nullptr});
  std::map<Index, std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t>> found;
  for (const Work& w : p.works) {
    if (w.process == kNone) continue;
    const auto call = calls[w.process].find(w.correlation);
    if (call == calls[w.process].end()) continue;
    const Work*& first = call->second.first;
    if (!call->second.graph)
      ++found[w.process][{w.context, w.stream}];
    else if (first == nullptr || w.begin < first->begin)
      first = &w;
  }
  for (const auto& of_process : calls)
    for (const auto& [correlation, call] : of_process)
      if (call.first != nullptr) ++found[call.first->process][{call.first->context, call.first->stream}];
  std::vector<Submitter> out;
  for (const auto& [process, streams] : found) {
    Submitter& s = out.emplace_back();
    s.process = process;
    for (const auto& [stream, count] : streams) {
      s.submissions += count;
      s.streams.push_back({stream.first, stream.second, count});
    }
  }
  return out;
}

}  // namespace gangway::profile
