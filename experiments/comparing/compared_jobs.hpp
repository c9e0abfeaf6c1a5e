// Jobs of two folders.
#pragma once

#include "experiments/comparing/compared_folder.hpp"

namespace gangway::compared {

// Adds to the comparison, whose groups are there, what the jobs.csv of both folders say. Throws InputError
// for one that is malformed.
void match_jobs(const Folder& a, const Folder& b, Comparison& out);

}  // namespace gangway::compared
