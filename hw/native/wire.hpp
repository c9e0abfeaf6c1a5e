// Native clients' setups, runs and measurements as JSON, for processes of this program.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "hw/native/run.hpp"

namespace gangway {

nlohmann::json wire(const NativeSetup& setup);
nlohmann::json wire(const NativeRun& run);
nlohmann::json wire(const NativeMeasurement& measured);

// The inverse. Throw nlohmann::json::exception for malformed JSON, and InputError for kernel code that this
// program lacks.
NativeSetup setup_from_wire(const nlohmann::json& json);
NativeRun run_from_wire(const nlohmann::json& json);
NativeMeasurement measurement_from_wire(const nlohmann::json& json);

}  // namespace gangway
