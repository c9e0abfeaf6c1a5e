// Tickets: numbers that atomic additions hand out, and what is made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hw/transform/ptx/flow.hpp"

namespace gangway::transform {

// Whether it is an atomic operation on memory that other blocks see.
bool is_atomic(const Instruction& instruction);

// What an atomic operation adds. Below a bound inc and dec go round. None if unknown.
std::optional<std::int64_t> step_of(const Flow& flow, const Instruction& instruction);

// The register that moves, each the only writer of its register, bring into one.
std::string_view origin_of(const Flow& flow, std::string_view name);

// What it reads of memory that other blocks see is not the number at whose address it reads.
bool reads_at_number(const Instruction& instruction);

// Whether what it makes of a number that goes up in steps goes on to change, and in one direction until it
// begins anew.
bool keeps_whole(const Module& module, const Instruction& instruction, std::int64_t step);

}  // namespace gangway::transform
