-- `models` and `compactors`: the calls that wait more than once.
--
-- A loop is rounds until one is `done`. The machine judges each round and appends what it ends with; here a round that
-- overflowed is compacted and sent again, and the calls of a tool round are run.
local get, use, set_default, infer, infer_on, open, open_on, round, open_compaction, begin, settle, record, fail, clear,
  batch_runner, bind = (...)('models')

local compactors = { fail = fail, clear = clear }

-- Runs a compactor over the list. `settle` restores the records if it raised or left a list that breaks a rule.
local function compact(compactor, reason)
  begin()
  local returned, raised = pcall(compactor, reason)
  settle(returned)
  if not returned then
    error(raised, 0)
  end
end

local function run(compactor)
  while true do
    local outcome, detail = suspend(round())
    if outcome == 'overflow' then
      compact(compactor, detail)
      outcome, detail = suspend(round())
    end
    if outcome == 'done' then
      return
    end
    record(detail, batch_runner()(detail))
  end
end

local function default_to_fail(compactor)
  if compactor == nil then
    return compactors.fail
  end
  return compactor
end

local models = { get = get, use = use, default = set_default }

function models.infer(...)
  return suspend(infer(...))
end

function models.loop(...)
  local _ <close> = open(...)
  run(default_to_fail((...)))
  return nil
end

function models.compact(...)
  open_compaction(...)
  compact(...)
  return nil
end

bind(function(...)
  return suspend(infer_on(...))
end, function(...)
  local _ <close> = open_on(...)
  run(default_to_fail((select(2, ...))))
  return nil
end)

return models, compactors
