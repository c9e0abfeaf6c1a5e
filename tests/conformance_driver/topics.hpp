// The cases, by topic. Each topic runs in a process of its own.
#pragma once

namespace gangway::conformance {

void beginnings();
void contexts();
void launches();
void modules();
void memory();
void streams();
void legacy_streams();
void waiting_calls();
void events();
void host_functions();
void values();
void captures();
void capture_errors();
void capture_modes();
void graphs();
void addresses();
void error_texts();
void faults();

}  // namespace gangway::conformance
