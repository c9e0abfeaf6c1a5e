#include "experiments/calibration_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "experiments/build.hpp"
#include "experiments/files.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

std::string bandwidth_text(Bandwidth b) {
  return fmt::format("{:.4g} GB/s", static_cast<double>(b.bytes_per_second) / 1e9);
}

// Inside double quotes.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

std::string source_text(const Calibration& c, const std::string& command) {
  const std::string text = fmt::format("measured by `{}` of gangway {} on {:%Y-%m-%d}: {}{}", command,
                                       build_version(), fmt::gmtime(std::time(nullptr)), c.machine.gpu,
                                       c.machine.driver.empty() ? "" : ", " + c.machine.driver);
  return escaped(text);
}

std::string polls_text(const std::optional<PollCosts>& polls) {
  if (!polls) return {};
  return fmt::format(
      "# host: a read of mapped host memory; those of all blocks go one after the other. device: a claim of "
      "the next block-task, which\n"
      "# shows the flag; kernels' measured transformation_overhead contains it already.\n"
      "polls: {{host: {}, device: {}}}\n",
      to_text(polls->host), to_text(polls->device));
}

std::string time_slice_text(const std::optional<TimeSlice>& slice) {
  if (!slice) return {};
  return fmt::format(
      "# Between contexts of two processes, without MPS: sim/recorded/README.md has the rules.\n"
      "time_slice: {{length: {}, switch: {}, stop: {}, resume: {}, renewal: {}, linger: {}}}\n",
      to_text(slice->length), to_text(slice->context_switch), to_text(slice->stop), to_text(slice->resume),
      to_text(slice->renewal), to_text(slice->linger));
}

std::string device_text(const Calibration& c, const std::string& name, const std::string& source) {
  const Device& d = c.device;
  return fmt::format(
      "# Times are medians, as the scheduler sees them: a launch until its first block is seen to run, and "
      "so on; what it takes to\n"
      "# notice an end is contained in the kernels' times, so notice is 0. evict is what every eviction "
      "costs beside its longest\n"
      "# block-task. calibration.json has intervals and residuals.\n"
      "kind: device\nversion: 1\nname: {}\nsource: \"{}\"\nsms: {}\n"
      "sm: {{threads: {}, blocks: {}, registers: {}, shared_memory: {}, warp: {}, reserved_shared_memory: "
      "{}}}\nmemory: {}\ncopy:\n"
      "  h2d: {{bandwidth: {}, latency: {}}}\n  d2h: {{bandwidth: {}, latency: {}}}\n"
      "commands: {{launch: {}, evict: {}, notice: {}, pending_work: {}}}\n{}{}",
      name, source, d.sms, d.sm.threads, d.sm.blocks, d.sm.registers, to_text(d.sm.shared_memory), d.sm.warp,
      to_text(d.sm.reserved_shared_memory), to_text(d.memory), bandwidth_text(d.h2d.bandwidth),
      to_text(d.h2d.latency), bandwidth_text(d.d2h.bandwidth), to_text(d.d2h.latency),
      to_text(d.commands.launch), to_text(d.commands.evict), to_text(d.commands.notice),
      to_text(d.commands.pending_work), polls_text(d.polls), time_slice_text(d.time_slice));
}

std::string workload_text(const Calibration& c, const std::string& name, const std::string& source) {
  std::string text = fmt::format(
      "# Every kernel measured alone. The eviction delay is the median over random moments, `useful` the "
      "share "
      "of its drain that did\n"
      "# useful work ({}: the median of all).\n"
      "kind: workload\nversion: 1\nname: {}-kernels\nsource: \"{}\"\n"
      "arrivals: {{gap: 1 ms, order: permuted}}\nclients:\n",
      c.useful, name, source);
  for (const Client& client : c.clients) {
    text += fmt::format("  - name: {}\n    kernels:\n", client.name);
    for (const Kernel& k : client.kernels) {
      text +=
          fmt::format("      - name: {}\n        code: {}\n        block_tasks: {}\n        block: [{}]\n",
                      k.name, k.code_text, k.block_tasks.count, fmt::join(k.block, ", "));
      text += fmt::format("        time: {}\n        transformation_overhead: {}\n", to_text(k.time),
                          to_text(k.transformation_overhead));
      if (k.registers > 0)
        text += fmt::format("        registers: {}\n        shared_memory: {}\n", k.registers,
                            to_text(k.shared_memory));
      if (k.eviction_delay) text += fmt::format("        eviction_delay: {}\n", to_text(*k.eviction_delay));
      if (k.useful) text += fmt::format("        useful: {}\n", to_text(*k.useful));
    }
  }
  return text;
}

// JSON has no infinity.
Json bound(double x) { return std::isfinite(x) ? Json(x) : Json(); }
Json json_of(const Estimate& e) {
  return {{"value", e.value}, {"low", bound(e.low)}, {"high", bound(e.high)}};
}

Json json_of(const KernelResources& resources) {
  return {{"registers", resources.registers},
          {"shared_memory", resources.shared_memory.count},
          {"blocks_per_sm", resources.blocks_per_sm}};
}

std::string json_text(const Calibration& c, const std::string& name, const std::string& command) {
  Json json{{"kind", "calibration"},
            {"version", 1},
            {"device", name},
            {"gpu", c.machine.gpu},
            {"driver", c.machine.driver},
            {"gangway", build_version()},
            {"commit", build_commit()},
            {"command", command},
            {"useful", c.useful},
            {"unit", "ns"}};
  if (c.together_under_mps) json["together_under_mps"] = *c.together_under_mps;
  for (const FormsOfKernel& f : c.forms)
    json["kernels"].push_back({{"kernel", f.kernel},
                               {"block_tasks", f.block_tasks.count},
                               {"threads", f.threads},
                               {"original", json_of(f.forms.original)},
                               {"transformed", json_of(f.forms.persistent)}});
  for (const Summary& s : c.summaries)
    json["quantities"].push_back({{"quantity", s.of.quantity},
                                  {"mechanism", s.of.mechanism},
                                  {"kernel", s.of.kernel},
                                  {"parameter", s.of.parameter},
                                  {"count", s.count},
                                  {"median", json_of(s.median)},
                                  {"p99", s.p99}});
  for (const Line& l : c.lines)
    json["fits"].push_back({{"name", l.name},
                            {"meaning", l.meaning},
                            {"intercept", json_of(l.fit.parameters[0])},
                            {"slope", json_of(l.fit.parameters[1])},
                            {"points", l.fit.points},
                            {"down_weighted", l.fit.down_weighted},
                            {"residual_median", l.fit.residuals.median},
                            {"residual_p90", l.fit.residuals.p90},
                            {"residual_largest", l.fit.residuals.largest}});
  return json.dump(1) + "\n";
}

std::string samples_text(const Calibration& c) {
  std::string text = "quantity,mechanism,kernel,parameter,value_ns\n";
  for (const Reading& r : c.readings)
    text += fmt::format("{},{},{},{},{}\n", r.quantity, r.mechanism, r.kernel, r.parameter, r.value);
  return text;
}

}  // namespace

bool holds_calibration(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "calibration.json");
}

void write_calibration(const Calibration& c, const std::string& name, const std::string& command,
                       const std::filesystem::path& folder) {
  make_folder(folder);
  std::filesystem::remove(folder / "calibration.json");  // so that it never stands beside files of another
  const std::string source = source_text(c, command);
  write_file(folder / "samples.csv", samples_text(c));
  write_file(folder / "device.yaml", device_text(c, name, source));
  write_file(folder / "workload.yaml", workload_text(c, name, source));
  write_file(folder / "calibration.json", json_text(c, name, command));  // last: the others are there
}

}  // namespace gangway
