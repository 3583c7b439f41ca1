-- Installs the Pack preludes in order, in a coroutine of their own, so that their store calls are served.
local load, install, count = ...

return function()
  for place = 1, count do
    local prelude, pack = load(place)
    prelude(pack)
    install(place)
  end
end
