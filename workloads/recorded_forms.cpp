#include "workloads/recorded_forms.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "models/data_file.hpp"
#include "models/mechanism.hpp"
#include "models/recording/file.hpp"

namespace gangway {
namespace {

using recording::Launch;
using Form = std::shared_ptr<const Mechanism>;  // none: `gate`

const std::vector<std::string> kFormNames{"gate", "prologue", "loop", "slice"};

Form read_form(const Field& field) {
  if (field.is_scalar()) {
    if (field.one_of(kFormNames) == "gate") return nullptr;
  } else {
    Mapping m = field.mapping();
    m.need("name").one_of({"prologue", "loop", "slice"});
    m.maybe("params");
    m.finish();
  }
  const ChosenMechanism chosen = choose<MechanismEntry>(field);
  return chosen.entry->make(chosen.values);
}

Form standard(const std::string& name) {
  const MechanismEntry& entry = Mechanisms::named(name, "forms", "form");
  return entry.make(ParameterValues(entry.parameters, std::nullopt));
}

// What `gangway inspect --json` says that kernels can take, by name.
using Inspected = std::map<std::string, std::set<std::string>>;

Inspected read_inspected(const Field& field) {
  const std::string content = content_of(read_data_file(field), field);
  const auto list = nlohmann::json::parse(content, nullptr, false);
  const auto fail = [&](const std::string& found) {
    field.fail(found, "a JSON list of {\"kernel\": NAME, \"forms\": [NAME, ...]}, as gangway inspect --json");
  };
  if (!list.is_array()) fail("another kind of file");
  Inspected inspected;
  for (const auto& kernel : list) {
    if (!kernel.is_object() || !kernel.contains("kernel") || !kernel["kernel"].is_string() ||
        !kernel.contains("forms") || !kernel["forms"].is_array())
      fail(fmt::format("a malformed entry {}", inspected.size()));
    std::set<std::string>& forms = inspected[kernel["kernel"].get<std::string>()];
    for (const auto& form : kernel["forms"]) {
      if (!form.is_string()) fail("a form that is not a name");
      forms.insert(form.get<std::string>());
    }
  }
  return inspected;
}

struct FormRules {
  std::optional<Inspected> inspected;
  Form otherwise;
  std::vector<std::pair<std::string, Form>> kernels;  // by pattern; the first that matches
  Duration worth{200'000};
  Duration block_time{4};

  Form form_of(const std::string& kernel) const {
    for (const auto& [pattern, form] : kernels)
      if (fnmatch(pattern.c_str(), kernel.c_str(), 0) == 0) return form;
    if (!inspected) return otherwise;
    const auto found = inspected->find(kernel);
    if (found == inspected->end()) return otherwise;
    for (const char* name : {"prologue", "loop", "slice"})
      if (found->second.contains(name)) return standard(name);
    return nullptr;
  }

  // Unless inspection, which decided, says that it cannot.
  bool sliced(const std::string& kernel) const {
    for (const auto& [pattern, form] : kernels)
      if (fnmatch(pattern.c_str(), kernel.c_str(), 0) == 0) return true;
    if (!inspected) return true;
    const auto found = inspected->find(kernel);
    return found == inspected->end() || found->second.contains("slice");
  }
};

FormRules read_form_rules(const Field& field) {
  FormRules rules;
  if (field.is_scalar() || field.node().find("sha256") != nullptr) {
    rules.inspected = read_inspected(field);
    return rules;
  }
  Mapping m = field.mapping();
  if (auto inspected = m.maybe("inspected")) rules.inspected = read_inspected(*inspected);
  if (auto otherwise = m.maybe("default")) rules.otherwise = read_form(*otherwise);
  if (auto kernels = m.maybe("kernels")) {
    if (!kernels->is_mapping()) kernels->fail("a mapping of patterns to forms");
    for (const auto& [pattern, form] : kernels->node().entries)
      rules.kernels.emplace_back(pattern, read_form(Field(form, kernels->path() + "." + pattern)));
  }
  if (auto worth = m.maybe("worth")) rules.worth = worth->duration();
  if (auto block_time = m.maybe("block_time")) rules.block_time = block_time->duration();
  m.finish();
  return rules;
}

// The median of each launch's works.
std::vector<Duration> median_times(const recording::PlayedProgram& program, std::size_t launches,
                                   double scale) {
  std::vector<std::vector<Duration>> all(launches);
  for (const recording::PlayedWork& work : program.works)
    if (work.kind == recording::WorkKind::kernel && work.shape < launches)
      all[work.shape].push_back(work.length);
  std::vector<Duration> medians(launches);
  for (std::size_t l = 0; l < launches; ++l) {
    if (all[l].empty()) continue;
    const auto middle = all[l].begin() + static_cast<std::ptrdiff_t>((all[l].size() - 1) / 2);
    std::nth_element(all[l].begin(), middle, all[l].end());
    medians[l] = scaled_nearest(*middle, scale);
  }
  return medians;
}

Kernel kernel_as_launched(const Launch& launch, Duration time) {
  Kernel kernel;
  kernel.name = launch.kernel;
  kernel.block_tasks = {std::int64_t{launch.grid.x} * launch.grid.y * launch.grid.z};
  kernel.block = {launch.block.x, launch.block.y, launch.block.z};
  kernel.registers = launch.registers;
  kernel.shared_memory = launch.static_shared + launch.dynamic_shared;
  kernel.time = time;
  return kernel;
}

}  // namespace

void read_forms(const Field& field, Recorded& recorded) {
  const FormRules rules = read_form_rules(field);
  const auto launches = recording::read_recording(recorded.file, recording::Extent::tables).launches;
  const std::vector<Duration> times = median_times(*recorded.program, launches.size(), recorded.kernel_scale);
  recorded.leaving.assign(launches.size(), {});
  for (std::size_t l = 0; l < launches.size(); ++l) {
    const Launch& launch = launches[l];
    if (launch.cooperative || launch.cluster.x > 0 || times[l] <= rules.worth) continue;
    Kernel kernel = kernel_as_launched(launch, times[l]);
    if (times[l] < Duration{mul_div_floor(rules.block_time.ns, kernel.block_tasks.count, 1)}) continue;
    if (Form form = rules.form_of(launch.kernel))
      recorded.leaving[l] = {std::make_shared<const Kernel>(std::move(kernel)), std::move(form),
                             rules.sliced(launch.kernel)};
  }
}

}  // namespace gangway
