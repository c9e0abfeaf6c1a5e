#include "hw/throttled.hpp"

#include <fmt/format.h>

#include "models/input/document.hpp"

namespace gangway {

std::shared_ptr<const KernelCode> code_of(const Kernel& kernel, std::int64_t resident) {
  if (kernel.code) return kernel.code;
  const std::int64_t blocks = std::min(resident, kernel.block_tasks.count);
  const Duration each{mul_div_ceil(kernel.transformed().ns, blocks, kernel.block_tasks.count)};
  const Node given =
      parse_yaml(fmt::format("{{name: throttle, params: {{block_tasks: {}, time: {} ns, threads: {}}}}}",
                             kernel.block_tasks.count, each.ns, kernel.threads()),
                 kernel.origin.file);
  const auto chosen = choose<KernelEntry>(Field(given, kernel.name));
  return chosen.entry->make(chosen.values);
}

}  // namespace gangway
