// Jobs of two folders.
#pragma once

#include "experiments/comparing/compared_folder.hpp"

namespace gangway::compared {

// Adds the content of both jobs.csv to a comparison whose groups exist. Throws InputError if one is
// malformed.
void match_jobs(const Folder& a, const Folder& b, Comparison& out);

}  // namespace gangway::compared
