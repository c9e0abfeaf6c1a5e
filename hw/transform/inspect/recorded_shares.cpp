#include "hw/transform/inspect/recorded_shares.hpp"

#include <algorithm>
#include <map>

#include "hw/transform/inspect/kernel_rows.hpp"
#include "models/recording/file.hpp"
#include "models/recording/summary.hpp"

namespace gangway::transform {
namespace {

struct Launched {
  std::int64_t launches = 0;
  Duration time;
};

std::map<std::string, Launched> launched_in(const recording::Recording& r, Duration& in_graphs) {
  std::map<std::string, Launched> out;
  const bool jobs = !r.jobs.empty() && r.about.skip < r.jobs.size();
  for (const recording::Work& work : r.works) {
    const recording::Index job = r.calls[work.call].job;
    if (jobs && (job == recording::kNone || r.jobs[job].warm_up)) continue;
    if (work.kind == recording::WorkKind::graph) in_graphs += work.length;
    if (work.kind != recording::WorkKind::kernel) continue;
    Launched& kernel = out[r.launches[work.shape].kernel];
    ++kernel.launches;
    kernel.time += work.length;
  }
  return out;
}

// Where several modules have a kernel of that name, the one with the fewest forms: who launched which is not
// recorded.
InspectedKernel* row_for(const std::string& name, std::vector<InspectedKernel>& kernels) {
  const auto found = [&](auto&& is_it) {
    InspectedKernel* best = nullptr;
    for (InspectedKernel& row : kernels)
      if (is_it(row) && (best == nullptr || row.forms.size() < best->forms.size())) best = &row;
    return best;
  };
  if (InspectedKernel* row = found([&](const InspectedKernel& each) { return each.kernel == name; }))
    return row;
  const std::string without = name.starts_with("void ") ? name.substr(5) : name;
  if (InspectedKernel* row = found([&](const InspectedKernel& each) {
        return each.demangled == name || each.demangled == without || each.demangled == "void " + name;
      }))
    return row;
  return found([&](const InspectedKernel& each) { return recording::plain_name(each.kernel) == without; });
}

}  // namespace

void add_recorded_shares(const std::string& file, Inspection& inspection) {
  const recording::Recording r = recording::read_recording(file);
  const std::size_t known = inspection.kernels.size();
  std::vector<InspectedKernel> foreign;
  for (const auto& [name, launched] : launched_in(r, inspection.in_graphs)) {
    inspection.gpu_time += launched.time;
    InspectedKernel* row = row_for(name, inspection.kernels);
    if (row == nullptr) row = &foreign.emplace_back(formless_kernel(name, "not in what was inspected"));
    row->launches += launched.launches;
    row->gpu_time += launched.time;
  }
  inspection.gpu_time += inspection.in_graphs;
  std::stable_sort(foreign.begin(), foreign.end(), [](const InspectedKernel& a, const InspectedKernel& b) {
    return a.gpu_time > b.gpu_time;
  });
  inspection.kernels.insert(inspection.kernels.begin() + static_cast<std::ptrdiff_t>(known), foreign.begin(),
                            foreign.end());
  if (inspection.gpu_time.ns == 0) return;
  for (InspectedKernel& row : inspection.kernels)
    row.gpu_time_share = static_cast<double>(row.gpu_time.ns) / static_cast<double>(inspection.gpu_time.ns);
}

}  // namespace gangway::transform
