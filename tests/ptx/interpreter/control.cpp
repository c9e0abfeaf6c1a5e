// Branches, calls, and the end of functions and threads.
#include <fmt/format.h>

#include <cstring>

#include "tests/ptx/interpreter/decoding.hpp"

namespace gangway::testing::ptx {
namespace {

Step branch(Machine&, Thread& t, const Instruction& i) {
  t.position = i.target;
  return Step::jump;
}
Step branch_indexed(Machine& m, Thread& t, const Instruction& i) {
  const auto index = in<std::uint32_t>(m, t, i.o[0]);
  if (index >= i.targets.size()) throw Fault{fmt::format("index {} of {} targets", index, i.targets.size())};
  t.position = i.targets[index];
  return Step::jump;
}
Step nothing(Machine&, Thread&, const Instruction&) { return Step::next; }
Step trap(Machine&, Thread&, const Instruction&) { throw Fault{"trap"}; }
Step go_back(Machine& m, Thread& t, const Instruction&) { return leave(m, t); }
Step finish_thread(Machine& m, Thread& t, const Instruction&) { return exit_thread(m, t); }

Step call(Machine& m, Thread& t, const Instruction& i) {
  const CallSite& site = *i.call;
  if (site.callee != nullptr) return enter(m, t, *site.callee, site);
  if (!site.external.empty()) return call_external(m, t, site);
  const std::uint64_t to = read(m, t, site.address);
  const std::uint64_t index = (to & ~kWindowMask) - 1;
  if ((to & kWindowMask) != kCodeWindow || index >= m.codes->size())
    throw Fault{fmt::format("call of {:#x}", to)};
  return enter(m, t, (*m.codes)[index], site);
}

std::vector<Argument> arguments_of(Decoding& d, const Written& list) {
  std::vector<Argument> all;
  for (const Written& one : list.parts) {
    Argument& made = all.emplace_back();
    if (one.kind == Written::Kind::variable && d.world.space(one) == Space::param)
      made.place = d.world.frame_variable(one.index);
    else
      made.by_value = true;
    if (made.by_value) made.value = d.operand(one, {'b', 64, false});
  }
  return all;
}

void decode_call(Decoding& d) {
  (void)d.take("uni");
  d.finish();
  auto site = std::make_shared<CallSite>();
  std::size_t at = 0;
  if (d.written(at).kind == Written::Kind::list) site->results = arguments_of(d, d.written(at++));
  const Written& callee = d.written(at++);
  if (callee.kind == Written::Kind::name) {
    bool external = false;
    site->callee = d.world.callee(callee.name, external);
    if (external) site->external = std::string(callee.name);
    if (!external && site->callee == nullptr) throw Unknown{fmt::format("no function '{}'", callee.name)};
  } else {
    site->address = d.operand(callee, {'b', 64, false});
  }
  if (at < d.operands() && d.written(at).kind == Written::Kind::list)
    site->arguments = arguments_of(d, d.written(at++));
  if (at < d.operands()) ++at;  // the prototype
  d.need(at);
  d.made.call = std::move(site);
  d.made.run = &call;
}

std::uint32_t label_at(Decoding& d, std::string_view name) { return d.world.label(d.statement.scope, name); }

}  // namespace

Step enter(Machine& m, Thread& t, const Code& callee, const CallSite& site) {
  if (t.frames.size() > 200) throw Fault{"calls that are nested too deep"};
  if (site.arguments.size() != callee.parameters.size() || site.results.size() != callee.returns.size())
    throw Fault{fmt::format("call of '{}' with another number of arguments", callee.function->name)};
  t.frames.back().position = t.position + 1;
  Frame frame;
  frame.code = &callee;
  frame.call = &site;
  frame.registers = t.frames.back().registers + t.code->registers;
  frame.memory = (t.frame_memory + t.code->frame_bytes + 15) / 16 * 16;
  const std::uint32_t caller = t.frame_memory;
  std::vector<std::uint64_t> values;
  for (const Argument& argument : site.arguments)
    values.push_back(argument.by_value ? read(m, t, argument.value) : 0);
  t.registers.resize(std::size_t{frame.registers} + callee.registers, 0);
  t.memory.resize(std::size_t{frame.memory} + callee.frame_bytes);
  if (m.launch->dirty) {
    for (std::uint32_t r = 0; r < callee.registers; ++r)
      t.registers[frame.registers + r] = mixed(m.launch->schedule.seed ^ r) & 0xFFFF;
    for (std::uint32_t b = 0; b < callee.frame_bytes; ++b)
      t.memory[frame.memory + b] = static_cast<std::byte>(mixed(m.launch->schedule.seed + b));
  }
  for (std::size_t k = 0; k < site.arguments.size(); ++k) {
    const Argument& argument = site.arguments[k];
    const FrameVariable place = callee.parameters[k];
    std::byte* const to = t.memory.data() + frame.memory + place.offset;
    if (argument.by_value) {
      if (place.bytes > 8)
        throw Fault{fmt::format("call of '{}': argument {} is too short", callee.function->name, k)};
      std::memcpy(to, &values[k], place.bytes);
      continue;
    }
    if (argument.place.bytes < place.bytes)
      throw Fault{fmt::format("call of '{}': argument {} is too short", callee.function->name, k)};
    std::memcpy(to, t.memory.data() + caller + argument.place.offset, place.bytes);
  }
  t.frames.push_back(frame);
  t.r = t.registers.data() + frame.registers;
  t.code = &callee;
  t.position = 0;
  t.frame_memory = frame.memory;
  return Step::jump;
}

Step leave(Machine& m, Thread& t) {
  if (t.frames.size() == 1) return exit_thread(m, t);
  const Frame gone = t.frames.back();
  t.frames.pop_back();
  const Frame& back = t.frames.back();
  t.r = t.registers.data() + back.registers;
  for (std::size_t k = 0; k < gone.call->results.size(); ++k) {
    const Argument& result = gone.call->results[k];
    const FrameVariable place = gone.code->returns[k];
    const std::byte* const from = t.memory.data() + gone.memory + place.offset;
    if (result.by_value) {
      std::uint64_t value = 0;
      std::memcpy(&value, from, std::min(8u, place.bytes));
      write(t, result.value, value);
    } else {
      std::memcpy(t.memory.data() + back.memory + result.place.offset, from,
                  std::min(result.place.bytes, place.bytes));
    }
  }
  t.code = back.code;
  t.position = back.position;
  t.frame_memory = back.memory;
  t.memory.resize(std::size_t{back.memory} + back.code->frame_bytes);
  return Step::jump;
}

Step exit_thread(Machine& m, Thread& t) {
  finish_copies(t, t.copy_group);
  t.state = Thread::State::exited;
  Block& block = *t.block;
  --block.alive;
  --block.runnable;
  block.exited[t.warp()] |= 1u << t.lane();
  if (block.alive > 0) {
    check_barriers(m, block);
    check_warp(m, block, t.warp());
  }
  return Step::exited;
}

// vprintf prints nothing; malloc and free have memory of the host.
Step call_external(Machine& m, Thread& t, const CallSite& site) {
  const auto argument = [&](std::size_t k) {
    std::uint64_t value = 0;
    if (k >= site.arguments.size()) return value;
    const Argument& given = site.arguments[k];
    if (given.by_value) return read(m, t, given.value);
    std::memcpy(&value, t.memory.data() + t.frame_memory + given.place.offset,
                std::min(8u, given.place.bytes));
    return value;
  };
  const auto give = [&](std::uint64_t value) {
    if (site.results.empty()) return;
    const Argument& to = site.results[0];
    if (to.by_value) return write(t, to.value, value);
    std::memcpy(t.memory.data() + t.frame_memory + to.place.offset, &value, std::min(8u, to.place.bytes));
  };
  if (site.external == "vprintf") {
    give(0);
  } else if (site.external == "malloc") {
    const std::uint64_t bytes = argument(0);
    if (bytes > (std::uint64_t{1} << 30)) {
      give(0);
      return Step::next;
    }
    auto* const memory = new std::byte[(bytes + 16) / 16 * 16];
    (*m.heap)[memory] = bytes;
    give(reinterpret_cast<std::uint64_t>(memory));
  } else if (site.external == "free") {
    auto* const memory = reinterpret_cast<std::byte*>(argument(0));
    if (memory == nullptr) return Step::next;
    if (m.heap->erase(memory) == 0) throw Fault{"free of what malloc has not given"};
    delete[] memory;
  } else if (site.external == "__assertfail") {
    throw Fault{"an assertion failed"};
  } else {
    throw Fault{fmt::format("'{}' is not known to the interpreter", site.external)};
  }
  return Step::next;
}

void add_control(Decoders& all) {
  all["bra"] = [](Decoding& d) {
    (void)d.take("uni");
    d.finish();
    d.need(1);
    d.made.target = label_at(d, d.written(0).name);
    d.made.run = &branch;
  };
  all["brx"] = [](Decoding& d) {
    (void)d.take("uni");
    if (!d.take("idx")) throw Unknown{"no .idx"};
    d.finish();
    d.need(2);
    d.made.o[0] = d.operand(0, {'u', 32, false});
    for (const std::string_view target : d.world.branch_targets(d.written(1).name))
      d.made.targets.push_back(label_at(d, target));
    d.made.run = &branch_indexed;
  };
  all["call"] = decode_call;
  all["ret"] = [](Decoding& d) {
    (void)d.take("uni");
    d.finish();
    d.made.run = &go_back;
  };
  all["exit"] = [](Decoding& d) {
    d.finish();
    d.made.run = &finish_thread;
  };
  all["trap"] = all["brkpt"] = [](Decoding& d) {
    d.finish();
    d.made.run = &trap;
  };
  // Memory is sequentially consistent here, time passes anyhow, and what a launch depends on has ended.
  all["membar"] = all["fence"] = all["nanosleep"] = all["griddepcontrol"] = all["pmevent"] = [](Decoding& d) {
    if (d.opcode() == "fence")
      for (const std::string_view part : d.statement.opcode)
        if (part.starts_with("mbarrier") || part == "async" || part == "alias" || part.starts_with("proxy"))
          throw Unknown{"'.proxy'"};
    d.made.run = &nothing;
  };
}

}  // namespace gangway::testing::ptx
