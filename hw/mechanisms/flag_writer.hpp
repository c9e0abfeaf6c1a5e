// How the scheduler's commands travel to a real GPU and back: one self-registering file for each mechanism in
// hw/mechanisms/, under the name it has in the simulator (models/mechanism/). Only in builds with CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hw/cuda/preemptible.cuh"
#include "models/registry.hpp"

namespace gangway {

// No call but the constructor waits. All throw preemptible::Error.
class FlagWriter {
 public:
  virtual ~FlagWriter() = default;
  // Orders the launch off the device. Without effect once it is gone.
  virtual void evict(preemptible::Session& session) = 0;
  // Once gone: asked, then known. Block-tasks of the kernel done in all.
  virtual void ask_pending_work(const preemptible::Session& session) = 0;
  virtual std::optional<std::uint32_t> pending_work(const preemptible::Session& session) = 0;
};

struct FlagWriterEntry : Described {
  std::unique_ptr<FlagWriter> (*make)() = nullptr;
};
using FlagWriters = Registry<FlagWriterEntry>;

template <typename W>
struct FlagWriterRegistration : Registration<FlagWriterEntry> {
  FlagWriterRegistration(std::string name, std::string summary)
      : Registration<FlagWriterEntry>(
            FlagWriterEntry{{std::move(name), std::move(summary), {}},
                            []() -> std::unique_ptr<FlagWriter> { return std::make_unique<W>(); }}) {}
};

}  // namespace gangway
