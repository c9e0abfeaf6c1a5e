// What a launcher must know of a module's forms, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hw/transform/rewrite.hpp"

namespace gangway::transform {

// A list of {"kernel", "line", "parameters": [[offset, bytes, alignment], ...], "forms": [{"form", "entry",
// "hidden", "shared_bytes", "one_dimension"}, ...], "report", "refused": [{"form", "reason", "instruction",
// "line"}, ...]}.
nlohmann::json forms_to_json(const std::vector<KernelForms>& kernels);

// None for any other JSON.
std::optional<std::vector<KernelForms>> forms_from_json(const nlohmann::json& json);

}  // namespace gangway::transform
