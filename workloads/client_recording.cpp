#include "workloads/client_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "models/data_file.hpp"
#include "models/error.hpp"
#include "models/nearest.hpp"
#include "models/recording/file.hpp"
#include "models/recording/summary.hpp"
#include "workloads/recorded_forms.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using recording::Index;
using recording::PlayedProgram;

// A program is mapped once, whoever asks for it. Returns what a job takes unrecorded, as the file says.
Duration map_program(const fs::path& file, Recorded& recorded) {
  struct Known {
    fs::file_time_type written;
    std::uintmax_t size = 0;
    recording::Origins origins;
    std::weak_ptr<const PlayedProgram> program;
  };
  static std::mutex mutex;
  static std::map<std::string, Known> programs;
  const std::lock_guard lock(mutex);
  Known& known = programs[fs::absolute(file).lexically_normal().string()];
  const auto written = fs::last_write_time(file);
  const std::uintmax_t size = fs::file_size(file);
  recorded.program = known.program.lock();
  if (!recorded.program || known.written != written || known.size != size) {
    recorded.program = std::make_shared<PlayedProgram>(file);
    known = {written, size, recording::origins_of_recording(file), recorded.program};
  }
  recorded.gpu = known.origins.gpu;
  recorded.beside = known.origins.beside;
  return known.origins.unrecorded;
}

// Jobs are counted from 0, behind the warm-up; `to` is the last one.
void read_jobs(const Field& field, Recorded& recorded) {
  if (field.is_scalar() && field.node().scalar == "all") return;
  const auto count = static_cast<std::int64_t>(recorded.program->job_count());
  Mapping m = field.mapping();
  const std::int64_t from = m.need("from").integer(0, count - 1);
  const std::int64_t to = m.need("to").integer(from, count - 1);
  m.finish();
  recorded.from = static_cast<Index>(from);
  recorded.to = static_cast<Index>(to + 1);
}

// Whether it has a factor for the host.
bool read_scale(const Field& field, Recorded& recorded) {
  Mapping m = field.mapping();
  if (auto kernels = m.maybe("kernels")) recorded.kernel_scale = kernels->number(0.001, 1000);
  const auto host = m.maybe("host");
  if (host) {
    if (recorded.unrecorded)
      host->fail("a factor beside `alone`", "one of them, as the factor follows from `alone`");
    recorded.host_scale = host->number(0.001, 1000);
    recorded.host_scale_given = true;
  }
  m.finish();
  return host.has_value();
}

Duration mean(Duration sum, Index count) { return {sum.ns / static_cast<std::int64_t>(count)}; }

// What a job takes alone, on the average, as recorded (where it is scaled:
// experiments/running/scaled_alone.hpp).
void sum_up(Recorded& recorded) {
  Duration jobs, busy;
  Time first = Time::max(), last{INT64_MIN};
  for (Index j = recorded.from; j < recorded.to; ++j) {
    const recording::PlayedJob& job = recorded.program->jobs[j];
    jobs += job.length;
    busy += job.busy;
    first = std::min(first, job.begin);
    last = std::max(last, job.begin + job.length);
  }
  const Index count = recorded.to - recorded.from;
  recorded.job = mean(jobs, count);
  recorded.busy = scaled_nearest(mean(busy, count), recorded.kernel_scale);
  recorded.between_ends = recorded.own_pace ? between_ends(last - first, recorded.job, count) : recorded.job;
}

// The recorder slowed the program's jobs by as much as their medians say; less than half a percent is chance.
// Means are not compared: a host that is slow for a while changes them between two runs of the program.
void undo_slowing(Duration unrecorded, const Field& file, Recorded& recorded) {
  const Duration usual = recording::median_job(*recorded.program);
  if (static_cast<double>(unrecorded.ns) / static_cast<double>(usual.ns) < 0.995)
    recorded.unrecorded = {unrecorded, file.node().origin(), file.path(), true};
}

}  // namespace

std::shared_ptr<const Recorded> read_recorded(const Field& field, bool paced, bool repeats) {
  auto recorded = std::make_shared<Recorded>();
  std::optional<Mapping> terms;
  const bool is_file = field.is_scalar() || field.node().find("sha256") != nullptr;
  if (!is_file) terms.emplace(field.mapping());
  const Field name = is_file ? field : terms->need("file");
  const DataFile file = read_data_file(name);
  if (file.sha256) content_of(file, name);
  if (std::error_code failed; !fs::is_regular_file(file.path, failed))
    name.fail(fmt::format("no file {}", file.path.string()), "a recording");
  recorded->file = file.path.string();
  recorded->own_pace = !paced;
  Duration unrecorded;
  try {
    unrecorded = map_program(file.path, *recorded);
  } catch (const InputError& refused) {
    name.fail(fmt::format("{}: {}", file.path.string(), refused.found()), refused.expected());
  }
  recorded->to = static_cast<Index>(recorded->program->job_count());
  if (terms) {
    if (auto jobs = terms->maybe("jobs")) read_jobs(*jobs, *recorded);
    if (auto order = terms->maybe("order")) recorded->drawn = order->one_of({"recorded", "drawn"}) == "drawn";
    if (auto alone = terms->maybe("alone"))
      recorded->unrecorded = {alone->duration(Duration{1}), alone->node().origin(), alone->path()};
    if (auto scale = terms->maybe("scale"); scale && read_scale(*scale, *recorded)) unrecorded = {};
    if (auto busy = terms->maybe("busy"))
      recorded->busy_unknown = busy->one_of({"recorded", "unknown"}) == "unknown";
    if (auto forms = terms->maybe("forms")) read_forms(*forms, *recorded);
    terms->finish();
  }
  recorded->once = !paced && !repeats && !recorded->drawn;
  sum_up(*recorded);
  if (unrecorded > Duration{} && !recorded->unrecorded) undo_slowing(unrecorded, name, *recorded);
  return recorded;
}

}  // namespace gangway
