// What the stand-in driver offers to tests beside the driver API: host twins of kernels, counters, an
// observer. C, so that a shared library of twins needs nothing else.
#pragma once

#include <cuda.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// One launch, as its host twin sees it. The twin of the PTX entry NAME is
//   extern "C" void standin_kernel_NAME(const StandinLaunch*);
// found by dlsym in the program, or in the library that the environment's STANDIN_KERNELS names. It is called
// once a launch, on a worker thread, and works on memory as it is: device memory is memory of the process.
typedef struct StandinLaunch {
  const char* entry;
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  void* const* params;         // one pointer a parameter, to the driver's copy of it
  uint64_t (*now_ns)(void);    // device time
  void (*sleep_ns)(uint64_t);  // in device time
  void (*fault)(CUresult);     // the kernel ends here; its context is lost, with this error
  // A .global variable of the kernel's module; null: it has none of that name.
  void* (*global)(const struct StandinLaunch*, const char* name);
  const void* module;  // for global()
} StandinLaunch;

typedef void (*StandinKernel)(const StandinLaunch*);

// A kernel, copy, memset, memory operation, host function, or launch of a whole graph. Valid during the call.
typedef struct StandinOperation {
  uint64_t id;       // counts from 1 in order of submission
  const char* name;  // the kernel's entry, else "copy", "set", "value", "host", "graph", "free"
  uint64_t stream;   // the stream's number, as in the log of calls; a graph's operations: that of its launch
} StandinOperation;

typedef enum StandinMoment { STANDIN_SUBMITTED, STANDIN_STARTED, STANDIN_FINISHED } StandinMoment;

// Called for every operation: at its submission by the submitting thread, before it can start; at start and
// end by the thread that runs it. The driver is locked meanwhile: no driver call from within. Null ends it.
typedef void (*StandinObserver)(void* user, StandinMoment, const StandinOperation*);
void standin_observe(StandinObserver, void* user);

uint64_t standin_calls(const char* symbol);  // driver calls so far by that exported name; null: all
uint64_t standin_unimplemented(void);        // of these, calls to what the stand-in does not have
uint64_t standin_submitted(void);            // operations so far
uint64_t standin_started(void);
uint64_t standin_finished(void);
uint64_t standin_in_flight(void);  // submitted and not finished
uint64_t standin_most_in_flight(void);

#ifdef __cplusplus
}
#endif
