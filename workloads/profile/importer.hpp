// Importers of profiles, one self-registering file each.
#pragma once

#include <filesystem>
#include <string>

#include "models/registry.hpp"
#include "workloads/profile/profile.hpp"

namespace gangway::profile {

// `read`: throws InputError, one line, for a damaged file or one of another kind.
struct Importer : Described {
  Profile (*read)(const std::filesystem::path& file) = nullptr;
};
using Importers = Registry<Importer>;

struct ImporterRegistration : Registration<Importer> {
  ImporterRegistration(std::string name, std::string summary, Profile (*read)(const std::filesystem::path&),
                       const std::source_location& where = std::source_location::current())
      : Registration<Importer>(Importer{{std::move(name), std::move(summary), {}}, read}, where) {}
};

}  // namespace gangway::profile
