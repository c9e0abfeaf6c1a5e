/* A program may say how urgent its kernels are, as each phase of it begins: what is launched from the next job on
 * (README of hw/live) has this priority. Higher is more urgent; users other than root and the daemon's owner get
 * 0 at most, or what the daemon allows them. Needs no library, and does nothing without Gangway: then it returns
 * 0, else 1. Link with -ldl where libc has no dlopen. */
#ifndef GANGWAY_PRIORITY_H
#define GANGWAY_PRIORITY_H

#include <dlfcn.h>

static inline int gangway_set_priority(int priority) {
  typedef int (*function)(int);
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  function set = driver == 0 ? 0 : (function)dlsym(driver, "gangway_priority");
  int known = set != 0 ? set(priority) : 0;
  if (driver != 0) dlclose(driver);
  return known;
}

#endif
