// Named points of the gate's protocol, where tests end a client (GANGWAY_DIE_AT). Only in test builds.
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
