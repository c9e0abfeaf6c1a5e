// The compiled half of the Python package: what each file adds to the module `gangway._core`. It offers
// mostly numbers, texts and JSON; the Python package wraps them.
#pragma once

#include <nanobind/nanobind.h>

namespace gangway::python {

namespace nb = nanobind;

void add_errors(nb::module_& core);       // InputError, RunError
void add_experiments(nb::module_& core);  // Experiment: read, run, trace
void add_policies(nb::module_& core);     // policies in Python: facts, the view, orders, define
void add_sweeps(nb::module_& core);       // parts of sweeps, and what joins them
void add_reports(nb::module_& core);      // listings, comparisons, bounds, recordings, as JSON texts

}  // namespace gangway::python
