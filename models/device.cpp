#include "models/device.hpp"

#include <algorithm>

namespace gangway {
namespace {

MultiprocessorLimits read_sm(const Field& field) {
  Mapping m = field.mapping();
  MultiprocessorLimits sm;
  sm.threads = m.need("threads").integer(1, 1 << 20);
  sm.blocks = m.need("blocks").integer(1, 1 << 20);
  sm.registers = m.need("registers").integer(1, 1 << 30);
  sm.shared_memory = m.need("shared_memory").bytes();
  m.finish();
  return sm;
}

CopyEngine read_engine(const Field& field) {
  Mapping m = field.mapping();
  CopyEngine engine{m.need("bandwidth").bandwidth(), m.need("latency").duration()};
  m.finish();
  return engine;
}

CommandCosts read_commands(const Field& field) {
  Mapping m = field.mapping();
  CommandCosts costs{m.need("launch").duration(), m.need("evict").duration(), m.need("notice").duration(),
                     m.need("pending_work").duration()};
  m.finish();
  return costs;
}

}  // namespace

std::int64_t resident_blocks(const Device& device, const Kernel& kernel) {
  std::int64_t per_sm = std::min(device.sm.blocks, device.sm.threads / kernel.threads());
  if (kernel.registers > 0)
    per_sm = std::min(per_sm, device.sm.registers / (kernel.registers * kernel.threads()));
  if (kernel.shared_memory.count > 0)
    per_sm = std::min(per_sm, device.sm.shared_memory.count / kernel.shared_memory.count);
  return per_sm * device.sms;
}

Device read_device(const Field& field) {
  Mapping m = field.mapping();
  read_header(m, "device");
  Device device;
  device.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) device.source = source->text();
  device.sms = m.need("sms").integer(1, 100'000);
  device.sm = read_sm(m.need("sm"));
  device.memory = m.need("memory").bytes();
  Mapping copy = m.need("copy").mapping();
  device.h2d = read_engine(copy.need("h2d"));
  device.d2h = read_engine(copy.need("d2h"));
  copy.finish();
  device.commands = read_commands(m.need("commands"));
  m.finish();
  return device;
}

}  // namespace gangway
