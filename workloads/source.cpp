#include "workloads/source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "models/shown.hpp"
#include "workloads/client_command.hpp"
#include "workloads/client_recording.hpp"
#include "workloads/client_terms.hpp"
#include "workloads/load.hpp"
#include "workloads/measured.hpp"
#include "workloads/repeat.hpp"
#include "workloads/variables.hpp"

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kDay = 86'400_s;
constexpr std::int64_t kMostBlockTasks = 1'000'000'000'000;
constexpr std::int64_t kMostChannels = 4096;
constexpr std::int64_t kMostKernels = 100'000;  // of a client

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
    field.fail(wrong.what(), "a consistent combination of parameters");
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
  if (!time && !each && m.maybe("block_task_length")) return {};  // follows from it: complete()
  if (time && each) each->fail("both time and time_per_block_task", "one of them");
  if (!each) return m.need("time").duration(1_ns);
  const Duration one = each->duration(1_ns);
  if (one.ns > 8'640'000'000'000'000 / block_tasks.count) each->fail("a kernel of at most 100 days");
  return {one.ns * block_tasks.count};
}

BlockException read_exception(const Field& field, const Kernel& kernel) {
  Mapping m = field.mapping();
  BlockException exception;
  exception.job = static_cast<std::uint32_t>(m.need("job").integer(0, 1'000'000'000));
  exception.block = m.need("block").integer(0, kernel.block_tasks.count - 1);
  exception.length = m.need("length").duration(1_ns);
  m.finish();
  const auto id = [](const BlockException& e) { return std::pair(e.job, e.block); };
  if (!kernel.exceptions.empty() && id(exception) <= id(kernel.exceptions.back()))
    field.fail(fmt::format("job {}, block {}", exception.job, exception.block),
               "exceptions in order of job and block");
  return exception;
}

std::int32_t read_priority(const Field& field) {
  return static_cast<std::int32_t>(field.integer(-1'000'000, 1'000'000));
}

// Names of settings, and the one that applies.
struct Settings {
  std::vector<std::string> names;
  std::string use;
};

Settings read_settings(const Field& field) {
  Mapping m = field.mapping();
  Settings settings;
  for (const Field& name : m.need("settings").items()) settings.names.push_back(name.identifier());
  settings.use = m.need("use").one_of(settings.names);
  m.finish();
  return settings;
}

// A number, or {from, to} to draw from.
void read_client_priority(const Field& field, Client& client) {
  if (!field.is_mapping()) {
    client.priority = read_priority(field);
    return;
  }
  Mapping m = field.mapping();
  client.priority = read_priority(m.need("from"));
  const Field to = m.need("to");
  client.priority_to = static_cast<std::int32_t>(to.integer(client.priority, 1'000'000));
  m.finish();
}

// One of these for each setting.
void read_client_priorities(const Field& field, const std::optional<Settings>& settings, Client& client) {
  if (!settings)
    field.fail("priorities by setting", "`priorities: {settings, use}` in the workload, or one `priority`");
  Mapping m = field.mapping();
  for (const std::string& name : settings->names) {
    Client other;
    read_client_priority(m.need(name), name == settings->use ? client : other);
  }
  m.finish();
}

// How many times in a row the program has it.
std::int64_t read_count(Mapping& m) {
  const auto count = m.maybe("count");
  return count ? count->integer(1, kMostKernels) : 1;
}

void read_kernels(const Field& field, std::vector<Kernel>& kernels) {
  Mapping m = field.mapping();
  Kernel kernel;
  const std::int64_t count = read_count(m);
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
  kernel.eviction_delay = m.maybe_duration("eviction_delay", 0_ns);
  if (auto useful = m.maybe("useful")) kernel.useful = useful->number(0, 1);
  if (auto measured = m.maybe("measured")) kernel.measured = read_measured(*measured, kernel);
  kernel.block_task_length = m.maybe_duration("block_task_length", 1_ns);
  if (kernel.eviction_delay && kernel.block_task_length)
    field.fail("both eviction_delay and block_task_length", "one of them");
  if (auto exceptions = m.maybe("exceptions"))
    for (const Field& item : exceptions->items()) kernel.exceptions.push_back(read_exception(item, kernel));
  if (auto slice = m.maybe("slice")) kernel.slice = BlockCount{slice->integer(1, kernel.block_tasks.count)};
  if (auto priority = m.maybe("priority")) kernel.priority = read_priority(*priority);
  if (auto channel = m.maybe("channel"))
    kernel.channel = static_cast<std::uint32_t>(channel->integer(0, kMostChannels - 1));
  if (auto job = m.maybe("never_ends"))
    kernel.never_ends = static_cast<std::uint32_t>(job->integer(0, 1'000'000'000));
  kernel.trapped_gap = m.maybe_duration("trapped_gap", 0_ns);
  kernel.trapped_time = m.maybe_duration("trapped_time", 1_ns);
  kernel.gap = m.maybe_duration("gap", 0_ns).value_or(Duration{});
  kernel.host_work = m.maybe_duration("host_work", 0_ns).value_or(Duration{});
  if (auto declared = m.maybe("declared_time")) {
    kernel.time_unknown = declared->is_scalar() && declared->node().scalar == "unknown";
    if (!kernel.time_unknown) kernel.declared_time = declared->duration(1_ns);
  }
  m.finish();
  if (static_cast<std::int64_t>(kernels.size()) + count > kMostKernels)
    field.fail(fmt::format("more than {} kernels of a client", kMostKernels),
               fmt::format("at most {}", kMostKernels));
  kernels.insert(kernels.end(), static_cast<std::size_t>(count), kernel);
}

// By number, from 0.
GpuSet read_gpus(const Field& field) {
  GpuSet gpus = GpuSet::none();
  for (const Field& item : field.items()) {
    const DeviceId gpu{static_cast<std::uint32_t>(item.integer(0, kMostGpus - 1))};
    if (gpus.has(gpu)) item.fail(fmt::format("GPU {} a second time", gpu.index), "each GPU once");
    gpus.add(gpu);
  }
  return gpus;
}

// What the workload says for all clients that do not say it themselves.
struct ForAll {
  std::optional<Settings> priorities;
  std::optional<Repeat> repeat;
};

// NEON's Throttle (5.1): requests of one size, one after the other, between which it sleeps for a share of
// the time that it takes alone.
void read_throttle(const Field& field, Client& client) {
  Mapping m = field.mapping();
  Kernel request;
  request.origin = field.node().origin();
  request.name = "request";
  request.block_tasks = {1};
  request.time = m.need("request").duration(1_ns);
  if (auto sleep = m.maybe("sleep")) {
    const double share = sleep->number(0, 0.999);
    request.gap = scaled_nearest(request.time, share / (1 - share));
  }
  m.finish();
  client.kernels.push_back(request);
}

void read_program(Mapping& m, Client& client) {
  const auto throttle = m.maybe("throttle");
  const auto kernels = m.maybe("kernels");
  const auto channels = m.maybe("channels");
  if (throttle && kernels) throttle->fail("both throttle and kernels", "one of them");
  if (!throttle && !kernels) m.finish();  // a misspelt key says more than one that is missing
  if (throttle)
    read_throttle(*throttle, client);
  else
    for (const Field& kernel : m.need("kernels").items()) read_kernels(kernel, client.kernels);
  std::int64_t used = 1;
  for (const Kernel& kernel : client.kernels) used = std::max<std::int64_t>(used, kernel.channel + 1);
  client.channels = channels ? channels->integer(used, kMostChannels) : used;
}

// What stands in the place of kernels, and of all that says how these are submitted.
void refuse_kernels(const Field& program, const std::string& key, const Field& of_client) {
  for (const char* other : {"kernels", "throttle", "channels", "copy_in", "copy_out", "variables", "native",
                            "context", "stream", "blocking", "trivial_requests", "frames_in_flight"})
    if (of_client.node().find(other) != nullptr)
      program.fail(fmt::format("both {} and {}", key, other), "one of them");
}

// `repeats`: it is said how many jobs it has.
void read_recording(const Field& recording, const Field& of_client, bool repeats, Client& client) {
  refuse_kernels(recording, "recording", of_client);
  const bool paced = !has_own_pace(client);
  client.recorded = read_recorded(recording, paced, repeats);
  if (!paced && !repeats) client.repeat.jobs = client.recorded->to - client.recorded->from;
  if (!paced) client.frames_in_flight = UINT32_MAX;  // the program itself says when a job begins
}

Client read_client(const Field& field, const ForAll& all) {
  Mapping m = field.mapping();
  Client client;
  if (all.repeat) client.repeat = *all.repeat;
  client.name = m.need("name").identifier();
  if (auto priority = m.maybe("priority")) read_client_priority(*priority, client);
  if (auto priorities = m.maybe("priorities")) read_client_priorities(*priorities, all.priorities, client);
  if (auto privileged = m.maybe("privileged")) client.privileged = privileged->boolean();
  client.arrive = m.maybe_duration("arrive", 0_ns);
  read_terms(m, client);
  read_memory(m, client);
  if (auto native = m.maybe("native")) client.native = native->boolean();
  if (auto context = m.maybe("context")) client.context = context->identifier();
  if (auto stream = m.maybe("stream")) client.stream = stream->identifier();
  if (auto gpus = m.maybe("gpus")) client.gpus = read_gpus(*gpus);
  if (auto blocking = m.maybe("blocking")) client.blocking = blocking->boolean();
  if (auto trivial = m.maybe("trivial_requests")) client.trivial_requests = trivial->number(0, 1000);
  if (auto frames = m.maybe("frames_in_flight"))
    client.frames_in_flight = static_cast<std::uint32_t>(frames->integer(1, 1000));
  const auto recording = m.maybe("recording");
  if (auto command = m.maybe("command")) {
    refuse_kernels(*command, "command", field);
    client.command = read_command(*command);
  }
  if (auto repeat = m.maybe("repeat"))
    client.repeat = read_repeat(*repeat, recording.has_value() || client.command != nullptr);
  if (client.arrive && !client.repeat.releases.empty()) field.fail("both arrive and releases", "one of them");
  const bool repeats = all.repeat || field.node().find("repeat") != nullptr;
  if (recording)
    read_recording(*recording, field, repeats, client);
  else if (!client.command)
    read_program(m, client);
  else if (!repeats)
    client.repeat.jobs.reset();  // as long as the program goes on
  m.finish();
  check_maps(field, client);
  Duration sum;
  for (const Kernel& kernel : client.kernels) {
    sum += kernel.time + kernel.gap;
    if (sum > Duration{100 * kDay.ns}) field.fail("kernels of more than 100 days in all", "at most 100 days");
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
  if (auto time = m.maybe("block_time")) jitter.block_time = time->number(0, 1);
  if (auto arrival = m.maybe("arrival")) jitter.arrival = arrival->duration();
  if (auto gap = m.maybe("gap")) jitter.gap = gap->number(0, 1);
  if (auto d = m.maybe("distribution")) jitter.normal = d->one_of({"uniform", "normal"}) == "normal";
  m.finish();
  const Node& node = field.node();
  if (const Node* d = node.find("distribution"); d != nullptr && node.find("kernel_time") == nullptr &&
                                                 node.find("gap") == nullptr &&
                                                 node.find("block_time") == nullptr)
    Field(*d, field.path() + ".distribution")
        .fail("nothing without kernel_time, gap or block_time, as arrival is always uniform");
  return jitter;
}

std::vector<Client> read_client_list(const Field& field, bool laid_out, const ForAll& all) {
  std::vector<Client> clients;
  if (field.items().size() > ClientId::kMost)
    field.fail(fmt::format("{} clients", field.items().size()), fmt::format("at most {}", ClientId::kMost));
  for (const Field& item : field.items()) {
    Client client = read_client(item, all);
    for (const Client& other : clients)
      if (other.name == client.name)
        item.fail(quote(client.name) + " a second time", "each client's name once");
    if (laid_out && (client.arrive || !client.repeat.releases.empty()))
      item.fail("both arrivals and a client's arrive or releases", "one of them");
    for (const Client& other : clients)
      if (!client.stream.empty() && other.stream == client.stream && other.context != client.context)
        item.fail("another context than " + other.name + " on the stream " + client.stream,
                  "one context for all clients of a stream");
    for (const Client& other : clients)
      if (!client.stream.empty() && other.stream == client.stream && other.priority != client.priority)
        item.fail(fmt::format("priority {} on stream {}", client.priority, client.stream),
                  fmt::format("the {} of {}, which shares it", other.priority, other.name));
    clients.push_back(std::move(client));
  }
  return clients;
}

void check_gpus(const Workload& workload, const Device& device, const WorkloadPlace& place) {
  for (std::size_t c = 0; c < workload.clients.size(); ++c) {
    const Client& client = workload.clients[c];
    if (client.gpus == GpuSet{}) continue;
    for (DeviceId gpu{static_cast<std::uint32_t>(device.gpus)}; gpu.index < kMostGpus; ++gpu.index)
      if (client.gpus.has(gpu))
        throw InputError(place.of(c), place.path + ".clients." + client.name + ".gpus",
                         fmt::format("GPU {}", gpu.index),
                         fmt::format("numbers from 0 to {}, the GPUs of {}", device.gpus - 1, device.name));
  }
}

void check_fits(const Workload& workload, const Device& device, const WorkloadPlace& place) {
  check_gpus(workload, device, place);
  const Origin origin = place.of(0);
  for (const Client& client : workload.clients) {
    for (const Kernel& kernel : client.kernels)
      if (resident_blocks(device, kernel) < 1)
        throw InputError(kernel.origin.line > 0 ? kernel.origin : origin,
                         place.path + ".clients." + client.name + ".kernels." + kernel.name,
                         fmt::format("a block of {} threads, {} registers each, {} of shared memory",
                                     kernel.threads(), kernel.registers, to_text(kernel.shared_memory)),
                         "a block that fits on one SM of " + device.name);
    const bool copies = client.copy_in.count > 0 || client.copy_out.count > 0 || client.memory.count > 0;
    if (copies && device.h2d.bandwidth.bytes_per_second == 0)
      throw InputError(origin, place.path + ".clients." + client.name, "copies or memory",
                       "none, since " + device.name + " has no copy engines");
    const bool fits = client.memory <= device.memory;  // check_memory() refuses it otherwise
    const StateSizes state = fits ? state_sizes(client) : StateSizes{};
    for (const auto& [size, engine] :
         {std::pair(client.copy_in, device.h2d), std::pair(client.copy_out, device.d2h),
          std::pair(state.restore, device.h2d), std::pair(state.save, device.d2h)})
      if (size.count > 0 && transfer_time(size, engine.bandwidth) > Duration{100 * kDay.ns})
        throw InputError(origin, place.path + ".clients." + client.name, "a copy of " + shown_size(size),
                         "a copy that " + device.name + " does in at most 100 days");
  }
}

// Times that follow from the length of a block: as many whole waves as it takes with the device to itself.
void complete(Workload& workload, const Device& device, const std::string& path) {
  for (Client& client : workload.clients) {
    Duration all;
    for (Kernel& kernel : client.kernels) {
      if (kernel.time == Duration{}) kernel.time = time_of_waves(device, kernel, *kernel.block_task_length);
      all += kernel.time;
      if (all > Duration{100 * kDay.ns})
        throw InputError(kernel.origin, path + ".clients." + client.name + ".kernels." + kernel.name,
                         "kernels of more than 100 days in all on " + device.name, "at most 100 days");
    }
  }
}

WorkloadPlace place_of(const Field& field) {
  WorkloadPlace place{field.path(), field.node().origin(), {}};
  if (const Node* clients = field.node().find("clients"))
    for (const Node& client : clients->items) place.clients.push_back(client.origin());
  return place;
}

}  // namespace

ParsedWorkload::ParsedWorkload(const Field& field) : place(place_of(field)) {
  Mapping m = field.mapping();
  read_header(m, "workload");
  workload.name = m.need("name").identifier();
  if (auto source = m.maybe("source")) workload.source = source->text();
  if (auto arrivals = m.maybe("arrivals")) workload.arrivals = read_arrivals(*arrivals);
  if (auto jitter = m.maybe("jitter")) workload.jitter = read_jitter(*jitter);
  if (auto given = m.maybe("generator")) {
    if (m.maybe("clients")) given->fail("both generator and clients", "one of them");
    const auto chosen = choose<GeneratorEntry>(*given);
    try {
      generator = chosen.entry->make(chosen.values);
    } catch (const std::invalid_argument& wrong) {
      given->fail(wrong.what(), "a consistent combination of parameters");
    }
    workload.clients = generator->draw(0, 0);
  } else {
    ForAll all;
    if (auto priorities = m.maybe("priorities")) all.priorities = read_settings(*priorities);
    if (auto repeat = m.maybe("repeat")) all.repeat = read_repeat(*repeat);
    workload.clients = read_client_list(m.need("clients"), workload.arrivals.has_value(), all);
  }
  if (auto given = m.maybe("load")) {
    load = given->number(kLeastLoad, kMostLoad);
    if (generator) {
      scale_gap(load, *given, workload);
      scale_drawn(load, place, workload.clients);
    } else {
      scale_load(load, *given, workload);
    }
  }
  m.finish();
  const auto clients = static_cast<std::int64_t>(workload.clients.size());
  if (workload.arrivals && workload.arrivals->gap.ns > Duration{1000 * kDay.ns}.ns / clients)
    field.fail("arrivals over more than 1000 days", "at most 1000 days from the first to the last");
}

Workload read_clients(const Field& field) { return ParsedWorkload(field).workload; }

WorkloadSource::WorkloadSource(const ParsedWorkload& parsed, const Device& device)
    : device_(device),
      workload_(parsed.workload),
      generator_(parsed.generator),
      load_(parsed.load),
      place_(parsed.place) {
  check_fits(workload_, device, place_);
  complete(workload_, device_, place_.path);
}

void WorkloadSource::choose(const Field& names) {
  if (generator_) names.fail("a choice among clients that are drawn", "a workload with `clients`");
  std::vector<std::string> known, chosen;
  for (const Client& client : workload_.clients) known.push_back(client.name);
  for (const Field& name : names.items()) {
    chosen.push_back(name.one_of(known));
    if (std::find(chosen.begin(), std::prev(chosen.end()), chosen.back()) != std::prev(chosen.end()))
      name.fail(quote(chosen.back()) + " twice", "each client once");
  }
  if (chosen.empty()) names.fail("no client", "at least one");
  const auto left_out = [&](const Client& client) {
    return std::find(chosen.begin(), chosen.end(), client.name) == chosen.end();
  };
  for (std::size_t c = workload_.clients.size(); c-- > 0;)
    if (left_out(workload_.clients[c])) place_.clients.erase(place_.clients.begin() + static_cast<long>(c));
  leaves_out_ = std::erase_if(workload_.clients, left_out) > 0;
}

void WorkloadSource::know_recorded(
    const std::function<std::shared_ptr<const Recorded>(const Client&, const Device&)>& known) {
  for (Client& client : workload_.clients)
    if (client.recorded) client.recorded = known(client, device_);
}

Workload WorkloadSource::draw(std::uint64_t seed, std::uint32_t replication) const {
  Workload workload = workload_;
  if (generator_) {
    workload.clients = generator_->draw(seed, replication);
    scale_drawn(load_, place_, workload.clients);
    complete(workload, device_, "workload");
  }
  return workload;
}

}  // namespace gangway
