-- `require`: runs a section's blocks inside the calling block, once in a section VM.
--
-- A raise passes through as it is, with the library's frames still on the stack for the traceback, so the end of a
-- failed load is told by a to-be-closed variable and not by a protected call.
local resolve, begin, enter, succeed, abandon = (...)('require')

local saved = {}
local closing = {
  __close = function(load)
    if not load.done then
      abandon()
    end
  end,
}

return function(...)
  local library = resolve(...)
  local value = saved[library]
  if value ~= nil then
    return value
  end
  local blocks = begin(library)
  local load <close> = setmetatable({ done = false }, closing)
  for place = 1, #blocks do
    enter(place)
    value = blocks[place]()
    if value ~= nil then
      break
    end
  end
  if value == nil then
    value = true
  end
  saved[library] = value
  load.done = true
  succeed()
  return value
end
