-- Istio VirtualService: shares by weighted destinations, matches by routes that stand before the routes they are copied from.
--
-- A rule is touched when one of its destinations is the stable Service. Rules that redirect, delegate or answer themselves
-- have no destinations and stay. With equal Services the versions are told apart by the subset `canary`.

local SUBSET = "canary"
local bySubset = obj.canaryService == obj.stableService

-- Copies a value. An empty table is handed on as it is, so that an empty list stays a list.
local function copy(value)
    if type(value) ~= "table" then
        return value
    end
    local result
    for key, member in pairs(value) do
        result = result or {}
        result[key] = type(member) == "table" and copy(member) or member
    end
    return result or value
end

-- Copies one level of a map, to be changed.
local function editable(map)
    local result = {}
    for key, member in pairs(map or {}) do
        result[key] = member
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

local function startsWith(text, prefix)
    return string.sub(text, 1, #prefix) == prefix
end

local function quoted(text)
    return "`" .. tostring(text) .. "`"
end

------------------------------------------------------------------------------------------------------------------------
-- Destinations

-- Returns what follows the Service's name in a host (`""`, `.ns`, `.ns.svc.cluster.local`), or nil for any other host. A Service
-- of the same name in another namespace is another host. OpenKruise does not say which namespace is ours.
local function hostSuffix(host, service)
    if type(host) ~= "string" or not startsWith(host, service) then
        return nil
    end
    local suffix = string.sub(host, #service + 1)
    local namespace = string.match(suffix, "^%.([^.]+)")
    if namespace and obj.namespace and namespace ~= obj.namespace then
        return nil
    end
    if suffix == "" or string.match(suffix, "^%.[^.]+$") or string.match(suffix, "^%.[^.]+%.svc$")
        or string.match(suffix, "^%.[^.]+%.svc%..+$") then
        return suffix
    end
    return nil
end

local STABLE, CANARY, OTHER = "stable", "canary", "other"

-- Most routes name the same few hosts, so that each is looked at once.
local rolesOfHosts = {}

local function roleOfHost(host)
    if hostSuffix(host, obj.canaryService) and not bySubset then
        return CANARY
    end
    return hostSuffix(host, obj.stableService) and STABLE or OTHER
end

-- Returns whom a route leads to: the stable version, the new one, or anybody else.
local function roleOf(route)
    local destination = route.destination
    local host = destination and destination.host
    if not host then
        return OTHER
    end
    local role = rolesOfHosts[host]
    if not role then
        role = roleOfHost(host)
        rolesOfHosts[host] = role
    end
    if role == STABLE and bySubset and destination.subset == SUBSET then
        return CANARY
    end
    return role
end

-- The destination of the new version that stands for a stable one: same port, and the host written the same way.
local function canaryDestination(stable)
    local destination = { port = copy(stable.port) }
    if bySubset then
        destination.host = stable.host
        destination.subset = SUBSET
    else
        -- The subset is left out: it is defined for the stable host alone.
        destination.host = obj.canaryService .. string.sub(stable.host, #obj.stableService + 1)
    end
    return destination
end

local function hasStable(rule)
    for _, route in ipairs(rule.route or {}) do
        if roleOf(route) == STABLE then
            return true
        end
    end
    return false
end

-- The routes to the new version that stand for a rule's stable ones, each once, with the stable weight each stands for.
local function canaryRoutes(rule, weights)
    local routes, parts = {}, {}
    for index, route in ipairs(rule.route) do
        if roleOf(route) == STABLE then
            local destination = canaryDestination(route.destination)
            local known
            for position, other in ipairs(routes) do
                if same(other.destination, destination) then
                    known = position
                end
            end
            if known then
                parts[known] = parts[known] + weights[index]
            else
                local canary = { destination = destination }
                for key, member in pairs(route) do
                    if key ~= "destination" and key ~= "weight" then
                        canary[key] = copy(member)
                    end
                end
                routes[#routes + 1] = canary
                parts[#routes] = weights[index]
            end
        end
    end
    return routes, parts
end

------------------------------------------------------------------------------------------------------------------------
-- Request headers

-- Returns Istio's headers with the step's changes on top: what the step says about a header replaces what stood there.
local function modified(headers, modifier)
    if not modifier then
        return copy(headers)
    end
    headers = editable(copy(headers))
    local request = editable(headers.request)
    local function forget(name, list)
        for _, key in ipairs(list) do
            if key == "remove" then
                local kept = {}
                for _, other in ipairs(request.remove or {}) do
                    if string.lower(other) ~= string.lower(name) then
                        table.insert(kept, other)
                    end
                end
                request.remove = #kept > 0 and kept or nil
            else
                local kept = {}
                for other, value in pairs(request[key] or {}) do
                    if string.lower(other) ~= string.lower(name) then
                        kept[other] = value
                    end
                end
                request[key] = next(kept) ~= nil and kept or nil
            end
        end
    end
    for _, header in ipairs(modifier.set or {}) do
        forget(header.name, { "set", "add", "remove" })
        request.set = request.set or {}
        request.set[header.name] = header.value
    end
    for _, header in ipairs(modifier.add or {}) do
        forget(header.name, { "add", "remove" })
        request.add = request.add or {}
        request.add[header.name] = header.value
    end
    for _, name in ipairs(modifier.remove or {}) do
        forget(name, { "set", "add", "remove" })
        request.remove = request.remove or {}
        table.insert(request.remove, name)
    end
    headers.request = next(request) ~= nil and request or nil
    return next(headers) ~= nil and headers or nil
end

------------------------------------------------------------------------------------------------------------------------
-- Weights

-- Splits a whole number by the given parts, by largest remainder: the results always sum up to the whole.
local function split(whole, parts)
    if #parts == 1 then
        return { whole }
    end
    local sum = 0
    for _, part in ipairs(parts) do
        sum = sum + part
    end
    local shares, remainders, left = {}, {}, whole
    for index, part in ipairs(parts) do
        local product = whole * part
        remainders[index] = product % sum
        shares[index] = (product - remainders[index]) / sum
        left = left - shares[index]
    end
    while left > 0 do
        local largest = 1
        for index = 2, #parts do
            if remainders[index] > remainders[largest] then
                largest = index
            end
        end
        shares[largest] = shares[largest] + 1
        remainders[largest] = -1
        left = left - 1
    end
    return shares
end

-- The weights that a rule's routes have now: one route has everything, several without any weight have the same.
local function currentWeights(routes)
    local weights, sum = {}, 0
    for index, route in ipairs(routes) do
        weights[index] = route.weight or 0
        sum = sum + weights[index]
    end
    if sum == 0 then
        for index in ipairs(routes) do
            weights[index] = 1
        end
    end
    return weights
end

-- The new version's part of the whole percents that both versions share. None of the two is rounded away.
local function canaryPart(share, percent)
    local part = math.floor(share * percent / 100 + 0.5)
    if percent > 0 and share > 0 then
        part = math.max(part, 1)
    end
    if percent < 100 and share > 1 then
        part = math.min(part, share - 1)
    end
    return part
end

-- Whether any request of a rule gets to one of both versions: all their weights may be zero, which keeps the rule in waiting.
local function serves(rule)
    for index, weight in ipairs(currentWeights(rule.route)) do
        if weight > 0 and roleOf(rule.route[index]) ~= OTHER then
            return true
        end
    end
    return false
end

-- Moves the step's percentage of what a rule gives to the stable Service over to the new version.
local function weigh(rule, isHttp)
    local weights = currentWeights(rule.route)
    -- Stable and canary routes share one part; every other route keeps its own.
    local parts, stableParts = { 0 }, {}
    local stables, existing, others = {}, {}, {}
    for index, route in ipairs(rule.route) do
        local role = roleOf(route)
        if role == OTHER then
            others[#others + 1] = route
            parts[#others + 1] = weights[index]
        else
            parts[1] = parts[1] + weights[index]
            if role == STABLE then
                stables[#stables + 1] = route
                stableParts[#stables] = weights[index]
            else
                existing[#existing + 1] = route
            end
        end
    end
    if parts[1] == 0 then
        return
    end
    local canaries, canaryParts = canaryRoutes(rule, weights)
    local sum = 0
    for _, part in ipairs(stableParts) do
        sum = sum + part
    end
    if sum == 0 then
        -- All of it went to the new version already; the first stable route takes its share back.
        stableParts[1], canaryParts[1] = 1, 1
    end

    local shares = split(100, parts)
    local canaryShare = canaryPart(shares[1], obj.canaryWeight)
    local stableShares = split(shares[1] - canaryShare, stableParts)
    local canaryShares = split(canaryShare, canaryParts)

    for index, route in ipairs(others) do
        if route.weight ~= nil or shares[index + 1] > 0 then
            route.weight = shares[index + 1]
        end
    end
    for index, route in ipairs(stables) do
        route.weight = stableShares[index]
    end
    -- Routes to the new version that the user wrote are used, those that stand for nothing get nothing.
    for _, route in ipairs(existing) do
        route.weight = 0
    end
    for index, canary in ipairs(canaries) do
        local target
        for _, route in ipairs(existing) do
            if not target and same(route.destination, canary.destination) then
                target = route
            end
        end
        if not target then
            target = canary
            table.insert(rule.route, canary)
        end
        target.weight = canaryShares[index]
        if isHttp then
            target.headers = modified(target.headers, obj.requestHeaderModifier)
        end
    end
end

------------------------------------------------------------------------------------------------------------------------
-- Matches

local PATH_KEYS = { Exact = "exact", PathPrefix = "prefix", RegularExpression = "regex" }
local VALUE_KEYS = { Exact = "exact", RegularExpression = "regex" }

local function stringMatch(condition, keys)
    local key = keys[condition.type or "Exact"]
    if not key then
        error("a match of type " .. quoted(condition.type) .. " cannot be written for Istio", 0)
    end
    return { [key] = condition.value }
end

-- Returns the string match that holds when both hold, nil when both never do. Expressions cannot be compared.
local function both(own, step, what, ignoresCase)
    if own == nil or next(own) == nil or same(own, step) then
        return copy(step)
    end
    if next(step) == nil then
        return copy(own)
    end
    if own.regex or step.regex then
        error(what .. " is already matched by " .. quoted(own.exact or own.prefix or own.regex)
            .. ", which cannot be joined with " .. quoted(step.exact or step.prefix or step.regex), 0)
    end
    local ownText, stepText = own.exact or own.prefix, step.exact or step.prefix
    if ignoresCase then
        ownText, stepText = string.lower(ownText), string.lower(stepText)
    end
    if own.exact and step.exact then
        return ownText == stepText and copy(own) or nil
    end
    if own.exact then
        return startsWith(ownText, stepText) and copy(own) or nil
    end
    if step.exact then
        return startsWith(stepText, ownText) and copy(step) or nil
    end
    if startsWith(ownText, stepText) then
        return copy(own)
    end
    return startsWith(stepText, ownText) and copy(step) or nil
end

-- Every path starts with `/`, so this prefix says nothing.
local function isAnyPath(uri)
    return uri == nil or uri.prefix == "/" or uri.prefix == ""
end

-- Adds named conditions to a map of string matches; false when the result never matches.
local function join(target, conditions, what, normalize)
    for _, condition in ipairs(conditions) do
        local name = normalize(condition.name)
        local key = name
        for other in pairs(target) do
            if normalize(other) == name then
                key = other
            end
        end
        local result = both(target[key], stringMatch(condition, VALUE_KEYS), what .. " " .. quoted(name), false)
        if not result then
            return false
        end
        target[key] = result
    end
    return true
end

local function unchanged(name)
    return name
end

-- Returns one of the rule's own matches narrowed by the step's, or nil when no request fulfils both.
local function narrowed(own, step)
    local match = editable(copy(own))
    if step.path then
        local uri = stringMatch(step.path, PATH_KEYS)
        if isAnyPath(match.uri) then
            match.uri = uri
        elseif not isAnyPath(uri) then
            match.uri = both(match.uri, uri, "the path", match.ignoreUriCase)
            if not match.uri then
                return nil
            end
        end
    end
    if step.headers and #step.headers > 0 then
        -- Istio wants header names in small letters.
        match.headers = editable(match.headers)
        if not join(match.headers, step.headers, "header", string.lower) then
            return nil
        end
    end
    if step.queryParams and #step.queryParams > 0 then
        match.queryParams = editable(match.queryParams)
        if not join(match.queryParams, step.queryParams, "query parameter", unchanged) then
            return nil
        end
    end
    return match
end

-- Returns the copy of a rule that takes the step's requests to the new version, or nil when the rule sees none of them.
local function matchRule(rule, step, suffix)
    local matches = {}
    local owns = rule.match or {}
    if #owns == 0 then
        owns = { {} }
    end
    for _, own in ipairs(owns) do
        local match = narrowed(own, step)
        if match then
            if rule.rewrite and rule.rewrite.uri and not same(match.uri, own.uri) then
                error("a step's path cannot narrow a rule that rewrites the path it matches", 0)
            end
            table.insert(matches, match)
        end
    end
    if #matches == 0 then
        return nil
    end
    local result = copy(rule)
    local routes, parts = canaryRoutes(rule, currentWeights(rule.route))
    result.match = matches
    result.route = routes
    if #routes > 1 then
        local sum = 0
        for _, part in ipairs(parts) do
            sum = sum + part
        end
        if sum == 0 then
            -- All of it goes to the new version already, by a route that the user wrote.
            parts[1] = 1
        end
        for index, share in ipairs(split(100, parts)) do
            routes[index].weight = share
        end
    end
    result.headers = modified(rule.headers, obj.requestHeaderModifier)
    if rule.name then
        result.name = rule.name .. suffix
    end
    return result
end

-- Puts before every rule that serves the stable version its copies for the step's matches, so that rules of the user
-- that came first still do. The last match comes first, as OpenKruise has it; they all lead to the same place.
local function insertMatchRules(rules)
    local result = {}
    for _, rule in ipairs(rules) do
        if hasStable(rule) and serves(rule) then
            for index = #obj.matches, 1, -1 do
                local suffix = #obj.matches == 1 and "-canary" or "-canary-" .. index
                local inserted = matchRule(rule, obj.matches[index], suffix)
                if inserted then
                    table.insert(result, inserted)
                end
            end
        end
        table.insert(result, rule)
    end
    return result
end

------------------------------------------------------------------------------------------------------------------------

local spec = obj.data.spec or {}
local stableRules = {}
for _, protocol in ipairs({ "http", "tcp", "tls" }) do
    for _, rule in ipairs(spec[protocol] or {}) do
        if hasStable(rule) then
            table.insert(stableRules, { rule = rule, isHttp = protocol == "http" })
        end
    end
end
if spec.http and obj.matches and #obj.matches > 0 then
    spec.http = insertMatchRules(spec.http)
end
if obj.canaryWeight >= 0 then
    for _, entry in ipairs(stableRules) do
        weigh(entry.rule, entry.isHttp)
    end
end
return obj.data
