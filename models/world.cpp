#include "models/world.hpp"

namespace gangway {

const WorldEntry& world_named(const std::string& name, const std::string& origin) {
  for (const WorldEntry& world : Worlds::all())
    if (world.name == name) return world;
  throw InputError({origin, 0}, "world", quote(name), expected_names(name, Worlds::names()));
}

}  // namespace gangway
