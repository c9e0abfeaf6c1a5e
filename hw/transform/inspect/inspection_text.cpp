#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "hw/transform/inspect/inspection.hpp"
#include "hw/transform/inspect/kernel_rows.hpp"

namespace gangway::transform {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const OfForms& sizes) {
  Json out = Json::object();
  for (const auto& [form, size] : sizes) out[form] = size;
  return out;
}

Json json_of(const InspectedKernel& kernel, bool recorded) {
  Json refused = Json::object();
  for (const auto& [form, reason] : kernel.refused) refused[form] = reason;
  Json out{{"kernel", kernel.kernel},
           {"demangled", kernel.demangled},
           {"forms", kernel.forms},
           {"refused", std::move(refused)},
           {"one_dimension", kernel.one_dimension},
           {"ptx", kernel.ptx},
           {"file", kernel.file},
           {"module", kernel.module},
           {"line", kernel.line},
           {"registers", json_of(kernel.registers)},
           {"shared_bytes", json_of(kernel.shared_bytes)}};
  if (recorded) {
    out["launches"] = kernel.launches;
    out["gpu_time_ns"] = kernel.gpu_time.ns;
    out["gpu_time_share"] = kernel.gpu_time_share ? Json(*kernel.gpu_time_share) : Json(nullptr);
  }
  return out;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::optional<std::uint32_t> size_of(const OfForms& sizes, const std::string& form) {
  for (const auto& [name, size] : sizes)
    if (name == form) return size;
  return std::nullopt;
}

// "8 -> 12 registers, 512 bytes of shared memory".
std::string sizes_text(const InspectedKernel& kernel, const std::string& form) {
  const auto part = [&](const OfForms& sizes, const char* unit) -> std::string {
    const auto before = size_of(sizes, "original"), after = size_of(sizes, form);
    if (!after) return {};
    if (!before || *before == *after) return fmt::format("{} {}", *after, unit);
    return fmt::format("{} -> {} {}", *before, *after, unit);
  };
  const std::string registers = part(kernel.registers, "registers");
  const std::string shared = part(kernel.shared_bytes, "bytes of shared memory");
  return registers.empty() || shared.empty() ? registers + shared : registers + ", " + shared;
}

void add_kernel(const InspectedKernel& kernel, std::string& out) {
  std::string place = kernel.module;
  if (kernel.line > 0) place += fmt::format(", line {}", kernel.line);
  out += kernel.demangled;
  if (!place.empty()) out += "   " + place;
  if (kernel.gpu_time_share)
    out +=
        fmt::format("   {} of the GPU time, {} launches", percent(*kernel.gpu_time_share), kernel.launches);
  out += '\n';
  if (kernel.forms.empty() && !kernel.refused.empty() &&
      std::all_of(kernel.refused.begin(), kernel.refused.end(),
                  [&](const auto& each) { return each.second == kernel.refused.front().second; })) {
    out += fmt::format("  no form   {}\n", kernel.refused.front().second);
    return;
  }
  const auto has = [](const std::vector<std::string>& forms, const char* form) {
    return std::find(forms.begin(), forms.end(), form) != forms.end();
  };
  for (const char* form : kForms) {
    if (has(kernel.forms, form))
      out += fmt::format("  {:<9} {}{}\n", form, sizes_text(kernel, form),
                         has(kernel.one_dimension, form) ? " (of grids of one dimension alone)" : "");
    for (const auto& [name, reason] : kernel.refused)
      if (name == form) out += fmt::format("  {:<9} refused: {}\n", form, reason);
  }
}

}  // namespace

std::string to_json(const Inspection& inspection) {
  Json out = Json::array();
  for (const InspectedKernel& kernel : inspection.kernels)
    out.push_back(json_of(kernel, !inspection.settings.recording.empty()));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const Inspection& inspection) {
  std::string out, file;
  for (const InspectedKernel& kernel : inspection.kernels) {
    const std::string where = kernel.file.empty() ? inspection.settings.recording + " alone" : kernel.file;
    if (where != file) out += (file = where) + ":\n";
    add_kernel(kernel, out);
  }
  const std::size_t all = inspection.kernels.size(), able = inspection.preemptible();
  if (all == 0) {
    out += inspection.settings.file +
           ": no kernels (--libraries looks into the libraries that it is linked with)\n";
  } else {
    std::map<std::string, std::size_t> by_form;
    for (const InspectedKernel& kernel : inspection.kernels)
      for (const std::string& form : kernel.forms) ++by_form[form];
    std::vector<std::string> counts;
    for (const char* form : kForms) counts.push_back(fmt::format("{} {}", form, by_form[form]));
    out += fmt::format("{} of {} kernels ({}) can leave {} before the end: {}\n", able, all,
                       percent(static_cast<double>(able) / static_cast<double>(all)),
                       inspection.settings.gpu.name(), fmt::join(counts, ", "));
  }
  if (!inspection.settings.recording.empty()) {
    out += inspection.gpu_time.ns == 0
               ? "the recording has no kernels\n"
               : fmt::format("they took {} of the kernels' GPU time in {}\n",
                             percent(inspection.preemptible_share()), inspection.settings.recording);
    if (inspection.in_graphs.ns > 0)
      out += fmt::format("{} of it was in graphs, whose kernels are not rewritten\n",
                         percent(static_cast<double>(inspection.in_graphs.ns) /
                                 static_cast<double>(inspection.gpu_time.ns)));
  }
  return out;
}

}  // namespace gangway::transform
