// Named points in the gate's protocol at which tests kill a client (GANGWAY_DIE_AT). Test builds only.
#pragma once

#ifdef GANGWAY_POINTS
#include <csignal>
#include <cstdlib>
#include <cstring>

#define GANGWAY_POINT(name)                                                 \
  do {                                                                      \
    static const char* const die = std::getenv("GANGWAY_DIE_AT");           \
    if (die != nullptr && std::strcmp(die, name) == 0) std::raise(SIGKILL); \
  } while (false)
#else
#define GANGWAY_POINT(name) static_cast<void>(0)
#endif
