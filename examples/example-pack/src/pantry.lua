-- The prelude: Lua that a prompt finds ready when it declares the Pack.
-- It gets the Pack id, so that it never spells it out, and it only defines functions.
local pack = ...

pantry = {}

--- Whether at least `amount` of `item` is in stock (1 when left out).
function pantry.has(item, amount)
  return tools.call(pack .. "/count", { item = item }).count >= (amount or 1)
end
