-- `tasks`: natives check the arguments and make the requests; a fanout's results are sealed here.
local natives = (...)('tasks')

local tasks = {}
for name, native in next, natives do
  tasks[name] = function(...)
    return suspend(native(...))
  end
end

local request = natives.fanout

local function refuse()
  error('tasks.fanout results are read-only', 2)
end

local function text_of(result)
  return result.text
end

-- What `getmetatable` gives of a result: enough for `table.concat`, and nothing to change it through.
local function decoy()
  return { __tostring = text_of }
end

local function seal(fields)
  return setmetatable({}, {
    __index = fields,
    __newindex = refuse,
    __tostring = text_of,
    __metatable = decoy(),
  })
end

function tasks.fanout(...)
  local wanted, items = request(...)
  local texts, completed = suspend(wanted)
  local results = {}
  for place = 1, #texts do
    local ok = completed[place]
    results[place] = seal({ text = texts[place], item = items[place], ok = ok, exhausted = not ok })
  end
  return results
end

return tasks
