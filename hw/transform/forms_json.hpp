// What there is to know to launch the forms of a module's kernels, as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

// A list of {"kernel", "line", "parameters": [[offset, bytes, alignment], ...], "forms": [{"form", "entry",
// "hidden", "shared_bytes", "one_dimension"}, ...], "refused": [{"form", "reason", "instruction", "line"},
// ...]}.
nlohmann::json forms_to_json(const std::vector<KernelForms>& kernels);

// None where it is anything else.
std::optional<std::vector<KernelForms>> forms_from_json(const nlohmann::json& json);

}  // namespace gangway::transform
