-- Istio DestinationRule: names the new version's pods as the subset `canary`.
--
-- The subset means the pods that carry the labels which the Rollout gives to the new version, or OpenKruise's own label when
-- it gives none. A subset of that name that is already there is the user's, and stays.

local SUBSET = "canary"
local DEFAULT_LABELS = { ["istio.service.tag"] = "gray" }

-- Copies a value. An empty table is handed on as it is, so that an empty map stays a map.
local function copy(value)
    if type(value) ~= "table" or next(value) == nil then
        return value
    end
    local result = {}
    for key, member in pairs(value) do
        result[key] = copy(member)
    end
    return result
end

-- Whether a host is the Service: by its short name, or with a namespace and a cluster domain. A Service of the same name in
-- another namespace is another one; OpenKruise does not say which namespace is ours.
local function isService(host, service)
    if type(host) ~= "string" or string.sub(host, 1, #service) ~= service then
        return false
    end
    local suffix = string.sub(host, #service + 1)
    local namespace = string.match(suffix, "^%.([^.]+)")
    if namespace and obj.namespace and namespace ~= obj.namespace then
        return false
    end
    return suffix == "" or string.match(suffix, "^%.[^.]+$") ~= nil or string.match(suffix, "^%.[^.]+%.svc$") ~= nil
        or string.match(suffix, "^%.[^.]+%.svc%..+$") ~= nil
end

local function podLabels()
    local labels = obj.patchPodMetadata and obj.patchPodMetadata.labels
    if labels and next(labels) ~= nil then
        return copy(labels)
    end
    return copy(DEFAULT_LABELS)
end

local function hasSubset(subsets, name)
    for _, subset in ipairs(subsets) do
        if subset.name == name then
            return true
        end
    end
    return false
end

local spec = obj.data.spec or {}
if isService(spec.host, obj.stableService) and not hasSubset(spec.subsets or {}, SUBSET) then
    local subsets = {}
    for _, subset in ipairs(spec.subsets or {}) do
        table.insert(subsets, subset)
    end
    local canary = { name = SUBSET, labels = podLabels() }
    -- A policy of the only subset there is, is the stable version's: the new version is to be treated alike.
    if #subsets == 1 then
        canary.trafficPolicy = copy(subsets[1].trafficPolicy)
    end
    table.insert(subsets, canary)
    spec.subsets = subsets
end
return obj.data
