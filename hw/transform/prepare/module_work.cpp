#include "hw/transform/prepare/module_work.hpp"

#include <algorithm>

#include "hw/transform/ptxas/refused_forms.hpp"

namespace gangway::transform {
namespace {

bool any_form(const std::vector<KernelForms>& kernels) {
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelForms& kernel) { return !kernel.forms.empty(); });
}

Outcome outcome_of(const CacheEntry& entry) {
  if (!entry.prepared.cubin.empty()) return Outcome::present;
  return any_form(entry.prepared.kernels) ? Outcome::rejected : Outcome::formless;
}

}  // namespace

ModuleWork work_on(const PtxImage& ptx, const std::string& origin, Architecture gpu,
                   const Assembler& assembler, SharedCache* cache, bool keep,
                   const std::atomic<bool>* interrupted) {
  const std::vector<std::string> options = assembler_options(ptx.options);
  ModuleWork work;
  if (cache != nullptr) {
    const std::lock_guard lock(cache->mutex);
    if (auto known = cache->cache.entry(ptx.text, gpu, options, assembler.identity)) {
      work.outcome = outcome_of(*known);
      work.entry = std::move(*known);
      work.before = true;
      return work;
    }
  }
  Rewritten rewritten = rewrite(ptx.text);
  CacheEntry& entry = work.entry;
  entry = {{{}, std::move(rewritten.kernels)}, assembler.identity, gpu.name(), {}, origin};
  work.outcome = Outcome::formless;
  entry.trouble = rewritten.unusable.empty() ? "no kernel takes a form" : rewritten.unusable;
  if (outcome_of(entry) == Outcome::rejected) {
    const Architecture target = compiled_for(ptx.facts.target, gpu);
    Assembled made = assemble(assembler, rewritten.text, target, options, interrupted);
    rewritten.kernels = entry.prepared.kernels;
    RefusedForms refused;
    while (made.rejected && (refused.note(rewritten, made.said) || refused.without_loops(rewritten))) {
      rewritten = rewrite(ptx.text, Compilation::whole, refused.excluded());
      if (!any_form(rewritten.kernels)) break;
      made = assemble(assembler, rewritten.text, target, options, interrupted);
    }
    // What is refused as a whole is told as it would have been.
    if (!made.cubin.empty()) entry.prepared.kernels = std::move(rewritten.kernels);
    entry.prepared.cubin = std::move(made.cubin);
    entry.trouble = made.trouble;
    work.outcome = !entry.prepared.cubin.empty() ? Outcome::prepared
                   : made.interrupted            ? Outcome::interrupted
                   : made.rejected               ? Outcome::rejected
                                                 : Outcome::failed;
  }
  if (cache != nullptr && keep && work.outcome != Outcome::failed && work.outcome != Outcome::interrupted) {
    const std::lock_guard lock(cache->mutex);
    cache->cache.put(ptx.text, options, entry);
  }
  return work;
}

}  // namespace gangway::transform
