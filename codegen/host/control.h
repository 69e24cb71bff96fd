// Regions, ops and where tile values are kept: the walk over the IR that makes the code.
#pragma once

#include <utility>
#include <vector>

#include "codegen/host/emitter.h"

namespace heddle::codegen::host {

// Makes the code of a region's ops. The yield that ends it (if any) is handed to `on_yield`, after which the
// region's tiles are free.
void emit_region(Emitter& e, const ir::Region& region, const std::function<void(const ir::Op*)>& on_yield);

void emit_for(Emitter& e, const ir::Op* op);
void emit_if(Emitter& e, const ir::Op* op);
void emit_while(Emitter& e, const ir::Op* op);
void emit_reduce(Emitter& e, const ir::Op* op);
void emit_dot(Emitter& e, const ir::Op* op);
void emit_load_scalar(Emitter& e, const ir::Op* op);
void emit_store(Emitter& e, const ir::Op* op);
void emit_store_view(Emitter& e, const ir::Op* op);

// The tile that a value about to be made is to be put into: the preferred one, else new memory that is
// released after the value's last use.
Tile claim(Emitter& e, const ir::Value* value);
// `value` is kept in `tile` from here on.
void keep(Emitter& e, const ir::Value* value, const Tile& tile);
// As claim, but takes over the memory of `source` where this op is the last that needs it.
Tile claim_from(Emitter& e, const ir::Value* value, const ir::Value* source);

// tile[i] = value[i] for all i at once, values being evaluated before any tile they read is overwritten.
void assign(Emitter& e, std::vector<std::pair<const ir::Value*, Tile>> list);

// Asks that the values `yield` hands to `tiles` be made right there, where nothing still needs what the tiles
// hold: the values `holders` (null: nothing of interest). Lists hold an entry a yielded operand from `first`
// on; scalars have unallocated tiles.
void prefer(Emitter& e, const ir::Op* yield, size_t first, const std::vector<Tile>& tiles,
            const std::vector<const ir::Value*>& holders);

}  // namespace heddle::codegen::host
