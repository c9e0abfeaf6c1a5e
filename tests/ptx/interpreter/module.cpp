#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tests/ptx/interpreter/decoding.hpp"
#include "tests/ptx/interpreter/schedule.hpp"

namespace gangway::testing::ptx {
namespace {

std::uint64_t up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

struct Storage {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  const Variable* variable = nullptr;
};

struct AlignedDelete {
  void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{256}); }
};

Step not_known(Machine&, Thread&, const Instruction&) { throw Fault{"not known to the interpreter"}; }
Step fallen_off(Machine& m, Thread& t, const Instruction&) { return leave(m, t); }

}  // namespace

struct Module::Impl {
  std::string text;
  Syntax syntax;
  std::vector<Code> codes;
  std::vector<SharedVariable> shared;
  std::map<std::string_view, Storage> variables;
  std::map<std::string_view, std::uint32_t> functions;      // index in the syntax and in codes
  std::map<std::string_view, std::uint32_t> module_shared;  // index in shared
  std::vector<std::unique_ptr<std::byte[], AlignedDelete>> storage;
  std::map<std::byte*, std::uint64_t> heap;
  std::vector<Entry> entries;
  std::map<std::string_view, std::pair<std::uint32_t, SharedLayout>> launchable;  // function, layout
  std::vector<std::string> unknown;
  std::uint64_t launches = 0;

  explicit Impl(std::string_view from) : text(from), syntax(parsed(text)) {
    allocate();
    for (std::uint32_t f = 0; f < syntax.functions.size(); ++f) functions[syntax.functions[f].name] = f;
    codes.resize(syntax.functions.size());
    for (std::size_t f = 0; f < codes.size(); ++f) lay_out(codes[f], syntax.functions[f]);
    for (std::size_t f = 0; f < codes.size(); ++f) decode(codes[f]);
    initialise();
    for (std::uint32_t f = 0; f < codes.size(); ++f)
      if (syntax.functions[f].entry && syntax.functions[f].defined) add_entry(f);
  }
  ~Impl() {
    for (const auto& [memory, bytes] : heap) delete[] memory;
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void allocate() {
    for (const Variable& variable : syntax.variables) {
      if (variable.space == Space::shared) {
        module_shared.try_emplace(variable.name, static_cast<std::uint32_t>(shared.size()));
        shared.push_back({variable.name, static_cast<std::uint32_t>(variable.bytes), variable.alignment,
                          variable.external || variable.open});
        continue;
      }
      if (variable.external || (variable.space != Space::global && variable.space != Space::constant))
        continue;
      storage.emplace_back(
          static_cast<std::byte*>(::operator new[](up(variable.bytes + 1, 256), std::align_val_t{256})));
      variables[variable.name] = {storage.back().get(), variable.bytes, &variable};
    }
  }

  std::uint64_t address(std::string_view symbol, std::uint32_t line) const {
    if (const auto found = variables.find(symbol); found != variables.end())
      return reinterpret_cast<std::uint64_t>(found->second.memory);
    if (const auto found = functions.find(symbol); found != functions.end())
      return kCodeWindow + found->second + 1;
    throw Error(line, fmt::format("no variable or function '{}'", symbol));
  }

  void initialise() {
    for (const auto& [name, store] : variables) {
      std::memset(store.memory, 0, store.bytes);
      const Variable& variable = *store.variable;
      const Type type = variable.type;
      const std::uint32_t width = type.bytes();
      if (width > 8) throw Error(variable.line, "an initialiser of that type");
      for (std::size_t k = 0; k < variable.values.size() && (k + 1) * width <= store.bytes; ++k) {
        const Value& value = variable.values[k];
        std::uint64_t bits = value.bits;
        if (!value.symbol.empty())
          bits = ((address(value.symbol, variable.line) + bits) & value.mask) >> value.shift;
        if (value.real && type.kind == 'f') {
          if (value.single && type.bits == 64)
            bits = std::bit_cast<std::uint64_t>(
                static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
          if (!value.single && type.bits == 32)
            bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
        }
        std::memcpy(store.memory + k * width, &bits, width);
      }
    }
  }

  // Where the variables of a function are in its frame, or among shared variables.
  void lay_out(Code& code, const Function& function) {
    code.function = &function;
    code.registers = static_cast<std::uint32_t>(function.registers.size());
    std::vector<FrameVariable>& places = frame_places.emplace_back();
    std::uint64_t frame = 0, entry = 0;
    for (std::size_t v = 0; v < function.variables.size(); ++v) {
      const Variable& variable = function.variables[v];
      if (variable.space == Space::shared) {
        places.push_back(
            {static_cast<std::uint32_t>(shared.size()), static_cast<std::uint32_t>(variable.bytes)});
        shared.push_back({variable.name, static_cast<std::uint32_t>(variable.bytes), variable.alignment,
                          variable.external || variable.open});
        continue;
      }
      const bool of_entry = function.entry && v < function.parameters.size();
      std::uint64_t& end = of_entry ? entry : frame;
      end = up(end, variable.alignment);
      places.push_back({static_cast<std::uint32_t>(end), static_cast<std::uint32_t>(variable.bytes)});
      end += variable.bytes;
      if (end > (1 << 20)) throw Error(variable.line, "too much local memory");
    }
    code.frame_bytes = static_cast<std::uint32_t>(up(frame, 16));
    if (!function.entry && !places.empty()) {
      const auto first = places.begin();
      const auto parameters = static_cast<std::ptrdiff_t>(function.parameters.size());
      const auto returns = static_cast<std::ptrdiff_t>(function.returns.size());
      if (function.defined) {
        code.parameters.assign(first, first + parameters);
        code.returns.assign(first + parameters, first + parameters + returns);
      }
    }
  }

  struct World final : Decoding::World {
    World(Impl& all, Code& of, std::size_t at) : impl(all), code(of), function(*of.function), index(at) {}

    Operand named(const Written& name) const override {
      Operand made;
      if (name.kind == Written::Kind::variable) {
        const Variable& variable = function.variables[name.index];
        const FrameVariable place = impl.frame_places[index][name.index];
        made.value = place.offset + static_cast<std::uint64_t>(name.offset);
        switch (variable.space) {
          case Space::shared:
            made.kind = Operand::Kind::shared;
            made.index = place.offset;
            made.value = static_cast<std::uint64_t>(name.offset);
            use(made.index);
            return made;
          case Space::local:
            made.kind = Operand::Kind::local;
            return made;
          default:
            made.kind = function.entry && name.index < function.parameters.size() ? Operand::Kind::param
                                                                                  : Operand::Kind::frame;
            return made;
        }
      }
      if (!name.component.empty()) throw Unknown{fmt::format("'{}{}'", name.name, name.component)};
      if (const auto found = impl.module_shared.find(name.name); found != impl.module_shared.end()) {
        made.kind = Operand::Kind::shared;
        made.index = found->second;
        made.value = static_cast<std::uint64_t>(name.offset);
        use(made.index);
        return made;
      }
      made.kind = Operand::Kind::immediate;
      if (const auto found = impl.variables.find(name.name); found != impl.variables.end()) {
        made.value =
            reinterpret_cast<std::uint64_t>(found->second.memory) + static_cast<std::uint64_t>(name.offset);
        return made;
      }
      if (const auto found = impl.functions.find(name.name); found != impl.functions.end()) {
        made.value = kCodeWindow + found->second + 1;
        return made;
      }
      throw Unknown{fmt::format("'{}'", name.name)};
    }
    void use(std::uint32_t variable) const {
      if (std::find(code.shared.begin(), code.shared.end(), variable) == code.shared.end())
        code.shared.push_back(variable);
    }
    const Register& register_at(std::uint32_t at) const override { return function.registers.at(at); }
    FrameVariable frame_variable(std::uint32_t at) const override { return impl.frame_places[index].at(at); }
    std::uint32_t label(std::uint32_t scope, std::string_view name) const override {
      for (;; scope = function.parents[scope]) {
        if (const auto found = function.labels.find({scope, name}); found != function.labels.end())
          return static_cast<std::uint32_t>(found->second);
        if (scope == 0) break;
      }
      throw Unknown{fmt::format("no label '{}'", name)};
    }
    const std::vector<std::string_view>& branch_targets(std::string_view name) const override {
      if (const auto found = function.targets.find(name); found != function.targets.end())
        return found->second;
      throw Unknown{fmt::format("no .branchtargets '{}'", name)};
    }
    const Code* callee(std::string_view name, bool& external) const override {
      const auto found = impl.functions.find(name);
      if (found == impl.functions.end()) return nullptr;
      external = !impl.syntax.functions[found->second].defined;
      if (external) return nullptr;
      code.callees.push_back(&impl.codes[found->second]);
      return code.callees.back();
    }
    Space space(const Written& name) const override { return function.variables[name.index].space; }

    Impl& impl;
    Code& code;
    const Function& function;
    std::size_t index;
  };

  void decode(Code& code) {
    const std::size_t index = static_cast<std::size_t>(&code - codes.data());
    const World world(*this, code, index);
    const Decoders& known = decoders();
    code.instructions.resize(code.function->statements.size() + 1);
    for (std::size_t s = 0; s < code.function->statements.size(); ++s) {
      const Statement& statement = code.function->statements[s];
      Instruction& made = code.instructions[s];
      try {
        const auto decoder = known.find(statement.opcode[0]);
        if (decoder == known.end()) throw Unknown{"opcode"};
        Decoding decoding(statement, world, made);
        decoder->second(decoding);
        if (made.call && made.call->callee == nullptr && made.call->external.empty()) code.indirect = true;
      } catch (const Unknown& what) {
        made = {};
        made.run = &not_known;
        unknown.push_back(fmt::format("line {}: {}: {}", statement.line, statement.text, what.text));
      }
      made.guard = static_cast<std::int32_t>(statement.guard);
      made.guard_negated = statement.guard_negated;
      made.line = statement.line;
      made.text = statement.text;
    }
    code.instructions.back().run = &fallen_off;
    code.instructions.back().text = "end of function";
    code.instructions.back().line = code.function->line;
  }

  SharedLayout layout(const Code& entry) const {
    std::set<const Code*> seen;
    std::vector<const Code*> open{&entry};
    std::set<std::uint32_t> used;
    while (!open.empty()) {
      const Code* const code = open.back();
      open.pop_back();
      if (!seen.insert(code).second) continue;
      used.insert(code->shared.begin(), code->shared.end());
      open.insert(open.end(), code->callees.begin(), code->callees.end());
      if (code->indirect)  // whatever has its address taken: all functions
        for (const Code& other : codes)
          if (!other.function->entry) open.push_back(&other);
    }
    SharedLayout made;
    made.offset.assign(shared.size(), 0);
    std::uint64_t end = 0, alignment = 16;  // which the assembler gives dynamic memory at least
    for (const std::uint32_t index : used) {
      if (shared[index].dynamic) {
        alignment = std::max<std::uint64_t>(alignment, shared[index].alignment);
        continue;
      }
      end = up(end, shared[index].alignment);
      made.offset[index] = static_cast<std::uint32_t>(end);
      end += shared[index].bytes;
    }
    made.static_bytes = static_cast<std::uint32_t>(end);
    made.dynamic_offset = static_cast<std::uint32_t>(up(end, alignment));
    for (const std::uint32_t index : used)
      if (shared[index].dynamic) made.offset[index] = made.dynamic_offset;
    return made;
  }

  void add_entry(std::uint32_t f) {
    const Function& function = syntax.functions[f];
    Entry made;
    made.name = function.name;
    made.line = function.line;
    for (std::size_t p = 0; p < function.parameters.size(); ++p) {
      const Variable& parameter = function.parameters[p];
      const FrameVariable place = frame_places[f][p];
      made.parameters.push_back({parameter.name, place.offset, place.bytes, parameter.alignment});
      made.parameter_bytes = place.offset + place.bytes;
    }
    const SharedLayout where = layout(codes[f]);
    made.static_shared_bytes = where.static_bytes;
    made.dynamic_shared_offset = where.dynamic_offset;
    const auto extent = [](const std::uint32_t(&of)[3]) { return Extent{of[0], of[1], of[2]}; };
    made.most_threads = extent(function.most_threads);
    made.required_threads = extent(function.required_threads);
    launchable[function.name] = {f, where};
    entries.push_back(std::move(made));
  }

  std::string refusal(const Entry& entry, const Launch& launch) const {
    if (launch.parameters.size() < entry.parameter_bytes)
      return fmt::format("{} bytes of parameters, expected {}", launch.parameters.size(),
                         entry.parameter_bytes);
    const Extent& block = launch.block;
    if (launch.grid.count() == 0 || block.count() == 0) return "a grid or block without threads";
    if (block.count() > 1024) return "a block of more than 1024 threads";
    if (entry.required_threads.x != 0 &&
        (entry.required_threads.x != block.x || entry.required_threads.y != block.y ||
         entry.required_threads.z != block.z))
      return "a block that is not that of .reqntid";
    if (entry.most_threads.x != 0 && entry.most_threads.count() < block.count())
      return "a block above .maxntid";
    if (std::uint64_t{launchable.at(entry.name).second.dynamic_offset} + launch.dynamic_shared_bytes >
        256 * 1024)
      return "too much shared memory";
    return "";
  }

  std::vector<std::vector<FrameVariable>> frame_places;  // by function
};

Module::Module(std::string_view text) : impl_(std::make_unique<Impl>(text)) {}
Module::Module(Module&&) noexcept = default;
Module::~Module() = default;

const std::vector<Entry>& Module::entries() const { return impl_->entries; }
const std::vector<std::string>& Module::unknown() const { return impl_->unknown; }
void Module::reset() { impl_->initialise(); }

const Entry* Module::entry(std::string_view name) const {
  for (const Entry& entry : impl_->entries)
    if (entry.name == name) return &entry;
  return nullptr;
}

std::span<std::byte> Module::variable(std::string_view name) const {
  const auto found = impl_->variables.find(name);
  if (found == impl_->variables.end()) return {};
  return {found->second.memory, found->second.bytes};
}

Outcome Module::launch(std::string_view name, const Launch& launch) {
  const Entry* const found = entry(name);
  if (found == nullptr) throw std::invalid_argument(fmt::format("no entry '{}'", name));
  if (const std::string why = impl_->refusal(*found, launch); !why.empty())
    return {Ending::fault, fmt::format("{}: {}", name, why), 0};
  const auto& [function, layout] = impl_->launchable.at(name);
  Machine m;
  m.launch = &launch;
  m.layout = &layout;
  m.codes = &impl_->codes;
  m.heap = &impl_->heap;
  m.grid = ++impl_->launches;
  m.parameters.assign(launch.parameters.begin(), launch.parameters.end());
  m.random.state = mixed(launch.schedule.seed);
  if (!launch.allowed.empty()) {
    m.ranges = launch.allowed;
    for (const auto& [variable, store] : impl_->variables) m.ranges.push_back({store.memory, store.bytes});
    std::sort(m.ranges.begin(), m.ranges.end(),
              [](const Range& a, const Range& b) { return std::less<>{}(a.begin, b.begin); });
  }
  return played(m, impl_->codes[function]);
}

}  // namespace gangway::testing::ptx
