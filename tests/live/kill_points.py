"""The points at which tests kill clients (hw/live/kill_points.hpp), by who passes them."""

PROTOCOL = ("before-connect", "connected", "hello", "welcome", "before-inside", "inside", "waiting", "woken", "permitted",
            "submitted", "before-outside", "outside", "asked", "looked")  # every program
INTERCEPTED = ("asks",)
RETURNING = ("returns",)  # to a new daemon
EVICTED = ("launched", "told-to-leave", "evicted", "gone", "may-go-on", "again", "last-block")
WAITING = ("joined",)  # for later blocks of its grid
SLICED = ("launched", "told-to-leave", "slice", "slice-over", "slices-over", "evicted", "gone", "may-go-on")
MOVED = ("chunk-leaves", "chunk-left", "chunk-comes", "chunk-came", "asks-for-memory", "memory-created")
PASSED_ON = ("piece-passed", "piece-taken", "chunk-left", "chunk-comes")
ALL = {*PROTOCOL, *INTERCEPTED, *RETURNING, *EVICTED, *WAITING, *SLICED, *MOVED, *PASSED_ON}
