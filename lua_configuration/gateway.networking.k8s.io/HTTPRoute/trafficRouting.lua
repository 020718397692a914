-- Gateway API HTTPRoute: shares by weighted backends, matches by rules that are copied from the rules they narrow.
--
-- A rule is touched when one of its backends is the stable Service; rules that redirect, or serve others, stay. What the API
-- server would fill in is understood: a backend without a kind is a Service, without a weight it has 1, and a rule without
-- matches takes every path.

local MAX_WEIGHT = 1000000
local MAX_MATCHES = 128

if obj.canaryService == obj.stableService then
    error("an HTTPRoute tells versions apart by Service: it needs the generated canary Service", 0)
end

-- Copies a value. An empty table is handed on as it is, so that an empty list stays a list.
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

-- Compares two values by content.
local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
        return a == b
    end
    for key, member in pairs(a) do
        if not same(member, b[key]) then
            return false
        end
    end
    for key in pairs(b) do
        if a[key] == nil then
            return false
        end
    end
    return true
end

local function quoted(text)
    return "`" .. tostring(text) .. "`"
end

------------------------------------------------------------------------------------------------------------------------
-- Backends

-- A Service of the same name in another namespace is another Service. OpenKruise does not say which namespace is ours.
local function isHere(backend)
    return backend.namespace == nil or obj.namespace == nil or backend.namespace == obj.namespace
end

local function isService(backend, service)
    return backend.name == service and (backend.kind or "Service") == "Service" and (backend.group or "") == "" and isHere(backend)
end

-- Whether a rule answers with a redirect: no request gets to its backends.
local function redirects(rule)
    for _, filter in ipairs(rule.filters or {}) do
        if filter.type == "RequestRedirect" then
            return true
        end
    end
    return false
end

local function hasStable(rule)
    if redirects(rule) then
        return false
    end
    for _, backend in ipairs(rule.backendRefs or {}) do
        if isService(backend, obj.stableService) then
            return true
        end
    end
    return false
end

-- Whether any request of a rule gets to one of both versions: all weights may be zero, which keeps the rule in waiting.
local function serves(rule)
    for _, backend in ipairs(rule.backendRefs) do
        if (isService(backend, obj.stableService) or isService(backend, obj.canaryService)) and backend.weight ~= 0 then
            return true
        end
    end
    return false
end

-- The same backend (port, namespace, filters) with the new version's Service.
local function canaryBackend(stable)
    local result = copy(stable)
    result.name = obj.canaryService
    result.weight = nil
    return result
end

------------------------------------------------------------------------------------------------------------------------
-- Weights

local function greatestCommonDivisor(a, b)
    while b ~= 0 do
        a, b = b, a % b
    end
    return a
end

-- The smallest whole numbers in the given proportions, scaled so that they read as percents of a multiple of 100.
local function readable(parts)
    local divisor = 0
    for _, part in ipairs(parts) do
        divisor = greatestCommonDivisor(part, divisor)
    end
    local sum, largest = 0, 0
    for index, part in ipairs(parts) do
        parts[index] = part / divisor
        sum = sum + parts[index]
        largest = math.max(largest, parts[index])
    end
    local factor = 100 / greatestCommonDivisor(sum, 100)
    if largest * factor > MAX_WEIGHT then
        factor = 1
    end
    for index, part in ipairs(parts) do
        parts[index] = part * factor
        if largest * factor > MAX_WEIGHT then
            -- No exact answer fits. What has a share keeps one.
            parts[index] = part > 0 and math.max(1, math.floor(part * MAX_WEIGHT / largest)) or 0
        end
    end
    return parts
end

-- Moves the step's percentage of what a rule gives to the stable Service over to the new version. Weights are relative, so
-- that every share comes out exact, those of other backends included.
local function weigh(rule)
    local shared, stableSum = 0, 0
    for _, backend in ipairs(rule.backendRefs) do
        local weight = backend.weight or 1
        if isService(backend, obj.stableService) then
            shared = shared + weight
            stableSum = stableSum + weight
        elseif isService(backend, obj.canaryService) then
            shared = shared + weight
        end
    end
    if shared == 0 then
        return
    end

    -- Backends by their index: a table is no key, for its place differs from run to run.
    local stables, canaries, stableWeights = {}, {}, {}
    for index, backend in ipairs(rule.backendRefs) do
        if isService(backend, obj.stableService) then
            table.insert(stables, index)
            -- When all of it went to the new version already, the first stable backend takes its share back.
            table.insert(stableWeights, stableSum == 0 and (#stables == 1 and 1 or 0) or backend.weight or 1)
        elseif isService(backend, obj.canaryService) then
            table.insert(canaries, index)
        end
    end
    stableSum = math.max(stableSum, 1)

    local backends, parts = {}, {}
    for index, backend in ipairs(rule.backendRefs) do
        backends[index] = backend
        parts[index] = 0
        if not isService(backend, obj.stableService) and not isService(backend, obj.canaryService) then
            parts[index] = (backend.weight or 1) * 100 * stableSum
        end
    end
    for index, stable in ipairs(stables) do
        local part = shared * stableWeights[index]
        parts[stable] = part * (100 - obj.canaryWeight)
        -- A backend of the new version that the user wrote is used; one that stands for nothing gets nothing.
        local target
        for _, canary in ipairs(canaries) do
            if not target and backends[canary].port == backends[stable].port then
                target = canary
            end
        end
        if not target then
            table.insert(backends, canaryBackend(backends[stable]))
            table.insert(parts, 0)
            target = #backends
            table.insert(canaries, target)
        end
        parts[target] = parts[target] + part * obj.canaryWeight
    end
    for index, weight in ipairs(readable(parts)) do
        backends[index].weight = weight
    end
    rule.backendRefs = backends
end

------------------------------------------------------------------------------------------------------------------------
-- Matches

-- The path without a slash at its end, as prefixes are compared.
local function trimmed(path)
    return #path > 1 and string.sub(path, -1) == "/" and string.sub(path, 1, -2) or path
end

-- Whether a prefix takes a path: by whole path elements.
local function covers(prefix, path)
    prefix = trimmed(prefix)
    return prefix == "/" or path == prefix or string.sub(path, 1, #prefix + 1) == prefix .. "/"
end

local function isAnyPath(path)
    return path == nil or (path.type or "PathPrefix") == "PathPrefix" and (path.value or "/") == "/"
end

-- Returns the path match that holds when both hold, nil when both never do.
local function bothPaths(own, step)
    if isAnyPath(own) then
        return copy(step)
    end
    local ownType, stepType = own.type or "PathPrefix", step.type or "PathPrefix"
    if ownType == stepType and own.value == step.value then
        return copy(own)
    end
    if ownType == "RegularExpression" or stepType == "RegularExpression" then
        error("the path is already matched by " .. quoted(own.value) .. ", which cannot be joined with " .. quoted(step.value), 0)
    end
    if ownType == "PathPrefix" and stepType == "PathPrefix" and trimmed(own.value) == trimmed(step.value) then
        return copy(own)
    end
    if ownType == "PathPrefix" and covers(own.value, stepType == "PathPrefix" and trimmed(step.value) or step.value) then
        return copy(step)
    end
    if stepType == "PathPrefix" and covers(step.value, ownType == "PathPrefix" and trimmed(own.value) or own.value) then
        return copy(own)
    end
    return nil
end

-- Returns a list of named conditions with the step's added; nil when the result never matches.
local function joined(own, step, what, normalize)
    local result = {}
    for _, condition in ipairs(own or {}) do
        table.insert(result, copy(condition))
    end
    for _, condition in ipairs(step or {}) do
        local known
        for _, other in ipairs(result) do
            if normalize(other.name) == normalize(condition.name) then
                known = other
            end
        end
        if not known then
            table.insert(result, copy(condition))
        elseif (known.type or "Exact") ~= (condition.type or "Exact") or known.value ~= condition.value then
            if known.type == "RegularExpression" or condition.type == "RegularExpression" then
                error(what .. " " .. quoted(condition.name) .. " is already matched by " .. quoted(known.value)
                    .. ", which cannot be joined with " .. quoted(condition.value), 0)
            end
            return nil
        end
    end
    return result
end

local function unchanged(name)
    return name
end

-- Returns one of the rule's own matches narrowed by the step's, or nil when no request fulfils both.
local function narrowed(own, step)
    local match = { method = own.method, path = copy(own.path) }
    if not isAnyPath(step.path) then
        match.path = bothPaths(own.path, step.path)
        if not match.path then
            return nil
        end
    end
    -- The names of headers are the same in small and capital letters.
    local headers = joined(own.headers, step.headers, "header", string.lower)
    local queryParams = joined(own.queryParams, step.queryParams, "query parameter", unchanged)
    if not headers or not queryParams then
        return nil
    end
    match.headers = #headers > 0 and headers or nil
    match.queryParams = #queryParams > 0 and queryParams or nil
    return match
end

local function contains(list, value)
    for _, member in ipairs(list) do
        if same(member, value) then
            return true
        end
    end
    return false
end

-- Whether a filter of the rule replaces the prefix that the rule matches.
local function replacesPrefix(filters)
    for _, filter in ipairs(filters or {}) do
        local path = filter.urlRewrite and filter.urlRewrite.path
        if path and path.type == "ReplacePrefixMatch" then
            return true
        end
    end
    return false
end

-- Puts the step's header changes into a list of filters; what the step says about a header replaces what stood there.
local function withModifier(filters, modifier)
    if not modifier then
        return copy(filters)
    end
    local result, target = {}, nil
    for _, filter in ipairs(filters or {}) do
        local copied = copy(filter)
        table.insert(result, copied)
        if filter.type == "RequestHeaderModifier" then
            target = copied
        end
    end
    if not target then
        target = { type = "RequestHeaderModifier" }
        table.insert(result, target)
    end
    local changes = {}
    for key, list in pairs(target.requestHeaderModifier or {}) do
        changes[key] = list
    end
    local function forget(name, keys)
        for _, key in ipairs(keys) do
            local kept = {}
            for _, entry in ipairs(changes[key] or {}) do
                if string.lower(key == "remove" and entry or entry.name) ~= string.lower(name) then
                    table.insert(kept, entry)
                end
            end
            changes[key] = #kept > 0 and kept or nil
        end
    end
    local function insert(key, entry)
        changes[key] = changes[key] or {}
        table.insert(changes[key], entry)
    end
    for _, header in ipairs(modifier.set or {}) do
        forget(header.name, { "set", "add", "remove" })
        insert("set", copy(header))
    end
    for _, header in ipairs(modifier.add or {}) do
        forget(header.name, { "add", "remove" })
        insert("add", copy(header))
    end
    for _, name in ipairs(modifier.remove or {}) do
        forget(name, { "set", "add", "remove" })
        insert("remove", name)
    end
    target.requestHeaderModifier = changes
    return result
end

-- A copy of a rule that takes the given matches to the new version.
local function matchRule(rule, matches, suffix)
    local result = copy(rule)
    result.matches = matches
    result.filters = withModifier(rule.filters, obj.requestHeaderModifier)
    result.backendRefs = {}
    local sum, first = 0, nil
    for _, backend in ipairs(rule.backendRefs) do
        if isService(backend, obj.stableService) then
            local canary = canaryBackend(backend)
            canary.weight = backend.weight
            sum = sum + (backend.weight or 1)
            first = first or canary
            table.insert(result.backendRefs, canary)
        end
    end
    if sum == 0 then
        -- All of it goes to the new version already, by a backend that the user wrote.
        first.weight = nil
    end
    if rule.name then
        result.name = rule.name .. suffix
    end
    return result
end

-- Returns the copies of a rule for the step's matches, and whether one of them takes just what the rule itself takes.
local function matchRules(rule)
    local owns = rule.matches or {}
    if #owns == 0 then
        owns = { { path = { type = "PathPrefix", value = "/" } } }
    end
    local matches, isEqual = {}, false
    for _, own in ipairs(owns) do
        for _, step in ipairs(obj.matches) do
            local match = narrowed(own, step)
            if match and not contains(matches, match) then
                if replacesPrefix(rule.filters) and not same(match.path, own.path) then
                    error("a step's path cannot narrow a rule that replaces the prefix it matches", 0)
                end
                isEqual = isEqual or same(match, own)
                table.insert(matches, match)
            end
        end
    end
    if #matches == 0 then
        return {}, false
    end
    if replacesPrefix(rule.filters) and #matches > 1 then
        -- Such a rule may have one match only.
        local rules = {}
        for index, match in ipairs(matches) do
            table.insert(rules, matchRule(rule, { match }, "-canary-" .. index))
        end
        return rules, isEqual
    end
    return { matchRule(rule, matches, "-canary") }, isEqual
end

-- Adds the rules for the step's matches. They are narrower than the rules they come from, which decides, wherever they stand:
-- so they stand last, where they win no tie against a rule of the user. Equal ones must win, and stand before.
local function insertMatchRules(rules)
    local result, last = {}, {}
    for _, rule in ipairs(rules) do
        if hasStable(rule) and serves(rule) then
            local inserted, isEqual = matchRules(rule)
            for _, copied in ipairs(inserted) do
                table.insert(isEqual and result or last, copied)
            end
        end
        table.insert(result, rule)
    end
    for _, rule in ipairs(last) do
        table.insert(result, rule)
    end
    local count = 0
    for _, rule in ipairs(result) do
        count = count + math.max(1, #(rule.matches or {}))
    end
    if count > MAX_MATCHES then
        error("an HTTPRoute has " .. MAX_MATCHES .. " matches at most, this one would have " .. count, 0)
    end
    return result
end

------------------------------------------------------------------------------------------------------------------------

local spec = obj.data.spec or {}
local stableRules = {}
for _, rule in ipairs(spec.rules or {}) do
    if hasStable(rule) then
        table.insert(stableRules, rule)
    end
end
if spec.rules and obj.matches and #obj.matches > 0 then
    spec.rules = insertMatchRules(spec.rules)
end
if obj.canaryWeight >= 0 then
    for _, rule in ipairs(stableRules) do
        weigh(rule)
    end
end
return obj.data
