// Which handles are alive, of which kind, and their numbers in the log. Has a lock of its own.
#pragma once

#include <cstdint>
#include <string>

namespace gangway::standin {

enum class Kind { context, stream, event, module, function, library, kernel, graph, node, exec, pool };

// Enters a handle; its number counts from 1 among its kind.
std::uint64_t enter(const void* handle, Kind);
void remove(const void* handle);
bool alive(const void* handle, Kind);

// "stream#2"; "0" for null, "legacy" and "per-thread" for those two, "unknown" for what is not alive.
std::string handle_name(const void* handle);

}  // namespace gangway::standin
