#include "workloads/source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kDay = 86'400_s;
constexpr std::int64_t kMostBlockTasks = 1'000'000'000'000;

Dimensions read_dimensions(const Field& field, std::int64_t most) {
  Dimensions d{1, 1, 1};
  const auto items = field.items();
  if (items.size() > 3) field.fail(fmt::format("{} dimensions", items.size()), "1 to 3 dimensions");
  for (std::size_t i = 0; i < items.size(); ++i) d[i] = items[i].integer(1, most);
  return d;
}

void read_code(const Field& field, Kernel& kernel) {
  const auto chosen = choose<KernelEntry>(field);
  kernel.code_text = fmt::format("{{name: {}, params: {}}}", chosen.entry->name, chosen.values.text());
  try {
    kernel.code = chosen.entry->make(chosen.values);
  } catch (const std::invalid_argument& wrong) {
    field.fail(wrong.what(), "parameters that fit together");
  }
}

BlockCount read_grid(const Field& grid) {
  // Three factors below 2^13.3 each fit the limit; CUDA's own limits are wider in x only.
  const Dimensions d = read_dimensions(grid, 2'147'483'647);
  const std::int64_t total = mul_div_floor(d[0] * d[1], d[2], 1);
  if (d[0] > kMostBlockTasks / d[1] || d[0] * d[1] > kMostBlockTasks / d[2])
    grid.fail(fmt::format("at most {} blocks in all", kMostBlockTasks));
  return {total};
}

// Where code is named, the file need not say what follows from it, but must not contradict it.
BlockCount read_block_tasks(Mapping& m, const KernelCode* code) {
  const auto grid = m.maybe("grid");
  const auto count = m.maybe("block_tasks");
  if (grid && count) grid->fail("both grid and block_tasks", "one of them");
  if (!grid && !count && code != nullptr) return code->block_tasks();
  const Field said = grid ? *grid : m.need("block_tasks");
  const BlockCount tasks = grid ? read_grid(*grid) : BlockCount{said.integer(1, kMostBlockTasks)};
  if (code != nullptr && tasks != code->block_tasks())
    said.fail(fmt::format("the {} block-tasks of its code", code->block_tasks().count));
  return tasks;
}

Duration read_time(Mapping& m, BlockCount block_tasks) {
  const auto time = m.maybe("time");
  const auto each = m.maybe("time_per_block_task");
  if (time && each) each->fail("both time and time_per_block_task", "one of them");
  if (!each) return m.need("time").duration(1_ns);
  const Duration one = each->duration(1_ns);
  if (one.ns > 8'640'000'000'000'000 / block_tasks.count) each->fail("a kernel of at most 100 days");
  return {one.ns * block_tasks.count};
}

template <typename T>
std::optional<T> optional_duration(Mapping& m, const std::string& key, T least) {
  const auto field = m.maybe(key);
  return field ? std::optional<T>(field->duration(least)) : std::nullopt;
}

Kernel read_kernel(const Field& field) {
  Mapping m = field.mapping();
  Kernel kernel;
  kernel.origin = field.node().origin();
  kernel.name = m.need("name").identifier();
  const auto code = m.maybe("code");
  if (code) read_code(*code, kernel);
  kernel.block_tasks = read_block_tasks(m, kernel.code.get());
  kernel.time = read_time(m, kernel.block_tasks);
  if (kernel.code) kernel.block = kernel.code->block();
  if (auto block = m.maybe("block")) {
    kernel.block = read_dimensions(*block, 1024);
    if (kernel.code && kernel.block != kernel.code->block())
      block->fail(fmt::format("the {} threads of its code", fmt::join(kernel.code->block(), " x ")));
    if (kernel.threads() > 1024)
      block->fail(fmt::format("{} threads", kernel.threads()), "at most 1024 threads");
  }
  if (auto overhead = m.maybe("transformation_overhead"))
    kernel.transformation_overhead = overhead->number(0.01, 100);
  if (auto registers = m.maybe("registers")) kernel.registers = registers->integer(0, 255);
  if (auto shared = m.maybe("shared_memory")) kernel.shared_memory = shared->bytes();
  kernel.eviction_delay = optional_duration(m, "eviction_delay", 0_ns);
  kernel.block_task_length = optional_duration(m, "block_task_length", 1_ns);
  if (kernel.eviction_delay && kernel.block_task_length)
    field.fail("both eviction_delay and block_task_length", "one of them");
  kernel.declared_time = optional_duration(m, "declared_time", 1_ns);
  m.finish();
  return kernel;
}

Repeat read_repeat(const Field& field) {
  Mapping m = field.mapping();
  Repeat repeat;
  const Field jobs = m.need("jobs");
  if (jobs.is_scalar() && jobs.node().scalar == "endless")
    repeat.jobs.reset();
  else
    repeat.jobs = static_cast<std::uint32_t>(jobs.integer(1, 1'000'000'000));
  repeat.period = optional_duration(m, "period", 1_ns);
  repeat.think = optional_duration(m, "think", 0_ns);
  if (repeat.period.has_value() == repeat.think.has_value())
    field.fail(repeat.period ? "both period and think" : "neither period nor think", "one of them");
  m.finish();
  return repeat;
}

Client read_client(const Field& field) {
  Mapping m = field.mapping();
  Client client;
  client.name = m.need("name").identifier();
  if (auto priority = m.maybe("priority"))
    client.priority = static_cast<std::int32_t>(priority->integer(-1'000'000, 1'000'000));
  client.arrive = optional_duration(m, "arrive", 0_ns);
  if (auto copy = m.maybe("copy_in")) client.copy_in = copy->bytes();
  if (auto copy = m.maybe("copy_out")) client.copy_out = copy->bytes();
  if (auto memory = m.maybe("memory")) client.memory = memory->bytes();
  if (auto repeat = m.maybe("repeat")) client.repeat = read_repeat(*repeat);
  for (const Field& kernel : m.need("kernels").items()) client.kernels.push_back(read_kernel(kernel));
  m.finish();
  Duration all;
  for (const Kernel& kernel : client.kernels) {
    all += kernel.time;
    if (all > Duration{100 * kDay.ns}) field.fail("kernels of more than 100 days in all", "at most 100 days");
  }
  return client;
}

Arrivals read_arrivals(const Field& field) {
  Mapping m = field.mapping();
  Arrivals arrivals;
  arrivals.gap = m.need("gap").duration();
  if (auto order = m.maybe("order")) arrivals.permuted = order->one_of({"listed", "permuted"}) == "permuted";
  m.finish();
  return arrivals;
}

Jitter read_jitter(const Field& field) {
  Mapping m = field.mapping();
  Jitter jitter;
  if (auto time = m.maybe("kernel_time")) jitter.kernel_time = time->number(0, 0.3);
  if (auto arrival = m.maybe("arrival")) jitter.arrival = arrival->duration();
  if (auto d = m.maybe("distribution")) jitter.normal = d->one_of({"uniform", "normal"}) == "normal";
  m.finish();
  return jitter;
}

std::vector<Client> read_client_list(const Field& field, bool laid_out) {
  std::vector<Client> clients;
  for (const Field& item : field.items()) {
    Client client = read_client(item);
    for (const Client& other : clients)
      if (other.name == client.name)
        item.fail(quote(client.name) + " a second time", "each client's name once");
    if (laid_out && client.arrive) item.fail("both arrivals and a client's arrive", "one of them");
    clients.push_back(std::move(client));
  }
  return clients;
}

void check_fits(const Workload& workload, const Device& device, const Field& field) {
  const Node* clients = field.node().find("clients");
  const Origin origin =
      clients != nullptr && !clients->items.empty() ? clients->items.front().origin() : field.node().origin();
  Bytes memory;
  for (const Client& client : workload.clients) {
    for (const Kernel& kernel : client.kernels)
      if (resident_blocks(device, kernel) < 1)
        throw InputError(kernel.origin.line > 0 ? kernel.origin : origin,
                         field.path() + ".clients." + client.name + ".kernels." + kernel.name,
                         fmt::format("a block of {} threads, {} registers each, {} of shared memory",
                                     kernel.threads(), kernel.registers, to_text(kernel.shared_memory)),
                         "a block that fits on one SM of " + device.name);
    for (const auto& [size, engine] :
         {std::pair(client.copy_in, device.h2d), std::pair(client.copy_out, device.d2h)})
      if (transfer_time(size, engine.bandwidth) > Duration{100 * kDay.ns})
        throw InputError(origin, field.path() + ".clients." + client.name, "a copy of " + to_text(size),
                         "a copy that " + device.name + " does in at most 100 days");
    memory = {std::min(memory.count + client.memory.count, std::int64_t{1} << 61)};
  }
  if (memory > device.memory)
    throw InputError(origin, field.path() + ".clients", to_text(memory) + " of client memory in all",
                     fmt::format("at most the {} of {}", to_text(device.memory), device.name));
}

struct Parsed {
  Workload workload;
  std::shared_ptr<const Generator> generator;
};

Parsed parse(const Field& field) {
  Mapping m = field.mapping();
  read_header(m, "workload");
  Parsed parsed;
  Workload& workload = parsed.workload;
  workload.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) workload.source = source->text();
  if (auto arrivals = m.maybe("arrivals")) workload.arrivals = read_arrivals(*arrivals);
  if (auto jitter = m.maybe("jitter")) workload.jitter = read_jitter(*jitter);
  if (auto generator = m.maybe("generator")) {
    if (m.maybe("clients")) generator->fail("both generator and clients", "one of them");
    const auto chosen = choose<GeneratorEntry>(*generator);
    try {
      parsed.generator = chosen.entry->make(chosen.values);
    } catch (const std::invalid_argument& wrong) {
      generator->fail(wrong.what(), "parameters that fit together");
    }
    workload.clients = parsed.generator->draw(0, 0);
  } else {
    workload.clients = read_client_list(m.need("clients"), workload.arrivals.has_value());
  }
  m.finish();
  const auto clients = static_cast<std::int64_t>(workload.clients.size());
  if (workload.arrivals && workload.arrivals->gap.ns > Duration{1000 * kDay.ns}.ns / clients)
    field.fail("arrivals over more than 1000 days", "at most 1000 days from the first to the last");
  return parsed;
}

}  // namespace

Workload read_clients(const Field& field) { return parse(field).workload; }

WorkloadSource::WorkloadSource(const Field& field, const Device& device) {
  Parsed parsed = parse(field);
  workload_ = std::move(parsed.workload);
  generator_ = std::move(parsed.generator);
  check_fits(workload_, device, field);
}

Workload WorkloadSource::draw(std::uint64_t seed, std::uint32_t replication) const {
  Workload workload = workload_;
  if (generator_) workload.clients = generator_->draw(seed, replication);
  return workload;
}

}  // namespace gangway
