-- The Engine guard on a _G with a metatable: names that it serves itself, then the author's metatable, each looked up live.
-- The handlers are tail calls, so that error(message, 2) in an author's handler names the author's line.
local globals, getters, setters, author, rawget, rawset, type = ...

local function index(_, key)
  local get = getters[key]
  if get ~= nil then
    return get(key)
  end
  local metatable = author.metatable
  if metatable == nil then
    return nil
  end
  local handler = rawget(metatable, '__index')
  if handler == nil then
    return nil
  end
  if type(handler) == 'function' then
    return handler(globals, key)
  end
  return handler[key]
end

local function newindex(_, key, value)
  local set = setters[key]
  if set ~= nil then
    return set(key, value)
  end
  local metatable = author.metatable
  local handler
  if metatable ~= nil then
    handler = rawget(metatable, '__newindex')
  end
  if handler == nil then
    rawset(globals, key, value)
  elseif type(handler) == 'function' then
    return handler(globals, key, value)
  else
    handler[key] = value
  end
end

return index, newindex
