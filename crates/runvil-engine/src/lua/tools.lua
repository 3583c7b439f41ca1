-- `tools` and `packs`: natives check, count and report; here local handlers run inside the block that calls them.
local natives, packs = (...)('tools')
local prepare, define, enter, accept, next_call, answered, turn =
  natives.prepare, natives.define, natives.enter, natives.accept, natives.next_call, natives.answered, natives.turn

local tools = {
  offer = natives.offer,
  allow_tasks = natives.allow_tasks,
  required = natives.required,
  extras = natives.extras,
  get = natives.get,
}

-- The handlers of the section's local tools by alias.
local handlers = {}

local counts = setmetatable({}, {
  __index = natives.count,
  __newindex = natives.refuse_count,
  __metatable = 'tools.calls is read-only',
})

-- `tools.calls` is there from the section's first tool call.
local function show_counts()
  if counts then
    rawset(tools, 'calls', counts)
    counts = nil
  end
end

-- Runs a handler. A raise, and a value that is no result, pass through as they are; the guard reports them.
local function handle(alias, arguments, call_id, round)
  local _ <close> = enter()
  return accept(alias, call_id, round, (handlers[alias](arguments)))
end

function tools.offer_local(...)
  local alias, handler = define(...)
  handlers[alias] = handler
end

function tools.call(...)
  local call, arguments = prepare(...)
  show_counts()
  if arguments then
    return handle(call, arguments, '', turn())
  end
  return suspend(call)
end

-- Runs the calls of one model round and returns their result texts: catalog calls side by side, a local tool and a task
-- built-in alone.
natives.bind(function(calls)
  local results, place = {}, 1
  while true do
    local kind, call, arguments, call_id, round = next_call(calls, place)
    if kind == 'batch' then
      show_counts()
      local texts = suspend(call)
      for index = 1, #texts do
        results[place] = texts[index]
        place = place + 1
      end
    elseif kind == 'local' then
      show_counts()
      results[place] = handle(call, arguments, call_id, round)
      place = place + 1
    elseif kind == 'built-in' then
      local text, served = suspend(call)
      answered(calls, place, text, served)
      results[place] = text
      place = place + 1
    else
      return results
    end
  end
end)

return tools, packs
