// `gangway inspect`: the kernels of a program, their forms, and why others were refused.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/transform/images/architecture.hpp"
#include "models/quantity.hpp"

namespace gangway::transform {

struct InspectSettings {
  std::string file;
  std::string recording;   // empty: none
  bool libraries = false;  // include linked libraries
  Architecture gpu = kUsualGpu;
  unsigned jobs = 1;
};

// By form; "original" is the unchanged kernel.
using OfForms = std::vector<std::pair<std::string, std::uint32_t>>;

struct InspectedKernel {
  std::string kernel, demangled;
  std::string file, module;  // empty for a kernel found in the recording only
  bool ptx = false;          // complete PTX that the GPU can run
  std::uint32_t line = 0;    // of the entry in the PTX; 0: none
  std::vector<std::string> forms;
  std::vector<std::string> one_dimension;  // those of `forms` limited to one-dimensional grids
  std::vector<std::pair<std::string, std::string>> refused;  // form, "reason (line N: instruction)"
  // Per thread; per block: static, and what a form's launches add. Empty if nothing compiled the kernel.
  OfForms registers, shared_bytes;
  // From the recording; kernels in graphs count separately.
  std::int64_t launches = 0;
  Duration gpu_time;
  std::optional<double> gpu_time_share;
};

struct Inspection {
  InspectSettings settings;
  std::vector<InspectedKernel> kernels;
  std::size_t modules = 0;
  // GPU time of the recording's kernels. Kernels in graphs keep their original form.
  Duration gpu_time, in_graphs;
  std::vector<std::string> notes;  // one line each
  bool interrupted = false;

  // The kernels that have a form, and their share of GPU time.
  std::size_t preemptible() const;
  double preemptible_share() const;
};

// InputError as read_images() and read_recording(). Uses cached modules. Without an assembler, registers come
// from the program's cubins, if any.
Inspection inspect(const InspectSettings& settings, const std::atomic<bool>& interrupted);

// A JSON list with one object per kernel.
std::string to_json(const Inspection& inspection);
// Text for a terminal.
std::string to_text(const Inspection& inspection);

}  // namespace gangway::transform
