#include "workloads/profile/nsys_about.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>

#include "workloads/profile/nsys_kinds.hpp"

namespace gangway::profile {
namespace {

// Exports before the middle of 2021 have CUPTI's names (CUpti_ActivityDevice).
void gpus(ProfileTables& tables, const NsysOwners& owners, Profile& profile) {
  for (const char* table : {"TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"})
    for (TableRows t(
             tables, table,
             {"id|deviceId", "name", "smCount|numMultiprocessors", "computeMajor|computeCapabilityMajor",
              "computeMinor|computeCapabilityMinor", "clockRate", "coreClockRate",
              "asyncEngines|numMemcpyEngines", "totalMemory|globalMemorySize", "l2CacheSize"},
             0);
         t.next();) {
      const Index known = owners.known_gpu(t.number(0).value_or(-1));
      if (known == kNone) continue;
      recording::Gpu& g = profile.gpus[known];
      g.name = t.text(1).value_or("");
      g.sms = t.number_or<std::uint32_t>(2, 0);
      g.major = t.number_or<std::uint32_t>(3, 0);
      g.minor = t.number_or<std::uint32_t>(4, 0);
      const std::uint32_t hz = t.number_or<std::uint32_t>(5, 0);
      g.clock_khz = hz > 0 ? hz / 1'000 : t.number_or<std::uint32_t>(6, 0);
      g.copy_engines = t.number_or<std::uint32_t>(7, 0);
      g.memory = Bytes{std::max<std::int64_t>(0, t.number(8).value_or(0))};
      g.l2 = Bytes{std::max<std::int64_t>(0, t.number(9).value_or(0))};
    }
}

}  // namespace

void describe_nsys(ProfileTables& tables, const NsysOwners& owners, Profile& profile) {
  gpus(tables, owners, profile);
  std::string schema;
  for (TableRows t(tables, "META_DATA_EXPORT", {"name", "value"}, 0); t.next();)
    if (const std::string name(t.text(0).value_or("")); name.starts_with("EXPORT_SCHEMA_VERSION")) {
      const std::string value(t.text(1).value_or(""));
      if (name == "EXPORT_SCHEMA_VERSION") {  // else: its three parts, in their order
        schema = value;
        break;
      }
      schema += (schema.empty() ? "" : ".") + value;
    }
  profile.source = "Nsight Systems" + (schema.empty() ? std::string() : ", schema " + schema);
  for (TableRows t(tables, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, 0); t.next();)
    if (const auto epoch = t.number(0); epoch && is_time(*epoch)) profile.epoch = epoch;
  for (TableRows t(tables, "TARGET_INFO_SYSTEM_ENV", {"name", "value"}, 0); t.next();) {
    std::string name;
    for (const char c : t.text(0).value_or(""))
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string value(t.text(1).value_or(""));
    if (name == "cpudescription" || name == "cpuname") profile.about.cpu = value;
    if (name == "cpucores")
      profile.about.cores = static_cast<std::uint32_t>(std::clamp(std::atoll(value.c_str()), 0LL, 100'000LL));
    if (name == "nvdriverversion" || name == "nvidiadriverversion" || name == "driverversion")
      profile.about.driver = value;
    if (name == "osversion" || name == "platform") profile.about.system = value;
  }
}

}  // namespace gangway::profile
