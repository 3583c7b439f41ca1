-- `call` waits for the chain that its request starts.
local request = ...

return function(...)
  return suspend(request(...))
end
