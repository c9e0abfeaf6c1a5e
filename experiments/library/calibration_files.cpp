#include "experiments/library/calibration_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "experiments/library/build.hpp"
#include "experiments/results/files.hpp"
#include "experiments/results/row.hpp"
#include "models/input/yaml_writer.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

std::string bandwidth_text(Bandwidth b) {
  return fmt::format("{:.4g} GB/s", static_cast<double>(b.bytes_per_second) / 1e9);
}

std::string source_text(const Calibration& c, const std::string& command) {
  return fmt::format("measured by `{}` of gangway {} on {:%Y-%m-%d}: {}{}", command, build_version(),
                     fmt::gmtime(std::time(nullptr)), c.machine.gpu,
                     c.machine.driver.empty() ? "" : ", " + c.machine.driver);
}

Node engine(const CopyEngine& e) {
  Node engine = yaml_mapping({{"bandwidth", bandwidth_text(e.bandwidth)}, {"latency", to_text(e.latency)}});
  if (e.both_ways < 1) engine.put("both_ways", yaml_text(to_text(e.both_ways)));
  return engine;
}

std::string device_text(const Calibration& c, const std::string& name, const std::string& source) {
  const Device& d = c.device;
  Node root = yaml_mapping({{"kind", "device"}, {"version", "1"}, {"name", name}, {"source", source}});
  root.put("sms", yaml_text(d.sms));
  root.put("sm", yaml_mapping({{"threads", std::to_string(d.sm.threads)},
                               {"blocks", std::to_string(d.sm.blocks)},
                               {"registers", std::to_string(d.sm.registers)},
                               {"shared_memory", to_text(d.sm.shared_memory)},
                               {"warp", std::to_string(d.sm.warp)},
                               {"reserved_shared_memory", to_text(d.sm.reserved_shared_memory)}}));
  root.put("memory", yaml_text(to_text(d.memory)));
  Node copy = yaml_mapping({});
  copy.put("h2d", engine(d.h2d));
  copy.put("d2h", engine(d.d2h));
  root.put("copy", std::move(copy));
  Node commands = yaml_mapping({{"launch", to_text(d.commands.launch)},
                                {"evict", to_text(d.commands.evict)},
                                {"notice", to_text(d.commands.notice)},
                                {"pending_work", to_text(d.commands.pending_work)}});
  const BesideCopies& beside = d.commands.beside_copies;
  commands.put("beside_copies", yaml_mapping({{"launch", to_text(beside.launch)},
                                              {"evict", to_text(beside.evict)},
                                              {"reads_wait", beside.reads_wait ? "true" : "false"}}));
  std::vector<Node> after_idle;
  for (const AfterIdle& after : d.commands.after_idle)
    after_idle.push_back(yaml_list({yaml_text(to_text(after.idle)), yaml_text(to_text(after.longer))}));
  if (!after_idle.empty()) commands.put("after_idle", yaml_list(std::move(after_idle)));
  root.put("commands", std::move(commands));
  if (d.delays.block_end > Duration{})
    root.put("delays", yaml_mapping({{"block_end", to_text(d.delays.block_end)}}));
  if (c.device.polls) {
    Node polls = yaml_mapping({{"host", to_text(d.polls->host)}, {"device", to_text(d.polls->device)}});
    if (d.polls->proxy) polls.put("proxy", yaml_text(to_text(*d.polls->proxy)));
    root.put("polls", std::move(polls));
  }
  if (const auto& slice = d.time_slice)
    root.put("time_slice",
             yaml_mapping({{"length", to_text(slice->length)},
                           {"switch", to_text(slice->context_switch)},
                           {"order", slice->order == TimeSlice::Order::creation ? "creation" : "waiting"},
                           {"choice", to_text(slice->choice)},
                           {"blocks", slice->stops_blocks ? "stop" : "end"},
                           {"stop", to_text(slice->stop)},
                           {"resume", to_text(slice->resume)},
                           {"stop_full", to_text(slice->stop_full)},
                           {"resume_full", to_text(slice->resume_full)},
                           {"renewal", to_text(slice->renewal)},
                           {"linger", to_text(slice->linger)}}));
  return to_yaml(
      root,
      {{"",
        "Times are medians from the scheduler's point of view: a launch lasts until its first block is seen, "
        "and "
        "so on; what it takes to\nnotice an end is contained in the kernels' times, so notice is 0. evict is "
        "what every eviction costs beside its longest\nblock-task. calibration.json has intervals and "
        "residuals."},
       {"delays",
        "block_end: from a block's end until the next one in its place is busy, of an original "
        "kernel's short blocks."},
       {"polls",
        "host: a read of mapped host memory; those of all blocks go one after the other. device: a look at "
        "the proxy's copy, beside the\nclaim of a block-task, which kernels' transformation_overhead "
        "contains. proxy: an eviction beside its longest block-task."},
       {"time_slice",
        "Between contexts of two processes without MPS; rules: sim/recorded/README.md. order, choice and "
        "blocks were found on H200s,\nand are not measured here. stop and resume: of one thread; full: of "
        "all threads and registers of the GPU."}});
}

Node launches(const MeasuredLaunches& m) {
  Node node = yaml_mapping({});
  if (!m.mechanism.empty()) node.put("mechanism", yaml_text(m.mechanism));
  if (m.launch) node.put("launch", yaml_text(to_text(*m.launch)));
  if (m.pending_work) node.put("pending_work", yaml_text(to_text(*m.pending_work)));
  node.put("after_another", yaml_text(to_text(m.after_another)));
  node.put("each_launch", yaml_text(to_text(m.each)));
  if (m.in_step > 0) node.put("in_step", yaml_text(m.in_step));
  if (m.evictions.empty()) return node;
  node.put("too_late", yaml_text(to_text(m.too_late)));
  node.put("near", yaml_text(m.near));
  std::vector<Node> evictions;
  for (const MeasuredEviction& e : m.evictions)
    evictions.push_back(
        yaml_list({yaml_text(to_text(e.ordered)), yaml_text(to_text(e.gone)), yaml_text(to_text(e.work))}));
  node.put("evictions", yaml_list(std::move(evictions)));
  return node;
}

std::string workload_text(const Calibration& c, const std::string& name, const std::string& source) {
  Node root =
      yaml_mapping({{"kind", "workload"}, {"version", "1"}, {"name", name + "-kernels"}, {"source", source}});
  root.put("arrivals", yaml_mapping({{"gap", "1 ms"}, {"order", "permuted"}}));
  std::vector<Node> clients;
  for (const Client& client : c.clients) {
    std::vector<Node> kernels;
    for (const Kernel& kernel : client.kernels) kernels.push_back(measured_kernel(kernel));
    clients.push_back(yaml_mapping({{"name", client.name}}));
    clients.back().put("kernels", yaml_list(std::move(kernels)));
  }
  root.put("clients", yaml_list(std::move(clients)));
  return to_yaml(
      root, {{"", fmt::format("Every kernel measured alone. The eviction delay is the median over random "
                              "moments, `useful` the share of its drain that did\nuseful work ({}: the "
                              "median of all). measured: launches behind another kernel's, and evictions: "
                              "order, end and work,\nfrom the launch's first block. Evictions are those of "
                              "the mechanism {}.",
                              c.useful, c.mechanism)}});
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
            {"mechanism", c.mechanism},
            {"useful", c.useful},
            {"unit", "ns"}};
  if (!c.slower_for_a_while.empty()) json["slower_for_a_while"] = c.slower_for_a_while;
  if (c.together_under_mps) json["together_under_mps"] = *c.together_under_mps;
  if (const auto& e = c.expected_error)
    json["expected_error"] = {{"pairs", e->pairs},
                              {"jobs", e->jobs},
                              {"ntt_p50", e->ntt_p50},
                              {"ntt_p90", e->ntt_p90},
                              {"ntt_bias", e->ntt_bias}};
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
  std::string text;
  for (const Reading& r : c.readings) {
    const Row row{{"quantity", r.quantity},
                  {"mechanism", r.mechanism},
                  {"kernel", r.kernel},
                  {"parameter", static_cast<double>(r.parameter)},
                  {"value_ns", r.value}};
    if (text.empty()) text = csv_names(row) + "\n";
    text += csv_values(row) + "\n";
  }
  return text;
}

}  // namespace

Node measured_kernel(const Kernel& k) {
  Node kernel = yaml_mapping({{"name", k.name}});
  kernel.put("code", parse_yaml(k.code_text, "code"));
  kernel.put("block_tasks", yaml_text(k.block_tasks.count));
  std::vector<Node> sides;
  for (const auto side : k.block) sides.push_back(yaml_text(std::int64_t{side}));
  kernel.put("block", yaml_list(std::move(sides)));
  kernel.put("time", yaml_text(to_text(k.time)));
  kernel.put("transformation_overhead", yaml_text(to_text(k.transformation_overhead)));
  if (k.registers > 0) {
    kernel.put("registers", yaml_text(std::int64_t{k.registers}));
    kernel.put("shared_memory", yaml_text(to_text(k.shared_memory)));
  }
  if (k.eviction_delay) kernel.put("eviction_delay", yaml_text(to_text(*k.eviction_delay)));
  if (k.useful) kernel.put("useful", yaml_text(to_text(*k.useful)));
  if (k.measured) kernel.put("measured", launches(*k.measured));
  return kernel;
}

bool holds_calibration(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "calibration.json");
}

void write_descriptions(const Calibration& c, const std::string& name, const std::string& command,
                        const std::filesystem::path& folder) {
  make_folder(folder);
  std::filesystem::remove(folder / "calibration.json");  // so that it never stands beside files of another
  const std::string source = source_text(c, command);
  write_file(folder / "samples.csv", samples_text(c));
  write_file(folder / "device.yaml", device_text(c, name, source));
  write_file(folder / "workload.yaml", workload_text(c, name, source));
}

void write_account(const Calibration& c, const std::string& name, const std::string& command,
                   const std::filesystem::path& folder) {
  write_file(folder / "calibration.json", json_text(c, name, command));
}

}  // namespace gangway
