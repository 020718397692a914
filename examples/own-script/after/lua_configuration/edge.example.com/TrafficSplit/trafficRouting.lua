-- A TrafficSplit names each backend with its share of the requests.
local spec = obj.data.spec
if obj.matches then
  error("a TrafficSplit cannot match requests")
end
spec.backends[obj.stableService] = obj.stableWeight
spec.backends[obj.canaryService] = obj.canaryWeight
return { spec = spec, labels = obj.data.labels, annotations = obj.data.annotations }
