local pack = ...

input = {}

function input.ask(...)
  if select("#", ...) > 0 then
    error("input.ask takes no arguments", 2)
  end
  return tools.call(pack .. "/ask")
end
