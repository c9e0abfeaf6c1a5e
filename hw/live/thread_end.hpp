// A function for the ends of threads. It runs after the destructors of thread_local objects, which may still
// call the driver. What calls the driver even later has it run once more.
#pragma once

#include <pthread.h>

namespace gangway::live {

template <void (*kEnds)()>
class ThreadEnd {
 public:
  // Once the calling thread has ended, the function runs in it. False: it will not. The main thread only ends
  // with the process, without it.
  static bool await() {
    static const Key key;
    static char set = 0;  // any address but null
    return key.made && pthread_setspecific(key.its, &set) == 0;
  }

 private:
  struct Key {
    pthread_key_t its{};
    bool made = pthread_key_create(&its, [](void*) { kEnds(); }) == 0;
  };
};

}  // namespace gangway::live
