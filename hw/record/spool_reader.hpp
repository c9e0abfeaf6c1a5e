// Reads spools into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hw/record/spool.hpp"

namespace gangway::spool {

// The content of one process's spool. A partial last record is dropped.
struct Contents {
  std::optional<Begin> begin;
  std::vector<std::string> command;
  std::vector<std::string> texts{""};  // by id
  std::vector<Function> functions;
  std::vector<Shape> shapes;  // by id - 1
  std::vector<Call> calls;
  std::vector<Kernel> kernels;
  std::vector<Copy> copies;
  std::vector<Memset> memsets;
  std::vector<Graph> graphs;
  std::vector<Sync> syncs;
  std::vector<Event> events;
  std::vector<Memory> memory;
  std::vector<Marker> markers;
  std::vector<Stream> streams;
  std::vector<Context> contexts;
  std::vector<Device> devices;
  std::vector<Thread> threads;
  std::string trouble;
  std::uint64_t lost = 0;
  bool finished = false;
};

// RunError if it is no spool of this version or unreadable.
Contents read_spool(const std::filesystem::path& file);

// Every spool in a folder, in the order in which their processes began.
std::vector<Contents> read_spools(const std::filesystem::path& folder);

}  // namespace gangway::spool
