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

PollCosts read_polls(const Field& field) {
  Mapping m = field.mapping();
  PollCosts costs{m.need("host").duration(), m.need("device").duration()};
  m.finish();
  return costs;
}

}  // namespace

std::int64_t resident_blocks(const Device& device, const Kernel& kernel) {
  std::int64_t per_sm = std::min(device.sm.blocks, device.sm.threads / kernel.threads());
  if (device.pool) return per_sm;
  if (kernel.registers > 0)
    per_sm = std::min(per_sm, device.sm.registers / (kernel.registers * kernel.threads()));
  if (kernel.shared_memory.count > 0)
    per_sm = std::min(per_sm, device.sm.shared_memory.count / kernel.shared_memory.count);
  return per_sm * device.sms;
}

Duration block_length(const Device& device, const Kernel& kernel) {
  if (kernel.block_task_length) return *kernel.block_task_length;
  const std::int64_t resident = std::max<std::int64_t>(1, resident_blocks(device, kernel));
  const std::int64_t waves = (kernel.block_tasks.count + resident - 1) / resident;
  return {(kernel.time.ns + waves - 1) / waves};
}

Device read_device(const Field& field) {
  Mapping m = field.mapping();
  read_header(m, "device");
  Device device;
  device.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) device.source = source->text();
  device.pool = false;
  if (auto layout = m.maybe("layout")) device.pool = layout->one_of({"pool", "sm"}) == "pool";
  if (device.pool) {
    device.sm.threads = m.need("m").integer(1, 1 << 30);
    device.sm.blocks = device.sm.threads;
  } else {
    device.sms = m.need("sms").integer(1, 100'000);
    device.sm = read_sm(m.need("sm"));
    if (auto placement = m.maybe("placement"))
      device.placement = placement->one_of({"most-room-first", "lowest-index-first"}) == "most-room-first"
                             ? Placement::most_room_first
                             : Placement::lowest_index_first;
  }
  if (auto order = m.maybe("queue_order"))
    device.queue_order = queue_order_from(order->one_of(queue_order_names()));
  if (auto priorities = m.maybe("priorities")) device.priorities = priorities->integer(1, 1000);
  if (auto channels = m.maybe("channels")) device.channels = channels->integer(1, 1'000'000);
  if (auto rules = m.maybe("rules")) device.rules = read_rules(*rules);
  device.memory = {std::int64_t{1} << 60};
  if (auto memory = m.maybe("memory")) device.memory = memory->bytes();
  if (auto engines = m.maybe("copy")) {
    Mapping copy = engines->mapping();
    device.h2d = read_engine(copy.need("h2d"));
    device.d2h = read_engine(copy.need("d2h"));
    copy.finish();
  }
  if (auto commands = m.maybe("commands")) device.commands = read_commands(*commands);
  if (auto polls = m.maybe("polls")) device.polls = read_polls(*polls);
  m.finish();
  return device;
}

}  // namespace gangway
