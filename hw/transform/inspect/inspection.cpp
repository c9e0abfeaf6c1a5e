#include "hw/transform/inspect/inspection.hpp"

#include <memory>
#include <set>

#include "hw/transform/cache/cache_folder.hpp"
#include "hw/transform/images/image_set.hpp"
#include "hw/transform/inspect/kernel_rows.hpp"
#include "hw/transform/inspect/recorded_shares.hpp"
#include "hw/transform/prepare/parallel_work.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

// What `gangway prepare` made is not compiled again. A cache that cannot be used is none.
std::unique_ptr<SharedCache> known_modules() {
  try {
    return std::unique_ptr<SharedCache>(
        new SharedCache{KernelCache(cache_folder(), [](const std::string&) {}), {}});
  } catch (const RunError&) {
    return nullptr;
  }
}

struct ModulePlace {
  const Image* image;
  const ImageModule* module;
};

// What is linked has of its pieces what it needs: they are shown where nothing is linked yet.
void take_rows(std::vector<ModuleRows> all, const std::vector<ModulePlace>& places, Inspection& out) {
  std::set<const Image*> linked;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].linked && !all[i].kernels.empty()) linked.insert(places[i].image);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ModuleRows& rows = all[i];
    out.notes.insert(out.notes.end(), rows.notes.begin(), rows.notes.end());
    if (!rows.linked && is_linked(*places[i].image) && linked.contains(places[i].image)) continue;
    out.modules += !rows.kernels.empty();
    for (InspectedKernel& row : rows.kernels) out.kernels.push_back(std::move(row));
  }
}

}  // namespace

std::size_t Inspection::preemptible() const {
  std::size_t number = 0;
  for (const InspectedKernel& kernel : kernels) number += !kernel.forms.empty();
  return number;
}

double Inspection::preemptible_share() const {
  double share = 0;
  for (const InspectedKernel& kernel : kernels)
    if (!kernel.forms.empty()) share += kernel.gpu_time_share.value_or(0);
  return share;
}

Inspection inspect(const InspectSettings& settings, const std::atomic<bool>& interrupted) {
  Inspection out;
  out.settings = settings;
  ImageSet set = read_images({settings.file}, settings.libraries);
  out.notes = std::move(set.notes);
  std::vector<ModulePlace> places;
  std::set<std::string> pieces;
  bool with_ptx = false;
  for (const Image& image : set.images)
    for (const ImageModule& module : image.modules) {
      places.push_back({&image, &module});
      for (const PtxImage& text : module.texts) {
        with_ptx = true;
        if (!text.relocatable) continue;
        for (const PtxEntry& entry : text.facts.entries) pieces.insert(entry.name);
      }
    }
  const auto assembler = find_assembler();
  if (with_ptx && !assembler)
    out.notes.emplace_back(
        "no ptxas was found, so registers and shared memory of forms are unknown (set GANGWAY_PTXAS to its "
        "path)");
  const std::unique_ptr<SharedCache> cache = known_modules();
  std::vector<ModuleRows> rows(places.size());
  work_in_parallel(places.size(), settings.jobs, interrupted, [&](std::size_t i) {
    rows[i] = rows_of(*places[i].image, *places[i].module, settings.gpu, pieces,
                      assembler ? &*assembler : nullptr, cache.get(), interrupted);
  });
  out.interrupted = interrupted;
  take_rows(std::move(rows), places, out);
  if (!settings.recording.empty()) add_recorded_shares(settings.recording, out);
  return out;
}

}  // namespace gangway::transform
