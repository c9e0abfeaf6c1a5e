#include "hw/native/wire.hpp"

#include <nlohmann/json.hpp>

#include "models/input/document.hpp"
#include "models/input/field.hpp"

namespace gangway {
namespace {

using Json = nlohmann::json;

template <typename T>
Json numbers(const std::vector<T>& times) {
  Json json = Json::array();
  for (const T& time : times) json.push_back(time.ns);
  return json;
}

template <typename T>
std::vector<T> times(const Json& json) {
  std::vector<T> out;
  out.reserve(json.size());
  for (const Json& ns : json) out.push_back(T{ns.get<std::int64_t>()});
  return out;
}

std::shared_ptr<const KernelCode> code_from(const std::string& text) {
  if (text.empty()) return nullptr;
  const Node node = parse_yaml(text, "a native client's code");
  const auto chosen = choose<KernelEntry>(Field(node, "code"));
  return chosen.entry->make(chosen.values);
}

Json wire_of(const NativeKernel& kernel) {
  return {kernel.blocks,    kernel.block,     kernel.registers, kernel.shared_memory.count,
          kernel.length.ns, kernel.code_text, kernel.input_seed};
}

NativeKernel kernel_from(const Json& json) {
  NativeKernel kernel{json.at(0), json.at(1), json.at(2), Bytes{json.at(3)}, Duration{json.at(4)}};
  kernel.code_text = json.at(5);
  kernel.code = code_from(kernel.code_text);
  kernel.input_seed = json.at(6);
  return kernel;
}

}  // namespace

nlohmann::json wire(const NativeSetup& setup) {
  Json json{{"longest_copy", setup.longest_copy.count},
            {"watchdog", setup.watchdog.ns},
            {"stream_of", setup.stream_of}};
  json["streams"] = json["kernels"] = Json::array();
  for (const NativeStream& stream : setup.streams) json["streams"].push_back({stream.null, stream.priority});
  for (const auto& of_client : setup.kernels) {
    Json& kernels = json["kernels"].emplace_back(Json::array());
    for (const NativeKernel& kernel : of_client) kernels.push_back(wire_of(kernel));
  }
  return json;
}

NativeSetup setup_from_wire(const nlohmann::json& json) {
  NativeSetup setup;
  setup.longest_copy = {json.at("longest_copy").get<std::int64_t>()};
  setup.watchdog = {json.at("watchdog").get<std::int64_t>()};
  setup.stream_of = json.at("stream_of").get<std::vector<std::uint32_t>>();
  for (const Json& stream : json.at("streams")) setup.streams.push_back({stream.at(0), stream.at(1)});
  for (const Json& of_client : json.at("kernels")) {
    auto& kernels = setup.kernels.emplace_back();
    for (const Json& kernel : of_client) kernels.push_back(kernel_from(kernel));
  }
  return setup;
}

// Numbers that follow from the order are not sent.
nlohmann::json wire(const NativeRun& run) {
  Json json = Json::array();
  for (const NativeRelease& release : run.releases) {
    Json operations = Json::array();
    for (std::size_t i = release.first; i < release.first + release.count; ++i) {
      const NativeOperation& o = run.operations[i];
      const std::uint64_t end =
          i + 1 < run.operations.size() ? run.operations[i + 1].first_stamp : run.stamps;
      operations.push_back({o.stream, o.copy, o.direction == CopyDirection::to_device, o.size.count, o.kernel,
                            o.launch.value, o.coded, end - o.first_stamp});
    }
    json.push_back({release.time.ns, release.job.client.index, release.job.number, std::move(operations)});
  }
  return json;
}

NativeRun run_from_wire(const nlohmann::json& json) {
  NativeRun run;
  for (const Json& release : json) {
    const JobId job{ClientId{release.at(1)}, release.at(2)};
    run.releases.push_back({Time{release.at(0).get<std::int64_t>()}, job, run.operations.size(), 0});
    for (const Json& o : release.at(3)) {
      NativeOperation operation;
      operation.job = job;
      operation.stream = o.at(0);
      operation.copy = o.at(1);
      operation.direction = o.at(2) ? CopyDirection::to_device : CopyDirection::to_host;
      operation.size = {o.at(3).get<std::int64_t>()};
      operation.kernel = o.at(4);
      operation.launch = {o.at(5)};
      operation.coded = o.at(6);
      run.add(operation, o.at(7));
    }
  }
  return run;
}

nlohmann::json wire(const NativeMeasurement& measured) {
  Json blocks = Json::array();
  for (const BlockStamp& block : measured.blocks)
    blocks.push_back({block.began.ns, block.ended.ns, block.sm});
  return {{"issued", numbers(measured.issued)},     {"began", numbers(measured.began)},
          {"ended", numbers(measured.ended)},       {"blocks", std::move(blocks)},
          {"operations", measured.operations},      {"releases", measured.releases},
          {"uncertainty", measured.uncertainty.ns}, {"late", numbers(measured.late)},
          {"lasted", measured.lasted.ns},           {"off_cpu", measured.off_cpu.ns}};
}

NativeMeasurement measurement_from_wire(const nlohmann::json& json) {
  NativeMeasurement measured;
  measured.issued = times<Time>(json.at("issued"));
  measured.began = times<Time>(json.at("began"));
  measured.ended = times<Time>(json.at("ended"));
  for (const Json& block : json.at("blocks"))
    measured.blocks.push_back(
        {Time{block.at(0).get<std::int64_t>()}, Time{block.at(1).get<std::int64_t>()}, block.at(2)});
  measured.operations = json.at("operations");
  measured.releases = json.at("releases");
  measured.uncertainty = {json.at("uncertainty").get<std::int64_t>()};
  measured.late = times<Duration>(json.at("late"));
  measured.lasted = {json.at("lasted").get<std::int64_t>()};
  measured.off_cpu = {json.at("off_cpu").get<std::int64_t>()};
  return measured;
}

}  // namespace gangway
