#include "tests/sim/memory/memory_scenario.hpp"

#include <fmt/format.h>

namespace gangway::testing {
namespace {

char name_of(const Record& record) { return static_cast<char>('A' + record.job.client.index); }

}  // namespace

Client with_memory(Client client, std::int64_t bytes) {
  client.memory = Bytes{bytes};
  return client;
}

Client with_variables(Client client, std::vector<Variable> variables, std::int64_t footprint) {
  for (const Variable& v : variables) {
    if (v.input) client.copy_in.count += v.size.count;
    if (v.output) client.copy_out.count += v.size.count;
    client.memory.count += v.size.count;
  }
  if (footprint > 0) client.memory.count = footprint;
  client.variables = std::move(variables);
  return client;
}

Lines memory_lines(const Played& played) {
  Lines lines;
  for (const Record& r : played.records)
    if (r.mark == Mark::holds) lines.push_back(fmt::format("{} {} {}", r.time.ns, name_of(r), r.amount));
  return lines;
}

Lines gpu_lines(const Played& played) {
  Lines lines;
  const auto text = [](const Record& r) -> std::string {
    const bool in = r.direction == CopyDirection::to_device;
    switch (r.mark) {
      case Mark::launch_ordered:
        return fmt::format("launch {} {}", name_of(r), r.amount);
      case Mark::started:
        return fmt::format("start {}", name_of(r));
      case Mark::gone:
        return fmt::format("gone {} {}", name_of(r), r.amount);
      case Mark::copy_ends:
        return fmt::format("{} {}", r.program_copy ? (in ? "in" : "out") : (in ? "restore" : "save"),
                           name_of(r));
      case Mark::holds:
        return fmt::format("holds {} {}", name_of(r), r.amount);
      default:
        return "";
    }
  };
  for (std::uint8_t gpu = 0; gpu < kMostGpus; ++gpu)
    for (const Record& r : played.records)
      if (const std::string line = text(r); r.gpu == gpu && !line.empty())
        lines.push_back(fmt::format("{}: {} {}", gpu, r.time.ns, line));
  for (const Record& r : played.records)
    if (r.mark == Mark::merged || r.mark == Mark::finished)
      lines.push_back(fmt::format("{} {} {}", r.time.ns, name_of(r.mark), name_of(r)));
  return lines;
}

Lines copy_lines(const Played& played) {
  Lines lines;
  for (const Record& r : played.records) {
    if (r.mark != Mark::copy_ends) continue;
    const bool in = r.direction == CopyDirection::to_device;
    const char* what = r.program_copy ? (in ? "in" : "out") : (in ? "restore" : "save");
    lines.push_back(fmt::format("{} {} {}", r.time.ns, what, name_of(r)));
  }
  return lines;
}

}  // namespace gangway::testing
