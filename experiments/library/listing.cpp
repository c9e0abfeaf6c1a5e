#include "experiments/library/listing.hpp"

#include <nlohmann/json.hpp>

#include "experiments/library/library.hpp"
#include "experiments/metrics/catalogue.hpp"
#include "models/arrival_process.hpp"
#include "models/bounds/bound.hpp"
#include "models/input/document.hpp"
#include "models/kernel_code.hpp"
#include "models/mechanism.hpp"
#include "models/policy.hpp"
#include "models/recording/summary.hpp"
#include "models/world.hpp"
#include "workloads/profile/importer.hpp"
#include "workloads/source.hpp"
#include "workloads/taskset_generator.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

template <typename Entry>
Json registered() {
  Json list = Json::array();
  for (const Entry& entry : Registry<Entry>::all()) {
    Json item{{"name", entry.name}, {"summary", entry.summary}, {"parameters", Json::array()}};
    for (const Parameter& p : entry.parameters)
      item["parameters"].push_back({{"name", p.name},
                                    {"default", p.default_text()},
                                    {"range", p.range_text()},
                                    {"summary", p.summary}});
    list.push_back(std::move(item));
  }
  return list;
}

std::string title_of(const LibraryFile& file) {
  const Node root = read_yaml(file.path);
  const Node* const title = root.find("title");
  return title != nullptr ? title->scalar : std::string();
}

Json files(const std::string& what) {
  Json list = Json::array();
  for (const LibraryFile& file : library(what)) {
    Json item{{"name", file.name}, {"path", file.path}};
    if (what == "experiments") item["title"] = title_of(file);
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace

Json summary_json(const recording::Recording& r) {
  const recording::Summary s = recording::summarise(r);
  Json out{{"command", r.about.command}, {"jobs", r.about.jobs},       {"skip", r.about.skip},
           {"lost", r.about.lost},       {"trouble", r.about.trouble}, {"source", r.about.source},
           {"beside", r.beside.size()}};
  out["host"] = {{"cpu", r.about.cpu}, {"cores", r.about.cores}, {"system", r.about.system}};
  out["driver"] = r.about.driver;
  out["submissions"] = s.submissions;
  out["job_count"] = s.jobs;
  out["job_median_ns"] = s.median.ns;
  out["job_p90_ns"] = s.p90.ns;
  out["outliers"] = s.outliers;
  out["job_unrecorded_ns"] = r.about.unrecorded.ns;
  out["kernels_of_job"] = s.kernels_of_job;
  out["submissions_of_job"] = s.submissions_of_job;
  for (const auto& g : s.gpus)
    out["gpus"].push_back({{"gpu", g.gpu},
                           {"name", r.gpus[g.gpu].name},
                           {"under_way_ns", g.under_way.ns},
                           {"busy_ns", g.busy.ns},
                           {"waits_for_host_ns", g.waits_for_host.ns},
                           {"most_memory", g.most_memory.count}});
  for (const auto& k : s.kernels)
    out["kernels"].push_back({{"name", k.name}, {"launches", k.launches}, {"total_ns", k.total.ns}});
  for (const auto& [where, c] : s.copies)
    out["copies"].push_back(
        {{"where", where}, {"count", c.count}, {"bytes", c.bytes.count}, {"total_ns", c.total.ns}});
  for (const recording::Job& job : r.jobs)
    out["job_times"].push_back(
        {{"begin_ns", job.begin.ns}, {"length_ns", job.length.ns}, {"warm_up", job.warm_up}});
  return out;
}

const std::vector<std::string>& listed_kinds() {
  static const std::vector<std::string> kinds{
      "policies", "devices",      "workloads", "experiments", "kernels",   "mechanisms", "generators",
      "arrivals", "utilisations", "bounds",    "worlds",      "profilers", "metrics"};
  return kinds;
}

Json listed(const std::string& what) {
  if (what == "policies") return registered<PolicyEntry>();
  if (what == "mechanisms") return registered<MechanismEntry>();
  if (what == "generators") return registered<GeneratorEntry>();
  if (what == "kernels") return registered<KernelEntry>();
  if (what == "bounds") return registered<Bound>();
  if (what == "arrivals") return registered<ArrivalProcessEntry>();
  if (what == "utilisations") return registered<UtilisationMethod>();
  if (what == "worlds") return registered<WorldEntry>();
  if (what == "metrics") return metrics_json();
  if (what == "profilers") return registered<profile::Importer>();
  return files(what);
}

}  // namespace gangway
