-- Makes a suspending call of a native that checks the arguments and returns the request.
return function(native)
  return function(...)
    return suspend(native(...))
  end
end
