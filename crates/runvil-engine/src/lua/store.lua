-- `store`: natives check the arguments and make the requests.
local store = {}
for name, native in next, (...)('store') do
  store[name] = function(...)
    return suspend(native(...))
  end
end

return store
