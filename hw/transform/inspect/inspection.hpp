// `gangway inspect`: which kernels a program has, in which forms they can leave the GPU, and why not in the
// others.
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
  bool libraries = false;  // those that it is linked with, too
  Architecture gpu = kUsualGpu;
  unsigned jobs = 1;
};

// By form; "original": as it is.
using OfForms = std::vector<std::pair<std::string, std::uint32_t>>;

struct InspectedKernel {
  std::string kernel, demangled;
  std::string file, module;  // empty: a kernel of the recording that no file has
  bool ptx = false;          // whole, and for the GPU
  std::uint32_t line = 0;    // of its entry in the PTX; 0: none
  std::vector<std::string> forms;
  std::vector<std::string> one_dimension;  // of these, those that only grids of one dimension may take
  std::vector<std::pair<std::string, std::string>> refused;  // form, "reason (line N: instruction)"
  OfForms registers, shared_bytes;  // a thread; a block, static. Empty where nothing compiled them
  // Of the recording, in which graphs' kernels count by themselves.
  std::int64_t launches = 0;
  Duration gpu_time;
  std::optional<double> gpu_time_share;
};

struct Inspection {
  InspectSettings settings;
  std::vector<InspectedKernel> kernels;
  std::size_t modules = 0;
  // Of the recording's kernels. Those in graphs keep their original form.
  Duration gpu_time, in_graphs;
  std::vector<std::string> notes;  // each in a line
  bool interrupted = false;

  // Of kernels, and of their time, the part with a form.
  std::size_t preemptible() const;
  double preemptible_share() const;
};

// InputError as read_images() and read_recording(). Without an assembler registers are those of the program's
// own cubins, where it has any. Modules that are in the cache are taken from there.
Inspection inspect(const InspectSettings& settings, const std::atomic<bool>& interrupted);

// Exactly a list, an object for each kernel.
std::string to_json(const Inspection& inspection);
// As lines for a terminal.
std::string to_text(const Inspection& inspection);

}  // namespace gangway::transform
