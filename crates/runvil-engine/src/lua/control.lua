-- `call` waits for the chain that its request starts; `jump` is a native.
local request, jump = (...)('control')

return function(...)
  return suspend(request(...))
end, jump
