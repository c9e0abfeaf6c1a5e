// The file's tables, described in README.md.
#pragma once

#include <cstdint>

namespace gangway::recording {

inline constexpr std::int32_t kApplication = 0x47575243;  // "GWRC", PRAGMA application_id
inline constexpr std::int32_t kVersion = 1;               // PRAGMA user_version

inline constexpr const char* kSchema = R"(
CREATE TABLE about(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE gpus(id INTEGER PRIMARY KEY, name TEXT NOT NULL, sms INTEGER NOT NULL, major INTEGER NOT NULL,
  minor INTEGER NOT NULL, clock_khz INTEGER NOT NULL, copy_engines INTEGER NOT NULL, memory INTEGER NOT NULL,
  l2 INTEGER NOT NULL);
CREATE TABLE processes(id INTEGER PRIMARY KEY, pid INTEGER NOT NULL, parent INTEGER NOT NULL,
  command TEXT NOT NULL, began INTEGER NOT NULL, finished INTEGER NOT NULL);
CREATE TABLE threads(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE contexts(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, gpu INTEGER NOT NULL,
  number INTEGER NOT NULL);
CREATE TABLE streams(id INTEGER PRIMARY KEY, context INTEGER NOT NULL, number INTEGER NOT NULL,
  kind INTEGER NOT NULL, priority INTEGER NOT NULL);
CREATE TABLE functions(id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind INTEGER NOT NULL);
CREATE TABLE kernels(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE launches(id INTEGER PRIMARY KEY, kernel INTEGER NOT NULL,
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  cluster_x INTEGER NOT NULL, cluster_y INTEGER NOT NULL, cluster_z INTEGER NOT NULL,
  registers INTEGER NOT NULL, static_shared INTEGER NOT NULL, dynamic_shared INTEGER NOT NULL,
  local INTEGER NOT NULL, cooperative INTEGER NOT NULL);
CREATE TABLE transfers(id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, "from" INTEGER NOT NULL,
  "to" INTEGER NOT NULL, asynchronous INTEGER NOT NULL);
CREATE TABLE graphs(id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL);
CREATE TABLE nodes(id INTEGER PRIMARY KEY, graph INTEGER NOT NULL, kind INTEGER NOT NULL,
  shape INTEGER NOT NULL, lane INTEGER NOT NULL, after INTEGER NOT NULL, length INTEGER NOT NULL,
  launches INTEGER NOT NULL);
CREATE TABLE range_names(id INTEGER PRIMARY KEY, domain TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE ranges(id INTEGER PRIMARY KEY, name INTEGER NOT NULL, thread INTEGER NOT NULL,
  "begin" INTEGER NOT NULL, length INTEGER);
CREATE TABLE calls(id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, function INTEGER NOT NULL,
  gap INTEGER NOT NULL, length INTEGER NOT NULL, result INTEGER NOT NULL, job INTEGER);
CREATE TABLE works(id INTEGER PRIMARY KEY, call INTEGER NOT NULL, stream INTEGER NOT NULL,
  kind INTEGER NOT NULL, shape INTEGER NOT NULL, after INTEGER NOT NULL, length INTEGER NOT NULL);
CREATE TABLE orders(call INTEGER PRIMARY KEY, kind INTEGER NOT NULL, place INTEGER, recorded INTEGER);
CREATE TABLE beside(work INTEGER PRIMARY KEY);
CREATE TABLE memory(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, gpu INTEGER NOT NULL,
  process INTEGER NOT NULL, kind INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, thread INTEGER, "begin" INTEGER NOT NULL,
  length INTEGER NOT NULL, warm_up INTEGER NOT NULL);

CREATE VIEW call_times AS SELECT id, thread, function, gap, job, result,
  sum(gap + length) OVER thread_so_far - length AS "begin", sum(gap + length) OVER thread_so_far AS "end"
  FROM calls WINDOW thread_so_far AS (PARTITION BY thread ORDER BY id);
CREATE VIEW submissions AS SELECT works.id, works.call, call_times.thread, call_times.job, works.stream,
  CASE works.kind WHEN 0 THEN 'kernel' WHEN 1 THEN 'copy' WHEN 2 THEN 'memset' ELSE 'graph' END AS kind,
  kernels.name AS kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z,
  registers, static_shared, dynamic_shared, transfers.bytes, transfers."from", transfers."to",
  CASE works.kind WHEN 3 THEN works.shape END AS graph,
  call_times.gap, call_times."begin" AS called, call_times."end" AS returned,
  call_times."begin" + works.after AS "begin", call_times."begin" + works.after + works.length AS "end"
  FROM works JOIN call_times ON call_times.id = works.call
  LEFT JOIN launches ON works.kind = 0 AND launches.id = works.shape
  LEFT JOIN kernels ON kernels.id = launches.kernel
  LEFT JOIN transfers ON works.kind IN (1, 2) AND transfers.id = works.shape;
)";

}  // namespace gangway::recording
