#include "models/device.hpp"

#include <fmt/format.h>

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
  if (auto warp = m.maybe("warp")) sm.warp = warp->integer(1, 1024);
  if (auto reserved = m.maybe("reserved_shared_memory")) sm.reserved_shared_memory = reserved->bytes();
  m.finish();
  return sm;
}

// On a bus it is as fast as that, if the file does not say otherwise.
CopyEngine read_engine(const Field& field, std::optional<Bandwidth> bus) {
  Mapping m = field.mapping();
  const auto bandwidth = bus ? m.maybe("bandwidth") : m.need("bandwidth");
  CopyEngine engine{bandwidth ? bandwidth->bandwidth() : *bus, m.need("latency").duration()};
  if (auto latency = m.maybe("queued_latency")) engine.queued_latency = latency->duration();
  if (auto speed = m.maybe("both_ways")) engine.both_ways = speed->number(0.01, 1);
  m.finish();
  return engine;
}

BesideCopies read_beside_copies(const Field& field) {
  Mapping m = field.mapping();
  BesideCopies beside;
  beside.launch = m.maybe_duration("launch", Duration{0}).value_or(Duration{});
  beside.evict = m.maybe_duration("evict", Duration{0}).value_or(Duration{});
  if (auto wait = m.maybe("reads_wait")) beside.reads_wait = wait->boolean();
  m.finish();
  return beside;
}

std::vector<AfterIdle> read_after_idle(const Field& field) {
  std::vector<AfterIdle> all;
  for (const Field& item : field.items()) {
    const auto pair = item.items();
    if (pair.size() != 2)
      item.fail(fmt::format("a list of {}", pair.size()), "[idle time, additional time of a launch]");
    all.push_back({pair[0].duration(), pair[1].duration()});
    const Duration before = all.size() > 1 ? all[all.size() - 2].idle : Duration{};
    if (all.back().idle <= before) pair[0].fail(to_text(all.back().idle), "more than " + to_text(before));
  }
  if (all.empty()) field.fail("an empty list", "at least one [idle time, additional time of a launch]");
  return all;
}

CommandCosts read_commands(const Field& field) {
  Mapping m = field.mapping();
  CommandCosts costs{m.need("launch").duration(), m.need("evict").duration(), m.need("notice").duration(),
                     m.need("pending_work").duration()};
  if (auto beside = m.maybe("beside_copies")) costs.beside_copies = read_beside_copies(*beside);
  if (auto after = m.maybe("after_idle")) costs.after_idle = read_after_idle(*after);
  m.finish();
  return costs;
}

// One bus for all engines, of which each gets something.
void check_bus(const Field& field, const Device& device) {
  if (device.bus->bytes_per_second < 2 * device.gpus)
    field.fail(fmt::format("at least {} B/s, for {} engines", 2 * device.gpus, 2 * device.gpus));
  for (const CopyEngine& engine : {device.h2d, device.d2h})
    if (engine.bandwidth > *device.bus)
      field.fail("a bus of less than its engines' bandwidth", "at least as much as each of h2d and d2h");
}

void read_copies(const Field& field, Device& device) {
  Mapping copy = field.mapping();
  const Field h2d = copy.need("h2d"), d2h = copy.need("d2h");
  const auto bus = copy.maybe("bus");
  if (bus) device.bus = bus->bandwidth();
  device.h2d = read_engine(h2d, device.bus);
  device.d2h = read_engine(d2h, device.bus);
  if (auto merge = copy.maybe("merge")) device.merge = merge->bandwidth();
  if (bus) {
    if (h2d.node().find("both_ways") != nullptr || d2h.node().find("both_ways") != nullptr)
      bus->fail("both bus and both_ways", "one of them");
    check_bus(*bus, device);
  }
  copy.finish();
}

PollCosts read_polls(const Field& field) {
  Mapping m = field.mapping();
  PollCosts costs{m.need("host").duration(), m.need("device").duration()};
  if (auto proxy = m.maybe("proxy")) costs.proxy = proxy->duration();
  m.finish();
  return costs;
}

NativeDelays read_delays(const Field& field) {
  Mapping m = field.mapping();
  NativeDelays delays;
  for (const auto& [key, delay] : {std::pair("kernel_issue", &delays.kernel_issue),
                                   {"copy_issue", &delays.copy_issue},
                                   {"kernel_end", &delays.kernel_end},
                                   {"copy_end", &delays.copy_end},
                                   {"block_end", &delays.block_end}})
    if (auto given = m.maybe(key)) *delay = given->duration();
  m.finish();
  return delays;
}

std::vector<std::uint32_t> read_sm_order(const Field& field, std::int64_t sms) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(static_cast<std::size_t>(sms));
  for (const Field& item : field.items()) {
    const auto sm = static_cast<std::uint32_t>(item.integer(0, sms - 1));
    if (seen[sm]) item.fail(std::to_string(sm) + " a second time", "each SM once");
    seen[sm] = true;
    order.push_back(sm);
  }
  if (order.size() != seen.size())
    field.fail(std::to_string(order.size()) + " SMs", "all " + std::to_string(sms));
  return order;
}

ChannelCosts read_access(const Field& field) {
  Mapping m = field.mapping();
  ChannelCosts costs;
  if (auto turns = m.maybe("turns")) costs.whole_queue = turns->one_of({"queue", "request"}) == "queue";
  if (auto cost = m.maybe("switch")) costs.context_switch = cost->duration();
  if (auto cost = m.maybe("interception")) costs.interception = cost->duration();
  if (auto cost = m.maybe("departure")) costs.departure = cost->duration();
  if (auto cost = m.maybe("limited")) costs.limited = cost->duration();
  if (auto cost = m.maybe("event")) costs.event = cost->duration();
  if (auto poll = m.maybe("poll")) costs.poll = poll->duration();
  if (auto channels = m.maybe("channels")) costs.channels = channels->integer(1, 1'000'000);
  m.finish();
  return costs;
}

HostCooling read_cooling(const Field& field) {
  Mapping m = field.mapping();
  const HostCooling cooling{m.need("factor").number(1, 1000), m.need("after").duration(),
                            m.need("share").number(0, 1000), m.need("most").duration()};
  m.finish();
  return cooling;
}

void read_arbitration(Mapping& m, Device& device) {
  if (auto slice = m.maybe("time_slice")) {
    Mapping s = slice->mapping();
    TimeSlice& read = device.time_slice.emplace();
    read.length = s.need("length").duration(Duration{1});
    read.context_switch = s.need("switch").duration();
    if (auto order = s.maybe("order"))
      read.order = order->one_of({"waiting", "creation"}) == "waiting" ? TimeSlice::Order::waiting
                                                                       : TimeSlice::Order::creation;
    if (auto blocks = s.maybe("blocks")) read.stops_blocks = blocks->one_of({"end", "stop"}) == "stop";
    if (auto stop = s.maybe("stop")) read.stop = stop->duration();
    if (auto resume = s.maybe("resume")) read.resume = resume->duration();
    read.stop_full = s.maybe_duration("stop_full", read.stop).value_or(read.stop);
    read.resume_full = s.maybe_duration("resume_full", read.resume).value_or(read.resume);
    const auto renewal = s.maybe("renewal");
    read.renewal = renewal ? renewal->duration(Duration{1}) : read.length;
    if (auto choice = s.maybe("choice")) read.choice = choice->duration();
    if (auto linger = s.maybe("linger")) read.linger = linger->duration(Duration{}, read.context_switch);
    s.finish();
  }
  const auto given = m.maybe("arbitration");
  if (!given) return;
  const std::string name =
      given->one_of({"native-fifo", "native-priority", "native-timeslice", "direct", "mps"});
  device.arbitration = name == "native-fifo"       ? Arbitration::fifo
                       : name == "native-priority" ? Arbitration::priority
                       : name == "direct"          ? Arbitration::direct
                       : name == "mps"             ? Arbitration::mps
                                                   : Arbitration::timeslice;
  if (device.arbitration == Arbitration::timeslice && !device.time_slice)
    given->fail("native-timeslice without a slice", "`time_slice: {length, switch}` beside it");
  if (device.arbitration == Arbitration::priority && device.priorities < 2)
    given->fail("native-priority on a device without priorities", "`priorities` of at least 2 beside it");
}

// Of threads and registers together, in parts of what the device has of both (sim/stop_costs.hpp).
bool shares_countable(const Device& device) {
  constexpr double kMost = 4e18;
  const auto sms = static_cast<double>(device.sms);
  return 2 * sms * static_cast<double>(device.sm.threads) * sms * static_cast<double>(device.sm.registers) <
         kMost;
}

}  // namespace

Duration CommandCosts::longer_after(Duration idle) const {
  __extension__ using Wide = __int128;
  AfterIdle before;
  for (const AfterIdle& next : after_idle) {
    if (idle < next.idle)
      return {static_cast<std::int64_t>(
          (Wide{before.longer.ns} * (next.idle - idle).ns + Wide{next.longer.ns} * (idle - before.idle).ns) /
          (next.idle - before.idle).ns)};
    before = next;
  }
  return before.longer;
}

BlockNeeds needs_of(const Device& device, const Kernel& kernel) {
  const std::int64_t warps = (kernel.threads() + device.sm.warp - 1) / device.sm.warp;
  const std::int64_t threads = warps * device.sm.warp;
  return {threads,
          kernel.registers * threads,
          {kernel.shared_memory.count + device.sm.reserved_shared_memory.count}};
}

std::int64_t resident_blocks(const Device& device, const Kernel& kernel) {
  const BlockNeeds needs = needs_of(device, kernel);
  std::int64_t per_sm = std::min(device.sm.blocks, device.sm.threads / needs.threads);
  if (device.pool) return per_sm;
  if (needs.registers > 0) per_sm = std::min(per_sm, device.sm.registers / needs.registers);
  if (needs.shared_memory.count > 0)
    per_sm = std::min(per_sm, device.sm.shared_memory.count / needs.shared_memory.count);
  return per_sm * device.sms;
}

std::int64_t waves(const Device& device, const Kernel& kernel) {
  const std::int64_t resident = std::max<std::int64_t>(1, resident_blocks(device, kernel));
  return (kernel.block_tasks.count + resident - 1) / resident;
}

Duration block_length(const Device& device, const Kernel& kernel) {
  if (kernel.block_task_length) return *kernel.block_task_length;
  const std::int64_t count = waves(device, kernel);
  const std::int64_t busy = kernel.time.ns - mul_div_floor(count - 1, device.delays.block_end.ns, 1);
  return {std::max<std::int64_t>(1, (busy + count - 1) / count)};
}

Duration time_of_waves(const Device& device, const Kernel& kernel, Duration block_length) {
  const Duration gap = device.delays.block_end;
  return Duration{mul_div_floor(waves(device, kernel), (block_length + gap).ns, 1)} - gap;
}

Duration time_of_original(const Device& device, const Kernel& kernel) {
  if (!kernel.block_task_length) return kernel.time;
  return std::max(kernel.time, time_of_waves(device, kernel, *kernel.block_task_length));
}

Device read_device(const Field& field) {
  Mapping m = field.mapping();
  read_header(m, "device");
  Device device;
  device.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) device.source = source->text();
  if (auto gpus = m.maybe("gpus")) device.gpus = gpus->integer(1, kMostGpus);
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
    if (auto order = m.maybe("sm_order")) device.sm_order = read_sm_order(*order, device.sms);
  }
  if (auto order = m.maybe("queue_order"))
    device.queue_order = queue_order_from(order->one_of(queue_order_names()));
  if (auto priorities = m.maybe("priorities")) device.priorities = priorities->integer(1, 1000);
  read_arbitration(m, device);
  if (auto channels = m.maybe("channels")) device.channels = channels->integer(1, 1'000'000);
  if (auto assignment = m.maybe("channel_assignment"))
    device.channel_assignment = assignment->one_of({"fixed", "dynamic"}) == "fixed"
                                    ? ChannelAssignment::fixed
                                    : ChannelAssignment::dynamic;
  if (auto kernels = m.maybe("resident_kernels")) device.resident_kernels = kernels->integer(1, 1'000'000);
  if (auto delays = m.maybe("delays")) device.delays = read_delays(*delays);
  if (auto rules = m.maybe("rules")) device.rules = read_rules(*rules);
  device.memory = Device::kAnyMemory;
  if (auto memory = m.maybe("memory")) device.memory = memory->bytes();
  if (auto engines = m.maybe("copy")) read_copies(*engines, device);
  if (auto commands = m.maybe("commands")) device.commands = read_commands(*commands);
  if (auto polls = m.maybe("polls")) device.polls = read_polls(*polls);
  if (auto access = m.maybe("access")) device.access = read_access(*access);
  if (auto cooling = m.maybe("cooling")) device.cooling = read_cooling(*cooling);
  m.finish();
  if (device.time_slice && !device.pool && !shares_countable(device))
    m.need("sm").fail(fmt::format("{} threads and {} registers on each of {} SMs", device.sm.threads,
                                  device.sm.registers, device.sms),
                      "so few that shares of both can be counted, beside a time_slice");
  return device;
}

}  // namespace gangway
