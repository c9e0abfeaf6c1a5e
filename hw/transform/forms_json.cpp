#include "hw/transform/forms_json.hpp"

#include <nlohmann/json.hpp>

namespace gangway::transform {
namespace {

using nlohmann::json;

json of_form(const Form& form) {
  return {{"form", form.form},
          {"entry", form.entry},
          {"hidden", form.hidden.offset},
          {"shared_bytes", form.shared_bytes},
          {"one_dimension", form.one_dimension}};
}

json of_refusal(const Refusal& refusal) {
  return {{"form", refusal.form},
          {"reason", refusal.reason},
          {"instruction", refusal.instruction},
          {"line", refusal.line}};
}

KernelForms read_kernel(const json& from) {
  KernelForms out;
  out.kernel = from.at("kernel").get<std::string>();
  out.line = from.at("line").get<std::uint32_t>();
  for (const json& each : from.at("parameters"))
    out.parameters.push_back(
        {each.at(0).get<std::uint32_t>(), each.at(1).get<std::uint32_t>(), each.at(2).get<std::uint32_t>()});
  for (const json& each : from.at("forms"))
    out.forms.push_back({each.at("form").get<std::string>(),
                         each.at("entry").get<std::string>(),
                         {each.at("hidden").get<std::uint32_t>()},
                         each.at("shared_bytes").get<std::uint32_t>(),
                         each.at("one_dimension").get<bool>()});
  out.report = from.at("report").get<std::string>();
  for (const json& each : from.at("refused"))
    out.refused.push_back({each.at("form").get<std::string>(), each.at("reason").get<std::string>(),
                           each.at("instruction").get<std::string>(), each.at("line").get<std::uint32_t>()});
  return out;
}

}  // namespace

json forms_to_json(const std::vector<KernelForms>& kernels) {
  json out = json::array();
  for (const KernelForms& kernel : kernels) {
    json parameters = json::array(), forms = json::array(), refused = json::array();
    for (const Parameter& each : kernel.parameters)
      parameters.push_back({each.offset, each.bytes, each.alignment});
    for (const Form& each : kernel.forms) forms.push_back(of_form(each));
    for (const Refusal& each : kernel.refused) refused.push_back(of_refusal(each));
    out.push_back({{"kernel", kernel.kernel},
                   {"line", kernel.line},
                   {"parameters", std::move(parameters)},
                   {"forms", std::move(forms)},
                   {"report", kernel.report},
                   {"refused", std::move(refused)}});
  }
  return out;
}

std::optional<std::vector<KernelForms>> forms_from_json(const json& from) {
  try {
    std::vector<KernelForms> out;
    if (!from.is_array()) return std::nullopt;
    for (const json& each : from) out.push_back(read_kernel(each));
    return out;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace gangway::transform
