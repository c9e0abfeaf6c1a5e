#include "hw/transform/prepare/preparation.hpp"

#include <fmt/format.h>

#include <chrono>
#include <set>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/cache/wanted.hpp"
#include "hw/transform/images/image_set.hpp"
#include "hw/transform/prepare/module_work.hpp"
#include "hw/transform/prepare/parallel_work.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

struct Piece {
  const PtxImage* ptx;
  std::string origin;
};

bool carries_forms(const ImageModule& module, Architecture gpu) {
  for (const CubinImage& cubin : module.cubins)
    if (cubin.architecture.number == gpu.number && !cubin.forms.empty() && !cubin.relocatable) return true;
  return false;
}

bool is_piece(const ImageModule& module) {
  for (const PtxImage& text : module.texts)
    if (!text.relocatable) return false;
  for (const CubinImage& cubin : module.cubins)
    if (!cubin.relocatable) return false;
  return true;
}

std::vector<Piece> pieces_of(const ImageSet& set, Architecture gpu, PrepareReport& report) {
  std::vector<Piece> out;
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const Image& image : set.images)
    for (const ImageModule& module : image.modules) {
      const PtxImage* const ptx = ptx_for(module, gpu);
      if (carries_forms(module, gpu))
        ++report.carrying;
      else if (is_piece(module) && is_linked(image))
        continue;  // it is there once more, linked
      else if (ptx == nullptr || ptx->relocatable)
        ++report.without;
      else if (other_code(module, *ptx, gpu) != nullptr)
        ++report.other;
      else if (known.emplace(ptx->text, ptx->options).second)
        out.push_back({ptx, image.file + ": " + module.place});
    }
  report.modules = out.size();
  return out;
}

void count(const ModuleWork& work, const Piece& piece, PrepareReport& report) {
  switch (work.outcome) {
    case Outcome::present:
      ++report.present;
      break;
    case Outcome::prepared:
      ++report.prepared;
      break;
    case Outcome::formless:
      ++report.formless;
      break;
    case Outcome::rejected:
      ++report.rejected;
      report.notes.push_back(piece.origin + ": the rewritten module is not accepted: " + work.entry.trouble);
      break;
    case Outcome::failed:
      throw RunError(piece.origin + ": " + work.entry.trouble);
    case Outcome::interrupted:
      report.interrupted = true;
      return;
  }
  const bool usable = work.outcome == Outcome::present || work.outcome == Outcome::prepared;
  if (work.before && !usable) ++report.tried;
  report.kernels += work.entry.prepared.kernels.size();
  if (!usable) return;
  for (const KernelForms& kernel : work.entry.prepared.kernels) report.forms += !kernel.forms.empty();
}

Assembler need_assembler() {
  auto found = find_assembler();
  if (!found)
    throw RunError(
        "no ptxas was found; the CUDA Toolkit and Triton have one (set GANGWAY_PTXAS to its path)");
  return *std::move(found);
}

// What is not a module whose PTX that GPU can run is left as it is.
void prepare_one(const WantedModule& module, const Assembler& assembler, SharedCache& cache,
                 const std::atomic<bool>& interrupted, PrepareReport& report) {
  std::optional<PtxImage> ptx;
  std::optional<Architecture> gpu;
  try {
    gpu = gpu_option(module.gpu);
    for (ImageModule& one : image_of(module.ptx, "a module").modules)
      if (const PtxImage* const text = ptx_for(one, *gpu)) ptx = *text;
  } catch (const std::exception&) {
    return;
  }
  if (!ptx || ptx->relocatable) return;
  ptx->options = module.options;
  ++report.modules;
  const ModuleWork work = work_on(*ptx, "loaded by a program", *gpu, assembler, &cache, true, &interrupted);
  count(work, {&*ptx, "loaded by a program"}, report);
}

std::string plural(std::size_t number, const std::string& noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace

PrepareReport prepare(const PrepareSettings& settings, const std::atomic<bool>& interrupted,
                      const std::function<void(const PrepareProgress&)>& progress) {
  PrepareReport report;
  ImageSet set = read_images(settings.files, settings.libraries);
  report.notes = std::move(set.notes);
  const std::vector<Piece> pieces = pieces_of(set, settings.gpu, report);
  if (pieces.empty()) return report;
  const std::optional<Assembler> assembler = need_assembler();
  std::mutex mutex;
  const auto say = [&](const std::string& line) { report.notes.push_back(line + "; it is made anew"); };
  SharedCache shared{KernelCache(cache_folder(), say), {}};
  const auto began = std::chrono::steady_clock::now();
  PrepareProgress told{0, pieces.size(), 0};
  std::vector<std::optional<ModuleWork>> works(pieces.size());
  work_in_parallel(pieces.size(), settings.jobs, interrupted, [&](std::size_t i) {
    ModuleWork work =
        work_on(*pieces[i].ptx, pieces[i].origin, settings.gpu, *assembler, &shared, true, &interrupted);
    work.entry.prepared.cubin = {};  // it is in the cache
    const std::lock_guard lock(mutex);
    works[i] = std::move(work);
    ++told.done;
    told.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (progress) progress(told);
  });
  if (interrupted) report.interrupted = true;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (works[i]) count(*works[i], pieces[i], report);
  if (settings.most_bytes > 0) report.removed = shared.cache.shrink(settings.most_bytes);
  return report;
}

PrepareReport prepare_wanted(const PrepareSettings& settings, const std::atomic<bool>& interrupted) {
  PrepareReport report;
  WantedFiles wanted(cache_folder());
  if (!wanted.locked()) return report;
  const auto say = [&](const std::string& line) { report.notes.push_back(line + "; it is made anew"); };
  SharedCache shared{KernelCache(cache_folder(), say), {}};
  std::optional<Assembler> assembler;
  while (!interrupted) {
    const std::optional<WantedModule> module = wanted.take();
    if (!module) break;
    try {
      if (!assembler) assembler = need_assembler();
      prepare_one(*module, *assembler, shared, interrupted, report);
    } catch (...) {
      wanted.keep();  // it is not the module's fault
      throw;
    }
    report.interrupted ? wanted.keep() : wanted.done();
    if (report.interrupted) break;
  }
  if (settings.most_bytes > 0) report.removed = shared.cache.shrink(settings.most_bytes);
  return report;
}

std::string to_text(const PrepareReport& r, const PrepareSettings& settings) {
  std::string out;
  const auto line = [&](const std::string& text) { out += text + "\n"; };
  if (r.modules == 0 && r.carrying == 0 && r.other == 0)
    line(fmt::format("nothing to prepare: {} with kernels, none with PTX for {}", plural(r.without, "module"),
                     settings.gpu.name()));
  if (r.carrying > 0)
    line(plural(r.carrying, "module") + " with the forms in the cubin: nothing to prepare there");
  if (r.other > 0)
    line(plural(r.other, "module") +
         " with PTX for an earlier GPU than that of the machine code that runs, " +
         "which may be other code: nothing to prepare there");
  if (r.modules == 0) return out;
  if (r.prepared == 0 && r.formless + r.rejected == r.tried)
    line(fmt::format("nothing to do: {} for {} prepared already", plural(r.present, "module"),
                     settings.gpu.name()));
  else if (r.prepared + r.present > 0)
    line(fmt::format("{} prepared for {}, {} there already", plural(r.prepared, "module"),
                     settings.gpu.name(), r.present));
  line(fmt::format("{} of {} can leave the GPU before the end", r.forms, plural(r.kernels, "kernel")));
  if (r.formless > 0) line(plural(r.formless, "module") + " without a kernel that takes a form");
  if (r.rejected > 0) line(plural(r.rejected, "module") + " whose rewritten text is not accepted by ptxas");
  if (r.without > 0)
    line(fmt::format("{} without complete PTX for {}", plural(r.without, "module"), settings.gpu.name()));
  if (r.removed > 0)
    line(fmt::format("{} old {} removed to make room", r.removed, r.removed == 1 ? "module" : "modules"));
  return out;
}

}  // namespace gangway::transform
