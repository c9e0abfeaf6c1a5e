#include "hw/transform/inspect/kernel_rows.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "hw/transform/images/cubin.hpp"

namespace gangway::transform {
namespace {

using Sizes = std::map<std::string, CubinKernel>;

Sizes sizes_of(const std::vector<CubinKernel>& kernels) {
  Sizes out;
  for (const CubinKernel& kernel : kernels) out[kernel.name] = kernel;
  return out;
}

// `dynamic`: shared memory that its launches add, bytes.
void add_sizes(const std::string& form, const std::string& entry, const Sizes& sizes, InspectedKernel& row,
               std::uint32_t dynamic = 0) {
  const auto found = sizes.find(entry);
  if (found == sizes.end()) return;
  row.registers.emplace_back(form, found->second.registers);
  row.shared_bytes.emplace_back(form, found->second.shared_bytes + dynamic);
}

InspectedKernel row_of(const KernelForms& kernel, const Sizes& sizes) {
  InspectedKernel row;
  row.kernel = kernel.kernel;
  row.demangled = demangled(kernel.kernel);
  row.ptx = true;
  row.line = kernel.line;
  add_sizes("original", kernel.kernel, sizes, row);
  for (const Form& form : kernel.forms) {
    row.forms.push_back(form.form);
    if (form.one_dimension) row.one_dimension.push_back(form.form);
    add_sizes(form.form, form.entry, sizes, row, form.shared_bytes);
  }
  for (const Refusal& refusal : kernel.refused) row.refused.emplace_back(refusal.form, refusal_text(refusal));
  return row;
}

const CubinImage* cubin_for(const ImageModule& module, Architecture gpu) {
  for (const CubinImage& cubin : module.cubins)
    if (cubin.architecture.number == gpu.number) return &cubin;
  return nullptr;
}

// The sizes of what a cubin has, where it is one.
Sizes sizes_in(const std::string& cubin) {
  std::string why;
  const auto found = read_cubin(cubin, why);
  return found ? sizes_of(found->kernels) : Sizes();
}

void add_rows_of_ptx(const Image& image, const ImageModule& module, const PtxImage& ptx, Architecture gpu,
                     const Assembler* assembler, SharedCache* cache, const std::atomic<bool>& interrupted,
                     ModuleRows& out) {
  const CubinImage* const own = cubin_for(module, gpu);
  Sizes sizes = own != nullptr ? sizes_of(own->kernels) : Sizes();
  Rewritten rewritten = rewrite(ptx.text);
  const auto note = [&](const std::string& text) {
    out.notes.push_back(image.file + ": " + module.place + ": " + text);
  };
  if (!rewritten.unusable.empty()) {
    for (const PtxEntry& entry : ptx.facts.entries) {
      InspectedKernel row = formless_kernel(entry.name, "its PTX is not understood: " + rewritten.unusable);
      row.ptx = true;
      row.line = entry.line;
      add_sizes("original", entry.name, sizes, row);
      out.kernels.push_back(std::move(row));
    }
    return;
  }
  bool rejected = false;
  std::string trouble;
  if (assembler != nullptr) {
    const ModuleWork work = work_on(ptx, "", gpu, *assembler, cache, false, &interrupted);
    if (!work.entry.prepared.cubin.empty()) {
      sizes = sizes_in(work.entry.prepared.cubin);
      rewritten.kernels = work.entry.prepared.kernels;  // without forms that ptxas refuses
    }
    rejected = work.outcome == Outcome::rejected;
    trouble = work.entry.trouble;
    if (work.outcome == Outcome::failed) note(trouble);
    if (sizes.empty() && work.entry.prepared.cubin.empty() && work.outcome != Outcome::interrupted)
      sizes = sizes_in(assemble(*assembler, ptx.text, compiled_for(ptx.facts.target, gpu),
                                assembler_options(ptx.options), &interrupted)
                           .cubin);
  }
  if (rejected) note("ptxas refuses the rewritten module: " + trouble);
  for (KernelForms& kernel : rewritten.kernels) {
    if (rejected) {
      for (const Form& form : kernel.forms)
        kernel.refused.push_back({form.form, "ptxas refuses its rewritten module", "", 0});
      kernel.forms.clear();
    }
    out.kernels.push_back(row_of(kernel, sizes));
  }
}

void add_rows_of_other_code(const PtxImage& ptx, const CubinImage& runs, ModuleRows& out) {
  const Sizes sizes = sizes_of(runs.kernels);
  for (const PtxEntry& entry : ptx.facts.entries) {
    InspectedKernel row = formless_kernel(
        entry.name,
        fmt::format("its PTX is for {}, and the machine code that runs, for {}, may be other code",
                    ptx.facts.target.name(), runs.architecture.name()));
    row.ptx = true;
    row.line = entry.line;
    add_sizes("original", entry.name, sizes, row);
    out.kernels.push_back(std::move(row));
  }
}

std::string why_not(const ImageModule& module, const std::string& kernel,
                    const std::set<std::string>& pieces) {
  if (!module.texts.empty()) {
    const auto least = std::min_element(
        module.texts.begin(), module.texts.end(),
        [](const PtxImage& a, const PtxImage& b) { return a.facts.target < b.facts.target; });
    return "its PTX is for " + least->facts.target.name() + ", which this GPU cannot run";
  }
  if (pieces.contains(kernel)) return "relocatable device code: there is no PTX of the whole module";
  return "no PTX";
}

}  // namespace

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && plain != nullptr ? plain.get() : name;
}

std::string refusal_text(const Refusal& refusal) {
  if (refusal.line == 0) return refusal.reason;
  if (refusal.instruction.empty()) return fmt::format("{} (line {})", refusal.reason, refusal.line);
  return fmt::format("{} (line {}: {})", refusal.reason, refusal.line, refusal.instruction);
}

InspectedKernel formless_kernel(const std::string& name, const std::string& reason) {
  InspectedKernel row;
  row.kernel = name;
  row.demangled = demangled(name);
  for (const char* form : kForms) row.refused.emplace_back(form, reason);
  return row;
}

ModuleRows rows_of(const Image& image, const ImageModule& module, Architecture gpu,
                   const std::set<std::string>& pieces, const Assembler* assembler, SharedCache* cache,
                   const std::atomic<bool>& interrupted) {
  ModuleRows out;
  const CubinImage* const own = cubin_for(module, gpu);
  const PtxImage* const ptx = ptx_for(module, gpu);
  if (own != nullptr && !own->forms.empty()) {
    out.linked = !own->relocatable;
    for (const KernelForms& kernel : own->forms)
      out.kernels.push_back(row_of(kernel, sizes_of(own->kernels)));
  } else if (ptx != nullptr && !ptx->relocatable && other_code(module, *ptx, gpu) != nullptr) {
    add_rows_of_other_code(*ptx, *other_code(module, *ptx, gpu), out);
  } else if (ptx != nullptr && !ptx->relocatable) {
    add_rows_of_ptx(image, module, *ptx, gpu, assembler, cache, interrupted, out);
  } else if (ptx != nullptr) {
    out.linked = false;
    for (const PtxEntry& entry : ptx->facts.entries) {
      InspectedKernel row =
          formless_kernel(entry.name, "relocatable device code: its PTX is not the whole module");
      row.line = entry.line;
      out.kernels.push_back(std::move(row));
    }
  } else {
    std::map<std::string, const CubinKernel*> kernels;
    for (const CubinImage& cubin : module.cubins)
      for (const CubinKernel& kernel : cubin.kernels) kernels.emplace(kernel.name, &kernel);
    if (own != nullptr)
      for (const CubinKernel& kernel : own->kernels) kernels[kernel.name] = &kernel;
    out.linked = std::none_of(module.cubins.begin(), module.cubins.end(),
                              [](const CubinImage& cubin) { return cubin.relocatable; });
    for (const auto& [name, kernel] : kernels) {
      InspectedKernel row = formless_kernel(name, why_not(module, name, pieces));
      row.registers.emplace_back("original", kernel->registers);
      row.shared_bytes.emplace_back("original", kernel->shared_bytes);
      out.kernels.push_back(std::move(row));
    }
    for (const PtxImage& text : module.texts)
      for (const PtxEntry& entry : text.facts.entries)
        if (!kernels.contains(entry.name) && kernels.emplace(entry.name, nullptr).second)
          out.kernels.push_back(formless_kernel(entry.name, why_not(module, entry.name, pieces)));
    if (kernels.empty() && module.intermediate > 0)
      out.notes.push_back(image.file + ": " + module.place +
                          ": only code that is compiled when the program is linked");
  }
  for (InspectedKernel& row : out.kernels) {
    row.file = image.file;
    row.module = module.place;
  }
  return out;
}

}  // namespace gangway::transform
